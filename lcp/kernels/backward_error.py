"""The backward error of z in a complementarity problem: the smallest relative change of the data for which z is exact.

`lcp_measures` fills all measures of a vector on dense data in one call, and `verdict` gives the code that follows from
them.

W. Oettli, W. Prager, Compatibility of approximate solution of linear equations with given error bounds for coefficients
and right-hand sides, Numerische Mathematik 6 (1964). Rows are measured by their terms and unknowns by their effect on
rows, so units of rows and unknowns have no effect; powers of two change no bit. ``docs/theory/certificates.md``.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from lcp.compiler.views import view_1d
from lcp.kernels import NOT_FINITE, SOLVED, STALLED, Floats, kernel
from lcp.kernels.reductions import EPS, sum_and_terms, sum_twice
from lcp.kernels.residuals import NATURAL_LIMIT, NATURAL_MAP, SIZE, residuals_of

# Fraction of its load |q_k| that the residual of a row, or an unknown set to zero, can reach, for any size of other
# terms.
EXCUSABLE: Final = 1e-3
# Fraction of its terms that the residual of a row can reach by rounding, if loads determine the size of these terms.
ROUNDED: Final = 64.0 * EPS
# Fraction of a row's terms above which a load or an unknown is significant in it.
SIGNIFICANT_FRACTION: Final = 2.0**-20
# Weight of an unknown set to zero in a row without load, and of a residual there whose unknowns have no size determined
# by loads.
LOADLESS: Final = 2.0**10
# Fraction of the terms of a row below which one of them is negligible.
DUST: Final = 2.0**-34
# Error above which negligible entries are searched.
TINY: Final = 1e-14


@kernel(inline=True)
def share(x: float, terms: float, load: float) -> float:
    """Return the change x of a row as a fraction of its ``terms``.

    If x exceeds `EXCUSABLE` times the row's ``load``, the fraction of the load is returned if it is larger.
    """
    if x == 0.0:
        return 0.0
    part = x / terms if terms > 0.0 else np.inf
    return max(part, x / load) if load > 0.0 and x > EXCUSABLE * load else part


@kernel
def reach(
    M: Floats, i: int, way: float, bound: float, room: float, noise: Floats, terms: Floats, loads: Floats, enough: float
) -> float:
    """Return the relative effect of moving unknown i by ``way`` to ``bound``, with the sign of ``way``.

    It is the largest change of a row as a fraction of the row (`share`), or the change relative to the bound if that is
    less. With two bounds, at the distance ``room``, it is also compared with this distance. An unknown without
    entries in any row is never negligible. If only the rows decide, any value from ``enough`` on may be returned.
    """
    # The distance is zero or infinite.
    if way == 0.0 or not np.isfinite(way):
        return way
    # The largest effect on a row, as far as it must be known.
    size = abs(way)
    most = 0.0
    known = False
    if bound != 0.0 or 0.0 < room < np.inf:
        enough = np.inf
    for k in range(loads.shape[0]):
        x = abs(M[k, i] * size)
        if x > 0.0:
            known = True
            x = max(0.0, x - noise[k])
            most = max(most, share(x, terms[k], loads[k]) * (1.0 if loads[k] > 0.0 else LOADLESS))
            if most >= enough:
                break
    # No row has this unknown; the distance is also compared with the bound and the width.
    if not known:
        most = np.inf
    if bound != 0.0:
        most = min(most, size / abs(bound))
    if 0.0 < room < np.inf:
        most = min(most, size / room) if size <= EXCUSABLE * room else max(most, size / room)
    return most if way > 0.0 else -most


@kernel(inner=True)
def mark_determined(M: Floats, z: Floats, terms: Floats, loads: Floats, determined: Floats) -> None:
    """Set ``determined`` (n,) to 1 for unknowns that are zero or whose size follows from the loads, otherwise to 0.

    An unknown's size follows from loads if it is significant in a row with a significant load, or in a row with another
    significant unknown whose size does. Significant means at least `SIGNIFICANT_FRACTION` of the row's terms.
    """
    # At first only zeros are marked.
    n = z.shape[0]
    for j in range(n):
        determined[j] = 1.0 if z[j] == 0.0 else 0.0
    first = True
    changed = True
    forward = False
    # Sweep over the rows until no mark changes.
    while changed:
        changed = False
        forward = not forward
        for step in range(n):
            # In both directions: along a chain of rows one sweep suffices.
            k = step if forward else n - 1 - step
            # Whether the row has a significant load or a marked unknown, and an unmarked one.
            least = SIGNIFICANT_FRACTION * terms[k]
            known = loads[k] > least
            missing = False
            if known or not first:
                for j in range(n):
                    significant = abs(M[k, j] * z[j]) > least
                    known = known or (significant and determined[j] != 0.0)
                    missing = missing or (significant and determined[j] == 0.0)
            # Mark all unknowns of the row.
            if known and missing:
                changed = True
                for j in range(n):
                    if abs(M[k, j] * z[j]) > least:
                        determined[j] = 1.0
        changed = changed or first
        first = False


@kernel(inner=True)
def all_determined(source: Floats, z: Floats, terms: float, determined: Floats) -> bool:
    """Return True if `mark_determined` has marked every significant unknown of the row ``source``."""
    whole = True
    for j in range(z.shape[0]):
        whole = whole and (determined[j] != 0.0 or abs(source[j] * z[j]) <= SIGNIFICANT_FRACTION * terms)
    return whole


@kernel(inner=True)
def drop_dust(M: Floats, lo: Floats, hi: Floats, z: Floats, terms: Floats, loads: Floats, kept: Floats) -> float:
    """Fill ``kept`` with z, its negligible entries set to 0; return their largest fraction of a row's terms.

    The fraction is negative if there are none. An entry is negligible if it is negligible in at least one row, and in
    every other row that has a load or terms of kept unknowns. The row of a cone whose contact has no load has neither:
    all its terms are about 1e-30. Only unknowns with 0 within their bounds can be negligible.
    """
    # Unknowns that are negligible in some row, and can be zero.
    n = z.shape[0]
    for j in range(n):
        kept[j] = z[j]
        if lo[j] <= 0.0 <= hi[j]:
            for k in range(n):
                x = abs(M[k, j] * z[j])
                if 0.0 < x <= min(DUST * terms[k], EXCUSABLE * loads[k] if loads[k] > 0.0 else np.inf):
                    kept[j] = 0.0
    # Keep the ones that another row needs, until nothing changes.
    changed = True
    most = -1.0
    while changed:
        changed = False
        most = -1.0
        for k in range(n):
            empty = loads[k] == 0.0
            for j in range(n):
                empty = empty and (kept[j] == 0.0 or M[k, j] == 0.0)
            if not empty:
                for j in range(n):
                    x = abs(M[k, j] * z[j])
                    limit = min(DUST * terms[k], EXCUSABLE * loads[k] if loads[k] > 0.0 else np.inf)
                    if kept[j] != z[j] and x > limit:
                        kept[j] = z[j]
                        changed = True
                    elif kept[j] != z[j] and x > 0.0:
                        most = max(most, x / terms[k])
    return most


@kernel(inner=True)
def row_sums(M: Floats, q: Floats, z: Floats, w: Floats, terms: Floats) -> None:
    """Fill w = M z + q and |M| |z| + |q|."""
    for k in range(q.shape[0]):
        w[k], terms[k] = sum_and_terms(M[k], z, q[k])


@kernel(inner=True)
def error_of(
    M: Floats, q: Floats, noise: Floats, lo: Floats, hi: Floats, z: Floats, w: Floats, terms: Floats, loads: Floats,
    determined: Floats,
) -> float:  # fmt: skip
    """Return the backward error of z from w and terms of `row_sums`; fill ``loads``, and use ``determined`` as scratch.

    Rows whose sum may hide a load are summed again in twice the precision, in place in w.
    """
    # Loads of q, and rows that need more precision.
    n = q.shape[0]
    bounded = 0
    unsure = 0
    for k in range(n):
        # A load that may be only rounding is none; unknowns at nonzero bounds are loads too.
        load = abs(q[k]) if abs(q[k]) > noise[k] else 0.0
        loads[k] = load
        bounded += 1 if z[k] != 0.0 and (z[k] == lo[k] or z[k] == hi[k]) else 0
        drowns = 0.0 < SIGNIFICANT_FRACTION * load < n * EPS * terms[k]
        unsure += 1 if drowns or not (terms[k] < np.inf and abs(w[k]) < np.inf) else 0
    # Add the loads of unknowns at bounds, and sum doubtful rows in twice the precision.
    for k in range(n if bounded + unsure > 0 else 0):
        source = M[k]
        if bounded > 0:
            for j in range(n):
                if z[j] == lo[j] or z[j] == hi[j]:
                    loads[k] += abs(source[j] * z[j])
        # If rounding of the sum could hide a load, use twice the precision.
        if 0.0 < SIGNIFICANT_FRACTION * loads[k] < n * EPS * terms[k]:
            w[k] = sum_twice(source, z, q[k])
        if not (np.isfinite(terms[k]) and np.isfinite(w[k])):
            return np.inf
    worst = 0.0
    asked = False
    # Upper bound of each row's error: few rows must be computed. The marks use this array later.
    parts = determined
    for i in range(n):
        above = z[i] - lo[i]
        below = z[i] - hi[i]
        miss = max(0.0, abs(w[i]) - noise[i])
        met = above == 0.0 and below <= 0.0 and w[i] >= 0.0
        plain = above >= 0.0 and below <= 0.0 and terms[i] > 0.0 and miss <= EXCUSABLE * loads[i]
        part = miss / terms[i] if plain else np.inf
        parts[i] = 0.0 if met else part
    for i in range(n):
        # Rows that cannot be worse are skipped.
        if not asked and parts[i] <= worst:
            continue
        above = z[i] - lo[i]
        below = z[i] - hi[i]
        if above == 0.0 and below <= 0.0 and w[i] >= 0.0:
            continue
        # The residual as a fraction of the row.
        miss = max(0.0, abs(w[i]) - noise[i])
        row = share(miss, terms[i], loads[i])
        # Rounding excuses a residual relative to the load if loads determine the size of z. Otherwise a row without
        # load needs a smaller residual.
        if miss > 0.0 and (loads[i] == 0.0 or row > ROUNDED >= miss / terms[i]):
            if not asked:
                mark_determined(M, z, terms, loads, determined)
                asked = True
            if all_determined(M[i], z, terms[i], determined):
                row = miss / terms[i]
            elif loads[i] == 0.0:
                row *= LOADLESS
        # The error of the pair is the smaller of the errors of the row and of the distance to a bound.
        if row > worst or above < 0.0 or below > 0.0:
            row = row if w[i] > 0.0 else -row
            room = hi[i] - lo[i]
            # For an unknown above its bound the smaller of both counts.
            enough = max(row, 0.0) if above > 0.0 else np.inf
            low = reach(M, i, above, lo[i], room, noise, terms, loads, enough)
            high = reach(M, i, below, hi[i], room, noise, terms, loads, np.inf)
            worst = max(worst, abs(max(high, min(low, row))))
    return worst


@kernel
def backward_error(
    M: Floats, q: Floats, noise: Floats, lo: Floats, hi: Floats, z: Floats, w: Floats, work: Floats
) -> float:
    """Return the backward error of z for lo <= z <= hi, and fill w = M z + q; infinite if a value is not finite.

    Rows between infinite bounds are equations; ``work`` has length 4 n.
    """
    row_sums(M, q, z, w, work[: q.shape[0]])
    return error_of_sums(M, q, noise, lo, hi, z, w, work)


@kernel(inner=True)
def error_of_sums(
    M: Floats, q: Floats, noise: Floats, lo: Floats, hi: Floats, z: Floats, w: Floats, work: Floats
) -> float:
    """Return the backward error of z, as `backward_error`, after `row_sums` has filled w and the start of ``work``."""
    # Views of the workspace.
    n = q.shape[0]
    terms = view_1d(work, 0, n)
    loads = view_1d(work, n, n)
    kept = view_1d(work, 2 * n, n)
    determined = view_1d(work, 3 * n, n)
    # The error of z, and without negligible entries.
    error = error_of(M, q, noise, lo, hi, z, w, terms, loads, determined)
    if TINY < error < np.inf:
        dropped = drop_dust(M, lo, hi, z, terms, loads, kept)
        if dropped >= 0.0:
            row_sums(M, q, kept, w, terms)
            error = min(error, max(dropped, error_of(M, q, noise, lo, hi, kept, w, terms, loads, determined)))
    return error


# Index at which `residuals_of` has the limit of the natural map; here it is the backward error.
BACKWARD_ERROR: Final = NATURAL_LIMIT
# Number of arrays of length n in the workspace, besides the measures.
WORK: Final = 7


@kernel
def lcp_measures(M: Floats, q: Floats, noise: Floats, z: Floats, w: Floats, work: Floats) -> None:
    """Fill w = M z + q, and the first entries of ``work`` (length `SIZE` + `WORK` n) with the measures of z.

    ``noise`` of length 0 means no noise.
    """
    fill_measures(M, q, noise, z, w, work[:SIZE], work[SIZE:])


@kernel(inner=True)
def fill_measures(M: Floats, q: Floats, noise: Floats, z: Floats, w: Floats, out: Floats, work: Floats) -> None:
    """Fill w = M z + q and ``out`` (length `SIZE`) with the measures of z; ``work`` has length `WORK` n.

    ``noise`` of length 0 means no noise.
    """
    n = q.shape[0]
    zero = view_1d(work, 0, n)
    above = view_1d(work, n, n)
    # A separate w: rows are summed as the backward error needs them.
    own, rest = view_1d(work, 2 * n, n), view_1d(work, 3 * n, 4 * n)
    row_sums(M, q, z, w, rest)
    for i in range(n):
        zero[i] = 0.0
        above[i] = np.inf
        own[i] = w[i]
    residuals_of(M, q, z, w, out, True, view_1d(z, 0, 0))
    known = noise if noise.shape[0] == n else zero
    out[BACKWARD_ERROR] = error_of_sums(M, q, known, zero, above, z, own, rest)


@kernel(inline=True)
def verdict(code: int, measures: Floats, tolerance: float) -> int:
    """Return the verified code of a claim, as `lcp.claims.status_of`, compiled."""
    if measures[BACKWARD_ERROR] <= tolerance:
        return SOLVED
    if not np.isfinite(measures[NATURAL_MAP]):
        return NOT_FINITE
    return STALLED if code == SOLVED else code
