"""Which basic variable leaves: the minimum ratio test with a tolerance for ties and the lexicographic rule.

Degenerate dictionaries are the rule in contact problems (every slack of a friction cone starts at zero), and there a
wrong choice among ties ends in a cycle or in a false ray. Cottle, Pang and Stone (1992), section 4.9: of the tied rows
take the lexicographically smallest of (rhs, B^-1)_i / |T_ic|; the columns of B^-1 belonging to basic slacks are unit
vectors, the others stand in the dictionary, with the opposite sign, in the columns of the nonbasic slacks.
"""

from __future__ import annotations

import numpy as np

from lcp.compiler.views import part_at
from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.lemke_exchanges import in_eights
from lcp.kernels.lemke_tableau import Tableau, stored_column
from lcp.kernels.reductions import largest_size, least_of


@kernel(inline=True)
def leaving_row(t: Tableau, M: Floats, pivot_tolerance: float, tie_tolerance: float, tied: Ints) -> int:
    """Row whose variable blocks the growth of the entering one, with column ``entry``; -1 when none does (a ray).

    ``pivot_tolerance`` is relative to the largest entry of the column, ``tie_tolerance`` to ``size``, the magnitudes
    each right-hand side came from. ``tied`` (n,) is scratch.
    """
    width = in_eights(t.basis.shape[0])
    x = part_at(t.x, 0, width)
    column = part_at(t.entry, 0, width)
    ratio = part_at(t.ratio, 0, width)
    size = part_at(t.size, 0, width)
    floor = -pivot_tolerance * largest_size(column)
    # Without branches: the signs of a column are as good as random, and a mispredicted branch costs more than dividing.
    for i in range(width):
        ratio[i] = max(x[i], 0.0) / -column[i] if column[i] < floor else np.inf
    step = least_of(ratio)
    if step == np.inf:
        return -1
    # A row is tied when its variable, after the step, is zero to within its rounding.
    count = 0
    row = 0
    for i in range(width):
        rest = x[i] + step * column[i] - tie_tolerance * max(size[i], -column[i] * step)
        hit = 1 if rest <= 0.0 and column[i] < floor else 0
        count += hit
        row += hit * i
    if count == 1:
        return row
    return lexicographic_row(t, M, step, floor, tie_tolerance, tied)


@kernel(inner=True)
def lexicographic_row(t: Tableau, M: Floats, step: float, floor: float, tie_tolerance: float, tied: Ints) -> int:
    """The row to leave among several tied ones; the artificial variable goes before all others."""
    column = t.entry
    n = t.basis.shape[0]
    count = 0
    for i in range(n):
        rest = t.x[i] + step * column[i] - tie_tolerance * max(t.size[i], -column[i] * step)
        if rest <= 0.0 and column[i] < floor:
            if t.basis[i] == 2 * n:
                return i
            tied[count] = i
            count += 1
    if count == 0:
        # Rounding near the ends of double precision, no small part there, leaves none: the row that gave the step.
        while t.ratio[count] != step:
            count += 1
        return count
    k = 0
    while count > 1 and k < n:
        c = t.position[k]
        if c >= 0:
            stored_column(t, M, c)
        least = np.inf
        biggest = 0.0
        for s in range(count):
            value = inverse_entry(t, tied[s], k, c)
            least = min(least, value)
            biggest = max(biggest, abs(value))
        kept = 0
        for s in range(count):
            i = tied[s]
            if inverse_entry(t, i, k, c) - least <= tie_tolerance * biggest:
                tied[kept] = i
                kept += 1
        count = kept
        k += 1
    # Ties that survive every column come from rounding alone: the largest pivot is the safest of them.
    best = tied[0]
    for s in range(1, count):
        if column[tied[s]] < column[best]:
            best = tied[s]
    return best


@kernel(inline=True)
def inverse_entry(t: Tableau, i: int, k: int, c: int) -> float:
    """Entry (i, k) of the basis inverse over the size of the pivot of row i; c is the column of slack k, or -1."""
    if c >= 0:
        return t.T[c, i] / t.entry[i]
    return -1.0 / t.entry[i] if t.basis[i] == k else 0.0
