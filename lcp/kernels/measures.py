"""All measures of a vector z on the data of a dense LCP, in one call, and the verdict that they give."""

from __future__ import annotations

from typing import Final

import numpy as np

from lcp.compiler.views import part_at
from lcp.kernels import Floats, kernel
from lcp.kernels.backward_error import error_of_sums, row_sums
from lcp.kernels.codes import NOT_FINITE, SOLVED, STALLED
from lcp.kernels.residuals import NATURAL_LIMIT, NATURAL_MAP, SIZE, residuals_of

# Where `residuals_of` leaves the limit of the natural map, the backward error.
BACKWARD_ERROR: Final = NATURAL_LIMIT
# Arrays of length n that the work holds, beside the measures.
WORK: Final = 7


@kernel
def lcp_measures(M: Floats, q: Floats, noise: Floats, z: Floats, w: Floats, work: Floats) -> None:
    """Fill w = M z + q, and the first entries of ``work`` (length `SIZE` + `WORK` n) with the measures of z.

    ``noise`` of length 0: none.
    """
    fill_measures(M, q, noise, z, w, work[:SIZE], work[SIZE:])


@kernel(inner=True)
def fill_measures(M: Floats, q: Floats, noise: Floats, z: Floats, w: Floats, out: Floats, work: Floats) -> None:
    """The same, with the measures in ``out`` (length `SIZE`); ``work`` has length `WORK` n."""
    n = q.shape[0]
    zero = part_at(work, 0, n)
    above = part_at(work, n, n)
    # A w of its own: there rows are summed as the backward error needs them.
    own, rest = part_at(work, 2 * n, n), part_at(work, 3 * n, 4 * n)
    row_sums(M, q, z, w, rest)
    for i in range(n):
        zero[i] = 0.0
        above[i] = np.inf
        own[i] = w[i]
    residuals_of(M, q, z, w, out, True, part_at(z, 0, 0))
    known = noise if noise.shape[0] == n else zero
    out[BACKWARD_ERROR] = error_of_sums(M, q, known, zero, above, z, own, rest)


@kernel(inline=True)
def verdict(code: int, measures: Floats, tolerance: float) -> int:
    """The code of a claim as its measures have it, in both directions: `lcp.judge.status_of`, compiled."""
    if measures[BACKWARD_ERROR] <= tolerance:
        return SOLVED
    if not np.isfinite(measures[NATURAL_MAP]):
        return NOT_FINITE
    return STALLED if code == SOLVED else code
