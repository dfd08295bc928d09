"""Rigid-body inertias in world axes, the mass matrix, and its factor along the branches of the tree.

An inertia about the origin of the root link is ten numbers that add up along the tree. The composite-rigid-body
algorithm adds them (Featherstone 2008, sections 2.13 and 6.2). Rows and columns of a free body that carries a tree, the
base of most robots, are computed together. About the origin of this body its translations have no moment and its
rotations no force, so half of every product is zero. Every path of the tree shares these six entries.

H = L^T L has the sparsity of the tree (section 6.5). Entry (i, j) of H, j < i, is nonzero only if degree of freedom j
lies between i and the root. L, lower triangular, has the same entries and no others: the elimination from the last to
the first causes no fill-in.
"""

from __future__ import annotations

import numpy as np

from contactlab.multibody.kernels import FLOATING, GOOD, NOT_FINITE, PIVOT, POSES, SINGULAR
from contactlab.multibody.kernels.kinematics import poses
from contactlab.multibody.kernels.layout import Tree, model_and_workspace_views
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, Vec3
from contactlab.multibody.spatial.kernels import (
    add,
    add_to,
    are_finite,
    copy,
    cross,
    dot,
    fill,
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


@kernel
def factor_ltl(dof_parent: IntArray, diagonal: FloatArray, L: FloatArray) -> int:
    """Overwrite L with its factor; return `GOOD`, or `SINGULAR` - j if the pivot of (j, j) is rounding.

    Only entries on branches of the lower triangle are read and written. ``diagonal`` (n,) is scratch. A pivot that is
    not positive, or NaN, is also singular.
    """
    for k in range(L.shape[0]):
        diagonal[k] = L[k, k]
    for k in range(L.shape[0] - 1, -1, -1):
        # every subtraction so far was positive, so the original diagonal bounds the loss
        if not L[k, k] > 0.0:
            return SINGULAR - k
        # row of the factor
        pivot = np.sqrt(L[k, k])
        inverse = 1.0 / pivot
        row = L[k]
        row[k] = pivot
        # update of the rows below
        i = dof_parent[k]
        while i >= 0:
            row[i] *= inverse
            i = dof_parent[i]
        i = dof_parent[k]
        while i >= 0:
            factor = row[i]
            other = L[i]
            # about its centre of mass, translation and rotation of a body are decoupled
            j = i if factor != 0.0 else -1
            while j >= 0:
                other[j] -= factor * row[j]
                j = dof_parent[j]
            i = dof_parent[i]
    for k in range(L.shape[0] - 1, -1, -1):
        if not L[k, k] * L[k, k] > PIVOT * diagonal[k]:
            return SINGULAR - k
    return GOOD


@kernel(long_loops=True)
def solve_lt(dof_parent: IntArray, L: FloatArray, x: FloatArray) -> None:
    """Overwrite every column of x (n, m) with L^-T x."""
    for i in range(L.shape[0] - 1, -1, -1):
        # own entry
        row = L[i]
        own = x[i]
        inverse = 1.0 / row[i]
        for c in range(own.shape[0]):
            own[c] *= inverse
        # its effect on the branch
        j = dof_parent[i]
        while j >= 0:
            factor = row[j]
            other = x[j]
            for c in range(own.shape[0]):
                other[c] -= factor * own[c]
            j = dof_parent[j]


@kernel(long_loops=True)
def solve_l(dof_parent: IntArray, L: FloatArray, x: FloatArray) -> None:
    """Overwrite every column of x (n, m) with L^-1 x, for three degrees of freedom of the branch at a time."""
    for i in range(L.shape[0]):
        row = L[i]
        own = x[i]
        # effect of the branch
        j = dof_parent[i]
        while j >= 0:
            k = dof_parent[j]
            l = dof_parent[k] if k >= 0 else -1
            first = row[j]
            one = x[j]
            if l >= 0:
                second = row[k]
                third = row[l]
                two = x[k]
                three = x[l]
                for c in range(own.shape[0]):
                    own[c] = own[c] - first * one[c] - second * two[c] - third * three[c]
                j = dof_parent[l]
            else:
                for c in range(own.shape[0]):
                    own[c] -= first * one[c]
                j = k
        # own entry
        inverse = 1.0 / row[i]
        for c in range(own.shape[0]):
            own[c] *= inverse


@kernel
def solve_vector_lt(dof_parent: IntArray, L: FloatArray, x: FloatArray) -> None:
    """Overwrite one vector x (n,) with L^-T x."""
    for i in range(L.shape[0] - 1, -1, -1):
        # own entry
        row = L[i]
        own = x[i] / row[i]
        x[i] = own
        # its effect on the branch
        j = dof_parent[i]
        while j >= 0:
            x[j] -= row[j] * own
            j = dof_parent[j]


@kernel
def solve_vector_l(dof_parent: IntArray, L: FloatArray, x: FloatArray) -> None:
    """Overwrite one vector x (n,) with L^-1 x."""
    for i in range(L.shape[0]):
        row = L[i]
        rest = x[i]
        # along the branch
        j = dof_parent[i]
        while j >= 0:
            rest -= row[j] * x[j]
            j = dof_parent[j]
        x[i] = rest / row[i]


@kernel(inline=True)
def is_free_body(dof_parent: IntArray) -> bool:
    """Return True if a tree has six degrees of freedom in one chain, as a free body has."""
    if dof_parent.shape[0] != 6:
        return False
    return (
        dof_parent[5] == 4 and dof_parent[4] == 3 and dof_parent[3] == 2 and dof_parent[2] == 1 and dof_parent[1] == 0
    )


@kernel(inner=True)
def solve_three_of_six(L: FloatArray, inverses: FloatArray, P: FloatArray, X: FloatArray, first: int) -> None:
    """Fill X with M^-1 P as `solve_three`, entry by entry, for six degrees of freedom that satisfy `is_free_body`.

    About the centre of mass of a body the first three are decoupled from one another and from the others.
    """
    # entries of the factor
    r1, r2, r3, r4, r5 = L[1], L[2], L[3], L[4], L[5]
    i0, i1, i2, i3, i4, i5 = inverses[0], inverses[1], inverses[2], inverses[3], inverses[4], inverses[5]
    # whether the first three are decoupled
    apart = r1[0] == 0.0 and r2[0] == 0.0 and r2[1] == 0.0 and r3[0] == 0.0 and r3[1] == 0.0 and r3[2] == 0.0
    apart = apart and r4[0] == 0.0 and r4[1] == 0.0 and r4[2] == 0.0
    apart = apart and r5[0] == 0.0 and r5[1] == 0.0 and r5[2] == 0.0
    for k in range(3):
        p = P[k, first : first + 6]
        x = X[k, first : first + 6]
        # decoupled
        if apart:
            x[0], x[1], x[2] = p[0] * i0 * i0, p[1] * i1 * i1, p[2] * i2 * i2
            f = p[5] * i5
            e = (p[4] - r5[4] * f) * i4
            d = (p[3] - r5[3] * f - r4[3] * e) * i3 * i3
            e = (e - r4[3] * d) * i4
            x[3], x[4], x[5] = d, e, (f - r5[4] * e - r5[3] * d) * i5
            continue
        # general: L^-T, then L^-1
        copy(p, x)
        for i in range(5, -1, -1):
            x[i] *= inverses[i]
            for j in range(i):
                x[j] -= L[i, j] * x[i]
        for i in range(6):
            for j in range(i - 1, -1, -1):
                x[i] -= L[i, j] * x[j]
            x[i] *= inverses[i]


@kernel(inner=True, vectors=True)
def solve_three(
    dof_parent: IntArray,
    L: FloatArray,
    inverses: FloatArray,
    P: FloatArray,
    X: FloatArray,
    first: int,
    x: FloatArray,
) -> None:
    """Fill X with M^-1 P for M = L^T L, in the columns of three rows from ``first`` on; L with branch sparsity.

    ``inverses`` (n,) are 1 / L_jj. The rows are side by side in ``x`` (>= 4 n,), scratch: vectors of four, whose last
    number is idle.
    """
    # rows side by side
    n = L.shape[0]
    for i in range(n):
        k = 4 * i
        x[k], x[k + 1], x[k + 2], x[k + 3] = P[0, first + i], P[1, first + i], P[2, first + i], 0.0
    # L^-T
    for i in range(n - 1, -1, -1):
        k = 4 * i
        # no effect off the branch of a point
        if x[k] == 0.0 and x[k + 1] == 0.0 and x[k + 2] == 0.0:
            continue
        row = L[i]
        inverse = inverses[i]
        a, b, c, d = x[k] * inverse, x[k + 1] * inverse, x[k + 2] * inverse, x[k + 3] * inverse
        x[k], x[k + 1], x[k + 2], x[k + 3] = a, b, c, d
        j = dof_parent[i]
        while j >= 0:
            entry = row[j]
            m = 4 * j
            e, f, g, h = x[m] - entry * a, x[m + 1] - entry * b, x[m + 2] - entry * c, x[m + 3] - entry * d
            x[m], x[m + 1], x[m + 2], x[m + 3] = e, f, g, h
            j = dof_parent[j]
    # L^-1
    for i in range(n):
        k = 4 * i
        row = L[i]
        a, b, c, d = x[k], x[k + 1], x[k + 2], x[k + 3]
        j = dof_parent[i]
        while j >= 0:
            entry = row[j]
            m = 4 * j
            a -= entry * x[m]
            b -= entry * x[m + 1]
            c -= entry * x[m + 2]
            d -= entry * x[m + 3]
            j = dof_parent[j]
        inverse = inverses[i]
        a, b, c, d = a * inverse, b * inverse, c * inverse, d * inverse
        x[k], x[k + 1], x[k + 2], x[k + 3] = a, b, c, d
        X[0, first + i], X[1, first + i], X[2, first + i] = a, b, c


@kernel
def copy_lower(H: FloatArray, L: FloatArray) -> bool:
    """Fill L with the lower triangle of H and zeros above it; return True if all copied entries are finite."""
    finite = True
    for i in range(H.shape[0]):
        fill(0.0, L[i])
        copy(H[i], L[i, : i + 1])
        finite = finite and are_finite(L[i])
    return finite


@kernel
def branch_times(dof_parent: IntArray, H: FloatArray, x: FloatArray, out: FloatArray) -> None:
    """Fill ``out`` with H x, from only the entries on branches of the lower triangle of H; out is not x."""
    for i in range(H.shape[0]):
        row = H[i]
        own = row[i] * x[i]
        j = dof_parent[i]
        while j >= 0:
            own += row[j] * x[j]
            out[j] += row[j] * x[i]
            j = dof_parent[j]
        out[i] = own


@kernel
def off_branch(dof_parent: IntArray, L: FloatArray) -> int:
    """Return i n + j for the first nonzero entry (i, j) of the lower triangle that is off the branches, or -1."""
    # the first degrees of freedom form one chain, which has only such entries
    n = L.shape[0]
    first = 0
    while first < n and dof_parent[first] == first - 1:
        first += 1
    # entries between the degrees of freedom of the branch
    for i in range(first, n):
        j = i
        while j >= 0:
            below = dof_parent[j]
            for k in range(below + 1, j):
                if L[i, k] != 0.0:
                    return i * n + k
            j = below
    return -1
