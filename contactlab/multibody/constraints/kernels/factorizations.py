"""Factorisations for constrained systems: Cholesky's of a dense matrix, a rank-revealing one of rows, the rank rule.

The diagonal of Cholesky's factor, A = L L^T, is stored inverted.

Redundant, zero and nearly dependent rows of G are reduced to as many orthonormal rows as its rank. The rows are scaled
to unit length and pivoted: D G = P^T L Q, by Householder reflections of the rows (Golub and Van Loan 2013, sections 5.1
and 5.4.2, for the transpose, because rows are contiguous). The diagonal of L shows the rank. If the remainder of a row
is below its tolerance, the row depends on the previous rows. G x = gamma becomes y = Q_1 x with (D^-1 P^T L) y =
gamma, a least-squares problem in the rows' own units if gamma is inconsistent. From multipliers mu of y, the
multipliers of G are the shortest solution of (D^-1 P^T L)^T lambda = mu, a complete orthogonal decomposition (section
5.4.7).

All factorisations of rows share one rank rule: when a row is zero, and when it depends on other rows.

Entries of G are sums of terms. The uncertainty of a row is ``floor``:

    floor_i = RANK_TOLERANCE scale_i        scale_i: the size of the terms that an entry is made of
    floor_i = eps max(nb, nv) max_j |G_j|   if no scale is known, as `numpy.linalg.lstsq` has it

A row without an entry above floor_i is zero. The remainder of a row is the row less its projection on others. A row
depends on the others if its remainder is not longer than its uncertainty: the root of the sum of squares of floor_i and
of the floors of the subtracted rows times their coefficients. `row_tolerances` gives floor_i / |G_i|.

Rows of a mechanism that is not assembled exactly are more uncertain. Position errors e (m or rad) change the
configuration by about e_i / scale_i radians, or metres for levers of about 1 m. They change the directions of rows by
as much:

    floor_i = scale_i (RANK_TOLERANCE + min(CONFIGURATION max_j |e_j| / scale_j, MAX_UNCERTAIN))

with the maximum over the rows that share a velocity with row i. Without this term, an overconstrained linkage such as
Bennett's would lock as soon as it drifts by a millionth. Its redundant rows are then independent, but by less than the
error of the configuration: on Bennett's linkage by 0.2 to 1 times the relative error. With 4 times the error,
simulations follow its one degree of freedom. If the maximum is above NEARLY_ASSEMBLED, this term is omitted, because
there is no assembled mechanism nearby.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from contactlab.multibody.constraints.kernels import (
    CONFIGURATION,
    MAX_UNCERTAIN,
    NEARLY_ASSEMBLED,
    RANK_TOLERANCE,
)
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.multibody.spatial.kernels import copy, fill
from lcp.compiler.views import view_2d
from lcp.kernels import kernel
from lcp.kernels.reductions import dot

_EPS: Final = float(np.finfo(np.float64).eps)


@kernel(inline=True)
def largest_entry(row: FloatArray) -> float:
    """Return max |row_j|."""
    largest = 0.0
    for j in range(row.shape[0]):
        largest = max(largest, abs(row[j]))
    return largest


@kernel
def row_length(row: FloatArray) -> float:
    """Return the Euclidean length, also of entries whose squares would overflow."""
    square = dot(row, row, row.shape[0])
    if 1e-280 < square < 1e300:
        return math.sqrt(square)
    largest = largest_entry(row)
    if not largest > 0.0:
        return 0.0
    total = 0.0
    for j in range(row.shape[0]):
        part = row[j] / largest
        total += part * part
    return largest * math.sqrt(total)


@kernel(inline=True)
def is_zero_row(row: FloatArray, scale: float) -> bool:
    """Return True if a row is only rounding of terms of size ``scale``."""
    return not largest_entry(row) > RANK_TOLERANCE * scale


@kernel
def zero_floor(G: FloatArray, scale: FloatArray, i: int) -> float:
    """Return the largest entry with which row i of G counts as zero."""
    if scale.shape[0] > 0:
        return RANK_TOLERANCE * scale[i]
    largest = 0.0
    for k in range(G.shape[0]):
        largest = max(largest, row_length(G[k]))
    return _EPS * max(G.shape[0], G.shape[1]) * largest


@kernel
def row_floors(G: FloatArray, scale: FloatArray, error: FloatArray, floor: FloatArray) -> None:
    """Fill floor (nb,) with the uncertainties of the rows of G (nb, nv), by the rule at the top of this file.

    ``scale`` and ``error`` are (nb,), of length 0 if they are unknown. A scale below |G_i| is replaced by |G_i|.
    """
    m = G.shape[0]
    if scale.shape[0] == 0:
        common = zero_floor(G, scale, 0) if m > 0 else 0.0
        fill(common, floor)
        return
    off = False
    for i in range(error.shape[0]):
        # Errors that add less than a thousandth to the floor are ignored.
        off = off or abs(error[i]) > 1e-3 / CONFIGURATION * RANK_TOLERANCE * scale[i]
    for i in range(m):
        relative = RANK_TOLERANCE
        if off:
            off_by = configuration_error(G, scale, error, i)
            relative += min(CONFIGURATION * off_by, MAX_UNCERTAIN) if off_by <= NEARLY_ASSEMBLED else 0.0
        floor[i] = relative * max(scale[i], row_length(G[i]))


@kernel
def row_tolerances(G: FloatArray, scale: FloatArray, error: FloatArray, tolerance: FloatArray) -> None:
    """Fill tolerance (nb,) with floor_i / |G_i|, 1 for zero rows; the other arguments are as for `row_floors`."""
    row_floors(G, scale, error, tolerance)
    for i in range(G.shape[0]):
        length = row_length(G[i])
        tolerance[i] = tolerance[i] / length if length > tolerance[i] else 1.0


@kernel(inner=True)
def configuration_error(G: FloatArray, scale: FloatArray, error: FloatArray, i: int) -> float:
    """Return the largest error_k / scale_k of the rows that share a velocity with row i, itself included."""
    worst = 0.0
    for k in range(G.shape[0]):
        size = max(scale[k], row_length(G[k]))
        share = abs(error[k]) / size if size > 0.0 else 0.0
        if share > worst:
            for j in range(G.shape[1]):
                if G[i, j] != 0.0 and G[k, j] != 0.0:
                    worst = share
                    break
    return worst


# Length from which a sum is faster in another kernel.
MANY: Final = 24


@kernel
def factor(A: FloatArray, first: int, n: int, least: FloatArray) -> int:
    """Factor the block A[first:n, first:n] = L L^T in place, in its lower triangle; the diagonal of L is inverted.

    Entries of A outside the block are not read. Return -1, or the index k in A of the first pivot <= least[k].
    """
    for i in range(first, n):
        row = A[i, first:n]
        for j in range(i - first):
            other = A[first + j, first:n]
            value = row[j]
            if j < MANY:
                for k in range(j):
                    value -= row[k] * other[k]
            else:
                value -= dot(row, other, j)
            row[j] = value * other[j]
        pivot = row[i - first] - dot(row, row, i - first)
        if not pivot > least[i]:
            return i
        row[i - first] = 1.0 / np.sqrt(pivot)
    return -1


@kernel
def solve_lower(L: FloatArray, first: int, n: int, x: FloatArray) -> None:
    """Replace entries ``first`` to n - 1 of x by L^-1 x; L is from `factor`, with its diagonal inverted."""
    part = x[first:n]
    for i in range(n - first):
        row = L[first + i]
        tail = row[first:n]
        part[i] = (part[i] - dot(tail, part, i)) * tail[i]


@kernel
def solve_upper(L: FloatArray, first: int, n: int, x: FloatArray) -> None:
    """Replace entries ``first`` to n - 1 of x by L^-T x; L is from `factor`, with its diagonal inverted."""
    part = x[first:n]
    for i in range(n - first - 1, -1, -1):
        row = L[first + i]
        tail = row[first:n]
        value = part[i] * tail[i]
        part[i] = value
        for j in range(i):
            part[j] -= value * tail[j]


@kernel
def factor_rows(A: FloatArray, order: FloatArray, tau: FloatArray, length: FloatArray, noise: FloatArray) -> int:
    """Factorise A (m, n) in place; return the rank r, the number of rows longer than their noise in their turn.

    ``noise`` (m,) holds squares, and is overwritten; if its length is 0, there is no pivoting. On return row i of A
    holds row order[i] of L in its first min(i + 1, r) entries. The reflection 1 - tau_k v v^T, with v_k = 1, is stored
    after L_kk. ``length`` (m,) is scratch.
    """
    m, n = A.shape
    # Squared lengths of the rows.
    for i in range(m):
        order[i] = i
        length[i] = dot(A[i], A[i], n)
    for k in range(min(m, n)):
        if noise.shape[0] > 0:
            # Pivot: the longest row that is longer than its noise.
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
        # Householder reflection that takes the row to its first entry.
        row = A[k]
        tail = row[k + 1 :]
        head = row[k]
        rest = dot(tail, tail, tail.shape[0])
        if rest == 0.0:
            tau[k] = 0.0
        else:
            # With the sign that avoids cancellation.
            size = np.sqrt(head * head + rest)
            diagonal = -size if head >= 0.0 else size
            tau[k] = (diagonal - head) / diagonal
            inverse = 1.0 / (head - diagonal)
            for j in range(tail.shape[0]):
                tail[j] *= inverse
            row[k] = diagonal
        # Reflect the rows below; their noise grows by the fraction of this row that they contain.
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
    """Apply the k-th Householder reflection of the factored rows A to x (n,)."""
    row = A[k]
    tail = row[k + 1 :]
    rest = x[k + 1 :]
    shift = tau[k] * (x[k] + dot(rest, tail, tail.shape[0]))
    x[k] -= shift
    for j in range(rest.shape[0]):
        rest[j] -= shift * tail[j]


@kernel
def reflect_both(A: FloatArray, tau: FloatArray, k: int, v: FloatArray, w: FloatArray, H: FloatArray) -> None:
    """Replace the symmetric H (n, n) by P H P for the k-th reflection P, an update of rank two; v, w (n,) are scratch.

    With w = tau H v and then w -= (tau / 2) (w.v) v, the result is H - v w^T - w v^T (Golub and Van Loan 2013, section
    8.3.1).
    """
    n = H.shape[0]
    if tau[k] == 0.0:
        return
    # The reflection's vector v, and w := tau H v.
    for j in range(n):
        v[j] = 0.0 if j < k else A[k, j]
        w[j] = 0.0
    v[k] = 1.0
    for i in range(k, n):
        factor = tau[k] * v[i]
        row = H[i]
        for j in range(n):
            w[j] += factor * row[j]
    # w := w - (tau / 2) (w.v) v, then the update of rank two.
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
    order: FloatArray  # (m,) index of the row of G that is row i of L, as floats
    size: FloatArray  # (m,) lengths of the rows, 0 for zero rows
    B: FloatArray  # (m n,) used if r < m: (D^-1 P^T L)^T = L_2 Q_2 by rows
    tau2: FloatArray  # (m,)
    other: FloatArray  # (m,) scratch
    x: FloatArray  # (m,) scratch
    noise: FloatArray  # (m,) scratch


@kernel(inline=True)
def row_space(W: FloatArray, n: int, m: int) -> RowSpace:
    """Return the views: 2 m n + 7 m places of W."""
    b = 2 * m * n
    return RowSpace(
        view_2d(W, 0, m, n),
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
    """Fill s from G (m, n), its columns multiplied by ``column`` (n,); return the rank.

    ``tolerance`` (m,) is the rounding error of each row as a fraction of its length, 1 for zero rows.
    """
    m, n = G.shape
    A = s.A
    size = s.size
    # Rows in scaled columns, of unit length; zero rows are cleared.
    for i in range(m):
        row = A[i]
        given = G[i]
        for j in range(n):
            row[j] = given[j] * column[j]
        size[i] = row_length(row)
        s.noise[i] = tolerance[i] * tolerance[i]
        if not size[i] > 0.0 or tolerance[i] >= 1.0:
            size[i] = 0.0
            fill(0.0, row)
        else:
            inverse = 1.0 / size[i]
            for j in range(n):
                row[j] *= inverse
    rank = factor_rows(A, s.order, s.tau, s.other, s.noise)
    # Dependent rows: factor their coefficients too, for shortest solutions.
    if rank < m:
        B = view_2d(s.B, 0, rank, m)
        for k in range(rank):
            for i in range(m):
                of = int(s.order[i])
                B[k, of] = A[i, k] * size[of] if k <= i else 0.0
        factor_rows(B, s.x, s.tau2, s.other, s.noise[:0])
    return rank


@kernel
def targets(s: RowSpace, rank: int, gamma: FloatArray, y: FloatArray) -> None:
    """Fill y (rank,) with the values of the orthonormal rows for which G x = gamma in the least-squares sense."""
    m = s.size.shape[0]
    # Independent rows: substitution with L.
    if rank == m:
        for i in range(m):
            of = int(s.order[i])
            value = gamma[of] / s.size[of]
            for k in range(i):
                value -= s.A[i, k] * y[k]
            y[i] = value / s.A[i, i]
        return
    # Dependent rows: least squares by the reflections of B, then back substitution.
    B = view_2d(s.B, 0, rank, m)
    x = s.x
    copy(gamma, x)
    for k in range(rank):
        reflect(B, s.tau2, k, x)
    for k in range(rank - 1, -1, -1):
        value = x[k]
        for i in range(k + 1, rank):
            value -= B[i, k] * y[i]
        y[k] = value / B[k, k]


@kernel
def multipliers(s: RowSpace, rank: int, mu: FloatArray, forces: FloatArray) -> None:
    """Fill forces (m,) with the shortest solution of G^T forces = Q_1^T mu; mu (rank,) is overwritten."""
    m = s.size.shape[0]
    # Independent rows: substitution with L^T.
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
    # Dependent rows: substitution with the triangle of B, then its reflections.
    B = view_2d(s.B, 0, rank, m)
    fill(0.0, forces)
    for k in range(rank):
        value = mu[k]
        for i in range(k):
            value -= B[k, i] * forces[i]
        forces[k] = value / B[k, k]
    for k in range(rank - 1, -1, -1):
        reflect(B, s.tau2, k, forces)
