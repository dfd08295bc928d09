"""Which basic variable leaves, in double-double numbers with errors: two ratios tie if their errors let them be equal.

Cottle, Pang and Stone (1992), section 4.9: the artificial variable first, then the lexicographically smallest of
(x, B^-1)_i / |T_ic|; the columns of B^-1 belonging to basic slacks are unit vectors, the others stand, with the
opposite sign, in the columns of the nonbasic slacks.
"""

from __future__ import annotations

from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.double_double import ROUNDING, dd_add, dd_divide
from lcp.kernels.extended_exchange import CERTAIN


@kernel(inner=True)
def quotients(
    T: Floats, T_low: Floats, E: Floats, c: int, k: int, slack: int, basis: Ints, rows: Ints, count: int, values: Floats
) -> None:
    """Entries of column k of the tableau over those of column c, with errors, for ``rows[:count]``.

    Column -1 stands for the unit column of basic variable ``slack`` of the basis inverse, any slack's other column is
    one of the tableau with its sign turned, so that quotients by -T[:, c] > 0 need none. ``values`` is (3, n) flat.
    """
    n = T.shape[0]
    for t in range(count):
        i = rows[t]
        if k >= 0:
            a = T[i, k]
            a_low = T_low[i, k]
            a_error = E[i, k]
        else:
            a = -1.0 if basis[i] == slack else 0.0
            a_low = 0.0
            a_error = 0.0
        h, low = dd_divide(a, a_low, T[i, c], T_low[i, c])
        values[t] = h
        values[n + t] = low
        values[2 * n + t] = max(a_error / abs(T[i, c]), abs(h) * max(E[i, c] / abs(T[i, c]), ROUNDING))


@kernel(inner=True)
def keep_least(rows: Ints, count: int, values: Floats) -> int:
    """Shorten ``rows[:count]`` to those whose value may be the least; returns how many are kept."""
    n = values.shape[0] // 3
    best = 0
    for t in range(1, count):
        d, _ = dd_add(values[t], values[n + t], -values[best], -values[n + best])
        if d < 0.0:
            best = t
    h = values[best]
    low = values[n + best]
    error = values[2 * n + best]
    kept = 0
    for t in range(count):
        d, _ = dd_add(values[t], values[n + t], -h, -low)
        if d <= CERTAIN * max(error, values[2 * n + t]):
            rows[kept] = rows[t]
            kept += 1
    return kept


@kernel(inner=True)
def leaving_row_extended(
    T: Floats, T_low: Floats, E: Floats, c: int, basis: Ints, position: Ints, rows: Ints, values: Floats
) -> int:
    """Row whose variable blocks the growth of the nonbasic variable of column ``c``; -1 when none does (a ray).

    ``position`` maps a nonbasic variable to its column and any basic one to -1; ``rows`` (n,) and ``values`` (3 n,)
    are scratch.
    """
    n = T.shape[0]
    count = 0
    for i in range(n):
        if T[i, c] < -CERTAIN * E[i, c]:
            rows[count] = i
            count += 1
    if count == 0:
        return -1
    # Right-hand sides are not negative but for rounding; quotients by T_ic < 0 have their sign turned.
    quotients(T, T_low, E, c, n + 1, 0, basis, rows, count, values)
    for t in range(count):
        values[t] = max(-values[t], 0.0)
        values[n + t] = -values[n + t] if values[t] > 0.0 else 0.0
    count = keep_least(rows, count, values)
    for t in range(count):
        if basis[rows[t]] == 2 * n:
            return rows[t]
    for k in range(n):
        if count == 1:
            break
        quotients(T, T_low, E, c, position[k], k, basis, rows, count, values)
        count = keep_least(rows, count, values)
    # What survives every column are ties of rounding: the most certain pivot of them.
    best = rows[0]
    for t in range(1, count):
        i = rows[t]
        if -T[i, c] * E[best, c] > -T[best, c] * E[i, c]:
            best = i
    return best
