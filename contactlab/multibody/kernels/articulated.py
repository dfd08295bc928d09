"""Articulated-body inertias, one degree of freedom eliminated at a time, and solves with them, in world axes.

Featherstone 2008, section 7.3. Moments are about the origin of the root link, so an articulated inertia passes from
child to parent unchanged. A joint of several degrees of freedom is eliminated as a chain of one-axis joints, by updates
of rank one. So no small matrix is inverted, and all chains of joints are treated in the same way.

Two sweeps solve with them, M^-1 = E^T D^-1 E; constraint forces come in between. Inward: u = x - S.p,
p_up += p + U u / D. Outward: x = (u - U.a) / D, a += S x.

The articulated-body algorithm computes accelerations from forces. It first collects, outward, the forces that leave the
joints without acceleration; M^-1 applied to the remaining forces follows. Velocities then do not appear in the inward
pass, which saves a product with the articulated inertia per link.
"""

from __future__ import annotations

from contactlab.multibody.kernels.codes import GOOD, NOT_FINITE, PIVOT, POSES, SINGULAR
from contactlab.multibody.kernels.crba import world_inertias
from contactlab.multibody.kernels.kinematics import poses
from contactlab.multibody.kernels.layout import Tree, model_and_workspace_views, tree
from contactlab.multibody.kernels.newton_euler import newton_euler
from contactlab.spatial.arrays import FloatArray, IntArray, Vec3
from contactlab.spatial.kernels.vectors import (
    add,
    add_spatial,
    add_to,
    are_finite,
    copy,
    dot,
    fill,
    linear,
    put,
    put_spatial,
    subtract,
    times,
    vector,
    vector_at,
)
from lcp.compiler.views import view_1d, view_2d
from lcp.kernels import kernel

#: Upper triangle of a symmetric matrix (3, 3), by rows.
Six = tuple[float, float, float, float, float, float]


@kernel(inner=True)
def upper_times(A: Six, v: Vec3) -> Vec3:
    """Return A v for a symmetric matrix, its upper triangle by rows."""
    return (
        A[0] * v[0] + A[1] * v[1] + A[2] * v[2],
        A[1] * v[0] + A[3] * v[1] + A[4] * v[2],
        A[2] * v[0] + A[4] * v[1] + A[5] * v[2],
    )


@kernel(inner=True)
def less_product(A: Six, g: Vec3, u: Vec3) -> Six:
    """Return A - g u^T for g parallel to u, as the upper triangle."""
    return (
        A[0] - g[0] * u[0], A[1] - g[0] * u[1], A[2] - g[0] * u[2],
        A[3] - g[1] * u[1], A[4] - g[1] * u[2], A[5] - g[2] * u[2],
    )  # fmt: skip


