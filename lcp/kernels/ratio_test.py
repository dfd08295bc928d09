"""Which basic variable leaves: the minimum ratio test with a tolerance for ties and the lexicographic rule.

Degenerate dictionaries are the rule in contact problems (every slack of a friction cone starts at zero), and there a
wrong choice among ties ends in a cycle or in a false ray. Cottle, Pang and Stone (1992), section 4.9: of the tied rows
take the lexicographically smallest of (rhs, B^-1)_i / |T_ic|; the columns of B^-1 belonging to basic slacks are unit
vectors, the others stand in the dictionary, with the opposite sign, in the columns of the nonbasic slacks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lcp.kernels import kernel
from lcp.kernels.reductions import largest_size, least_of


@kernel
def leaving_row(
    T: NDArray[np.float64],
    x: NDArray[np.float64],
    column: NDArray[np.float64],
    basis: NDArray[np.int64],
    position: NDArray[np.int64],
    pivot_tolerance: float,
    tie_tolerance: float,
    size: NDArray[np.float64],
    ratio: NDArray[np.float64],
    tied: NDArray[np.int64],
) -> int:
    """Row whose variable blocks the growth of a nonbasic variable with the given ``column``; -1 when none does (a ray).

    ``position`` maps a nonbasic variable to its column and any basic one to -1. ``pivot_tolerance`` is relative to
    the largest entry of the column, ``tie_tolerance`` to ``size`` (n,), the magnitudes each right-hand side came
    from. ``ratio`` and ``tied`` (n,) are scratch.
    """
    n = x.shape[0]
    floor = -pivot_tolerance * largest_size(column)
    # Without branches: the signs of a column are as good as random, and a mispredicted branch costs more than dividing.
    for i in range(n):
        ratio[i] = max(x[i], 0.0) / -column[i] if column[i] < floor else np.inf
    step = least_of(ratio)
    if step == np.inf:
        return -1
    # A row is tied when its variable, after the step, is zero to within its rounding.
    for i in range(n):
        ratio[i] = x[i] + step * column[i] - tie_tolerance * max(size[i], -column[i] * step)
    count = 0
    for i in range(n):
        if ratio[i] <= 0.0 and column[i] < floor:
            if basis[i] == 2 * n:
                return i
            tied[count] = i
            count += 1
    if count == 1:
        return tied[0]
    k = 0
    while count > 1 and k < n:
        c = position[k]
        least = np.inf
        biggest = 0.0
        for t in range(count):
            value = inverse_entry(T, column, basis, tied[t], k, c)
            least = min(least, value)
            biggest = max(biggest, abs(value))
        kept = 0
        for t in range(count):
            i = tied[t]
            if inverse_entry(T, column, basis, i, k, c) - least <= tie_tolerance * biggest:
                tied[kept] = i
                kept += 1
        count = kept
        k += 1
    # Ties that survive every column come from rounding alone: the largest pivot is the safest of them.
    best = tied[0]
    for t in range(1, count):
        if column[tied[t]] < column[best]:
            best = tied[t]
    return best


@kernel(inline=True)
def inverse_entry(
    T: NDArray[np.float64], column: NDArray[np.float64], basis: NDArray[np.int64], i: int, k: int, c: int
) -> float:
    """Entry (i, k) of the basis inverse over the size of the pivot of row i; c is the column of slack k, or -1."""
    if c >= 0:
        return T[i, c] / column[i]
    return -1.0 / column[i] if basis[i] == k else 0.0
