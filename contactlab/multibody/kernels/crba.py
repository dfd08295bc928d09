"""Rigid-body inertias in world axes, and the composite-rigid-body algorithm for the mass matrix.

An inertia about the origin of the root link is ten numbers that add up along the tree (Featherstone 2008, sections 2.13
and 6.2).

Rows and columns of a free body that carries a tree, the base of most robots, are computed together. About the origin of
this body its translations have no moment and its rotations no force, so half of every product is zero. Every path of
the tree shares these six entries.
"""

from __future__ import annotations

from contactlab.multibody.kernels.codes import FLOATING, GOOD, NOT_FINITE, POSES
from contactlab.multibody.kernels.kinematics import poses
from contactlab.multibody.kernels.layout import Tree, model_and_workspace_views
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.compiler.views import view_2d
from lcp.kernels import kernel


@kernel(inline=True)
def world_inertias(t: Tree, R: FloatArray, p: FloatArray, B: FloatArray) -> None:
    """Fill B (nl, 10): m, m c (3), and J about the origin (xx, yy, zz, xy, xz, yz), with the centre of mass c.

    Featherstone 2008, equation 2.63: J = R J_c R^T + m (c.c 1 - c c^T).
    """
    for i in range(t.parent.shape[0]):
        # centre of mass
        Ri = R[i]
        r0, r1, r2, r3, r4, r5, r6, r7, r8 = Ri[0], Ri[1], Ri[2], Ri[3], Ri[4], Ri[5], Ri[6], Ri[7], Ri[8]
        com = t.com[i]
        pi = p[i]
        po = p[t.root[i]]
        x, y, z = com[0], com[1], com[2]
        cx = r0 * x + r1 * y + r2 * z + (pi[0] - po[0])
        cy = r3 * x + r4 * y + r5 * z + (pi[1] - po[1])
        cz = r6 * x + r7 * y + r8 * z + (pi[2] - po[2])
        # R J, row by row
        J = t.inertia[i]
        xx, yy, zz, xy, xz, yz = J[0], J[1], J[2], J[3], J[4], J[5]
        a0 = r0 * xx + r1 * xy + r2 * xz
        a1 = r0 * xy + r1 * yy + r2 * yz
        a2 = r0 * xz + r1 * yz + r2 * zz
        b0 = r3 * xx + r4 * xy + r5 * xz
        b1 = r3 * xy + r4 * yy + r5 * yz
        b2 = r3 * xz + r4 * yz + r5 * zz
        c0 = r6 * xx + r7 * xy + r8 * xz
        c1 = r6 * xy + r7 * yy + r8 * yz
        c2 = r6 * xz + r7 * yz + r8 * zz
        # J in world axes, moved to the origin
        m = t.mass[i]
        hx = m * cx
        hy = m * cy
        hz = m * cz
        Bi = B[i]
        Bi[0] = m
        Bi[1] = hx
        Bi[2] = hy
        Bi[3] = hz
        Bi[4] = a0 * r0 + a1 * r1 + a2 * r2 + (hy * cy + hz * cz)
        Bi[5] = b0 * r3 + b1 * r4 + b2 * r5 + (hx * cx + hz * cz)
        Bi[6] = c0 * r6 + c1 * r7 + c2 * r8 + (hx * cx + hy * cy)
        Bi[7] = a0 * r3 + a1 * r4 + a2 * r5 - hx * cy
        Bi[8] = a0 * r6 + a1 * r7 + a2 * r8 - hx * cz
        Bi[9] = b0 * r6 + b1 * r7 + b2 * r8 - hy * cz


@kernel(inline=True)
def inertia_times(B: FloatArray, s: FloatArray) -> tuple[float, float, float, float, float, float]:
    """Return B s = (J w + h x v, m v - h x w) for an inertia B (10,) of `world_inertias` and s = (w, v); h = m c."""
    m, hx, hy, hz = B[0], B[1], B[2], B[3]
    a, b, c, d, e, f = s[0], s[1], s[2], s[3], s[4], s[5]
    return (
        B[4] * a + B[7] * b + B[8] * c + (hy * f - hz * e),
        B[7] * a + B[5] * b + B[9] * c + (hz * d - hx * f),
        B[8] * a + B[9] * b + B[6] * c + (hx * e - hy * d),
        m * d - (hy * c - hz * b),
        m * e - (hz * a - hx * c),
        m * f - (hx * b - hy * a),
    )


@kernel(inline=True)
def project_on_free_root(
    a: float, b: float, c: float, d: float, e: float, g: float, S: FloatArray, at: int, j: int, M: FloatArray
) -> None:
    """Fill the entries of M between degree of freedom j and the root, whose entries begin at ``at``.

    Degree of freedom j is moved by the force (a, b, c, d, e, g).
    """
    row = M[j]
    for k in range(3):
        # translation k
        s = S[at + k]
        shift = s[3] * d + s[4] * e + s[5] * g
        row[at + k] = shift
        M[at + k, j] = shift
        # rotation k
        s = S[at + 3 + k]
        turn = s[0] * a + s[1] * b + s[2] * c
        row[at + 3 + k] = turn
        M[at + 3 + k, j] = turn


