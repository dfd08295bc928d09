"""Elimination of bilateral rows, for the public functions and the compiled step: see `contactlab.formulation.blocks`.

With W = G Y', Y_i = M^-1 G_i, all results follow from the pseudo-inverse W+. Each projection is done twice: the second
pass removes the rounding of the first.
"""

from __future__ import annotations

import math
from typing import Final

from contactlab.constraints.kernels.rank import row_length, row_tolerances
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.contacts.kernels.column_ranges import row_ranges, sparse_dot
from lcp.kernels import kernel

# Squared fraction of a row's length in the metric M^-1, less the rows before it, that is clearly not rounding,
_CLEAR: Final = 1e-6
# and the factor by which it exceeds its tolerance, at the given masses.
_FAR: Final = 30.0
# C J_i is zero to rounding if J_i C J_i is below this fraction of J_i M^-1 J_i (an angle of 3e-7 rad).
_LOCKED: Final = 1e-13
# Rate of a locked row, relative to the sum of its terms before cancellation, up to which it is rounding.
_ROUNDING: Final = 1e-12


@kernel
def bilateral_work_size(nb: int, nv: int) -> int:
    """Return the number of floats of the workspace of `factor_bilateral`, sufficient for all functions here."""
    return 3 * nb * nb + 4 * nb + 2 * nb * nv


@kernel
def factor_bilateral(
    G: FloatArray, Y: FloatArray, scale: FloatArray, error: FloatArray, P: FloatArray, work: FloatArray
) -> int:
    """Fill P (nb, nb), the pseudo-inverse of W = G Y', and return the rank of G.

    Parameters
    ----------
    G, Y
        (nb, nv) bilateral rows, and M^-1 G_i row by row.
    scale, error
        (nb,) sizes of the terms of each row's entries, and position errors; of length 0 if they are unknown.
    P
        Output.
    work
        (>= bilateral_work_size(nb, nv),) scratch.

    Notes
    -----
    W = Q Q', with Q of full column rank. If rows are clearly independent, Q is from Cholesky's method. Otherwise it is
    from the Gram-Schmidt method, which does not square the condition of nearly dependent rows, with the rank by the
    rule of `contactlab.constraints.kernels.rank`. The pseudo-inverse belongs to the unscaled W: with Q = U R and
    orthonormal U, P = U R^-T R^-1 U', so that multipliers have minimum norm in the units of the given rows.
    """
    nb, nv = G.shape
    A = work[: nb * nb].reshape((nb, nb))
    U = work[nb * nb : 2 * nb * nb].reshape((nb, nb))
    R = work[2 * nb * nb : 3 * nb * nb].reshape((nb, nb))
    rest = work[3 * nb * nb :]
    unit = rest[:nb]
    order = rest[nb : 2 * nb]
    tolerance = rest[2 * nb : 3 * nb]
    noise = rest[3 * nb : 4 * nb]
    row_tolerances(G, scale, error, tolerance)
    rank = nb
    if not _factor_independent(G, Y, tolerance, A, unit, order):
        rest = rest[4 * nb :]
        rows = rest[: nb * nv].reshape((nb, nv))
        responses = rest[nb * nv : 2 * nb * nv].reshape((nb, nv))
        rank = _factor_dependent(G, Y, tolerance, A, U, unit, order, noise, rows, responses)

    # H by rows in R: W+ = H' H.
    if rank == nb:
        # H = L^-1 of the scaled rows in their pivoted order, scaled back.
        for i in range(nb):
            for j in range(i):
                w = 0.0
                for k in range(j, i):
                    w += A[i, k] * U[k, j]
                U[i, j] = -w / A[i, i]
            U[i, i] = 1.0 / A[i, i]
        for i in range(nb):
            for j in range(nb):
                R[i, int(order[j])] = U[i, j] * unit[int(order[j])] if j <= i else 0.0
    else:
        _pseudo_factor(A, U, R, unit, order, rank)
    for i in range(nb):
        for j in range(i + 1):
            w = 0.0
            for k in range(rank):
                w += R[k, i] * R[k, j]
            P[i, j] = w
            P[j, i] = w
    return rank


