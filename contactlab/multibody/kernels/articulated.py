"""Articulated-body inertias, one degree of freedom eliminated at a time; `sweeps` solve with them.

Featherstone 2008, section 7.3, in world axes about the origin of the root link: an articulated inertia passes from
child to parent as it is. A joint of several degrees of freedom is eliminated as a chain of one-axis joints, by updates
of rank one: no small matrix is inverted, and any chain of joints is treated alike.
"""

from __future__ import annotations

from contactlab.multibody.kernels.codes import GOOD, PIVOT, SINGULAR
from contactlab.multibody.kernels.layout import Tree
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel


@kernel(inline=True)
def articulate(
    t: Tree, S: FloatArray, B: FloatArray, K: FloatArray, U: FloatArray, D: FloatArray, P: FloatArray, load: FloatArray
) -> int:
    """Fill U (nv, 6) = K S and D (nv,) = 1 / (S.U + armature); `GOOD` or `SINGULAR` - j.

    B (nl, 10) are the rigid inertias. K (nl, 23) holds the articulated inertias: the upper triangle by rows, then trace
    and mass of the rigid composite, whose rounding a pivot is measured against. Where P (nl, 6) has not length 0,
    `sweeps.inward` is done to load (nv,) on the way: beside the inertias it costs little.
    """
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
            # The rotor is felt by its own joint alone.
            pivot += t.armature[j]
            scale = Ki[21] * (a * a + b * b + c * c) + Ki[22] * (d * d + e * e + f * f)
            if not pivot > PIVOT * scale:
                return SINGULAR - j
            inverse = 1.0 / pivot
            Uj = U[j]
            Uj[0] = u0
            Uj[1] = u1
            Uj[2] = u2
            Uj[3] = u3
            Uj[4] = u4
            Uj[5] = u5
            D[j] = inverse
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
