"""Unit forces on rows, propagated through the articulated bodies to the root, and the responses of contacts to them.

The articulated-body factor is M^-1 = E^T D^-1 E, with the inward sweep E. For a unit force on row i, x_i = E G_i^T is
zero off the path from its body to the root. With the joint loads u = E (tau - h) of the free motion,

    (X^T D^-1 X) forces = gamma - X^T D^-1 u,      a = E^T D^-1 (u + X forces)

The cost is O(links) for the factor and for each row, and one outward sweep. Kokkevis and Metaxas (1998), "Efficient
dynamic constraints for animating articulated figures", call them test forces. For the sweeps see Featherstone (2008,
section 7.3).

A contact's row is zero off the path from its link to the root, so all loops follow such paths. At most four rows of one
link are processed together (`layout.GROUP_INTS`): lane k of group g is column 4 g + k of X, and lanes without a row
hold zeros. `delassus_matrix` accepts rows of any kind and computes K = G M^-1 G^T = X^T D^-1 X without M and its
inverse; a row is then the sum of one part for each branch that it acts on.
"""

from __future__ import annotations

from contactlab.constraints.kernels.layout import GROUP_INTS, SIZE, START, TIP, Rows
from contactlab.multibody.kernels.layout import Tree, tree
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.compiler.views import view_2d
from lcp.kernels import kernel


@kernel(inline=True)
def carry_inward(
    s: FloatArray, c: FloatArray, d: float, g0: float, g1: float, g2: float, g3: float, P: FloatArray
) -> tuple[float, float, float, float]:
    """Return the entries r of four columns of X at one degree of freedom, and add c d r to their forces P in place.

    r_k = g_k - s . P_k. P (24,) holds the forces on the link, six components of four lanes each. s (6,) is the motion
    column, c (6,) the articulated inertia times s, d the inverse of s . c; g0 to g3 are the entries of the four rows.
    """
    # Entries less the work of the forces carried so far.
    r0 = g0 - ((s[0] * P[0] + s[1] * P[4] + s[2] * P[8]) + (s[3] * P[12] + s[4] * P[16] + s[5] * P[20]))
    r1 = g1 - ((s[0] * P[1] + s[1] * P[5] + s[2] * P[9]) + (s[3] * P[13] + s[4] * P[17] + s[5] * P[21]))
    r2 = g2 - ((s[0] * P[2] + s[1] * P[6] + s[2] * P[10]) + (s[3] * P[14] + s[4] * P[18] + s[5] * P[22]))
    r3 = g3 - ((s[0] * P[3] + s[1] * P[7] + s[2] * P[11]) + (s[3] * P[15] + s[4] * P[19] + s[5] * P[23]))
    # Forces that continue inward.
    for i in range(6):
        # All rows are read before one is stored, so that the four lanes are processed as one vector.
        share = c[i] * d
        p0 = P[4 * i] + share * r0
        p1 = P[4 * i + 1] + share * r1
        p2 = P[4 * i + 2] + share * r2
        p3 = P[4 * i + 3] + share * r3
        P[4 * i] = p0
        P[4 * i + 1] = p1
        P[4 * i + 2] = p2
        P[4 * i + 3] = p3
    return r0, r1, r2, r3


