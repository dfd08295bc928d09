"""The Delassus matrix K = G M^-1 G^T of any rows from the articulated bodies, without M and without its inverse.

K = X^T D^-1 X with the columns X = E G^T of `unit_forces`: a row is the sum of one part for each branch it acts on.
"""

from __future__ import annotations

from contactlab.constraints.kernels.unit_forces import carry_inward
from contactlab.multibody.kernels.layout import tree
from contactlab.multibody.kernels.views import rows_at
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


@kernel
def climb(
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
    """Place of the last entry of a row that is not zero; -1."""
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

    At most four rows that end at one degree of freedom are taken at a time. taken (nv,) and P (24,) are scratch.
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
        tip = last_entry(G[first])
        count = 1
        while count < 4 and first + count < m and last_entry(G[first + count]) == tip:
            count += 1
        if tip >= 0:
            climb(parents, S, U, D, G, first, count, tip, taken, P, X)
        for j in range(tip - 1, -1, -1):
            if taken[j] == 0.0:
                for k in range(first, first + count):
                    if G[k, j] != 0.0:
                        climb(parents, S, U, D, G, first, count, j, taken, P, X)
                        break
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
    S = rows_at(articulated, 0, nv, 6)
    U = rows_at(articulated, 6 * nv, nv, 6)
    D = articulated[12 * nv : 13 * nv]
    X = rows_at(W, 0, nv, m + 3)
    b = nv * (m + 3)
    reached = W[b : b + nv]
    taken = W[b + nv : b + 2 * nv]
    unit_responses(tree(I, F).dof_parent, S, U, D, G, X, reached, taken, W[b + 2 * nv : b + 2 * nv + 24])
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
