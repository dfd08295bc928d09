"""Elimination of bilateral rows, for the public functions (`constraint_solver.blocks`) and the compiled step.

With W = G Y', Y_i = M^-1 G_i, all results follow from the pseudo-inverse W+. Each projection is done twice: the second
pass removes the rounding of the first.

At the end are tests whether the equations are satisfied, nearly agree, or contradict one another.
"""

from __future__ import annotations

import math
from typing import Final

from contactlab.multibody.constraints.kernels import RANK_TOLERANCE
from contactlab.multibody.constraints.kernels.factorizations import (
    factor,
    largest_entry,
    reduce_rows,
    row_floors,
    row_length,
    row_space,
    row_tolerances,
    solve_lower,
    targets,
    zero_floor,
)
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.multibody.spatial.kernels import fill
from lcp.compiler.views import view_2d
from lcp.contacts.kernels.condition_scales import keep_worst, min_rate_scale
from lcp.contacts.kernels.contact_system import dot_range, row_ranges, sparse_dot
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
    G = B Q with orthonormal rows Q and the rank, by `contactlab.multibody.constraints.kernels.factorizations`. So the
    condition of nearly dependent rows is not squared, and masses have no effect on the rank. With the Cholesky factor L
    of K = Q M^-1 Q', whose condition depends only on the masses, and H = L^-1 B+, P = H' H. It belongs to the unscaled
    W, so that multipliers have minimum norm in the units of the given rows.
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
    fill(1.0, ones)
    rank = reduce_rows(G, ones, tolerance, s)
    # Columns of B+, as rows of H.
    for i in range(nb):
        fill(0.0, vector)
        vector[i] = 1.0
        targets(s, rank, vector, H[i])
    # Q = B+ G, its responses B+ Y, and K.
    for k in range(rank):
        vector[k] = 0.0
        fill(0.0, rows[k])
        fill(0.0, responses[k])
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
    fill(0.0, impulses)
    # Two passes: the second removes the rounding of the first.
    for _ in range(2):
        for i in range(nb):
            work[i] = dot_range(0, nv, G[i], v, k[i])
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
    fill(0.0, zero)
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
            size = abs(k[i])
            a, b, c, d = row_ranges(spans, i, v0.shape[0])
            rate = dot_range(c, d, J[i], v0, dot_range(a, b, J[i], v0, k[i]))
            for p in range(a, b):
                size += abs(J[i, p]) * (abs(v0[p]) + abs(v_free[p]))
            for p in range(c, d):
                size += abs(J[i, p]) * (abs(v0[p]) + abs(v_free[p]))
            k[i] = 0.0 if abs(rate) <= _ROUNDING * size else rate


# Scaled residual of G v+ + kG up to which the equations are satisfied except for rounding,
CONSISTENT: Final = 1e-9
# and the fraction of a row's terms by which its residual can be off before the equations count as contradictory.
NEARLY: Final = 1e-2
# Position errors assumed for data without errors, in units of the lengths of rows.
ASSEMBLY: Final = 1e-6


@kernel
def certify_bilateral(
    G: FloatArray,
    Y: FloatArray,
    k: FloatArray,
    row_scale: FloatArray,
    v_plus: FloatArray,
    u: FloatArray,
    cert: FloatArray,
) -> None:
    """Fill cert (2,) with |G v+ + k| and its scale for the row with the largest ratio.

    ``Y`` has rows M^-1 G_i, ``row_scale`` is `scaleG` of problem data. ``u`` (nv + 1,) is the size of each velocity
    before cancellation, and of all velocities, as `certify` returns it.
    """
    cert[0] = 0.0
    cert[1] = 0.0
    # Rate of each row, and the size of its terms.
    for i in range(G.shape[0]):
        rate = dot_range(0, v_plus.shape[0], G[i], v_plus, k[i])
        own = dot_range(0, v_plus.shape[0], G[i], Y[i], 0.0)
        scale = max(rate_terms(G[i], k[i], u), min_rate_scale(own, float(u[v_plus.shape[0]])))
        if not abs(rate) < float("inf"):
            cert[0] = float("inf")
            cert[1] = 1.0
            return
        if abs(rate) > CONSISTENT * scale:
            # The uncertainty of entries of a zero row is the floor of the rank rule.
            floor = zero_floor(G, row_scale, i)
            if not largest_entry(G[i]) > floor:
                scale = max(scale, floor / CONSISTENT * largest_entry(u[: v_plus.shape[0]]))
        keep_worst(cert, 0, abs(rate), scale)


@kernel(inline=True)
def rate_terms(row: FloatArray, k: float, u: FloatArray) -> float:
    """Return the sum of the sizes of the terms of a row's rate."""
    terms = abs(k)
    for p in range(row.shape[0]):
        terms += abs(row[p]) * u[p]
    return terms


@kernel
def contradicted_row(
    G: FloatArray,
    k: FloatArray,
    row_scale: FloatArray,
    error: FloatArray,
    h: float,
    v_plus: FloatArray,
    u: FloatArray,
    work: FloatArray,
) -> int:
    """Return the index of the row with the largest error beyond errors of assembly, or -1.

    Equations that do not quite agree are satisfied in the least-squares sense, in the rows' own units. Position errors
    e_i explain terms k_i up to |e_i| / h over a step h (0.0: no step); then no least-squares residual is longer than
    these terms. If errors are unknown, a step may have errors of ASSEMBLY |G_i|, in metres or radians. In addition,
    each row has the tolerance

        NEARLY (|k_i| + sum_p |G_ip| u_p) + floor_i sum_p u_p,

    where floor_i is the rounding of its entries by the rank rule. ``work`` (>= nb,) is scratch.
    """
    # Rates that errors of assembly explain.
    explained = 0.0
    for i in range(error.shape[0]):
        if abs(error[i]) > RANK_TOLERANCE * row_scale[i]:
            part = min(abs(k[i]), abs(error[i]) / h) if h > 0.0 else abs(k[i])
            explained += part * part
    if error.shape[0] == 0 and h > 0.0:
        for i in range(G.shape[0]):
            part = min(abs(k[i]), ASSEMBLY * row_length(G[i]) / h)
            explained += part * part
    explained = math.sqrt(explained)
    # Rounding of the rows, and the sum of the velocities' sizes.
    row_floors(G, row_scale, error, work)
    motion = 0.0
    for p in range(v_plus.shape[0]):
        motion += u[p]
    # The row with the largest error beyond these.
    worst = -1
    most = 0.0
    for i in range(G.shape[0]):
        rate = dot_range(0, v_plus.shape[0], G[i], v_plus, k[i])
        beyond = abs(rate) - explained - NEARLY * rate_terms(G[i], k[i], u) - work[i] * motion
        if beyond > most:
            most = beyond
            worst = i
    return worst
