"""Derivatives of inverse and forward dynamics, in world axes; each pair of joints on a branch once, O(nv depth).

Carpentier and Mansard, "Analytical derivatives of rigid body dynamics algorithms" (2018), in the form of Singh,
Russell, Wensing, "Efficient analytical derivatives of rigid-body dynamics using spatial vector algebra" (2022). If the
velocity of a body changes by x and its acceleration by x x V, its force f = I A + V x* I V changes by 2 B x. In world
axes B of a composite is 12 numbers that add up, because it is a sum over particles at c with momentum m u. With
p = sum m u and G = sum m u c^T,

    2 B x = (2 (tr G - G) w, 2 w x p)    for a motion x with angular part w,

so 2 B^T s has an angular part only. A displacement S turns the forces of the links beyond by S x* f, which acts on no
joint within. External forces do not turn with the links, so for them this term acts within.
"""

from __future__ import annotations

from contactlab.multibody.kernels.codes import CUSTOM, FLOATING, GOOD, NOT_FINITE, SCREW, VELOCITIES
from contactlab.multibody.kernels.column_derivatives import fill_column_derivatives, motion_in_world
from contactlab.multibody.kernels.crba import composite_matrix, inertia_times, world_inertias
from contactlab.multibody.kernels.kinematics import fill_frames, screw_change
from contactlab.multibody.kernels.layout import Frames, Tree, model_and_workspace_views
from contactlab.multibody.kernels.ltl import factor_ltl, solve_l, solve_lt, solve_vector_l, solve_vector_lt
from contactlab.multibody.kernels.newton_euler import accelerations, joint_forces, subtract_external
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.compiler.views import view_1d, view_2d
from lcp.kernels import kernel


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
    for number in range(3):
        for j in range(nv):
            row = out[number, j]
            for k in range(nv):
                row[k] = 0.0
    for i in range(E.shape[0]):
        for k in range(6):
            E[i, k] = 0.0
    # external forces, inertias, momenta, and the mass matrix
    subtract_external(t, f.p, f_ext, E)
    world_inertias(t, f.R, f.p, B)
    momenta(t, f.V, B, G)
    for i in range(nl):
        for k in range(10):
            C[i, k] = B[i, k]
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
            code = factor_ltl(t.dof_parent, 0, D, L)
        if code != GOOD:
            return code
        for j in range(nv):
            a[j] = x[j] - a[j]
        solve_vector_lt(t.dof_parent, 0, L, a)
        solve_vector_l(t.dof_parent, 0, L, a)
    else:
        for j in range(nv):
            a[j] = x[j]
    # derivatives of the inverse dynamics
    accelerations(t, f.S, f.C, a, 1.0, A)
    link_forces(f.V, A, B, G, E, P)
    fill_column_derivatives(t, f, v, a, 1.0, A, rates, K)
    fill_force_derivatives(t, f, K, B, G, P, E, rates, dq, dv)
    # forward: M^-1 from the left
    if forward:
        for j in range(nv):
            M[j, j] = 1.0
            for k in range(j):
                M[j, k] = 0.0
                M[k, j] = 0.0
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
        Vi = V[i]
        Bi = B[i]
        Gi = G[i]
        wx, wy, wz, vx, vy, vz = Vi[0], Vi[1], Vi[2], Vi[3], Vi[4], Vi[5]
        m, hx, hy, hz = Bi[0], Bi[1], Bi[2], Bi[3]
        # second moments
        half = 0.5 * (Bi[4] + Bi[5] + Bi[6])
        xx = half - Bi[4]
        yy = half - Bi[5]
        zz = half - Bi[6]
        xy = -Bi[7]
        xz = -Bi[8]
        yz = -Bi[9]
        # sum m u c^T
        Gi[0] = vx * hx + (wy * xz - wz * xy)
        Gi[1] = vx * hy + (wy * yz - wz * yy)
        Gi[2] = vx * hz + (wy * zz - wz * yz)
        Gi[3] = vy * hx + (wz * xx - wx * xz)
        Gi[4] = vy * hy + (wz * xy - wx * yz)
        Gi[5] = vy * hz + (wz * xz - wx * zz)
        Gi[6] = vz * hx + (wx * xy - wy * xx)
        Gi[7] = vz * hy + (wx * yy - wy * xy)
        Gi[8] = vz * hz + (wx * yz - wy * xz)
        # momentum
        Gi[9] = m * vx + (wy * hz - wz * hy)
        Gi[10] = m * vy + (wz * hx - wx * hz)
        Gi[11] = m * vz + (wx * hy - wy * hx)


@kernel(inner=True)
def inertial(B: FloatArray, s: FloatArray) -> tuple[float, float, float, float, float, float]:
    """Return `inertia_times` of B and s; this function is compiled once and not inlined."""
    return inertia_times(B, s)


