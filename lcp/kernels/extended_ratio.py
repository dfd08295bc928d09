"""Which basic variable leaves, in double-double numbers with errors: two ratios tie if their errors let them be equal.

Cottle, Pang and Stone (1992), section 4.9: the artificial variable first, then the lexicographically smallest of
(x, B^-1)_i / |T_ic|; the columns of B^-1 belonging to basic slacks are unit vectors, the others stand, with the
opposite sign, in the columns of the nonbasic slacks.
"""

from __future__ import annotations

from lcp.kernels import kernel
from lcp.kernels.double_double import ROUNDING, dd_add, dd_divide
from lcp.kernels.extended_exchange import CERTAIN, ExtendedTableau


@kernel(inner=True)
def quotients(t: ExtendedTableau, c: int, k: int, slack: int, count: int) -> None:
    """Entries of column k of the tableau over those of column c, with errors, for ``rows[:count]``: into ``values``.

    Column -1 stands for the unit column of basic variable ``slack`` of the basis inverse, any slack's other column is
    one of the tableau with its sign turned, so that quotients by -T[:, c] > 0 need none.
    """
    T, T_low, E = t.T, t.T_low, t.E
    for m in range(count):
        i = t.rows[m]
        if k >= 0:
            a = T[i, k]
            a_low = T_low[i, k]
            a_error = E[i, k]
        else:
            a = -1.0 if t.basis[i] == slack else 0.0
            a_low = 0.0
            a_error = 0.0
        h, low = dd_divide(a, a_low, T[i, c], T_low[i, c])
        t.values[0, m] = h
        t.values[1, m] = low
        t.values[2, m] = max(a_error / abs(T[i, c]), abs(h) * max(E[i, c] / abs(T[i, c]), ROUNDING))


@kernel(inner=True)
def keep_least(t: ExtendedTableau, count: int) -> int:
    """Shorten ``rows[:count]`` to those whose value may be the least; returns how many are kept."""
    values, values_low, errors = t.values[0], t.values[1], t.values[2]
    best = 0
    for m in range(1, count):
        d, _ = dd_add(values[m], values_low[m], -values[best], -values_low[best])
        if d < 0.0:
            best = m
    h = values[best]
    low = values_low[best]
    error = errors[best]
    kept = 0
    for m in range(count):
        d, _ = dd_add(values[m], values_low[m], -h, -low)
        if d <= CERTAIN * max(error, errors[m]):
            t.rows[kept] = t.rows[m]
            kept += 1
    return kept


@kernel(inner=True)
def leaving_row_extended(t: ExtendedTableau, c: int) -> int:
    """Row whose variable blocks the growth of the nonbasic variable of column ``c``; -1 when none does (a ray)."""
    T, E, rows, values = t.T, t.E, t.rows, t.values
    n = T.shape[0]
    count = 0
    for i in range(n):
        if T[i, c] < -CERTAIN * E[i, c]:
            rows[count] = i
            count += 1
    if count == 0:
        return -1
    # Right-hand sides are not negative but for rounding; quotients by T_ic < 0 have their sign turned.
    quotients(t, c, n + 1, 0, count)
    for m in range(count):
        values[0, m] = max(-values[0, m], 0.0)
        values[1, m] = -values[1, m] if values[0, m] > 0.0 else 0.0
    count = keep_least(t, count)
    for m in range(count):
        if t.basis[rows[m]] == 2 * n:
            return rows[m]
    for k in range(n):
        if count == 1:
            break
        quotients(t, c, t.position[k], k, count)
        count = keep_least(t, count)
    # What survives every column are ties of rounding: the most certain pivot of them.
    best = rows[0]
    for m in range(1, count):
        i = rows[m]
        if -T[i, c] * E[best, c] > -T[best, c] * E[i, c]:
            best = i
    return best
