"""Residuals of a vector z in an LCP, and the rule by which a compiled step accepts it.

All values are computed from the given data, with a new w = M z + q; the w of a solver is not used.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from lcp.compiler.views import view_1d
from lcp.kernels import Floats, kernel
from lcp.kernels.reductions import EPS, dot, largest_size, sum_and_terms, sum_twice

# Indices in the vector of measures.
NATURAL_MAP, SCALED, FISCHER_BURMEISTER, MIN_Z, MIN_W, GAP, NATURAL_LIMIT, ROUNDING_DECIDED, SIZE = range(9)

ROUNDING: Final = 64.0 * EPS
EXCUSABLE: Final = 1e-3  # fraction of a row's load |q_i| up to which rounding can excuse its residual
SMALL_LOADS: Final = 1e-6  # fraction of the largest load up to which a residual is accepted if all loads are small


@kernel
def all_finite(M: Floats, q: Floats) -> bool:
    """Return True if every entry is a finite number."""
    wrong = 0
    for i in range(q.shape[0]):
        wrong += 0 if abs(q[i]) < np.inf else 1
        source = M[i]
        for j in range(source.shape[0]):
            wrong += 0 if abs(source[j]) < np.inf else 1
    return wrong == 0


@kernel(inline=True)
def length(a: float, b: float) -> float:
    """Return sqrt(a^2 + b^2), with the slow `hypot` only if the squares could overflow or vanish."""
    if a == 0.0 or b == 0.0:
        return abs(a) + abs(b)
    s = a * a + b * b
    return np.sqrt(s) if 1e-200 < s < 1e200 else np.hypot(a, b)


@kernel(inline=True)
def sizes_of(q: Floats, z: Floats) -> tuple[float, float]:
    """Return the largest magnitudes of z and of q."""
    z_size = 0.0
    q_size = 0.0
    for i in range(q.shape[0]):
        z_size = max(z_size, abs(z[i]))
        q_size = max(q_size, abs(q[i]))
    return z_size, q_size


@kernel(inline=True)
def write_measures(
    out: Floats,
    n: int,
    natural: float,
    scaled: float,
    fischer: float,
    min_z: float,
    min_w: float,
    gap: float,
    finite: bool,
) -> None:
    """Write the measures except the limit of the natural map."""
    out[NATURAL_MAP] = natural if finite else np.inf
    out[SCALED] = scaled if finite else np.inf
    out[FISCHER_BURMEISTER] = fischer if finite else np.inf
    out[MIN_Z] = min_z if n > 0 else 0.0
    out[MIN_W] = min_w if n > 0 else 0.0
    out[GAP] = abs(gap)


@kernel
def lcp_residuals(M: Floats, q: Floats, z: Floats, w: Floats, out: Floats) -> None:
    """Fill w = M z + q and the measures ``out`` (length `SIZE`).

    ``natural_map`` = max |min(z_i, w_i)|; ``scaled`` is the same with z_i in units of the largest z and w_i in units
    of |q_i| + max_j |M_ij| times the largest z; ``fischer_burmeister`` = max |z_i + w_i - sqrt(z_i^2 + w_i^2)|.
    """
    residuals_of(M, q, z, w, out, False, view_1d(z, 0, 0))


@kernel(inner=True)
def residuals_of(M: Floats, q: Floats, z: Floats, w: Floats, out: Floats, summed: bool, sizes: Floats) -> None:
    """Fill w = M z + q and the measures of `lcp_residuals`; with ``summed`` w already has M z + q, computed by `dot`.

    ``sizes`` (n,) has the largest magnitudes in the rows of M; if it is empty, they are computed. Rows with a large
    residual are summed again in twice the precision, and `NATURAL_LIMIT` admits their rounding.
    """
    # Limits, in units of the largest q.
    n = q.shape[0]
    z_size, q_size = sizes_of(q, z)
    natural = 0.0
    scaled = 0.0
    fischer = 0.0
    min_z = np.inf
    min_w = np.inf
    gap = 0.0
    finite = True
    plain_limit = 1e-8 * max(1.0, q_size)
    # With an absolute limit z of any size would be a solution if all loads are smaller than the limit.
    row_limit = min(plain_limit, SMALL_LOADS * q_size)
    granted = plain_limit
    refused = np.inf
    # Row by row.
    for i in range(n):
        source = M[i]
        # Several partial sums and maxima, because the operations of a single one would wait for each other.
        # The row, its size, and its natural map.
        total = w[i] if summed else q[i] + dot(source, z, n)
        row_size = sizes[i] if sizes.shape[0] == n else largest_size(source)
        part = abs(min(z[i], total))
        limit = row_limit if total <= z[i] else plain_limit
        # If rounding could decide, the row is summed in twice the precision. Rounding of the sum must not count against
        # z, and must not hide a load that is not balanced.
        if part > limit or n * EPS * row_size * z_size > limit:
            total = sum_twice(source, z, q[i])
            part = abs(min(z[i], total))
            limit = row_limit if total <= z[i] else plain_limit
            if part > limit:
                # Rounding of the terms excuses the row, but not a residual relative to its load.
                excuse = ROUNDING * sum_and_terms(source, z, q[i])[1]
                if q[i] != 0.0:
                    excuse = min(excuse, EXCUSABLE * abs(q[i]))
                if part <= excuse:
                    granted = max(granted, excuse)
                else:
                    refused = min(refused, max(limit, excuse))
        # Signs.
        w[i] = total
        min_z = min(min_z, z[i])
        min_w = min(min_w, total)
        if z[i] == 0.0 and 0.0 <= total < np.inf:
            # Satisfied exactly.
            continue
        # The other measures.
        if not (np.isfinite(total) and np.isfinite(z[i])):
            finite = False
        w_unit = abs(q[i]) + row_size * z_size
        z_part = z[i] / z_size if z_size > 0.0 else 0.0
        w_part = total / w_unit if w_unit > 0.0 else 0.0
        natural = max(natural, part)
        scaled = max(scaled, abs(min(z_part, w_part)))
        fischer = max(fischer, abs(z[i] + total - length(z[i], total)))
        gap += z[i] * total
    write_measures(out, n, natural, scaled, fischer, min_z, min_w, gap, finite)
    # The smallest limit that was exceeded, otherwise the largest that was needed: only natural map and limit decide.
    out[NATURAL_LIMIT] = granted if refused == np.inf else refused
    out[ROUNDING_DECIDED] = 1.0 if refused == np.inf and out[NATURAL_MAP] > plain_limit else 0.0


@kernel(inner=True)
def row_residuals(
    amounts: Floats, sizes: Floats, units: Floats, load: float, largest: float, z: Floats, w: Floats, out: Floats
) -> None:
    """Compute the measures of `lcp_residuals` from w = M z + q computed without M, with units of rows and unknowns.

    With u_i = ``units`` the pair (z_i, w_i) is balanced as (u_i z_i, w_i / u_i). For forces and rates of bodies both
    are roots of a power. So no change of units of mass, length or time changes the verdict. ``scaled`` is max |min(z_i
    u_i / ``largest``, w_i / (``amounts``_i + ``sizes``_i ``largest``))|, with ``largest`` the largest balanced force.
    The limit of the natural map is SMALL_LOADS times the largest balanced ``load``. No row is excused by rounding:
    problems that need this are not solved here.
    """
    # Sums and maxima of all rows.
    n = z.shape[0]
    natural = 0.0
    scaled = 0.0
    fischer = 0.0
    min_z = np.inf
    min_w = np.inf
    gap = 0.0
    total = 0.0
    missed = 0.0  # excess of the natural map over its limit
    inverse = 1.0 / largest if largest > 0.0 else 0.0
    allowed = SMALL_LOADS * load
    # Row by row.
    for i in range(n):
        # Most rows are satisfied exactly, and contribute only sizes.
        if (z[i] == 0.0 and 0.0 <= w[i] < np.inf) or (w[i] == 0.0 and 0.0 <= z[i] < np.inf):
            min_z = min(min_z, z[i])
            min_w = min(min_w, w[i])
            continue
        # The natural map and the balanced pair.
        part = abs(min(z[i], w[i]))
        balanced = units[i] * z[i]
        # The measures.
        w_part = 0.0
        if w[i] != 0.0:
            w_unit = amounts[i] + sizes[i] * largest
            w_part = w[i] / w_unit if w_unit > 0.0 else 0.0
        off = abs(min(balanced, w[i] / units[i])) if units[i] > 0.0 else 0.0
        if off > 0.0:
            missed = max(missed, off / allowed if allowed > 0.0 else np.inf)
        natural = max(natural, part)
        scaled = max(scaled, abs(min(balanced * inverse, w_part)))
        fischer = max(fischer, abs(z[i] + w[i] - length(z[i], w[i])))
        min_z = min(min_z, z[i])
        min_w = min(min_w, w[i])
        gap += z[i] * w[i]
        total += abs(z[i]) + abs(w[i])
    write_measures(out, n, natural, scaled, fischer, min_z, min_w, gap, total < np.inf)
    # Only natural map and limit decide, so the limit is converted to the units of the map.
    out[NATURAL_LIMIT] = natural / missed if missed > 0.0 else max(natural, 1.0)
    out[ROUNDING_DECIDED] = 0.0


@kernel
def balanced_residuals(M: Floats, q: Floats, z: Floats, w: Floats, work: Floats, out: Floats) -> None:
    """Fill w = M z + q and the measures ``out`` of `row_residuals`, for the LCP of a contact problem.

    A row is balanced by the root of its diagonal entry. A row with zero diagonal, the slack of a friction cone, is
    balanced by the largest entry of its column, each divided by the root of its row. ``work`` has length 3 n.
    """
    # w and the plain measures.
    n = q.shape[0]
    lcp_residuals(M, q, z, w, out)
    # Units of rows with a positive diagonal.
    amounts, sizes, units = view_1d(work, 0, n), view_1d(work, n, n), view_1d(work, 2 * n, n)
    for i in range(n):
        amounts[i] = abs(q[i])
        units[i] = np.sqrt(max(0.0, M[i, i]))
    # Rows without: their largest effect on others.
    for i in range(n):
        if M[i, i] <= 0.0:
            least = 0.0
            for j in range(n):
                if M[j, j] > 0.0:
                    least = max(least, abs(M[j, i]) / units[j])
            sizes[i] = least
    # The largest balanced force and load.
    largest = 0.0
    load = 0.0
    for i in range(n):
        if M[i, i] > 0.0:
            largest = max(largest, units[i] * abs(z[i]))
            load = max(load, amounts[i] / units[i])
        else:
            units[i] = sizes[i]
    # Row sizes in these units.
    for i in range(n):
        size = 0.0
        for j in range(n):
            if units[j] > 0.0:
                size = max(size, abs(M[i, j]) / units[j])
        sizes[i] = size
    row_residuals(amounts, sizes, units, load, largest, z, w, out)


@kernel(inline=True)
def is_solved(out: Floats, tolerance: float) -> bool:
    """Return True if the scaled residual is within ``tolerance`` and the natural map within its limit."""
    return out[SCALED] <= tolerance and out[NATURAL_MAP] <= out[NATURAL_LIMIT]