@kernel(inner=True)
def _factor_independent(
    G: FloatArray, Y: FloatArray, tolerance: FloatArray, A: FloatArray, unit: FloatArray, order: FloatArray
) -> bool:
    """Fill A with the pivoted factor of W, scaled by ``unit`` to W_ii = 1; return False if a pivot is not clear."""
    nb, nv = G.shape
    # W = G Y', and the smallest pivot that is clear.
    clear = _CLEAR
    for i in range(nb):
        # The error of a row in the metric M^-1 is estimated from above.
        clear = max(clear, (_FAR * tolerance[i]) ** 2)
        order[i] = i
        for j in range(nb):
            w = 0.0
            for p in range(nv):
                w += G[i, p] * Y[j, p]
            A[i, j] = w
    # Scale to a unit diagonal; symmetrise.
    for i in range(nb):
        if not A[i, i] > 0.0:
            unit[i] = 1.0
            clear = math.inf
        else:
            unit[i] = 1.0 / math.sqrt(A[i, i])
    for i in range(nb):
        for j in range(i + 1):
            A[i, j] = 0.5 * (unit[i] * A[i, j] * unit[j] + unit[i] * A[j, i] * unit[j])
            A[j, i] = A[i, j]
    # Cholesky's method with pivoting.
    for k in range(nb):
        best = k
        for i in range(k + 1, nb):
            if A[i, i] > A[best, best]:
                best = i
        if not A[best, best] > clear:
            return False
        if best != k:
            order[k], order[best] = order[best], order[k]
            for j in range(nb):
                A[k, j], A[best, j] = A[best, j], A[k, j]
            for i in range(nb):
                A[i, k], A[i, best] = A[i, best], A[i, k]
        pivot = math.sqrt(A[k, k])
        A[k, k] = pivot
        for i in range(k + 1, nb):
            A[i, k] /= pivot
        for i in range(k + 1, nb):
            for j in range(k + 1, i + 1):
                A[i, j] -= A[i, k] * A[j, k]
                A[j, i] = A[i, j]
    return True


@kernel(inner=True)
def _factor_dependent(
    G: FloatArray,
    Y: FloatArray,
    tolerance: FloatArray,
    A: FloatArray,
    K: FloatArray,
    unit: FloatArray,
    order: FloatArray,
    noise: FloatArray,
    rows: FloatArray,
    responses: FloatArray,
) -> int:
    """Fill the first columns of A, as many as the rank, with the rows' coefficients on rows orthonormal in M^-1.

    Rows are first made orthonormal by the Gram-Schmidt method, the longest remainder first. So the condition of nearly
    dependent rows is not squared, and masses have no effect on the rank. Then Cholesky's method factorises the products
    of these rows in M^-1, whose condition depends only on the masses. K (nb, nb) is scratch.
    """
    nb, nv = G.shape
    # Rows of unit length, zero rows cleared, and their squared rounding.
    for i in range(nb):
        order[i] = i
        zero = tolerance[i] >= 1.0
        unit[i] = 1.0 if zero else 1.0 / row_length(G[i])
        for p in range(nv):
            rows[i, p] = 0.0 if zero else G[i, p] * unit[i]
            responses[i, p] = 0.0 if zero else Y[i, p] * unit[i]
        noise[i] = tolerance[i] * tolerance[i]
        for k in range(nb):
            A[i, k] = 0.0
    rank = 0
    while rank < min(nb, nv):
        # Pivot: the longest remainder that is more than rounding.
        best = -1
        longest = 0.0
        for i in range(rank, nb):
            size = _square(rows[int(order[i])])
            if size > noise[int(order[i])] and size > longest:
                best = i
                longest = size
        if best < 0:
            break
        if best != rank:
            order[rank], order[best] = order[best], order[rank]
            for j in range(rank):
                A[rank, j], A[best, j] = A[best, j], A[rank, j]
        own = int(order[rank])
        row = rows[own]
        response = responses[own]
        # Second pass: remove the remaining components along the previous rows.
        for j in range(rank):
            A[rank, j] += _take_off(row, response, rows[int(order[j])], responses[int(order[j])])
        size = _square(row)
        if not size > noise[own]:
            noise[own] = math.inf
            continue
        length = math.sqrt(size)
        A[rank, rank] = length
        # Make it a unit vector, and remove it from the rows that remain.
        for p in range(nv):
            row[p] /= length
            response[p] /= length
        for i in range(rank + 1, nb):
            other = int(order[i])
            w = _take_off(rows[other], responses[other], row, response)
            A[i, rank] = w
            noise[other] += w * w / size * noise[own]
        rank += 1
    # Cholesky factor K of the products of the orthonormal rows in the metric M^-1.
    for i in range(rank):
        for j in range(i + 1):
            value = 0.0
            for p in range(nv):
                value += rows[int(order[i]), p] * responses[int(order[j]), p]
                value += rows[int(order[j]), p] * responses[int(order[i]), p]
            value *= 0.5
            for k in range(j):
                value -= K[i, k] * K[j, k]
            if j < i:
                K[i, j] = value / K[j, j]
            elif value > 0.0:
                K[i, i] = math.sqrt(value)
            else:
                # The row has no inertia, so its response is not the response of a mass matrix.
                rank = i
        if rank == i:
            break
    # A := A K, the coefficients on rows orthonormal in M^-1.
    for i in range(nb):
        for k in range(rank):
            value = 0.0
            for j in range(k, rank):
                value += A[i, j] * K[j, k]
            A[i, k] = value
    return rank


