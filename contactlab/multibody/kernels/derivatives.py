"""Derivatives of inverse and forward dynamics, in world axes; each pair of joints on a branch once, O(nv depth).

A displacement dq along column S of link i moves link k beyond it by S. Its velocity changes by S x V_k + P, and its
acceleration by S x A_k + P x V_k + Q. Here P = V_up x S and Q = A_up x S + V_up x P are the same for all k (Carpentier
and Mansard, "Analytical derivatives of rigid body dynamics algorithms", 2018; Singh, Russell, Wensing, "Efficient
analytical derivatives of rigid-body dynamics using spatial vector algebra", 2022). This holds if a displacement carries
the joint's whole motion along. A floating joint is a translation and then a ball joint, and both do. The skew screw and
user joints have columns that change in the child's axes, by e = dS/dq v, and a velocity product that changes by c'.
There P also has e, and Q also has V_i x e + c'.

If the velocity of a body changes by x and its acceleration by x x V, its force f = I A + V x* I V changes by 2 B x. In
world axes B of a composite is 12 numbers that add up, because it is a sum over particles at c with momentum m u. With
p = sum m u and G = sum m u c^T,

    2 B x = (2 (tr G - G) w, 2 w x p)    for a motion x with angular part w,

so 2 B^T s has an angular part only. A displacement S turns the forces of the links beyond by S x* f, which acts on no
joint within. External forces do not turn with the links, so for them this term acts within.
"""

from __future__ import annotations

from contactlab.multibody.kernels import CUSTOM, FLOATING, GOOD, NOT_FINITE, SCREW, SPHERICAL, VELOCITIES
from contactlab.multibody.kernels.dynamics import accelerations, joint_forces, subtract_external
from contactlab.multibody.kernels.kinematics import add_cross_motion, fill_frames, motion_in_world, screw_change
from contactlab.multibody.kernels.layout import Frames, Tree, model_and_workspace_views
from contactlab.multibody.kernels.mass_matrix import (
    composite_matrix,
    factor_ltl,
    inertia_times,
    solve_l,
    solve_lt,
    solve_vector_l,
    solve_vector_lt,
    world_inertias,
)
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, Vec3
from contactlab.multibody.spatial.kernels import (
    Pair,
    add,
    add_pairs,
    add_spatial,
    add_to,
    copy,
    cross,
    dot,
    fill,
    linear,
    put,
    put_pair,
    put_spatial,
    rotate,
    rotate_inverse,
    subtract,
    times,
    vector,
    vector_at,
)
from lcp.compiler.views import view_1d, view_2d
from lcp.kernels import kernel


@kernel(inline=True)
def fill_column_derivatives(
    t: Tree, f: Frames, v: FloatArray, a: FloatArray, weight: float, A: FloatArray, rates: FloatArray, K: FloatArray
) -> None:
    """Fill K (nv, 18): P (6), Q (6), and P + dS/dt (6).

    ``A`` (nl, 6) are the accelerations of the links at ``a`` (nv,) and ``weight`` times g. ``rates`` (n, 252) are the
    derivatives of custom joints along their degrees of freedom, of S (6, 6, 6) and of c (6, 6), in child axes.
    """
    # velocity and acceleration of the base of each joint
    base = view_1d(f.scratch, 6, 6)
    push = view_1d(f.scratch, 12, 6)
    for i in range(t.parent.shape[0]):
        up = t.parent[i]
        kind = t.kind[i]
        first = t.iv[i]
        if up >= 0:
            copy(f.V[up], base)
            copy(A[up], push)
        else:
            put_spatial((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), base)
            put_spatial((0.0, 0.0, 0.0), times(-weight, vector(t.gravity)), push)
        # columns of the joint
        for j in range(first, t.iv[i + 1]):
            s = f.S[j]
            # the rotation of a floating joint follows its translation
            if kind == FLOATING and j == first + 3:
                for before in range(first, first + 3):
                    add_cross_motion(base, f.S[before], v[before], push)
                    for k in range(3, 6):
                        push[k] += f.S[before, k] * a[before]
                for before in range(first, first + 3):
                    for k in range(3, 6):
                        base[k] += f.S[before, k] * v[before]
            # P and Q
            row = K[j]
            fill(0.0, row)
            P, Q, rest = view_1d(row, 0, 6), view_1d(row, 6, 6), view_1d(row, 12, 6)
            add_cross_motion(base, s, 1.0, P)
            add_cross_motion(push, s, 1.0, Q)
            add_cross_motion(base, P, 1.0, Q)
            # the column's own rate: it turns with the link, or with its base
            copy(P, rest)
            turns = kind in (SPHERICAL, CUSTOM) or (kind == FLOATING and j >= first + 3)
            add_cross_motion(f.V[i] if turns else base, s, 1.0, rest)
        # columns that change in the axes of the child
        if kind == SCREW:
            screw_rates(t, f, i, v, a, K)
        elif kind == CUSTOM:
            custom_rates(t, f, i, v, a, rates[t.custom[i]], K)


