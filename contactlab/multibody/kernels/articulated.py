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
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.compiler.views import view_1d, view_2d
from lcp.kernels import kernel


@kernel(inline=True)
def articulate(
    t: Tree, S: FloatArray, B: FloatArray, K: FloatArray, U: FloatArray, D: FloatArray, P: FloatArray, load: FloatArray
) -> int:
    """Fill U (nv, 6) = K S and D (nv,) = 1 / (S.U + armature); return `GOOD` or `SINGULAR` - j.

    B (nl, 10) are the rigid inertias. K (nl, 23) holds the articulated inertias: the upper triangle by rows, then trace
    and mass of the rigid composite, which measure the rounding of a pivot. If P (nl, 6) is not empty, `inward` is also
    applied to load (nv,), at little additional cost.
    """
    # rigid inertias as symmetric matrices (6, 6)
    nl = t.parent.shape[0]
    loaded = P.shape[0] > 0
    for i in range(nl):
        Ki = K[i]
        Bi = B[i]
        m, x, y, z = Bi[0], Bi[1], Bi[2], Bi[3]
        Ki[0] = Bi[4]
        Ki[1] = Bi[7]
        Ki[2] = Bi[8]
        Ki[3] = 0.0
        Ki[4] = -z
        Ki[5] = y
        Ki[6] = Bi[5]
        Ki[7] = Bi[9]
        Ki[8] = z
        Ki[9] = 0.0
        Ki[10] = -x
        Ki[11] = Bi[6]
        Ki[12] = -y
        Ki[13] = x
        Ki[14] = 0.0
        Ki[15] = m
        Ki[16] = 0.0
        Ki[17] = 0.0
        Ki[18] = m
        Ki[19] = 0.0
        Ki[20] = m
        Ki[21] = Bi[4] + Bi[5] + Bi[6]
        Ki[22] = m
    # elimination from the leaves to the roots, in scalars
    for i in range(nl - 1, -1, -1):
        Ki = K[i]
        k00, k01, k02, k03, k04, k05 = Ki[0], Ki[1], Ki[2], Ki[3], Ki[4], Ki[5]
        k11, k12, k13, k14, k15 = Ki[6], Ki[7], Ki[8], Ki[9], Ki[10]
        k22, k23, k24, k25 = Ki[11], Ki[12], Ki[13], Ki[14]
        k33, k34, k35 = Ki[15], Ki[16], Ki[17]
        k44, k45 = Ki[18], Ki[19]
        k55 = Ki[20]
        p0 = p1 = p2 = p3 = p4 = p5 = 0.0
        if loaded:
            Pi = P[i]
            p0, p1, p2, p3, p4, p5 = Pi[0], Pi[1], Pi[2], Pi[3], Pi[4], Pi[5]
        # U = K S and the pivot of the degree of freedom
        for j in range(t.iv[i + 1] - 1, t.iv[i] - 1, -1):
            s = S[j]
            a, b, c, d, e, f = s[0], s[1], s[2], s[3], s[4], s[5]
            u0 = k00 * a + k01 * b + k02 * c + (k03 * d + k04 * e + k05 * f)
            u1 = k01 * a + k11 * b + k12 * c + (k13 * d + k14 * e + k15 * f)
            u2 = k02 * a + k12 * b + k22 * c + (k23 * d + k24 * e + k25 * f)
            u3 = k03 * a + k13 * b + k23 * c + (k33 * d + k34 * e + k35 * f)
            u4 = k04 * a + k14 * b + k24 * c + (k34 * d + k44 * e + k45 * f)
            u5 = k05 * a + k15 * b + k25 * c + (k35 * d + k45 * e + k55 * f)
            pivot = u0 * a + u1 * b + u2 * c + (u3 * d + u4 * e + u5 * f)
            # the rotor acts on its own joint only
            pivot += t.armature[j]
            scale = Ki[21] * (a * a + b * b + c * c) + Ki[22] * (d * d + e * e + f * f)
            if not pivot > PIVOT * scale:
                return SINGULAR - j
            inverse = 1.0 / pivot
            # row of the factor
            Uj = U[j]
            Uj[0] = u0
            Uj[1] = u1
            Uj[2] = u2
            Uj[3] = u3
            Uj[4] = u4
            Uj[5] = u5
            D[j] = inverse
            # its load
            if loaded:
                rest = load[j] - (a * p0 + b * p1 + c * p2 + (d * p3 + e * p4 + f * p5))
                load[j] = rest
                rest *= inverse
                p0 += u0 * rest
                p1 += u1 * rest
                p2 += u2 * rest
                p3 += u3 * rest
                p4 += u4 * rest
                p5 += u5 * rest
            # K -= U U^T / D
            g = u0 * inverse
            k00 -= g * u0
            k01 -= g * u1
            k02 -= g * u2
            k03 -= g * u3
            k04 -= g * u4
            k05 -= g * u5
            g = u1 * inverse
            k11 -= g * u1
            k12 -= g * u2
            k13 -= g * u3
            k14 -= g * u4
            k15 -= g * u5
            g = u2 * inverse
            k22 -= g * u2
            k23 -= g * u3
            k24 -= g * u4
            k25 -= g * u5
            g = u3 * inverse
            k33 -= g * u3
            k34 -= g * u4
            k35 -= g * u5
            g = u4 * inverse
            k44 -= g * u4
            k45 -= g * u5
            k55 -= u5 * inverse * u5
        # sum over the children of the parent
        up = t.parent[i]
        if up >= 0:
            Ku = K[up]
            Ku[0] += k00
            Ku[1] += k01
            Ku[2] += k02
            Ku[3] += k03
            Ku[4] += k04
            Ku[5] += k05
            Ku[6] += k11
            Ku[7] += k12
            Ku[8] += k13
            Ku[9] += k14
            Ku[10] += k15
            Ku[11] += k22
            Ku[12] += k23
            Ku[13] += k24
            Ku[14] += k25
            Ku[15] += k33
            Ku[16] += k34
            Ku[17] += k35
            Ku[18] += k44
            Ku[19] += k45
            Ku[20] += k55
            Ku[21] += Ki[21]
            Ku[22] += Ki[22]
            if loaded:
                Pu = P[up]
                Pu[0] += p0
                Pu[1] += p1
                Pu[2] += p2
                Pu[3] += p3
                Pu[4] += p4
                Pu[5] += p5
    return GOOD