@kernel(inline=True)
def _square(row: FloatArray) -> float:
    """Return the squared length of a row."""
    total = 0.0
    for p in range(row.shape[0]):
        total += row[p] * row[p]
    return total


@kernel(inner=True)
def _take_off(row: FloatArray, response: FloatArray, other: FloatArray, of_other: FloatArray) -> float:
    """Subtract from a row its component along a unit row, and the same from its response; return the component."""
    w = 0.0
    for p in range(row.shape[0]):
        w += row[p] * other[p]
    for p in range(row.shape[0]):
        row[p] -= w * other[p]
        response[p] -= w * of_other[p]
    return w


@kernel(inner=True)
def _pseudo_factor(A: FloatArray, U: FloatArray, R: FloatArray, unit: FloatArray, order: FloatArray, rank: int) -> None:
    """Fill R with R_q^-1 U' for Q = U R_q, Q the unscaled pivoted factor in A; U and A are overwritten."""
    nb = A.shape[0]
    # Columns of Q as rows of U, by Gram and Schmidt twice; the coefficients go to the upper triangle of A.
    for k in range(rank):
        row = U[k]
        for i in range(nb):
            row[int(order[i])] = A[i, k] / unit[int(order[i])] if i >= k else 0.0
    for k in range(rank):
        for i in range(k):
            A[i, k] = 0.0
        for _ in range(2):
            for i in range(k):
                w = 0.0
                for p in range(nb):
                    w += U[i, p] * U[k, p]
                A[i, k] += w
                for p in range(nb):
                    U[k, p] -= w * U[i, p]
        # Length of the remainder.
        w = 0.0
        for p in range(nb):
            w += U[k, p] * U[k, p]
        w = math.sqrt(w)
        A[k, k] = w
        for p in range(nb):
            U[k, p] /= w
    # Back substitution with R_q.
    for k in range(rank - 1, -1, -1):
        for p in range(nb):
            w = U[k, p]
            for i in range(k + 1, rank):
                w -= A[k, i] * R[i, p]
            R[k, p] = w / A[k, k]


@kernel
def add_bilateral_impulses(
    G: FloatArray, Y: FloatArray, P: FloatArray, k: FloatArray, v: FloatArray, impulses: FloatArray, work: FloatArray
) -> None:
    """Fill the impulses (nb,) of minimum norm that make G v + k = 0, and add their velocity change to v (nv,).

    ``work`` (>= nb,) is scratch.
    """
    nb, nv = G.shape
    for i in range(nb):
        impulses[i] = 0.0
    # Two passes: the second removes the rounding of the first.
    for _ in range(2):
        for i in range(nb):
            rate = k[i]
            for p in range(nv):
                rate += G[i, p] * v[p]
            work[i] = rate
        for i in range(nb):
            impulse = 0.0
            for j in range(nb):
                impulse -= P[i, j] * work[j]
            impulses[i] += impulse
            if impulse != 0.0:
                for p in range(nv):
                    v[p] += impulse * Y[i, p]