@kernel(inner=True)
def twice_gain(g: FloatArray, x: float, y: float, z: float) -> tuple[float, float, float, float, float, float]:
    """Return 2 B x for a motion x with angular part (x, y, z); g (12,) is a row of `momenta`, or a sum of rows."""
    trace = g[0] + g[4] + g[8]
    return (
        2.0 * (trace * x - (g[0] * x + g[1] * y + g[2] * z)),
        2.0 * (trace * y - (g[3] * x + g[4] * y + g[5] * z)),
        2.0 * (trace * z - (g[6] * x + g[7] * y + g[8] * z)),
        2.0 * (y * g[11] - z * g[10]),
        2.0 * (z * g[9] - x * g[11]),
        2.0 * (x * g[10] - y * g[9]),
    )


@kernel(inner=True)
def link_forces(V: FloatArray, A: FloatArray, B: FloatArray, G: FloatArray, E: FloatArray, P: FloatArray) -> None:
    """Fill P (nl, 6) with the force I A + V x* I V of each link, minus the external force on it.

    The second term is half of `twice_gain` at V. E (nl or 0, 6) has minus the external forces, and is added.
    """
    for i in range(P.shape[0]):
        # force of inertia
        Pi = P[i]
        a, b, c, d, e, g = inertial(B[i], A[i])
        l, m, n, o, r, s = twice_gain(G[i], V[i, 0], V[i, 1], V[i, 2])
        Pi[0] = a + 0.5 * l
        Pi[1] = b + 0.5 * m
        Pi[2] = c + 0.5 * n
        Pi[3] = d + 0.5 * o
        Pi[4] = e + 0.5 * r
        Pi[5] = g + 0.5 * s
        # external force
        if E.shape[0] > 0:
            for k in range(6):
                Pi[k] += E[i, k]