@kernel
def free_root_block(B: FloatArray, S: FloatArray, at: int, M: FloatArray) -> float:
    """Fill the entries of M among the six degrees of freedom of the root, from its composite inertia B (10,).

    Return a sum that is finite exactly if these entries are.
    """
    m, hx, hy, hz = B[0], B[1], B[2], B[3]
    total = 0.0
    for k in range(3):
        # translation k: its moment on the rotations, and its force on the translations
        shifted = M[at + k]
        turned = M[at + 3 + k]
        s = S[at + k]
        x, y, z = s[3], s[4], s[5]
        a = hy * z - hz * y
        b = hz * x - hx * z
        c = hx * y - hy * x
        for l in range(3):
            other = S[at + 3 + l]
            value = a * other[0] + b * other[1] + c * other[2]
            shifted[at + 3 + l] = value
            M[at + 3 + l, at + k] = value
        for l in range(k + 1):
            other = S[at + l]
            value = m * (x * other[3] + y * other[4] + z * other[5])
            shifted[at + l] = value
            M[at + l, at + k] = value
        # rotation k on the rotations
        s = S[at + 3 + k]
        x, y, z = s[0], s[1], s[2]
        a = B[4] * x + B[7] * y + B[8] * z
        b = B[7] * x + B[5] * y + B[9] * z
        c = B[8] * x + B[9] * y + B[6] * z
        for l in range(k + 1):
            other = S[at + 3 + l]
            value = a * other[0] + b * other[1] + c * other[2]
            turned[at + 3 + l] = value
            M[at + 3 + l, at + 3 + k] = value
        # infinite entries of h do not appear on a diagonal
        total += hx + hy + hz + shifted[at + k] + turned[at + 3 + k]
    return total


@kernel
def crba(
    I: IntArray, F: FloatArray, q: FloatArray, custom: FloatArray, W: FloatArray, ready: int, M: FloatArray
) -> int:
    """Fill M (nv, nv), zeroed by the caller; return `GOOD`, or the code of the failure.

    Only entries between degrees of freedom of one branch are written: the others are zero in every configuration.
    """
    # kinematics
    t, f, nl, _ = model_and_workspace_views(I, F, W)
    if ready < POSES:
        code = poses(I, F, q, custom, W)
        if code != GOOD:
            return code
    # inertias and the matrix
    B = view_2d(W, f.start, nl, 10)
    world_inertias(t, f.R, f.p, B)
    return composite_matrix(t, f.S, t.dof_parent, B, 0, nl, M)


@kernel(inline=True)
def composite_matrix(
    t: Tree, S: FloatArray, branch: IntArray, B: FloatArray, first: int, last: int, M: FloatArray
) -> int:
    """Fill M (n, n), the mass matrix of links first ... last - 1, whole trees; return `GOOD` or `NOT_FINITE`.

    ``B`` (nl, 10) holds the inertias of the links (`world_inertias`) and becomes the composite inertias. ``S`` (n, 6)
    and ``branch`` (n,) are the motion columns of these links and the next degree of freedom towards the root, counted
    from the first of them. Entries off the branches are left alone. Rotors add to the diagonal.
    """
    # from the leaves to the roots
    begin = t.iv[first]
    rest = 0.0
    for i in range(last - 1, first - 1, -1):
        # composite of the parent, or the block of a free root
        Bi = B[i]
        up = t.parent[i]
        root = t.root[i]
        at = t.iv[root] - begin
        free = t.kind[root] == FLOATING and at >= 0
        if up >= 0:
            Bu = B[up]
            for k in range(10):
                Bu[k] += Bi[k]
        elif free:
            rest += 0.0 * free_root_block(Bi, S, at, M)
            continue
        # paths to the root end before a free body, whose entries are filled together
        end = at + 6 if free else 0
        for j in range(t.iv[i + 1] - begin - 1, t.iv[i] - begin - 1, -1):
            # the force that moves everything beyond joint j at unit acceleration acts on each joint of the path
            a, b, c, d, e, g = inertia_times(Bi, S[j])
            rest += 0.0 * (a + b + c + d + e + g)
            row = M[j]
            k = j
            # compared with 0 too: the compiler then knows that no index counts from the end
            while k >= 0:
                if k < end:
                    break
                s = S[k]
                value = s[0] * a + s[1] * b + s[2] * c + (s[3] * d + s[4] * e + s[5] * g)
                row[k] = value
                M[k, j] = value
                k = branch[k]
            if free and j >= 0:
                project_on_free_root(a, b, c, d, e, g, S, at, j, M)
    # rotors
    for j in range(t.iv[last] - begin):
        M[j, j] += t.armature[begin + j]
    return GOOD if rest == 0.0 else NOT_FINITE
