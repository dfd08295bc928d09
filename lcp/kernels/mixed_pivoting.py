"""The free unknowns of a mixed problem pivoted into the basis, the slacks of its equations out of it.

The dictionary has the slacks e = A u + X1 y + a, which are fixed at zero, and w = X2 u + X3 y + x4 as basic variables.
Each u is exchanged with an e, whose column then drops out: what no longer varies needs no column. Where A offers no
pivot that keeps the dictionary small, u is exchanged with a w_i and that e with y_i, which exchanges the roles of y_i
and w_i and leaves the pairs as they were (a 2 x 2 block pivot, as of Bunch and Parlett 1971).

R. W. H. Sargent, An efficient implementation of the Lemke algorithm and its extension to deal with upper and lower
bounds, Mathematical Programming Study 7 (1978).
"""

from __future__ import annotations

from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.exchange import exchange, take_column


@kernel(inner=True)
def exchange_columns(
    T: Floats,
    x: Floats,
    width: int,
    r: int,
    c: int,
    keep: bool,
    rows: Ints,
    columns: Ints,
    column: Floats,
    pivot_row: Floats,
) -> int:
    """Exchange row r and column c among the first ``width`` columns; the leaving column stays only with ``keep``.

    Returns the new width; a column that is dropped gives its place to the last one. ``column`` and ``pivot_row`` are
    scratch of the length of x.
    """
    take_column(T, c, column)
    exchange(T, x, r, c, column, pivot_row)
    rows[r], columns[c] = columns[c], rows[r]
    if not keep:
        # The last column takes the place of the one that is dropped.
        width -= 1
        columns[c], columns[width] = columns[width], columns[c]
        for i in range(x.shape[0]):
            T[i, c] = T[i, width]
            T[i, width] = 0.0
    return width


@kernel
def growth(T: Floats, width: int, m: int, r: int, c: int, rows: Ints) -> float:
    """How much pivoting on T[r, c] may add to an entry of a complementary row."""
    along = 0.0
    for j in range(width):
        if j != c:
            along = max(along, abs(T[r, j]))
    down = 0.0
    for i in range(T.shape[0]):
        if rows[i] >= 2 * m:
            down = max(down, abs(T[i, c]))
    return along * down / abs(T[r, c])


@kernel
def pivot_free_in(
    T: Floats,
    x: Floats,
    m: int,
    rank_tolerance: float,
    growth_limit: float,
    rows: Ints,
    columns: Ints,
    work: Floats,
    info: Ints,
) -> int:
    """Exchange free unknowns in by complete pivoting; returns the width that is left, n plus those that stayed out.

    ``T`` (m + n, m + n) and ``x`` hold the first dictionary, equilibrated. Variables: e_k is k, u_j is m + j, w_i is
    2 m + i, y_i is 2 m + n + i; ``rows`` names the basic ones and ``columns`` the others. ``work`` has length
    2 (m + n). ``info[0]`` and ``info[1]`` count the single and the double pivots.
    """
    size = x.shape[0]
    n = size - m
    width = size
    column = work[:size]
    pivot_row = work[size : 2 * size]
    for i in range(m):
        rows[i] = i
        columns[i] = m + i
    for i in range(n):
        rows[m + i] = 2 * m + i
        columns[m + i] = 2 * m + n + i
    largest = 0.0
    for i in range(m):
        for j in range(m):
            largest = max(largest, abs(T[i, j]))
    info[0] = 0
    info[1] = 0
    while True:
        best = 0.0
        r = -1
        c = -1
        left = 0
        for i in range(size):
            if rows[i] < m:
                left += 1
                source = T[i]
                for j in range(width):
                    if columns[j] < 2 * m and abs(source[j]) > best:
                        best = abs(source[j])
                        r = i
                        c = j
        if left == 0:
            return width
        regular = best > rank_tolerance * largest
        if regular and growth(T, width, m, r, c, rows) <= growth_limit:
            width = exchange_columns(T, x, width, r, c, False, rows, columns, column, pivot_row)
            info[0] += 1
            continue
        # Of a pair (s, d) the two successive pivots, the smaller one as large as can be.
        value = 0.0
        s_best = -1
        d_best = -1
        r_best = -1
        c_best = -1
        for s in range(size):
            pair = rows[s] - 2 * m
            if pair < 0 or pair >= n:
                continue
            d = -1
            for j in range(width):
                if columns[j] == 2 * m + n + pair:
                    d = j
            if d < 0:
                continue
            for j in range(width):
                if columns[j] >= 2 * m or abs(T[s, j]) <= value:
                    continue
                for i in range(size):
                    if rows[i] < m:
                        second = T[i, d] - T[i, j] * T[s, d] / T[s, j]
                        lesser = min(abs(T[s, j]), abs(second))
                        if lesser > value:
                            value = lesser
                            s_best = s
                            d_best = d
                            r_best = i
                            c_best = j
        if s_best >= 0 and value * value > best and value > rank_tolerance * largest:
            width = exchange_columns(T, x, width, s_best, c_best, True, rows, columns, column, pivot_row)
            width = exchange_columns(T, x, width, r_best, d_best, False, rows, columns, column, pivot_row)
            info[1] += 1
        elif regular:
            width = exchange_columns(T, x, width, r, c, False, rows, columns, column, pivot_row)
            info[0] += 1
        else:
            return width