@kernel
def column_rates(
    t: Tree, f: Frames, v: FloatArray, a: FloatArray, A: FloatArray, rates: FloatArray, K: FloatArray
) -> None:
    """Fill K by `fill_column_derivatives` without gravity; compiled once for several callers."""
    fill_column_derivatives(t, f, v, a, 0.0, A, rates, K)


@kernel
def screw_rates(t: Tree, f: Frames, i: int, v: FloatArray, a: FloatArray, K: FloatArray) -> None:
    """Add the terms of the change e = dS/dq of a skew screw's column to the row of K of joint i.

    They are e v in P, e a + 2 v V_up x e in Q, and 2 e v in P + dS/dt. e is zero if shift and axis are parallel.
    """
    # change of the column
    j = t.iv[i]
    none, row, rate = (0.0, 0.0, 0.0), K[j], v[j]
    e = screw_change(f.p[i], f.p[t.root[i]], f.S[j])
    # its terms
    add_spatial(none, times(rate, e), view_1d(row, 0, 6))
    add_spatial(none, times(a[j], e), view_1d(row, 6, 6))
    add_spatial(none, times(2.0 * rate, e), view_1d(row, 12, 6))
    if t.parent[i] >= 0:
        change = view_1d(f.scratch, 6, 6)
        put_spatial(none, e, change)
        add_cross_motion(f.V[t.parent[i]], change, 2.0 * rate, view_1d(row, 6, 6))


@kernel
def custom_rates(t: Tree, f: Frames, i: int, v: FloatArray, a: FloatArray, rates: FloatArray, K: FloatArray) -> None:
    """Add the terms of the changing columns of custom joint i to its rows of K, from its ``rates`` (252,)."""
    # changes in child axes along v, of column l along v, and along a with c'
    first, last = t.iv[i], t.iv[i + 1]
    along, turned, pushed = view_1d(f.scratch, 0, 6), view_1d(f.scratch, 6, 6), view_1d(f.scratch, 12, 6)
    for l in range(first, last):
        for k in range(6):
            along[k] = turned[k] = 0.0
            pushed[k] = rates[216 + 6 * (l - first) + k]
            for j in range(first, last):
                change = rates[36 * (l - first) + 6 * (j - first) + k]
                along[k] += change * v[j]
                pushed[k] += change * a[j]
                turned[k] += rates[36 * (j - first) + 6 * (l - first) + k] * v[j]
        for e in (along, turned, pushed):
            put_pair(motion_in_world(f.R[i], f.p[i], f.p[t.root[i]], e), e)
        # e = dS/dq v in P and in the rate of the column; V_up x e within V_up x P, and V_i x e
        row = K[l]
        P, Q, rest = view_1d(row, 0, 6), view_1d(row, 6, 6), view_1d(row, 12, 6)
        add_to(along, P)
        add_to(along, rest)
        add_cross_motion(f.V[i], along, 1.0, Q)
        if t.parent[i] >= 0:
            add_cross_motion(f.V[t.parent[i]], along, 1.0, Q)
        # dS/dq a and c' in Q, the change of the column along v in its rate
        add_to(pushed, Q)
        add_to(turned, rest)


