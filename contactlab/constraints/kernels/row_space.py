"""The rows of G reduced to as many orthonormal ones as its rank: what redundant, zero and nearly dependent rows need.

Rows scaled to unit length and pivoted, D G = P^T L Q by Householder reflections of the rows (Golub and Van Loan 2013,
sections 5.1 and 5.4.2, for the transpose: a row is contiguous): the rank shows in the diagonal of L. What is left of a
row below its tolerance (`contactlab.constraints.kernels.rank`) belongs to the rows before it. Then G x = gamma reads
y = Q_1 x with (D^-1 P^T L) y = gamma: least squares in the rows' own units where gamma is inconsistent. Multipliers mu
of y give those of G as the shortest solution of (D^-1 P^T L)^T lambda = mu, a complete orthogonal decomposition
(section 5.4.7).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from contactlab.constraints.kernels.rank import row_length
from contactlab.spatial.arrays import FloatArray
from lcp.compiler.views import rows_at
from lcp.kernels import kernel
from lcp.kernels.reductions import dot


@kernel
def factor_rows(A: FloatArray, order: FloatArray, tau: FloatArray, length: FloatArray, noise: FloatArray) -> int:
    """Factorise A (m, n) in place; returns the rank r: how many rows were longer than their noise in their turn.

    ``noise`` (m,) holds squares, and is used up; of length 0, rows are taken as they come. On return row i of A holds
    row order[i] of L in its first min(i + 1, r) entries; beside L_kk stands the reflection 1 - tau_k v v^T, v_k = 1.
    ``length`` (m,) is scratch.
    """
    m, n = A.shape
    for i in range(m):
        order[i] = i
        length[i] = dot(A[i], A[i], n)
    for k in range(min(m, n)):
        if noise.shape[0] > 0:
            best = -1
            for i in range(k, m):
                if length[i] > noise[i] and (best < 0 or length[i] > length[best]):
                    best = i
            if best < 0:
                return k
            if best != k:
                upper = A[k]
                lower = A[best]
                for j in range(n):
                    upper[j], lower[j] = lower[j], upper[j]
                order[k], order[best] = order[best], order[k]
                length[k], length[best] = length[best], length[k]
                noise[k], noise[best] = noise[best], noise[k]
        row = A[k]
        tail = row[k + 1 :]
        head = row[k]
        rest = dot(tail, tail, tail.shape[0])
        if rest == 0.0:
            tau[k] = 0.0
        else:
            # Away from the entry that is there, so that nothing cancels.
            size = np.sqrt(head * head + rest)
            diagonal = -size if head >= 0.0 else size
            tau[k] = (diagonal - head) / diagonal
            inverse = 1.0 / (head - diagonal)
            for j in range(tail.shape[0]):
                tail[j] *= inverse
            row[k] = diagonal
        for i in range(k + 1, m):
            below = A[i]
            other = below[k + 1 :]
            shift = tau[k] * (below[k] + dot(other, tail, tail.shape[0]))
            below[k] -= shift
            for j in range(other.shape[0]):
                other[j] -= shift * tail[j]
            length[i] = dot(other, other, other.shape[0])
            if noise.shape[0] > 0:
                share = below[k] / row[k]
                noise[i] += share * share * noise[k]
    return min(m, n)


@kernel
def reflect(A: FloatArray, tau: FloatArray, k: int, x: FloatArray) -> None:
    """x := the k-th reflection of x (n,)."""
    row = A[k]
    tail = row[k + 1 :]
    rest = x[k + 1 :]
    shift = tau[k] * (x[k] + dot(rest, tail, tail.shape[0]))
    x[k] -= shift
    for j in range(rest.shape[0]):
        rest[j] -= shift * tail[j]


@kernel
def reflect_both(A: FloatArray, tau: FloatArray, k: int, v: FloatArray, w: FloatArray, H: FloatArray) -> None:
    """H := P H P for the symmetric H (n, n) and the k-th reflection P, as an update of rank two; v, w are scratch (n,).

    With w = tau H v and w -= (tau / 2) (w.v) v it is H - v w^T - w v^T (Golub and Van Loan 2013, section 8.3.1).
    """
    n = H.shape[0]
    if tau[k] == 0.0:
        return
    for j in range(n):
        v[j] = 0.0 if j < k else A[k, j]
        w[j] = 0.0
    v[k] = 1.0
    for i in range(k, n):
        factor = tau[k] * v[i]
        row = H[i]
        for j in range(n):
            w[j] += factor * row[j]
    half = 0.5 * tau[k] * dot(w, v, n)
    for j in range(n):
        w[j] -= half * v[j]
    for i in range(n):
        a = v[i]
        b = w[i]
        row = H[i]
        for j in range(n):
            row[j] -= a * w[j] + b * v[j]


class RowSpace(NamedTuple):
    """Memory for m rows of length n."""

    A: FloatArray  # (m, n) L and the reflections of Q
    tau: FloatArray  # (m,)
    order: FloatArray  # (m,) which row of G is row i of L, as floats
    size: FloatArray  # (m,) lengths of the rows, 0 for zero rows
    B: FloatArray  # (m n,) where r < m: (D^-1 P^T L)^T = L_2 Q_2 by rows
    tau2: FloatArray  # (m,)
    other: FloatArray  # (m,) scratch
    x: FloatArray  # (m,) scratch
    noise: FloatArray  # (m,) scratch


@kernel(inline=True)
def row_space(W: FloatArray, n: int, m: int) -> RowSpace:
    """Return the views: 2 m n + 7 m places of W."""
    b = 2 * m * n
    return RowSpace(
        rows_at(W, 0, m, n),
        W[b : b + m],
        W[b + m : b + 2 * m],
        W[b + 2 * m : b + 3 * m],
        W[m * n : b],
        W[b + 3 * m : b + 4 * m],
        W[b + 4 * m : b + 5 * m],
        W[b + 5 * m : b + 6 * m],
        W[b + 6 * m : b + 7 * m],
    )


@kernel
def reduce_rows(G: FloatArray, column: FloatArray, tolerance: FloatArray, s: RowSpace) -> int:
    """Fill s from G (m, n), its columns multiplied by ``column`` (n,); returns the rank.

    ``tolerance`` (m,) is what of each row's length is rounding, 1 for zero rows.
    """
    m, n = G.shape
    A = s.A
    size = s.size
    for i in range(m):
        row = A[i]
        given = G[i]
        for j in range(n):
            row[j] = given[j] * column[j]
        size[i] = row_length(row)
        s.noise[i] = tolerance[i] * tolerance[i]
        if not size[i] > 0.0 or tolerance[i] >= 1.0:
            size[i] = 0.0
            for j in range(n):
                row[j] = 0.0
        else:
            inverse = 1.0 / size[i]
            for j in range(n):
                row[j] *= inverse
    rank = factor_rows(A, s.order, s.tau, s.other, s.noise)
    if rank < m:
        B = rows_at(s.B, 0, rank, m)
        for k in range(rank):
            for i in range(m):
                of = int(s.order[i])
                B[k, of] = A[i, k] * size[of] if k <= i else 0.0
        factor_rows(B, s.x, s.tau2, s.other, s.noise[:0])
    return rank


@kernel
def targets(s: RowSpace, rank: int, gamma: FloatArray, y: FloatArray) -> None:
    """y (rank,): where the orthonormal rows have to be for G x = gamma, or nearest to it."""
    m = s.size.shape[0]
    if rank == m:
        for i in range(m):
            of = int(s.order[i])
            value = gamma[of] / s.size[of]
            for k in range(i):
                value -= s.A[i, k] * y[k]
            y[i] = value / s.A[i, i]
        return
    B = rows_at(s.B, 0, rank, m)
    x = s.x
    for i in range(m):
        x[i] = gamma[i]
    for k in range(rank):
        reflect(B, s.tau2, k, x)
    for k in range(rank - 1, -1, -1):
        value = x[k]
        for i in range(k + 1, rank):
            value -= B[i, k] * y[i]
        y[k] = value / B[k, k]


@kernel
def multipliers(s: RowSpace, rank: int, mu: FloatArray, forces: FloatArray) -> None:
    """forces (m,): the shortest with G^T forces = Q_1^T mu; mu (rank,) is used up."""
    m = s.size.shape[0]
    if rank == m:
        for k in range(m - 1, -1, -1):
            value = mu[k]
            for i in range(k + 1, m):
                value -= s.A[i, k] * mu[i]
            mu[k] = value / s.A[k, k]
        for i in range(m):
            of = int(s.order[i])
            forces[of] = mu[i] / s.size[of]
        return
    B = rows_at(s.B, 0, rank, m)
    for i in range(m):
        forces[i] = 0.0
    for k in range(rank):
        value = mu[k]
        for i in range(k):
            value -= B[k, i] * forces[i]
        forces[k] = value / B[k, k]
    for k in range(rank - 1, -1, -1):
        reflect(B, s.tau2, k, forces)
