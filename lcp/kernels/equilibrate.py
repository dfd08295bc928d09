"""Row and column scaling of an LCP by powers of two, which changes no digit of the data.

With R, C positive and diagonal, z = C z' solves LCP(M, q) if and only if z' solves LCP(R M C, R q), w = R^-1 w'.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from lcp.compiler.views import view_1d
from lcp.kernels import Floats, kernel
from lcp.kernels.reductions import largest_size

NOISE: Final = 1e-14


@kernel(inline=True)
def power_of_two(x: float) -> float:
    """Return the next smaller power of two of |x|; 1 for zero and for values that are not finite."""
    if x <= 0.0 or not np.isfinite(x):
        return 1.0
    return 2.0 ** np.floor(np.log2(x))


@kernel(inner=True, long_loops=True)
def largest_of(M: Floats, work: Floats) -> None:
    """Fill ``work`` with the largest magnitudes in each row of M and then in each column."""
    n = M.shape[0]
    columns = view_1d(work, n, n)
    for j in range(n):
        columns[j] = 0.0
    for i in range(n):
        source = M[i]
        work[i] = largest_size(source)
        for j in range(n):
            # Not max(), which the compiler does not vectorise.
            size = abs(source[j])
            columns[j] = size if size > columns[j] else columns[j]


@kernel
def equilibrate(M: Floats, row: Floats, column: Floats, sweeps: int, work: Floats) -> None:
    """Fill ``row`` and ``column`` so that the largest entries of every row and column of R M C are near one.

    Ruiz (2001): divide rows and columns by the square roots of their largest entries, a few times. ``work`` has
    length 3 n. A zero row or column keeps the scale one.
    """
    largest_of(M, work)
    equilibrate_more(M, row, column, sweeps, work)


@kernel(inner=True)
def equilibrate_more(M: Floats, row: Floats, column: Floats, sweeps: int, work: Floats) -> None:
    """Fill ``row`` and ``column`` as `equilibrate`, if ``work`` already has the output of `largest_of`."""
    # No scales yet.
    n = M.shape[0]
    for i in range(n):
        row[i] = 1.0
        column[i] = 1.0
    # Largest entries of scaled rows and columns; the first sweep finds them in place.
    columns = work[n : 2 * n]
    sizes = work[2 * n : 3 * n]
    for sweep in range(sweeps):
        for i in range(2 * n if sweep > 0 else 0):
            work[i] = 0.0
        for i in range(n if sweep > 0 else 0):
            r = row[i]
            source = M[i]
            for j in range(n):
                sizes[j] = abs(source[j]) * r * column[j]
                columns[j] = max(columns[j], sizes[j])
            work[i] = largest_size(sizes)
        # The ratio of the extreme ones.
        least = np.inf
        most = 0.0
        for i in range(2 * n):
            if work[i] > 0.0:
                least = min(least, work[i])
                most = max(most, work[i])
        # Rows and columns of similar size need no scaling among themselves; one factor scales all of them near one,
        # like the covering vector.
        if most <= 16.0 * least:
            if sweep == 0:
                common = power_of_two(1.0 / most) if most > 0.0 else 1.0
                for i in range(n):
                    column[i] = common
                return
            break
        # Divide by their square roots.
        for i in range(n):
            row[i] /= np.sqrt(work[i]) if work[i] > 0.0 else 1.0
            column[i] /= np.sqrt(work[n + i]) if work[n + i] > 0.0 else 1.0
    # Round to powers of two.
    for i in range(n):
        row[i] = power_of_two(row[i])
        column[i] = power_of_two(column[i])


@kernel
def geometric_means(M: Floats, row: Floats, column: Floats, work: Floats) -> None:
    """Fill ``row`` and ``column`` so that the extreme entries of each row and column of R M C have the mean one.

    Largest entries do not show all differences of units. In [[h/m, 1], [mu, 0]] every row and column already has a one,
    and the first entry of a heavy body remains tiny. R. Fourer, Solving staircase linear programs by the simplex
    method, Mathematical Programming 23 (1982). Entries that are rounding compared with their row or column do not
    count. ``work`` has length 3 n.
    """
    # Largest entries of rows and columns, which identify rounding.
    n = M.shape[0]
    in_row = work[:n]
    in_column = work[n : 2 * n]
    for i in range(n):
        row[i] = 1.0
        column[i] = 1.0
        in_column[i] = 0.0
    for i in range(n):
        in_row[i] = largest_size(M[i])
        for j in range(n):
            in_column[j] = max(in_column[j], abs(M[i, j]))
    least = work[2 * n : 3 * n]
    # Geometric means of rows, then of columns.
    for _ in range(8):
        # Rounding of an entry is measured by the largest entries of the unscaled data, so these stay unchanged.
        for i in range(n):
            small = np.inf
            large = 0.0
            for j in range(n):
                size = abs(M[i, j])
                if size > NOISE * max(in_row[i], in_column[j]):
                    size *= column[j]
                    small = min(small, size)
                    large = max(large, size)
            row[i] = 1.0 / (np.sqrt(small) * np.sqrt(large)) if large > 0.0 else 1.0
        for j in range(n):
            column[j] = 0.0
            least[j] = np.inf
        for i in range(n):
            for j in range(n):
                size = abs(M[i, j])
                if size > NOISE * max(in_row[i], in_column[j]):
                    size *= row[i]
                    least[j] = min(least[j], size)
                    column[j] = max(column[j], size)
        for j in range(n):
            column[j] = 1.0 / (np.sqrt(least[j]) * np.sqrt(column[j])) if column[j] > 0.0 else 1.0


@kernel
def balance(M: Floats, row: Floats, column: Floats, work: Floats) -> None:
    """Fill ``row`` and ``column`` with `geometric_means` as powers of two; the largest entry of R M C is near one."""
    # Round to powers of two.
    geometric_means(M, row, column, work)
    n = M.shape[0]
    for i in range(n):
        row[i] = power_of_two(row[i])
        column[i] = power_of_two(column[i])
    # Scale the largest entry near one.
    most = 0.0
    for i in range(n):
        for j in range(n):
            most = max(most, abs(M[i, j]) * row[i] * column[j])
    common = power_of_two(1.0 / most) if most > 0.0 else 1.0
    for i in range(n):
        row[i] *= common