@kernel(inner=True)
def dynamics_derivatives(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    x: FloatArray,
    f_ext: FloatArray,
    custom: FloatArray,
    rates: FloatArray,
    W: FloatArray,
    ready: int,
    forward: int,
    out: FloatArray,
) -> int:
    """Fill the first three of out (3 + forward, nv, nv); return `GOOD`, or the code of the failure.

    These are the derivatives of the forces by q, v, a at the accelerations ``x``. With ``forward`` they are the
    derivatives of the accelerations by q, v, tau at the forces ``x``, and the fourth is scratch. ``rates`` as for
    `fill_column_derivatives`; ``f_ext`` of length 0 stands for no external forces.
    """
    # kinematics and views
    code = fill_frames(I, F, q, v, custom, ready, VELOCITIES, W)
    if code != GOOD:
        return code
    t, f, nl, nv = model_and_workspace_views(I, F, W)
    A = view_2d(W, f.start, nl, 6)
    P = view_2d(W, f.start + 6 * nl, nl, 6)
    B = view_2d(W, f.start + 12 * nl, nl, 10)
    G = view_2d(W, f.start + 22 * nl, nl, 12)
    E = view_2d(W, f.start + 34 * nl, nl if f_ext.shape[0] > 0 else 0, 6)
    K = view_2d(W, f.start + 40 * nl, nv, 18)
    C = view_2d(W, f.start + 40 * nl, nl, 10)
    a = view_1d(W, f.start + 40 * nl + 18 * nv, nv)
    D = view_1d(W, f.start + 40 * nl + 19 * nv, nv)
    # zero results and external forces
    dq, dv, M = out[0], out[1], out[2]
    fill(0.0, view_1d(out, 0, 3 * nv * nv))
    fill(0.0, view_1d(W, f.start + 34 * nl, 6 * E.shape[0]))
    # external forces, inertias, momenta, and the mass matrix
    subtract_external(t, f.p, f_ext, E)
    world_inertias(t, f.R, f.p, B)
    momenta(t, f.V, B, G)
    for i in range(nl):
        copy(B[i], C[i])
    code = composite_matrix(t, f.S, t.dof_parent, C, 0, nl, M)
    if code != GOOD:
        return code
    # accelerations: given, or from the forces
    if forward:
        accelerations(t, f.S, f.C, view_1d(a, 0, 0), 1.0, A)
        link_forces(f.V, A, B, G, E, P)
        code = joint_forces(I, W, a)
        L = out[3]
        for j in range(nv):
            for k in range(j + 1):
                L[j, k] = M[j, k]
        if code == GOOD:
            code = factor_ltl(t.dof_parent, D, L)
        if code != GOOD:
            return code
        for j in range(nv):
            a[j] = x[j] - a[j]
        solve_vector_lt(t.dof_parent, L, a)
        solve_vector_l(t.dof_parent, L, a)
    else:
        copy(x, a)
    # derivatives of the inverse dynamics
    accelerations(t, f.S, f.C, a, 1.0, A)
    link_forces(f.V, A, B, G, E, P)
    fill_column_derivatives(t, f, v, a, 1.0, A, rates, K)
    fill_force_derivatives(t, f, K, B, G, P, E, rates, dq, dv)
    # forward: M^-1 from the left
    if forward:
        fill(0.0, view_1d(M, 0, nv * nv))
        for j in range(nv):
            M[j, j] = 1.0
        for number in range(3):
            solve_lt(t.dof_parent, L, out[number])
            solve_l(t.dof_parent, L, out[number])
    # sign, and a sum that is finite exactly if all results are
    sign = -1.0 if forward else 1.0
    rest = 0.0
    for j in range(nv):
        for k in range(nv):
            dq[j, k] *= sign
            dv[j, k] *= sign
            rest += 0.0 * (dq[j, k] + dv[j, k] + M[j, k])
    return GOOD if rest == 0.0 else NOT_FINITE


