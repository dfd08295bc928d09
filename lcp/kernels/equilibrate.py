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
    """The power of two next below x in magnitude; 1 for zero and for what is not finite."""
    if x <= 0.0 or not np.isfinite(x):
        return 1.0
    return 2.0 ** np.floor(np.log2(x))


@kernel(inner=True, vectors=True)
def largest_of(M: Floats, work: Floats) -> None:
    """Fill ``work`` with the largest magnitudes in each row of M and, behind them, in each column."""
    n = M.shape[0]
    columns = view_1d(work, n, n)
    for j in range(n):
        columns[j] = 0.0
    for i in range(n):
        source = M[i]
        a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        j = 0
        while j + 8 <= n:
            y, x = view_1d(source, j, 8), view_1d(columns, j, 8)
            p, q, r, s = abs(y[0]), abs(y[1]), abs(y[2]), abs(y[3])
            t, u, v, w = abs(y[4]), abs(y[5]), abs(y[6]), abs(y[7])
            # Not max(): of that the compiler makes no vectors.
            a, b, c, d = p if p > a else a, q if q > b else b, r if r > c else c, s if s > d else d
            e, f, g, h = t if t > e else e, u if u > f else f, v if v > g else g, w if w > h else h
            p, q, r, s = (
                p if p > x[0] else x[0],
                q if q > x[1] else x[1],
                r if r > x[2] else x[2],
                s if s > x[3] else x[3],
            )
            t, u, v, w = (
                t if t > x[4] else x[4],
                u if u > x[5] else x[5],
                v if v > x[6] else x[6],
                w if w > x[7] else x[7],
            )
            x[0], x[1], x[2], x[3] = p, q, r, s
            x[4], x[5], x[6], x[7] = t, u, v, w
            j += 8
        most = max(max(max(a, b), max(c, d)), max(max(e, f), max(g, h)))
        while j < n:
            size = abs(source[j])
            most = max(most, size)
            columns[j] = max(columns[j], size)
            j += 1
        work[i] = most


@kernel
def equilibrate(M: Floats, row: Floats, column: Floats, sweeps: int, work: Floats) -> None:
    """Fill ``row`` and ``column`` so that the largest entries of every row and column of R M C come near one.

    Ruiz (2001): divide rows and columns by the square roots of their largest entries, a few times. ``work`` has
    length 3 n. A zero row or column keeps the scale one.
    """
    largest_of(M, work)
    equilibrate_more(M, row, column, sweeps, work)


@kernel(inner=True)
def equilibrate_more(M: Floats, row: Floats, column: Floats, sweeps: int, work: Floats) -> None:
    """The same where ``work`` has what `largest_of` leaves."""
    n = M.shape[0]
    for i in range(n):
        row[i] = 1.0
        column[i] = 1.0
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
        least = np.inf
        most = 0.0
        for i in range(2 * n):
            if work[i] > 0.0:
                least = min(least, work[i])
                most = max(most, work[i])
        # Rows and columns of like size need no scaling among themselves; one factor for all brings them near one, where
        # the covering vector is.
        if most <= 16.0 * least:
            if sweep == 0:
                common = power_of_two(1.0 / most) if most > 0.0 else 1.0
                for i in range(n):
                    column[i] = common
                return
            break
        for i in range(n):
            row[i] /= np.sqrt(work[i]) if work[i] > 0.0 else 1.0
            column[i] /= np.sqrt(work[n + i]) if work[n + i] > 0.0 else 1.0
    for i in range(n):
        row[i] = power_of_two(row[i])
        column[i] = power_of_two(column[i])


@kernel
def balance(M: Floats, row: Floats, column: Floats, work: Floats) -> None:
    """Fill ``row`` and ``column`` so that the entries of each row and column of R M C lie evenly about one.

    Largest entries alone cannot tell units apart: in [[h/m, 1], [mu, 0]] every row and column already holds a one, and
    the first entry of a heavy body stays lost beside them. R. Fourer, Solving staircase linear programs by the simplex
    method, Mathematical Programming 23 (1982). Entries that are rounding beside their row or column do not count.
    ``work`` has length 3 n.
    """
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
    for _ in range(8):
        # The noise of an entry is measured by the largest ones of the data as they are, so these stay as they are.
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
    most = 0.0
    for i in range(n):
        row[i] = power_of_two(row[i])
        column[i] = power_of_two(column[i])
    for i in range(n):
        for j in range(n):
            most = max(most, abs(M[i, j]) * row[i] * column[j])
    common = power_of_two(1.0 / most) if most > 0.0 else 1.0
    for i in range(n):
        row[i] *= common
