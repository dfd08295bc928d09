"""Forces from accelerations, accelerations from forces, and solves with the mass matrix, in world axes.

The recursive Newton-Euler algorithm (Featherstone 2008, section 5.3): the outward pass computes the motion of the links
and the forces that this motion needs. The inward pass sums the forces that the joints carry.

Articulated-body inertias (section 7.3) eliminate one degree of freedom at a time. Moments are about the origin of the
root link, so an articulated inertia passes from child to parent unchanged. A joint of several degrees of freedom is
eliminated as a chain of one-axis joints, by updates of rank one. So no small matrix is inverted, and all chains of
joints are treated in the same way. Two sweeps solve with them, M^-1 = E^T D^-1 E; constraint forces come in between.
Inward: u = x - S.p, p_up += p + U u / D. Outward: x = (u - U.a) / D, a += S x.

The articulated-body algorithm first collects, outward, the forces that leave the joints without acceleration; M^-1
applied to the remaining forces follows. Velocities then do not appear in the inward pass, which saves a product with
the articulated inertia per link.
"""

from __future__ import annotations

from contactlab.multibody.kernels import (
    GOOD,
    NOT_FINITE,
    PER_DOF,
    PER_LINK,
    PIVOT,
    POSES,
    SCRATCH,
    SINGULAR,
    VELOCITIES,
)
from contactlab.multibody.kernels.kinematics import fill_frames, poses, velocity_of_point
from contactlab.multibody.kernels.layout import HEAD, LINKS, NV, Frames, Tree, model_and_workspace_views, tree
from contactlab.multibody.kernels.mass_matrix import world_inertias
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, Vec3
from contactlab.multibody.spatial.kernels import (
    add,
    add_spatial,
    add_to,
    are_finite,
    copy,
    cross,
    dot,
    fill,
    linear,
    put,
    put_spatial,
    rotate,
    rotate_inverse,
    subtract,
    symmetric_times,
    times,
    vector,
    vector_at,
)
from lcp.compiler.views import view_1d, view_2d
from lcp.kernels import kernel


@kernel(inner=True)
def newton_euler(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    a: FloatArray,
    f_ext: FloatArray,
    custom: FloatArray,
    W: FloatArray,
    ready: int,
) -> int:
    """Fill a workspace: after the head accelerations (nl, 6) and forces (nl, 6), weight included, f_ext subtracted.

    ``a`` of length 0 stands for no accelerations of the joints, ``f_ext`` of length 0 for no external forces. Return
    `GOOD`, or the place in q of an invalid quaternion.
    """
    code = fill_frames(I, F, q, v, custom, ready, VELOCITIES, W)
    if code != GOOD:
        return code
    link_forces(I, F, a, f_ext, W)
    return GOOD


@kernel(inner=True)
def link_forces(I: IntArray, F: FloatArray, a: FloatArray, f_ext: FloatArray, W: FloatArray) -> None:
    """Fill accelerations and forces of the links, for a workspace with a filled head."""
    t, f, nl, _ = model_and_workspace_views(I, F, W)
    A = view_2d(W, f.start, nl, 6)
    B = view_2d(W, f.start + 6 * nl, nl, 6)
    accelerations(t, f.S, f.C, a, 1.0, A)
    body_forces(t, f, A, B)
    if f_ext.shape[0] > 0:
        subtract_external(t, f.p, f_ext, B)


@kernel(inner=True)
def accelerations(t: Tree, S: FloatArray, C: FloatArray, a: FloatArray, g: float, A: FloatArray) -> None:
    """Fill A (nl, 6) with the spatial accelerations A_i = A_parent + C_i + S_i a.

    The world accelerates by -g times gravity, so g = 1 adds the weights. ``a`` of length 0 stands for zeros.
    """
    # from the roots to the leaves
    for i in range(t.parent.shape[0]):
        up = t.parent[i]
        Ai, Ci = A[i], C[i]
        if up >= 0:
            put_spatial(add(vector(A[up]), vector(Ci)), add(linear(A[up]), linear(Ci)), Ai)
        else:
            put_spatial(vector(Ci), add(linear(Ci), times(-g, vector(t.gravity))), Ai)
        # accelerations of the degrees of freedom
        if a.shape[0] > 0:
            for j in range(t.iv[i], t.iv[i + 1]):
                add_spatial(times(a[j], vector(S[j])), times(a[j], linear(S[j])), Ai)


