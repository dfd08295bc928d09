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
from contactlab.spatial.arrays import FloatArray, IntArray, Vec3
from contactlab.spatial.kernels.vectors import (
    add,
    add_to,
    cross,
    dot,
    linear,
    rotate,
    subtract,
    symmetric_times,
    times,
    vector,
    vector_at,
)
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
        c = add(rotate(Ri, vector(t.com[i])), subtract(vector(p[i]), vector(p[t.root[i]])))
        # rows of R, and of R J
        J = t.inertia[i]
        x, y, z = vector(Ri), vector_at(Ri, 3), vector_at(Ri, 6)
        a, b, e = symmetric_times(J, x), symmetric_times(J, y), symmetric_times(J, z)
        # J in world axes, moved to the origin
        h = times(t.mass[i], c)
        Bi = B[i]
        Bi[0] = t.mass[i]
        Bi[1], Bi[2], Bi[3] = h
        Bi[4] = dot(a, x) + (h[1] * c[1] + h[2] * c[2])
        Bi[5] = dot(b, y) + (h[0] * c[0] + h[2] * c[2])
        Bi[6] = dot(e, z) + (h[0] * c[0] + h[1] * c[1])
        Bi[7] = dot(a, y) - h[0] * c[1]
        Bi[8] = dot(a, z) - h[0] * c[2]
        Bi[9] = dot(b, z) - h[1] * c[2]


@kernel(inner=True)
def inertia_times(B: FloatArray, s: FloatArray) -> tuple[Vec3, Vec3]:
    """Return B s = (J w + h x v, m v - h x w) for an inertia B (10,) of `world_inertias` and s = (w, v); h = m c."""
    h, w, v = vector_at(B, 1), vector(s), linear(s)
    moment = (
        B[4] * w[0] + B[7] * w[1] + B[8] * w[2],
        B[7] * w[0] + B[5] * w[1] + B[9] * w[2],
        B[8] * w[0] + B[9] * w[1] + B[6] * w[2],
    )
    return add(moment, cross(h, v)), subtract(times(B[0], v), cross(h, w))


@kernel
def free_root_block(B: FloatArray, S: FloatArray, at: int, M: FloatArray) -> float:
    """Fill the entries of M among the six degrees of freedom of the root, from its composite inertia B (10,).

    Return a sum that is finite exactly if these entries are.
    """
    total = 0.0
    for k in range(3):
        # force and moment on a translation, and moment on a rotation
        force, turn = linear(S[at + k]), vector(S[at + 3 + k])
        moment = cross(vector_at(B, 1), force)
        turned = (
            B[4] * turn[0] + B[7] * turn[1] + B[8] * turn[2],
            B[7] * turn[0] + B[5] * turn[1] + B[9] * turn[2],
            B[8] * turn[0] + B[9] * turn[1] + B[6] * turn[2],
        )
        for l in range(3):
            set_both(M, at + k, at + 3 + l, dot(moment, vector(S[at + 3 + l])))
        for l in range(k + 1):
            set_both(M, at + k, at + l, B[0] * dot(force, linear(S[at + l])))
            set_both(M, at + 3 + k, at + 3 + l, dot(turned, vector(S[at + 3 + l])))
        # infinite entries of h do not appear on a diagonal
        total += B[1] + B[2] + B[3] + M[at + k, at + k] + M[at + 3 + k, at + 3 + k]
    return total


@kernel(inner=True)
def set_both(M: FloatArray, i: int, j: int, value: float) -> None:
    """Fill entries (i, j) and (j, i) of a symmetric matrix."""
    M[i, j] = value
    M[j, i] = value


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
            add_to(Bi, B[up])
        elif free:
            rest += 0.0 * free_root_block(Bi, S, at, M)
            continue
        # paths to the root end before a free body, whose entries are filled together
        end = at + 6 if free else 0
        for j in range(t.iv[i + 1] - begin - 1, t.iv[i] - begin - 1, -1):
            # the force that moves everything beyond joint j at unit acceleration acts on each joint of the path
            moment, force = inertia_times(Bi, S[j])
            rest += 0.0 * (moment[0] + moment[1] + moment[2] + force[0] + force[1] + force[2])
            k = j
            # compared with 0 too: the compiler then knows that no index counts from the end
            while k >= 0:
                if k < end:
                    break
                s = S[k]
                set_both(M, j, k, dot(vector(s), moment) + dot(linear(s), force))
                k = branch[k]
            if free and j >= 0:
                # translations of the root, then its rotations
                for l in range(3):
                    set_both(M, j, at + l, dot(linear(S[at + l]), force))
                    set_both(M, j, at + 3 + l, dot(vector(S[at + 3 + l]), moment))
    # rotors
    for j in range(t.iv[last] - begin):
        M[j, j] += t.armature[begin + j]
    return GOOD if rest == 0.0 else NOT_FINITE
