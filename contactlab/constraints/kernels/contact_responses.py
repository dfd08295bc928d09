"""Unit test forces of contacts through the articulated bodies, and the matrix of the responses (Kokkevis and Metaxas).

A contact's row is zero off the path from its link to the root, so that everything here is a walk along such paths. At
most four rows of one link go together (`layout.GROUP_INTS`): lane k of group g is column 4 g + k of X, and lanes
without a row hold zeros.
"""

from __future__ import annotations

from contactlab.constraints.kernels.layout import GROUP_INTS, SIZE, START, TIP, Rows
from contactlab.multibody.kernels.layout import Tree
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


@kernel(inline=True)
def contact_climbs(
    t: Tree,
    r: Rows,
    S: FloatArray,
    U: FloatArray,
    D: FloatArray,
    G: FloatArray,
    u: FloatArray,
    P: FloatArray,
    X: FloatArray,
    free: FloatArray,
) -> None:
    """Along its path, four columns of X (nv, 4 groups) := E g for each group; ``free`` (4 groups,) := X^T D^-1 u.

    D holds the inverses; P (24,) is scratch. Entries of X off the paths are not touched.
    """
    for group in range(r.group.shape[0] // GROUP_INTS):
        first = r.group[GROUP_INTS * group + START]
        rows = r.group[GROUP_INTS * group + SIZE]
        top = G[r.order[first]]
        second = G[r.order[first + (1 if rows > 1 else 0)]]
        third = G[r.order[first + (2 if rows > 2 else 0)]]
        fourth = G[r.order[first + (3 if rows > 3 else 0)]]
        for k in range(24):
            P[k] = 0.0
        f0 = 0.0
        f1 = 0.0
        f2 = 0.0
        f3 = 0.0
        j = r.group[GROUP_INTS * group + TIP]
        while j >= 0:
            s = S[j]
            c = U[j]
            s0 = s[0]
            s1 = s[1]
            s2 = s[2]
            s3 = s[3]
            s4 = s[4]
            s5 = s[5]
            d = D[j]
            u0 = c[0] * d
            u1 = c[1] * d
            u2 = c[2] * d
            u3 = c[3] * d
            u4 = c[4] * d
            u5 = c[5] * d
            rest = u[j] * d
            g0 = top[j]
            g1 = second[j] if rows > 1 else 0.0
            g2 = third[j] if rows > 2 else 0.0
            g3 = fourth[j] if rows > 3 else 0.0
            # Nothing is stored before everything is read: four lanes then go through the machine as one vector.
            r0 = g0 - ((s0 * P[0] + s1 * P[4] + s2 * P[8]) + (s3 * P[12] + s4 * P[16] + s5 * P[20]))
            r1 = g1 - ((s0 * P[1] + s1 * P[5] + s2 * P[9]) + (s3 * P[13] + s4 * P[17] + s5 * P[21]))
            r2 = g2 - ((s0 * P[2] + s1 * P[6] + s2 * P[10]) + (s3 * P[14] + s4 * P[18] + s5 * P[22]))
            r3 = g3 - ((s0 * P[3] + s1 * P[7] + s2 * P[11]) + (s3 * P[15] + s4 * P[19] + s5 * P[23]))
            p00 = P[0] + u0 * r0
            p01 = P[1] + u0 * r1
            p02 = P[2] + u0 * r2
            p03 = P[3] + u0 * r3
            p10 = P[4] + u1 * r0
            p11 = P[5] + u1 * r1
            p12 = P[6] + u1 * r2
            p13 = P[7] + u1 * r3
            p20 = P[8] + u2 * r0
            p21 = P[9] + u2 * r1
            p22 = P[10] + u2 * r2
            p23 = P[11] + u2 * r3
            p30 = P[12] + u3 * r0
            p31 = P[13] + u3 * r1
            p32 = P[14] + u3 * r2
            p33 = P[15] + u3 * r3
            p40 = P[16] + u4 * r0
            p41 = P[17] + u4 * r1
            p42 = P[18] + u4 * r2
            p43 = P[19] + u4 * r3
            p50 = P[20] + u5 * r0
            p51 = P[21] + u5 * r1
            p52 = P[22] + u5 * r2
            p53 = P[23] + u5 * r3
            P[0] = p00
            P[1] = p01
            P[2] = p02
            P[3] = p03
            P[4] = p10
            P[5] = p11
            P[6] = p12
            P[7] = p13
            P[8] = p20
            P[9] = p21
            P[10] = p22
            P[11] = p23
            P[12] = p30
            P[13] = p31
            P[14] = p32
            P[15] = p33
            P[16] = p40
            P[17] = p41
            P[18] = p42
            P[19] = p43
            P[20] = p50
            P[21] = p51
            P[22] = p52
            P[23] = p53
            x = X[j]
            x[4 * group] = r0
            x[4 * group + 1] = r1
            x[4 * group + 2] = r2
            x[4 * group + 3] = r3
            f0 += r0 * rest
            f1 += r1 * rest
            f2 += r2 * rest
            f3 += r3 * rest
            j = t.dof_parent[j]
        free[4 * group] = f0
        free[4 * group + 1] = f1
        free[4 * group + 2] = f2
        free[4 * group + 3] = f3


@kernel(inline=True)
def contact_products(
    parents: IntArray, D: FloatArray, X: FloatArray, groups: IntArray, P: FloatArray, K: FloatArray
) -> None:
    """Lower triangle of K := X^T D^-1 X (m, m), in the order of the list; blocks of its diagonal are filled entirely.

    Two groups meet where their paths do.
    """
    for one in range(groups.shape[0] // GROUP_INTS):
        first = groups[GROUP_INTS * one + START]
        for two in range(one + 1):
            j = groups[GROUP_INTS * one + TIP]
            k = groups[GROUP_INTS * two + TIP]
            while j != k:
                if j > k:
                    j = parents[j]
                else:
                    k = parents[k]
            p00 = 0.0
            p01 = 0.0
            p02 = 0.0
            p03 = 0.0
            p10 = 0.0
            p11 = 0.0
            p12 = 0.0
            p13 = 0.0
            p20 = 0.0
            p21 = 0.0
            p22 = 0.0
            p23 = 0.0
            p30 = 0.0
            p31 = 0.0
            p32 = 0.0
            p33 = 0.0
            while j >= 0:
                x = X[j]
                d = D[j]
                a = x[4 * one] * d
                b = x[4 * one + 1] * d
                c = x[4 * one + 2] * d
                e = x[4 * one + 3] * d
                y0 = x[4 * two]
                y1 = x[4 * two + 1]
                y2 = x[4 * two + 2]
                y3 = x[4 * two + 3]
                p00 += a * y0
                p01 += a * y1
                p02 += a * y2
                p03 += a * y3
                p10 += b * y0
                p11 += b * y1
                p12 += b * y2
                p13 += b * y3
                p20 += c * y0
                p21 += c * y1
                p22 += c * y2
                p23 += c * y3
                p30 += e * y0
                p31 += e * y1
                p32 += e * y2
                p33 += e * y3
                j = parents[j]
            P[0] = p00
            P[1] = p01
            P[2] = p02
            P[3] = p03
            P[4] = p10
            P[5] = p11
            P[6] = p12
            P[7] = p13
            P[8] = p20
            P[9] = p21
            P[10] = p22
            P[11] = p23
            P[12] = p30
            P[13] = p31
            P[14] = p32
            P[15] = p33
            other = groups[GROUP_INTS * two + START]
            columns = groups[GROUP_INTS * two + SIZE]
            for row in range(groups[GROUP_INTS * one + SIZE]):
                target = K[first + row]
                for column in range(columns):
                    target[other + column] = P[4 * row + column]


@kernel(inline=True)
def add_contact_forces(parents: IntArray, X: FloatArray, groups: IntArray, load: FloatArray, u: FloatArray) -> None:
    """u (nv,) += X times the forces ``load`` (m,), in the order of the list."""
    for group in range(groups.shape[0] // GROUP_INTS):
        first = groups[GROUP_INTS * group + START]
        rows = groups[GROUP_INTS * group + SIZE]
        a = load[first]
        b = load[first + 1] if rows > 1 else 0.0
        c = load[first + 2] if rows > 2 else 0.0
        d = load[first + 3] if rows > 3 else 0.0
        j = groups[GROUP_INTS * group + TIP]
        while j >= 0:
            x = X[j]
            u[j] += (x[4 * group] * a + x[4 * group + 1] * b) + (x[4 * group + 2] * c + x[4 * group + 3] * d)
            j = parents[j]