@kernel(inline=True)
def body_forces(t: Tree, f: Frames, A: FloatArray, F: FloatArray) -> None:
    """Fill F (nl, 6), spatial forces about the root's origin, by Newton's and Euler's laws about each centre of mass c.

    f = m (a + dw x c + w x (v + w x c)), n = R (J dw_b + w_b x J w_b) + c x f, with w_b = R^T w. The rotational part is
    in link axes, where J is constant, so J need not be turned.
    """
    for i in range(t.parent.shape[0]):
        # no force without mass
        m, J = t.mass[i], t.inertia[i]
        if m == 0.0 and J[0] + J[1] + J[2] == 0.0:
            put_spatial((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), F[i])
            continue
        # centre of mass
        Ri = f.R[i]
        c = add(rotate(Ri, vector(t.com[i])), subtract(vector(f.p[i]), vector(f.p[t.root[i]])))
        # its velocity, then its acceleration times the mass
        w, turn = vector(f.V[i]), vector(A[i])
        u = velocity_of_point(f.V[i], c)
        force = times(m, add(add(linear(A[i]), cross(turn, c)), cross(w, u)))
        # torque about the centre of mass, with angular velocity and acceleration in link axes
        b = rotate_inverse(Ri, w)
        torque = add(symmetric_times(J, rotate_inverse(Ri, turn)), cross(b, symmetric_times(J, b)))
        # moment about the origin, and force
        put_spatial(add(rotate(Ri, torque), cross(c, force)), force, F[i])


@kernel
def subtract_external(t: Tree, p: FloatArray, f_ext: FloatArray, F: FloatArray) -> None:
    """Subtract from F_i the external forces on the bodies fixed to link i.

    ``f_ext`` (nb, 6): moment about the world origin and force, world axes. The world carries the forces on bodies
    fixed to it.
    """
    for b in range(f_ext.shape[0]):
        i = t.body_link[b]
        if i >= 0:
            # moment about the root's origin, and force
            force = linear(f_ext[b])
            moment = subtract(vector(f_ext[b]), cross(vector(p[t.root[i]]), force))
            add_spatial(times(-1.0, moment), times(-1.0, force), F[i])


@kernel
def rnea(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    a: FloatArray,
    f_ext: FloatArray,
    custom: FloatArray,
    W: FloatArray,
    ready: int,
    tau: FloatArray,
) -> int:
    """Fill tau (nv,) with M a + h - J^T f_ext; return `GOOD`, or the code of the failure.

    ``a`` of length 0 stands for no accelerations, ``f_ext`` of length 0 for no external forces.
    """
    # forces of the links, then of the joints
    code = newton_euler(I, F, q, v, a, f_ext, custom, W, ready)
    if code != GOOD:
        return code
    code = joint_forces(I, W, tau)
    # rotors
    if a.shape[0] > 0:
        armature = tree(I, F).armature
        for j in range(tau.shape[0]):
            tau[j] += armature[j] * a[j]
    return code


@kernel(inner=True)
def joint_forces(I: IntArray, W: FloatArray, tau: FloatArray) -> int:
    """Fill tau (nv,): each joint carries the forces of its link and of all links beyond; W then holds these sums."""
    # views
    nl = I[LINKS]
    nv = I[NV]
    parent = view_1d(I, HEAD, nl)
    iv = view_1d(I, HEAD + 4 * nl + 1, nl + 1)
    S = view_2d(W, SCRATCH + 2 * nl, nv, 6)
    B = view_2d(W, SCRATCH + (PER_LINK + 6) * nl + PER_DOF * nv, nl, 6)
    # from the leaves to the roots
    rest = 0.0
    for i in range(nl - 1, -1, -1):
        Bi = B[i]
        for j in range(iv[i], iv[i + 1]):
            s = S[j]
            tau[j] = dot(vector(s), vector(Bi)) + s[3] * Bi[3] + s[4] * Bi[4] + s[5] * Bi[5]
            rest += 0.0 * tau[j]
        up = parent[i]
        if up >= 0:
            add_to(Bi, B[up])
    # every infinite argument reaches the force of some joint
    return GOOD if rest == 0.0 else NOT_FINITE


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