@kernel(inline=True)
def articulate(
    t: Tree, S: FloatArray, B: FloatArray, K: FloatArray, U: FloatArray, D: FloatArray, P: FloatArray, load: FloatArray
) -> int:
    """Fill U (nv, 6) = K S and D (nv,) = 1 / (S.U + armature); return `GOOD` or `SINGULAR` - j.

    B (nl, 10) are the rigid inertias. K (nl, 23) holds the articulated inertias: the upper triangle of the angular
    block (6), the rows of the mixed block (9), the upper triangle of the linear block (6), then trace and mass of the
    rigid composite, which measure the rounding of a pivot. If P (nl, 6) is not empty, `inward` is also applied to load
    (nv,), at little additional cost.
    """
    # rigid inertias as symmetric matrices (6, 6)
    nl = t.parent.shape[0]
    loaded = P.shape[0] > 0
    for i in range(nl):
        Ki, Bi = K[i], B[i]
        m, (x, y, z) = Bi[0], vector_at(Bi, 1)
        Ki[0], Ki[1], Ki[2], Ki[3], Ki[4], Ki[5] = Bi[4], Bi[7], Bi[8], Bi[5], Bi[9], Bi[6]
        put((0.0, -z, y), Ki[6:9])
        put((z, 0.0, -x), Ki[9:12])
        put((-y, x, 0.0), Ki[12:15])
        Ki[15], Ki[16], Ki[17], Ki[18], Ki[19], Ki[20] = m, 0.0, 0.0, m, 0.0, m
        Ki[21] = Bi[4] + Bi[5] + Bi[6]
        Ki[22] = m
    # elimination from the leaves to the roots
    for i in range(nl - 1, -1, -1):
        Ki = K[i]
        angular = (Ki[0], Ki[1], Ki[2], Ki[3], Ki[4], Ki[5])
        mixed_0, mixed_1, mixed_2 = vector_at(Ki, 6), vector_at(Ki, 9), vector_at(Ki, 12)
        straight = (Ki[15], Ki[16], Ki[17], Ki[18], Ki[19], Ki[20])
        moment = force = (0.0, 0.0, 0.0)
        if loaded:
            moment, force = vector(P[i]), linear(P[i])
        # U = K S and the pivot of the degree of freedom
        for j in range(t.iv[i + 1] - 1, t.iv[i] - 1, -1):
            w, v = vector(S[j]), linear(S[j])
            n = add(upper_times(angular, w), (dot(mixed_0, v), dot(mixed_1, v), dot(mixed_2, v)))
            f = (
                mixed_0[0] * w[0] + mixed_1[0] * w[1] + mixed_2[0] * w[2],
                mixed_0[1] * w[0] + mixed_1[1] * w[1] + mixed_2[1] * w[2],
                mixed_0[2] * w[0] + mixed_1[2] * w[1] + mixed_2[2] * w[2],
            )
            f = add(f, upper_times(straight, v))
            # the rotor acts on its own joint only
            pivot = dot(n, w) + dot(f, v) + t.armature[j]
            if not pivot > PIVOT * (Ki[21] * dot(w, w) + Ki[22] * dot(v, v)):
                return SINGULAR - j
            # row of the factor, and its load
            inverse = 1.0 / pivot
            put_spatial(n, f, U[j])
            D[j] = inverse
            if loaded:
                rest = load[j] - (dot(w, moment) + dot(v, force))
                load[j] = rest
                moment = add(moment, times(rest * inverse, n))
                force = add(force, times(rest * inverse, f))
            # K -= U U^T / D
            g, h = times(inverse, n), times(inverse, f)
            angular, straight = less_product(angular, g, n), less_product(straight, h, f)
            mixed_0 = subtract(mixed_0, times(g[0], f))
            mixed_1 = subtract(mixed_1, times(g[1], f))
            mixed_2 = subtract(mixed_2, times(g[2], f))
        # sum over the children of the parent
        up = t.parent[i]
        if up >= 0:
            Ki[0], Ki[1], Ki[2], Ki[3], Ki[4], Ki[5] = angular
            put(mixed_0, Ki[6:9])
            put(mixed_1, Ki[9:12])
            put(mixed_2, Ki[12:15])
            Ki[15], Ki[16], Ki[17], Ki[18], Ki[19], Ki[20] = straight
            add_to(Ki, K[up])
            if loaded:
                add_spatial(moment, force, P[up])
    return GOOD


@kernel(inline=True)
def inward(t: Tree, S: FloatArray, U: FloatArray, D: FloatArray, P: FloatArray, x: FloatArray) -> None:
    """Overwrite x (nv,) with E (x - S^T p); p = P (nl, 6), which is overwritten, are the forces the links need."""
    # from the leaves to the roots
    for i in range(t.parent.shape[0] - 1, -1, -1):
        moment, force = vector(P[i]), linear(P[i])
        # eliminate the degrees of freedom of the link
        for j in range(t.iv[i + 1] - 1, t.iv[i] - 1, -1):
            rest = x[j] - (dot(vector(S[j]), moment) + dot(linear(S[j]), force))
            x[j] = rest
            rest *= D[j]
            moment, force = add(moment, times(rest, vector(U[j]))), add(force, times(rest, linear(U[j])))
        # the parent carries the remaining force
        up = t.parent[i]
        if up >= 0:
            add_spatial(moment, force, P[up])