@kernel
def project_rows(
    G: FloatArray,
    Y: FloatArray,
    P: FloatArray,
    rows: FloatArray,
    responses: FloatArray,
    spans: IntArray,
    locked: IntArray,
    work: FloatArray,
) -> None:
    """Replace responses M^-1 d_i of rows d_i by C d_i, in place; ``locked`` (m,) is 1 if d_i C d_i is rounding.

    Entries of such a response that are only rounding become 0.

    Rows and responses, before and after, have entries only in ``spans``. Other columns are not read, and become 0 if G
    changes a response. ``work`` (>= 3 nb,) is scratch.
    """
    nb = G.shape[0]
    m, nv = rows.shape
    zero = work[nb : 2 * nb]
    impulses = work[2 * nb : 3 * nb]
    for i in range(nb):
        zero[i] = 0.0
    for i in range(m):
        locked[i] = 0
        a, b, c, d = row_ranges(spans, i, nv)
        # A response that satisfies all equations stays as it is.
        moved = False
        for j in range(nb):
            moved = moved or sparse_dot(a, b, c, d, G[j], responses[i]) != 0.0
        if not moved:
            continue
        # Project the response, and compare its component along the row before and after.
        for p in range(nv):
            if not (a <= p < b or c <= p < d):
                responses[i, p] = 0.0
        before = sparse_dot(a, b, c, d, rows[i], responses[i])
        largest = 0.0
        for p in range(nv):
            largest = max(largest, abs(responses[i, p]))
        add_bilateral_impulses(G, Y, P, zero, responses[i], impulses, work)
        after = sparse_dot(a, b, c, d, rows[i], responses[i])
        locked[i] = 1 if after <= _LOCKED * before and before > 0.0 else 0
        if locked[i] != 0:
            # A row at an angle of 1e-8 to the bilateral rows does not move, but its force has an effect.
            for p in range(nv):
                if abs(responses[i, p]) <= _ROUNDING * largest:
                    responses[i, p] = 0.0


@kernel
def fill_posed(
    J: FloatArray,
    Y: FloatArray,
    k: FloatArray,
    v_free: FloatArray,
    spans: IntArray,
    nu: int,
    nb: int,
    posed: FloatArray,
) -> None:
    """Fill the original rows [N; F; L; B] for verification, from [N; F; L; G; B]: see `IslandProblem.posed`.

    ``spans`` belong to [N; F; L; B], whose first nu rows are [N; F; L].
    """
    m = k.shape[0] - nb
    for row in range(m):
        place = row if row < nu else row + nb
        a, b, c, d = row_ranges(spans, row, v_free.shape[0])
        posed[row] = sparse_dot(a, b, c, d, J[place], Y[place])
        posed[m + row] = abs(sparse_dot(a, b, c, d, J[place], v_free) + k[place])


@kernel
def lock_terms(
    locked: IntArray, J: FloatArray, spans: IntArray, v0: FloatArray, v_free: FloatArray, k: FloatArray
) -> None:
    """Add the constant rates of locked rows to k, and set rates to zero that are only rounding.

    ``J`` (m, nv) are the rows before elimination, in ``spans``; v0 (nv,) is v_free after `add_bilateral_impulses`.
    """
    # The rate of each locked row, and the size of its terms, over the two spans.
    for i in range(locked.shape[0]):
        if locked[i] != 0:
            rate = k[i]
            size = abs(k[i])
            a, b, c, d = row_ranges(spans, i, v0.shape[0])
            for p in range(a, b):
                rate += J[i, p] * v0[p]
                size += abs(J[i, p]) * (abs(v0[p]) + abs(v_free[p]))
            for p in range(c, d):
                rate += J[i, p] * v0[p]
                size += abs(J[i, p]) * (abs(v0[p]) + abs(v_free[p]))
            k[i] = 0.0 if abs(rate) <= _ROUNDING * size else rate
