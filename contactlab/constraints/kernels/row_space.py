"""The rows of G reduced to as many orthonormal ones as its rank: what redundant, zero and nearly dependent rows need.

Rows scaled to unit length and pivoted, D G = P^T L Q; what of a row is left below `RANK_TOLERANCE` belongs to the rows
before it. Then G x = gamma reads y = Q_1 x with (D^-1 P^T L) y = gamma: least squares in the rows' own units where
gamma is inconsistent. Multipliers mu of y give those of G as the shortest solution of (D^-1 P^T L)^T lambda = mu, a
complete orthogonal decomposition (Golub and Van Loan 2013, section 5.4.7).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from contactlab.constraints.kernels.householder import factor_rows, reflect
from contactlab.constraints.kernels.kkt_codes import ZERO_ROW
from contactlab.multibody.kernels.views import rows_at
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel


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


@kernel(inline=True)
def row_space(W: FloatArray, n: int, m: int) -> RowSpace:
    """The views: 2 m n + 7 m places of W."""
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
    )


@kernel
def reduce_rows(G: FloatArray, column: FloatArray, tolerance: float, s: RowSpace) -> int:
    """Fill s from G (m, n), its columns multiplied by ``column`` (n,); returns the rank."""
    m, n = G.shape
    A = s.A
    size = s.size
    longest = 0.0
    for i in range(m):
        row = A[i]
        given = G[i]
        # Squares of entries beyond 1e154 overflow: lengths are measured in units of the largest entry.
        unit = 0.0
        for j in range(n):
            row[j] = given[j] * column[j]
            unit = max(unit, abs(row[j]))
        total = 0.0
        if unit > 0.0:
            for j in range(n):
                part = row[j] / unit
                total += part * part
        size[i] = unit * np.sqrt(total)
        longest = max(longest, size[i])
    for i in range(m):
        row = A[i]
        if not size[i] > ZERO_ROW * longest:
            size[i] = 0.0
            for j in range(n):
                row[j] = 0.0
        else:
            inverse = 1.0 / size[i]
            for j in range(n):
                row[j] *= inverse
    rank = factor_rows(A, s.order, s.tau, s.other, tolerance)
    if rank < m:
        B = rows_at(s.B, 0, rank, m)
        for k in range(rank):
            for i in range(m):
                of = int(s.order[i])
                B[k, of] = A[i, k] * size[of] if k <= i else 0.0
        factor_rows(B, s.x, s.tau2, s.other, -1.0)
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