@kernel(inline=True)
def inward(t: Tree, S: FloatArray, U: FloatArray, D: FloatArray, P: FloatArray, x: FloatArray) -> None:
    """Overwrite x (nv,) with E (x - S^T p); p = P (nl, 6), which is overwritten, are the forces the links need."""
    # from the leaves to the roots
    for i in range(t.parent.shape[0] - 1, -1, -1):
        Pi = P[i]
        a, b, c, d, e, f = Pi[0], Pi[1], Pi[2], Pi[3], Pi[4], Pi[5]
        # eliminate the degrees of freedom of the link
        for j in range(t.iv[i + 1] - 1, t.iv[i] - 1, -1):
            s = S[j]
            u = U[j]
            rest = x[j] - (s[0] * a + s[1] * b + s[2] * c + (s[3] * d + s[4] * e + s[5] * f))
            x[j] = rest
            rest *= D[j]
            a += u[0] * rest
            b += u[1] * rest
            c += u[2] * rest
            d += u[3] * rest
            e += u[4] * rest
            f += u[5] * rest
        # the parent carries the remaining force
        up = t.parent[i]
        if up >= 0:
            Pu = P[up]
            Pu[0] += a
            Pu[1] += b
            Pu[2] += c
            Pu[3] += d
            Pu[4] += e
            Pu[5] += f


@kernel(inline=True)
def outward(t: Tree, S: FloatArray, U: FloatArray, D: FloatArray, P: FloatArray, x: FloatArray) -> None:
    """Overwrite x (nv,) with E^T D^-1 x; P (nl, 6) ends as the accelerations of the links."""
    # from the roots to the leaves
    for i in range(t.parent.shape[0]):
        Pi = P[i]
        up = t.parent[i]
        if up >= 0:
            Pu = P[up]
            a, b, c, d, e, f = Pu[0], Pu[1], Pu[2], Pu[3], Pu[4], Pu[5]
        else:
            a = b = c = d = e = f = 0.0
        # rates of the degrees of freedom of the link
        for j in range(t.iv[i], t.iv[i + 1]):
            s = S[j]
            u = U[j]
            rate = (x[j] - (u[0] * a + u[1] * b + u[2] * c + (u[3] * d + u[4] * e + u[5] * f))) * D[j]
            x[j] = rate
            a += s[0] * rate
            b += s[1] * rate
            c += s[2] * rate
            d += s[3] * rate
            e += s[4] * rate
            f += s[5] * rate
        # acceleration of the link
        Pi[0] = a
        Pi[1] = b
        Pi[2] = c
        Pi[3] = d
        Pi[4] = e
        Pi[5] = f


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
    for j in range(nv):
        a[j] = tau[j]
    code = articulate(t, f.S, B, K, U, D, P, a)
    if code != GOOD:
        return code
    outward(t, f.S, U, D, P, a)
    # a sum that is finite exactly if all results are
    rest = 0.0
    for j in range(nv):
        rest += 0.0 * a[j]
    return GOOD if rest == 0.0 else NOT_FINITE


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
        for k in range(6):
            S[j, k] = f.S[j, k]
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
    rest = 0.0
    for number in range(x.shape[0]):
        for i in range(P.shape[0]):
            for k in range(6):
                P[i, k] = 0.0
        row = x[number]
        inward(t, S, U, D, P, row)
        outward(t, S, U, D, P, row)
        for j in range(nv):
            rest += 0.0 * row[j]
    return GOOD if rest == 0.0 else NOT_FINITE
