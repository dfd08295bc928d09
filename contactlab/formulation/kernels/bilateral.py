"""Elimination of bilateral rows, for the public functions and the compiled step: see `contactlab.formulation.blocks`.

With W = G Y', Y_i = M^-1 G_i, all results follow from the pseudo-inverse W+. Each projection is done twice: the second
pass removes the rounding of the first.
"""

from __future__ import annotations

from typing import Final

from contactlab.constraints.kernels.factorizations import factor, reduce_rows, row_space, solve_lower, targets
from contactlab.constraints.kernels.rank import row_tolerances
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.compiler.views import view_2d
from lcp.contacts.kernels.contact_system import row_ranges, sparse_dot
from lcp.kernels import kernel
from lcp.kernels.reductions import dot

# C J_i is zero to rounding if J_i C J_i is below this fraction of J_i M^-1 J_i (an angle of 3e-7 rad).
_LOCKED: Final = 1e-13
# Rate of a locked row, relative to the sum of its terms before cancellation, up to which it is rounding.
_ROUNDING: Final = 1e-12


@kernel
def bilateral_work_size(nb: int, nv: int) -> int:
    """Return the number of floats of the workspace of `factor_bilateral`, sufficient for all functions here."""
    return 4 * nb * nv + 2 * nb * nb + 9 * nb + nv


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
    G = B Q with orthonormal rows Q, by `contactlab.constraints.kernels.factorizations`, with the rank by the rule of
    `contactlab.constraints.kernels.rank`. So the condition of nearly dependent rows is not squared, and masses have no
    effect on the rank. With the Cholesky factor L of K = Q M^-1 Q', whose condition depends only on the masses, and H =
    L^-1 B+, P = H' H. It belongs to the unscaled W, so that multipliers have minimum norm in the units of the given
    rows.
    """
    nb, nv = G.shape
    # Views into the workspace.
    s = row_space(work, nv, nb)
    b = 2 * nb * nv + 7 * nb
    rows = view_2d(work, b, nb, nv)
    responses = view_2d(work, b + nb * nv, nb, nv)
    b += 2 * nb * nv
    H = view_2d(work, b, nb, nb)
    K = view_2d(work, b + nb * nb, nb, nb)
    b += 2 * nb * nb
    tolerance = work[b : b + nb]
    vector = work[b + nb : b + 2 * nb]
    ones = work[b + 2 * nb : b + 2 * nb + nv]
    # Rank and orthonormal rows.
    row_tolerances(G, scale, error, tolerance)
    for p in range(nv):
        ones[p] = 1.0
    rank = reduce_rows(G, ones, tolerance, s)
    # Columns of B+, as rows of H.
    for i in range(nb):
        for j in range(nb):
            vector[j] = 1.0 if j == i else 0.0
        targets(s, rank, vector, H[i])
    # Q = B+ G, its responses B+ Y, and K.
    for k in range(rank):
        vector[k] = 0.0
        for p in range(nv):
            rows[k, p] = 0.0
            responses[k, p] = 0.0
        for i in range(nb):
            share = H[i, k]
            for p in range(nv):
                rows[k, p] += share * G[i, p]
                responses[k, p] += share * Y[i, p]
        for j in range(k + 1):
            K[k, j] = 0.5 * (dot(rows[k], responses[j], nv) + dot(rows[j], responses[k], nv))
    # A row without inertia, whose response is not the response of a mass matrix, ends the factor.
    at = factor(K, 0, rank, vector)
    rank = rank if at < 0 else at
    # W+ = H' H.
    for i in range(nb):
        solve_lower(K, 0, rank, H[i])
        for j in range(i + 1):
            P[i, j] = dot(H[i], H[j], rank)
            P[j, i] = P[i, j]
    return rank


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