@kernel(inner=True)
def momenta(t: Tree, V: FloatArray, B: FloatArray, G: FloatArray) -> None:
    """Fill G (nl, 12) for each link, without the links beyond it: sum m u c^T by rows, then the momentum p.

    With u = v + w x c: G = v h^T + w x sum m c c^T. The second moments follow from the inertia.
    """
    for i in range(t.parent.shape[0]):
        # velocity, mass and first moment
        Bi, Gi = B[i], G[i]
        w, v, h = vector(V[i]), linear(V[i]), vector_at(Bi, 1)
        # second moments
        half = 0.5 * (Bi[4] + Bi[5] + Bi[6])
        rows = (half - Bi[4], -Bi[7], -Bi[8]), (-Bi[7], half - Bi[5], -Bi[9]), (-Bi[8], -Bi[9], half - Bi[6])
        # sum m u c^T by rows: its columns are v h_k + w x row k
        Gi[0], Gi[3], Gi[6] = add(times(h[0], v), cross(w, rows[0]))
        Gi[1], Gi[4], Gi[7] = add(times(h[1], v), cross(w, rows[1]))
        Gi[2], Gi[5], Gi[8] = add(times(h[2], v), cross(w, rows[2]))
        # momentum
        put(add(times(Bi[0], v), cross(w, h)), view_1d(Gi, 9, 3))


@kernel(inner=True)
def inertial(B: FloatArray, s: FloatArray) -> Pair:
    """Return `inertia_times` of B and s; this function is compiled once and not inlined."""
    return inertia_times(B, s)


@kernel(inner=True)
def twice_gain(g: FloatArray, x: Vec3) -> Pair:
    """Return 2 B x for a motion with angular part x; g (12,) is a row of `momenta`, or a sum of rows."""
    angular = subtract(times(g[0] + g[4] + g[8], x), rotate(g, x))
    return times(2.0, angular), times(2.0, cross(x, vector_at(g, 9)))


@kernel(inner=True)
def link_forces(V: FloatArray, A: FloatArray, B: FloatArray, G: FloatArray, E: FloatArray, P: FloatArray) -> None:
    """Fill P (nl, 6) with the force I A + V x* I V of each link, minus the external force on it.

    The second term is half of `twice_gain` at V. E (nl or 0, 6) has minus the external forces, and is added.
    """
    for i in range(P.shape[0]):
        moment, force = twice_gain(G[i], vector(V[i]))
        put_pair(add_pairs(inertial(B[i], A[i]), (times(0.5, moment), times(0.5, force))), P[i])
        if E.shape[0] > 0:
            add_to(E[i], P[i])


@kernel(inner=True)
def cross_force(s: FloatArray, f: FloatArray) -> Pair:
    """Return s x* f for a motion vector s (6,) and a force vector f (6,) (Featherstone 2008, equation 2.32)."""
    w, force = vector(s), linear(f)
    return add(cross(w, vector(f)), cross(linear(s), force)), cross(w, force)


@kernel(inner=True)
def power(s: FloatArray, force: Pair) -> float:
    """Return the product of a motion vector s (6,) and a force vector."""
    return dot(vector(s), force[0]) + dot(linear(s), force[1])


