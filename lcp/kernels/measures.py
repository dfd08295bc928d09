"""All measures of a vector z on the data of a dense LCP, in one call."""

from __future__ import annotations

from typing import Final

import numpy as np

from lcp.kernels import Floats, kernel
from lcp.kernels.backward_error import backward_error
from lcp.kernels.residuals import NATURAL_LIMIT, SIZE, lcp_residuals

# Arrays of length n that the work holds, beside the measures.
WORK: Final = 7


@kernel
def lcp_measures(M: Floats, q: Floats, noise: Floats, z: Floats, w: Floats, work: Floats) -> None:
    """Fill w = M z + q, and the first entries of ``work`` (length `SIZE` + `WORK` n) with the measures of z.

    The backward error stands where `lcp_residuals` leaves the limit of the natural map. ``noise`` of length 0: none.
    """
    n = q.shape[0]
    out = work[:SIZE]
    lcp_residuals(M, q, z, w, out)
    arrays = work[SIZE:]
    zero = arrays[:n]
    above = arrays[n : 2 * n]
    for i in range(n):
        zero[i] = 0.0
        above[i] = np.inf
    # A w of its own: there rows are summed as the backward error needs them.
    own, rest = arrays[2 * n : 3 * n], arrays[3 * n : 7 * n]
    if noise.shape[0] == n:
        out[NATURAL_LIMIT] = backward_error(M, q, noise, zero, above, z, own, rest)
    else:
        out[NATURAL_LIMIT] = backward_error(M, q, zero, zero, above, z, own, rest)
