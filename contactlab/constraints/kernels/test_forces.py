"""Unit test forces through the articulated bodies: the matrix of the contacts' responses without a mass matrix.

With the articulated-body factor M^-1 = E^T D^-1 E, E the inward sweep, x_i = E G_i^T of a unit force on row i is not
zero on the way from its body to the root only. Then, u = E (tau - h) being what the free motion leaves in the joints,

    (X^T D^-1 X) forces = gamma - X^T D^-1 u,      a = E^T D^-1 (u + X forces)

O(links) for the factor and per row; one outward sweep in all. Kokkevis and Metaxas (1998), "Efficient dynamic
constraints for animating articulated figures"; the sweeps are Featherstone's (2008, section 7.3).
"""

from __future__ import annotations

from contactlab.multibody.kernels.layout import Tree
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel


@kernel
def climb(
    t: Tree,
    S: FloatArray,
    U: FloatArray,
    D: FloatArray,
    G: FloatArray,
    first: int,
    count: int,
    tip: int,
    taken: FloatArray,
    P: FloatArray,
    X: FloatArray,
) -> None:
    """Carry rows ``first`` to ``first`` + count - 1 of G, at most four, from ``tip`` to the root, into X (nv, m + 3).

    Columns grow by E g, g being the rows' entries on the path that are not ``taken`` (nv,) yet. P (24,) is scratch.
    """
    for k in range(24):
        P[k] = 0.0
    top = G[first]
    second = G[first + (1 if count > 1 else 0)]
    third = G[first + (2 if count > 2 else 0)]
    fourth = G[first + (3 if count > 3 else 0)]
    j = tip
    while j >= 0:
        s = S[j]
        u = U[j]
        s0 = s[0]
        s1 = s[1]
        s2 = s[2]
        s3 = s[3]
        s4 = s[4]
        s5 = s[5]
        d = D[j]
        u0 = u[0] * d
        u1 = u[1] * d
        u2 = u[2] * d
        u3 = u[3] * d
        u4 = u[4] * d
        u5 = u[5] * d
        new = 1.0 - taken[j]
        taken[j] = 1.0
        g0 = new * top[j]
        g1 = new * second[j] if count > 1 else 0.0
        g2 = new * third[j] if count > 2 else 0.0
        g3 = new * fourth[j] if count > 3 else 0.0
        x = X[j]
        out = x[first : first + 4]
        # Nothing is stored before everything is read: the four columns then go through the machine as one vector.
        r0 = g0 - ((s0 * P[0] + s1 * P[4] + s2 * P[8]) + (s3 * P[12] + s4 * P[16] + s5 * P[20]))
        r1 = g1 - ((s0 * P[1] + s1 * P[5] + s2 * P[9]) + (s3 * P[13] + s4 * P[17] + s5 * P[21]))
        r2 = g2 - ((s0 * P[2] + s1 * P[6] + s2 * P[10]) + (s3 * P[14] + s4 * P[18] + s5 * P[22]))
        r3 = g3 - ((s0 * P[3] + s1 * P[7] + s2 * P[11]) + (s3 * P[15] + s4 * P[19] + s5 * P[23]))
        x0 = out[0] + r0
        x1 = out[1] + r1
        x2 = out[2] + r2
        x3 = out[3] + r3
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
        out[0] = x0
        out[1] = x1
        out[2] = x2
        out[3] = x3
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
        j = t.dof_parent[j]


@kernel
def test_forces(
    t: Tree,
    S: FloatArray,
    U: FloatArray,
    D: FloatArray,
    G: FloatArray,
    tips: FloatArray,
    single: int,
    X: FloatArray,
    reached: FloatArray,
    taken: FloatArray,
    P: FloatArray,
) -> None:
    """Fill X (nv, m + 3) with E G^T; ``reached`` (nv,) is 0.0 where its rows are zero.

    tips (m,): last entry of each row that may not be zero, -1.0 for none; ``single`` says that rows are zero off the
    path from there to the root, as contacts' are. Others are sums of one part for each branch. At most four rows of one
    tip are taken at a time. taken (nv,) and P (24,) are scratch.
    """
    m, nv = G.shape
    for j in range(nv):
        reached[j] = 0.0
        taken[j] = 0.0
        x = X[j]
        for k in range(x.shape[0]):
            x[k] = 0.0
    first = 0
    while first < m:
        count = 1
        while count < 4 and first + count < m and tips[first + count] == tips[first]:
            count += 1
        tip = int(tips[first])
        if tip >= 0:
            climb(t, S, U, D, G, first, count, tip, taken, P, X)
        if single == 0:
            for j in range(tip - 1, -1, -1):
                if taken[j] == 0.0:
                    for k in range(first, first + count):
                        if G[k, j] != 0.0:
                            climb(t, S, U, D, G, first, count, j, taken, P, X)
                            break
            for j in range(tip + 1):
                reached[j] = max(reached[j], taken[j])
                taken[j] = 0.0
        else:
            j = tip
            while j >= 0:
                reached[j] = 1.0
                taken[j] = 0.0
                j = t.dof_parent[j]
        first += count


@kernel
def last_entries(G: FloatArray, tips: FloatArray) -> None:
    """tips (m,) := place of the last entry of each row that is not zero; -1.0."""
    for i in range(G.shape[0]):
        row = G[i]
        j = row.shape[0] - 1
        while j >= 0 and row[j] == 0.0:
            j -= 1
        tips[i] = j


@kernel
def responses_of(
    D: FloatArray, X: FloatArray, reached: FloatArray, u: FloatArray, K: FloatArray, b: FloatArray
) -> None:
    """Lower triangle of K := X^T D^-1 X (m, m), and b -= X^T D^-1 u; D holds the inverses."""
    m = b.shape[0]
    for i in range(m):
        row = K[i]
        for j in range(m):
            row[j] = 0.0
    for k in range(u.shape[0]):
        if reached[k] > 0.0:
            x = X[k]
            d = D[k]
            free = d * u[k]
            for r in range(m):
                a = x[r]
                if a != 0.0:
                    b[r] -= a * free
                    a *= d
                    row = K[r]
                    for c in range(r + 1):
                        row[c] += a * x[c]