@kernel(inline=True)
def propagate_contacts(
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
    """Fill four columns per group of X (nv, 4 groups) with E g on its path, and free (4 groups,) with X^T D^-1 u.

    D holds the inverses; P (24,) is scratch. Entries of X off the paths are not touched.
    """
    for group in range(r.group.shape[0] // GROUP_INTS):
        # Rows of the group; missing lanes have zeros.
        first = r.group[GROUP_INTS * group + START]
        rows = r.group[GROUP_INTS * group + SIZE]
        top = G[r.order[first]]
        second = G[r.order[first + (1 if rows > 1 else 0)]]
        third = G[r.order[first + (2 if rows > 2 else 0)]]
        fourth = G[r.order[first + (3 if rows > 3 else 0)]]
        for k in range(24):
            P[k] = 0.0
        # From the tip to the root.
        f0 = f1 = f2 = f3 = 0.0
        j = r.group[GROUP_INTS * group + TIP]
        while j >= 0:
            d = D[j]
            g1 = second[j] if rows > 1 else 0.0
            g2 = third[j] if rows > 2 else 0.0
            g3 = fourth[j] if rows > 3 else 0.0
            r0, r1, r2, r3 = carry_inward(S[j], U[j], d, top[j], g1, g2, g3, P)
            x = X[j]
            x[4 * group] = r0
            x[4 * group + 1] = r1
            x[4 * group + 2] = r2
            x[4 * group + 3] = r3
            rest = u[j] * d
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
    """Fill the lower triangle of K (m, m) with X^T D^-1 X, in the order of the list; fill diagonal blocks completely.

    Products of two groups are sums over the common part of their paths.
    """
    for one in range(groups.shape[0] // GROUP_INTS):
        first = groups[GROUP_INTS * one + START]
        for two in range(one + 1):
            j = groups[GROUP_INTS * one + TIP]
            k = groups[GROUP_INTS * two + TIP]
            # Where the two paths meet.
            while j != k:
                if j > k:
                    j = parents[j]
                else:
                    k = parents[k]
            # Sixteen products, from there to the root.
            p00 = p01 = p02 = p03 = 0.0
            p10 = p11 = p12 = p13 = 0.0
            p20 = p21 = p22 = p23 = 0.0
            p30 = p31 = p32 = p33 = 0.0
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
            # Copy the block into K, without missing lanes.
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
    """Add X times the forces ``load`` (m,), in the order of the list, to u (nv,)."""
    for group in range(groups.shape[0] // GROUP_INTS):
        first = groups[GROUP_INTS * group + START]
        rows = groups[GROUP_INTS * group + SIZE]
        # Forces of the group; missing lanes have zeros.
        a = load[first]
        b = load[first + 1] if rows > 1 else 0.0
        c = load[first + 2] if rows > 2 else 0.0
        d = load[first + 3] if rows > 3 else 0.0
        # From the tip to the root.
        j = groups[GROUP_INTS * group + TIP]
        while j >= 0:
            x = X[j]
            u[j] += (x[4 * group] * a + x[4 * group + 1] * b) + (x[4 * group + 2] * c + x[4 * group + 3] * d)
            j = parents[j]


@kernel
def propagate_rows(
    parents: IntArray,
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

    Columns grow by E g, with the rows' entries g on the path that are not ``taken`` (nv,) yet. P (24,) is scratch.
    """
    # Clear the carried forces; rows of the group.
    for k in range(24):
        P[k] = 0.0
    top = G[first]
    second = G[first + (1 if count > 1 else 0)]
    third = G[first + (2 if count > 2 else 0)]
    fourth = G[first + (3 if count > 3 else 0)]
    # From the tip to the root; entries of earlier branches are not carried again.
    j = tip
    while j >= 0:
        new = 1.0 - taken[j]
        taken[j] = 1.0
        g1 = new * second[j] if count > 1 else 0.0
        g2 = new * third[j] if count > 2 else 0.0
        g3 = new * fourth[j] if count > 3 else 0.0
        r0, r1, r2, r3 = carry_inward(S[j], U[j], D[j], new * top[j], g1, g2, g3, P)
        x = X[j]
        x[first] += r0
        x[first + 1] += r1
        x[first + 2] += r2
        x[first + 3] += r3
        j = parents[j]


@kernel
def last_entry(row: FloatArray) -> int:
    """Return the index of the last nonzero entry of a row, or -1."""
    j = row.shape[0] - 1
    while j >= 0 and row[j] == 0.0:
        j -= 1
    return j


@kernel
def unit_responses(
    parents: IntArray,
    S: FloatArray,
    U: FloatArray,
    D: FloatArray,
    G: FloatArray,
    X: FloatArray,
    reached: FloatArray,
    taken: FloatArray,
    P: FloatArray,
) -> None:
    """Fill X (nv, m + 3) with E G^T; ``reached`` (nv,) is 0.0 where its rows are zero.

    At most four rows with the same last degree of freedom are processed together. taken (nv,) and P (24,) are scratch.
    """
    m, nv = G.shape
    # Clear everything.
    for j in range(nv):
        reached[j] = 0.0
        taken[j] = 0.0
        x = X[j]
        for k in range(x.shape[0]):
            x[k] = 0.0
    first = 0
    while first < m:
        # At most four rows with one last degree of freedom.
        tip = last_entry(G[first])
        count = 1
        while count < 4 and first + count < m and last_entry(G[first + count]) == tip:
            count += 1
        if tip >= 0:
            propagate_rows(parents, S, U, D, G, first, count, tip, taken, P, X)
        # Entries on other branches are carried from their tips.
        for j in range(tip - 1, -1, -1):
            if taken[j] == 0.0:
                for k in range(first, first + count):
                    if G[k, j] != 0.0:
                        propagate_rows(parents, S, U, D, G, first, count, j, taken, P, X)
                        break
        # Note the degrees of freedom that the rows reached.
        for j in range(tip + 1):
            reached[j] = max(reached[j], taken[j])
            taken[j] = 0.0
        first += count


@kernel
def delassus_matrix(
    I: IntArray, F: FloatArray, articulated: FloatArray, G: FloatArray, W: FloatArray, K: FloatArray
) -> None:
    """Fill K (m, m); ``articulated`` (13 nv,) is from `factor_inertia`, W has nv (m + 5) + 24 places."""
    m, nv = G.shape
    # Views into the factor and the workspace.
    S = view_2d(articulated, 0, nv, 6)
    U = view_2d(articulated, 6 * nv, nv, 6)
    D = articulated[12 * nv : 13 * nv]
    X = view_2d(W, 0, nv, m + 3)
    b = nv * (m + 3)
    reached = W[b : b + nv]
    taken = W[b + nv : b + 2 * nv]
    # X = E G^T.
    unit_responses(tree(I, F).dof_parent, S, U, D, G, X, reached, taken, W[b + 2 * nv : b + 2 * nv + 24])
    # K = X^T D^-1 X, lower triangle, then mirrored.
    for i in range(m):
        row = K[i]
        for j in range(m):
            row[j] = 0.0
    for k in range(nv):
        if reached[k] > 0.0:
            x = X[k]
            for i in range(m):
                if x[i] != 0.0:
                    a = x[i] * D[k]
                    row = K[i]
                    for j in range(i + 1):
                        row[j] += a * x[j]
    for i in range(m):
        row = K[i]
        for j in range(i):
            K[j, i] = row[j]