@kernel(inner=True)
def cross_force(s: FloatArray, f: FloatArray) -> tuple[float, float, float, float, float, float]:
    """Return s x* f for a motion vector s (6,) and a force vector f (6,) (Featherstone 2008, equation 2.32)."""
    x, y, z, a, b, c = s[0], s[1], s[2], s[3], s[4], s[5]
    n, m, l, o, p, q = f[0], f[1], f[2], f[3], f[4], f[5]
    return (
        y * l - z * m + (b * q - c * p),
        z * n - x * l + (c * o - a * q),
        x * m - y * n + (a * p - b * o),
        y * q - z * p,
        z * o - x * q,
        x * p - y * o,
    )


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
            n0, n1, n2, n3, n4, n5 = inertial(Bi, s)
            r0, r1, r2, r3, r4, r5 = inertial(Bi, view_1d(row, 12, 6))
            g0, g1, g2, g3, g4, g5 = twice_gain(Gi, s[0], s[1], s[2])
            r0 += g0
            r1 += g1
            r2 += g2
            r3 += g3
            r4 += g4
            r5 += g5
            d0, d1, d2, d3, d4, d5 = inertial(Bi, view_1d(row, 6, 6))
            g0, g1, g2, g3, g4, g5 = twice_gain(Gi, row[0], row[1], row[2])
            d0 += g0
            d1 += g1
            d2 += g2
            d3 += g3
            d4 += g4
            d5 += g5
            # 2 B^T s
            x, y, z = s[0], s[1], s[2]
            trace = Gi[0] + Gi[4] + Gi[8]
            b0 = 2.0 * (trace * x - (Gi[0] * x + Gi[3] * y + Gi[6] * z) + (Gi[10] * s[5] - Gi[11] * s[4]))
            b1 = 2.0 * (trace * y - (Gi[1] * x + Gi[4] * y + Gi[7] * z) + (Gi[11] * s[3] - Gi[9] * s[5]))
            b2 = 2.0 * (trace * z - (Gi[2] * x + Gi[5] * y + Gi[8] * z) + (Gi[9] * s[4] - Gi[10] * s[3]))
            # turned forces S x* f of inertia; P holds these less the external forces, -E
            c0, c1, c2, c3, c4, c5 = cross_force(s, Pi)
            e0 = e1 = e2 = e3 = e4 = e5 = 0.0
            if outside:
                e0, e1, e2, e3, e4, e5 = cross_force(s, E[i])
                c0 -= e0
                c1 -= e1
                c2 -= e2
                c3 -= e3
                c4 -= e4
                c5 -= e5
            # entries among the degrees of freedom of the joint
            for j in range(first, last):
                s = S[j]
                value = s[0] * d0 + s[1] * d1 + s[2] * d2 + (s[3] * d3 + s[4] * d4 + s[5] * d5)
                # a shift does not turn with the body
                if kind == FLOATING and j < first + 3 <= l:
                    value += s[3] * c3 + s[4] * c4 + s[5] * c5
                elif outside:
                    value -= s[0] * e0 + s[1] * e1 + s[2] * e2 + (s[3] * e3 + s[4] * e4 + s[5] * e5)
                dq[j, l] = value
                dv[j, l] = s[0] * r0 + s[1] * r1 + s[2] * r2 + (s[3] * r3 + s[4] * r4 + s[5] * r5)
            # entries with the degrees of freedom between the joint and the root
            d0 += c0
            d1 += c1
            d2 += c2
            d3 += c3
            d4 += c4
            d5 += c5
            along = dq[l]
            moving = dv[l]
            j = t.dof_parent[first]
            while j >= end:
                s = S[j]
                x, y, z, a, b, c = s[0], s[1], s[2], s[3], s[4], s[5]
                dq[j, l] = x * d0 + y * d1 + z * d2 + (a * d3 + b * d4 + c * d5)
                dv[j, l] = x * r0 + y * r1 + z * r2 + (a * r3 + b * r4 + c * r5)
                rate = K[j]
                value = b0 * rate[0] + b1 * rate[1] + b2 * rate[2]
                value += n0 * rate[6] + n1 * rate[7] + n2 * rate[8] + (n3 * rate[9] + n4 * rate[10] + n5 * rate[11])
                if outside:
                    value += x * e0 + y * e1 + z * e2 + (a * e3 + b * e4 + c * e5)
                along[j] = value
                value = b0 * x + b1 * y + b2 * z
                value += n0 * rate[12] + n1 * rate[13] + n2 * rate[14]
                moving[j] = value + (n3 * rate[15] + n4 * rate[16] + n5 * rate[17])
                j = t.dof_parent[j]
            # entries with a free root: its shifts have no moment and its turns no force; a shift of everything, or its
            # velocity, changes no force, except for the moments of external forces
            if j >= 0:
                for k in range(3):
                    s = S[at + k]
                    dq[at + k, l] = s[3] * d3 + s[4] * d4 + s[5] * d5
                    dv[at + k, l] = s[3] * r3 + s[4] * r4 + s[5] * r5
                    along[at + k] = s[3] * e3 + s[4] * e4 + s[5] * e5
                    s = S[at + 3 + k]
                    x, y, z = s[0], s[1], s[2]
                    dq[at + 3 + k, l] = x * d0 + y * d1 + z * d2
                    dv[at + 3 + k, l] = x * r0 + y * r1 + z * r2
                    rate = K[at + 3 + k]
                    value = n3 * rate[9] + n4 * rate[10] + n5 * rate[11]
                    along[at + 3 + k] = value + (x * e0 + y * e1 + z * e2)
                    value = b0 * x + b1 * y + b2 * z + (n0 * rate[12] + n1 * rate[13] + n2 * rate[14])
                    moving[at + 3 + k] = value + (n3 * rate[15] + n4 * rate[16] + n5 * rate[17])
        # columns that change in the axes of the child
        if kind in (SCREW, CUSTOM):
            add_column_rotation_terms(t, f, i, Pi, rates, dq)
        # the composite joins its parent
        up = t.parent[i]
        if up >= 0:
            for k in range(10):
                B[up, k] += Bi[k]
            for k in range(12):
                G[up, k] += Gi[k]
            for k in range(6):
                P[up, k] += Pi[k]
            if outside:
                for k in range(6):
                    E[up, k] += E[i, k]


@kernel
def add_column_rotation_terms(t: Tree, f: Frames, i: int, force: FloatArray, rates: FloatArray, dq: FloatArray) -> None:
    """Add to dq the effect of columns of joint i that change in the child's axes: skew screws, custom joints.

    Entry (j, l) gets dS_j/dq_l . force, for degrees of freedom j and l of the joint and the force (6,) that it carries.
    ``rates`` as for `fill_column_derivatives`.
    """
    # each pair of degrees of freedom of the joint
    first = t.iv[i]
    change = view_1d(f.scratch, 0, 6)
    for l in range(first, t.iv[i + 1]):
        for j in range(first, t.iv[i + 1]):
            if t.kind[i] == SCREW:
                change[0] = change[1] = change[2] = 0.0
                change[3], change[4], change[5] = screw_change(f.p[i], f.p[t.root[i]], f.S[j])
            else:
                at = 36 * (l - first) + 6 * (j - first)
                motion_in_world(f.R[i], f.p[i], f.p[t.root[i]], view_1d(rates[t.custom[i]], at, 6), change)
            for k in range(6):
                dq[j, l] += change[k] * force[k]