@kernel(inner=True)
def fill_force_derivatives(
    t: Tree,
    f: Frames,
    K: FloatArray,
    B: FloatArray,
    G: FloatArray,
    P: FloatArray,
    E: FloatArray,
    rates: FloatArray,
    dq: FloatArray,
    dv: FloatArray,
) -> None:
    """Fill dq and dv (nv, nv) with the derivatives by q and v of the joint forces of inverse dynamics.

    Only entries between degrees of freedom of one branch are written; the caller zeroes the others. ``rates`` and K
    (nv, 18) are an argument and the result of `fill_column_derivatives`. B (nl, 10), G (nl, 12), P (nl, 6) and E
    (nl or 0, 6) are given for each link: inertia, `momenta`, `link_forces`, and minus the external forces. On return
    they are sums over each link and the links beyond it.
    """
    # from the leaves to the roots
    S = f.S
    outside = E.shape[0] > 0
    for i in range(t.parent.shape[0] - 1, -1, -1):
        Bi = B[i]
        Gi = G[i]
        Pi = P[i]
        kind = t.kind[i]
        first = t.iv[i]
        last = t.iv[i + 1]
        # paths to the root end before a free body, whose entries are filled together
        root = t.root[i]
        at = t.iv[root]
        end = at + 6 if t.kind[root] == FLOATING else 0
        for l in range(first, last):
            s = S[l]
            row = K[l]
            # forces: n of unit acceleration, r of all changes by v, d of all changes by q except the turned forces
            n = inertial(Bi, s)
            r = add_pairs(inertial(Bi, view_1d(row, 12, 6)), twice_gain(Gi, vector(s)))
            d = add_pairs(inertial(Bi, view_1d(row, 6, 6)), twice_gain(Gi, vector(row)))
            # 2 B^T s
            turn = subtract(times(Gi[0] + Gi[4] + Gi[8], vector(s)), rotate_inverse(Gi, vector(s)))
            b = times(2.0, add(turn, cross(vector_at(Gi, 9), linear(s))))
            # turned forces S x* f of inertia; P holds these less the external forces, -E
            c, e = cross_force(s, Pi), ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
            if outside:
                e = cross_force(s, E[i])
                c = (subtract(c[0], e[0]), subtract(c[1], e[1]))
            # entries among the degrees of freedom of the joint
            for j in range(first, last):
                value = power(S[j], d)
                # a shift does not turn with the body
                if kind == FLOATING and j < first + 3 <= l:
                    value += dot(linear(S[j]), c[1])
                elif outside:
                    value -= power(S[j], e)
                dq[j, l] = value
                dv[j, l] = power(S[j], r)
            # entries with the degrees of freedom between the joint and the root
            d = add_pairs(d, c)
            along = dq[l]
            moving = dv[l]
            j = t.dof_parent[first]
            while j >= end:
                dq[j, l] = power(S[j], d)
                dv[j, l] = power(S[j], r)
                rate = K[j]
                value = dot(b, vector(rate)) + power(view_1d(rate, 6, 6), n)
                if outside:
                    value += power(S[j], e)
                along[j] = value
                moving[j] = dot(b, vector(S[j])) + dot(n[0], vector_at(rate, 12)) + dot(n[1], vector_at(rate, 15))
                j = t.dof_parent[j]
            # entries with a free root: its shifts have no moment and its turns no force; a shift of everything, or its
            # velocity, changes no force, except for the moments of external forces
            if j >= 0:
                for k in range(3):
                    shift = linear(S[at + k])
                    dq[at + k, l] = dot(shift, d[1])
                    dv[at + k, l] = dot(shift, r[1])
                    along[at + k] = dot(shift, e[1])
                    turn, rate = vector(S[at + 3 + k]), K[at + 3 + k]
                    dq[at + 3 + k, l] = dot(turn, d[0])
                    dv[at + 3 + k, l] = dot(turn, r[0])
                    along[at + 3 + k] = dot(n[1], vector_at(rate, 9)) + dot(turn, e[0])
                    moving[at + 3 + k] = dot(b, turn) + dot(n[0], vector_at(rate, 12)) + dot(n[1], vector_at(rate, 15))
        # columns that change in the axes of the child
        if kind in (SCREW, CUSTOM):
            add_column_rotation_terms(t, f, i, Pi, rates, dq)
        # the composite joins its parent
        up = t.parent[i]
        if up >= 0:
            add_to(Bi, B[up])
            add_to(Gi, G[up])
            add_to(Pi, P[up])
            if outside:
                add_to(E[i], E[up])


@kernel
def add_column_rotation_terms(t: Tree, f: Frames, i: int, force: FloatArray, rates: FloatArray, dq: FloatArray) -> None:
    """Add to dq the effect of columns of joint i that change in the child's axes: skew screws, custom joints.

    Entry (j, l) gets dS_j/dq_l . force, for degrees of freedom j and l of the joint and the force (6,) that it carries.
    ``rates`` as for `fill_column_derivatives`.
    """
    # each pair of degrees of freedom of the joint
    first = t.iv[i]
    for l in range(first, t.iv[i + 1]):
        for j in range(first, t.iv[i + 1]):
            if t.kind[i] == SCREW:
                change = (0.0, 0.0, 0.0), screw_change(f.p[i], f.p[t.root[i]], f.S[j])
            else:
                own = view_1d(rates[t.custom[i]], 36 * (l - first) + 6 * (j - first), 6)
                change = motion_in_world(f.R[i], f.p[i], f.p[t.root[i]], own)
            dq[j, l] += power(force, change)
