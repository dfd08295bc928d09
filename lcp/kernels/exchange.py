"""One exchange (principal or ordinary pivot) of a whole condensed tableau, for methods that look at all its columns.

The tableau is a dictionary x_B = x + sum_j T[:, j] y_j with one column per nonbasic variable; basic columns, which are
unit vectors, are not stored.
"""

from __future__ import annotations

from lcp.kernels import Floats, kernel


@kernel(inline=True)
def take_column(T: Floats, c: int, column: Floats) -> None:
    """Move column c of T to ``column``, leaving zeros: `exchange` builds the new column on them."""
    for i in range(column.shape[0]):
        column[i] = T[i, c]
        T[i, c] = 0.0


@kernel(inner=True)
def add_multiples(T: Floats, column: Floats, pivot_row: Floats, width: int) -> None:
    """Add ``column[i]`` times ``pivot_row[:width]`` to each row i of T."""
    n = column.shape[0]
    i = 0
    # Two rows at a time share the loads of the pivot row.
    while i + 2 <= n:
        first = column[i]
        second = column[i + 1]
        if first != 0.0 or second != 0.0:
            upper = T[i, :width]
            lower = T[i + 1, :width]
            for j in range(width):
                p = pivot_row[j]
                upper[j] += first * p
                lower[j] += second * p
        i += 2
    if i < n and column[i] != 0.0:
        last = T[i, :width]
        for j in range(width):
            last[j] += column[i] * pivot_row[j]


@kernel
def exchange(T: Floats, x: Floats, r: int, c: int, column: Floats, pivot_row: Floats) -> None:
    """Swap the basic variable of row ``r`` with the nonbasic variable of column ``c``, in place.

    `take_column` has moved column c of T to ``column`` (n,), which is used up; ``pivot_row`` (n + 1,) is scratch. Both
    copies keep the update free of aliasing, so that it vectorises.
    """
    n = x.shape[0]
    width = T.shape[1]
    inverse = 1.0 / column[r]
    source = T[r]
    for j in range(width):
        pivot_row[j] = -source[j] * inverse
    pivot_row[c] = inverse
    x_r = -x[r] * inverse
    column[r] = 0.0
    add_multiples(T, column, pivot_row, width)
    for i in range(n):
        x[i] += column[i] * x_r
    for j in range(width):
        source[j] = pivot_row[j]
    x[r] = x_r
