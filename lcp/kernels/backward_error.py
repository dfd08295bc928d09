"""The backward error of z in a complementarity problem: by what part of themselves M, q and bounds are not its own.

W. Oettli, W. Prager, Compatibility of approximate solution of linear equations with given error bounds for coefficients
and right-hand sides, Numerische Mathematik 6 (1964). Rows are measured by their own terms and unknowns by what they do
in rows, so that units of rows and unknowns drop out; powers of two change no bit. ``docs/theory/certificates.md``.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from lcp.kernels import Floats, kernel
from lcp.kernels.accurate_residual import sum_twice, terms_size
from lcp.kernels.reductions import dot

EPS: Final = 2.0**-52
# Part of its load |q_k| that a row may miss, or an unknown taken for zero may bear, whatever the size of other terms.
EXCUSABLE: Final = 1e-3
# Part of the terms of a row without load below which one of them is dust.
DUST: Final = 2.0**-40
# Rows that lose more than this part of their load in rounding are summed in twice the precision.
LOST: Final = 2.0**-20


@kernel(inline=True)
def share(x: float, terms: float, load: float) -> float:
    """What x is of a row: of its terms, and of its load where that would be spoilt."""
    if x == 0.0:
        return 0.0
    part = x / terms if terms > 0.0 else np.inf
    return max(part, x / load) if load > 0.0 and x > EXCUSABLE * load else part


@kernel
def reach(M: Floats, i: int, way: float, bound: float, noise: Floats, terms: Floats, loads: Floats) -> float:
    """What moving unknown i by ``way``, onto a bound, does to the rows or, if less, to the bound; with its sign.

    An unknown that no row knows is never negligible.
    """
    if way == 0.0 or not np.isfinite(way):
        return way
    size = abs(way)
    most = 0.0
    known = False
    for k in range(loads.shape[0]):
        x = abs(M[k, i] * size)
        if x > 0.0:
            known = True
            x = max(0.0, x - noise[k])
            if loads[k] == 0.0 and x > DUST * terms[k]:
                most = max(most, 1.0)
            else:
                most = max(most, share(x, terms[k], loads[k]))
    if not known:
        most = np.inf
    if bound != 0.0:
        most = min(most, size / abs(bound))
    return most if way > 0.0 else -most


@kernel
def backward_error(
    M: Floats, q: Floats, noise: Floats, lo: Floats, hi: Floats, z: Floats, w: Floats, work: Floats
) -> float:
    """The backward error of z for lo <= z <= hi, and w = M z + q filled; infinite where something is not finite.

    Rows between infinite bounds are equations; ``work`` has length 2 n.
    """
    n = q.shape[0]
    terms = work[:n]
    loads = work[n : 2 * n]
    for k in range(n):
        source = M[k]
        total = q[k] + dot(source, z, n)
        terms[k] = terms_size(source, z, q[k])
        # A load that may be rounding alone is none.
        loads[k] = abs(q[k]) if abs(q[k]) > noise[k] else 0.0
        for j in range(n):
            if z[j] != 0.0 and (z[j] == lo[j] or z[j] == hi[j]):
                loads[k] += abs(source[j] * z[j])
        if 0.0 < LOST * loads[k] < n * EPS * terms[k]:
            total = sum_twice(source, z, q[k])
        w[k] = total
        if not (np.isfinite(terms[k]) and np.isfinite(total)):
            return np.inf
    worst = 0.0
    for i in range(n):
        row = share(max(0.0, abs(w[i]) - noise[i]), terms[i], loads[i])
        above = z[i] - lo[i]
        below = z[i] - hi[i]
        if row > worst or above < 0.0 or below > 0.0:
            row = row if w[i] > 0.0 else -row
            low = reach(M, i, above, lo[i], noise, terms, loads)
            high = reach(M, i, below, hi[i], noise, terms, loads)
            worst = max(worst, abs(max(high, min(low, row))))
    return worst