@kernel(inline=True)
def outward(t: Tree, S: FloatArray, U: FloatArray, D: FloatArray, P: FloatArray, x: FloatArray) -> None:
    """Overwrite x (nv,) with E^T D^-1 x; P (nl, 6) ends as the accelerations of the links."""
    # from the roots to the leaves
    for i in range(t.parent.shape[0]):
        up = t.parent[i]
        turn = shift = (0.0, 0.0, 0.0)
        if up >= 0:
            turn, shift = vector(P[up]), linear(P[up])
        # rates of the degrees of freedom of the link
        for j in range(t.iv[i], t.iv[i + 1]):
            rate = (x[j] - (dot(vector(U[j]), turn) + dot(linear(U[j]), shift))) * D[j]
            x[j] = rate
            turn, shift = add(turn, times(rate, vector(S[j]))), add(shift, times(rate, linear(S[j])))
        # acceleration of the link
        put_spatial(turn, shift, P[i])


@kernel
def aba(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    tau: FloatArray,
    f_ext: FloatArray,
    custom: FloatArray,
    W: FloatArray,
    ready: int,
    a: FloatArray,
) -> int:
    """Fill a (nv,) with M^-1 (tau - h + J^T f_ext); return `GOOD`, or the code of the failure.

    ``f_ext`` of length 0 stands for no external forces.
    """
    # forces of the links without acceleration of the joints
    code = newton_euler(I, F, q, v, a[:0], f_ext, custom, W, ready)
    if code != GOOD:
        return code
    t, f, nl, nv = model_and_workspace_views(I, F, W)
    # memory, and the rigid inertias
    P = view_2d(W, f.start + 6 * nl, nl, 6)
    B = view_2d(W, f.start + 12 * nl, nl, 10)
    K = view_2d(W, f.start + 22 * nl, nl, 23)
    U = view_2d(W, f.start + 45 * nl, nv, 6)
    D = view_1d(W, f.start + 45 * nl + 6 * nv, nv)
    world_inertias(t, f.R, f.p, B)
    # elimination, and the sweep back
    copy(tau, a)
    code = articulate(t, f.S, B, K, U, D, P, a)
    if code != GOOD:
        return code
    outward(t, f.S, U, D, P, a)
    return GOOD if are_finite(a) else NOT_FINITE


@kernel
def factor_inertia(
    I: IntArray, F: FloatArray, q: FloatArray, custom: FloatArray, W: FloatArray, ready: int, factor: FloatArray
) -> int:
    """Fill factor (13 nv,): S (nv, 6), U (nv, 6) and 1 / D (nv,) of `articulate`.

    Return `GOOD`, or the code of the failure.
    """
    # kinematics
    t, f, nl, nv = model_and_workspace_views(I, F, W)
    if ready < POSES:
        code = poses(I, F, q, custom, W)
        if code != GOOD:
            return code
    # motion columns and inertias
    B = view_2d(W, f.start, nl, 10)
    K = view_2d(W, f.start + 10 * nl, nl, 23)
    S = view_2d(factor, 0, nv, 6)
    for j in range(nv):
        copy(f.S[j], S[j])
    world_inertias(t, f.R, f.p, B)
    # U and 1 / D
    D = factor[12 * nv : 13 * nv]
    return articulate(t, S, B, K, view_2d(factor, 6 * nv, nv, 6), D, view_2d(W, 0, 0, 6), D)


@kernel
def solve_inertia(I: IntArray, F: FloatArray, factor: FloatArray, P: FloatArray, x: FloatArray) -> int:
    """Overwrite every row of x (m, nv) with M^-1 x; P (nl, 6) is scratch; return `GOOD` or `NOT_FINITE`."""
    # views of the factor
    t = tree(I, F)
    nv = t.dof_parent.shape[0]
    S = view_2d(factor, 0, nv, 6)
    U = view_2d(factor, 6 * nv, nv, 6)
    D = factor[12 * nv : 13 * nv]
    # two sweeps for each row
    code = GOOD
    for number in range(x.shape[0]):
        fill(0.0, view_1d(P, 0, 6 * P.shape[0]))
        row = x[number]
        inward(t, S, U, D, P, row)
        outward(t, S, U, D, P, row)
        if not are_finite(row):
            code = NOT_FINITE
    return code
