"""Units of rows and columns, so that no decision on rank or sign depends on the units of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def scales(K: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Powers of two (row, column) that bring the largest entries of K, and of its rows and columns, near one."""
    from lcp.kernels.equilibrate import equilibrate

    n = K.shape[0]
    row, column = np.ones(n), np.ones(n)
    equilibrate(K, row, column, 4, np.empty(3 * n))
    largest = float(np.abs(row[:, None] * K * column).max(initial=0.0))
    if largest > 0.0:
        row *= 2.0 ** -np.floor(np.log2(largest))
    return row, column


def balanced_scales(K: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """As `scales`, after bringing the geometric means of the smallest and largest entries of rows and columns to one.

    Largest entries alone cannot tell units apart: in [[h/m, 1], [mu, 0]] every row and column already holds a one, and
    the first entry of a heavy body stays lost beside them. R. Fourer, Solving staircase linear programs by the simplex
    method, Mathematical Programming 23 (1982). Entries that are rounding beside their row or column do not count.
    """
    n = K.shape[0]
    row: NDArray[np.float64] = np.ones(n)
    column: NDArray[np.float64] = np.ones(n)
    size = np.abs(K)
    noise = 1e-14 * np.maximum(size.max(axis=1, initial=0.0)[:, None], size.max(axis=0, initial=0.0))
    size = np.where(size > noise, size, 0.0)
    for _ in range(8):
        for axis, factor in ((1, row), (0, column)):
            scaled = row[:, None] * size * column
            most = scaled.max(axis=axis, initial=0.0)
            least = np.where(scaled > 0.0, scaled, np.inf).min(axis=axis, initial=np.inf)
            mean = np.sqrt(most) * np.sqrt(np.where(most > 0.0, least, 1.0))
            factor /= np.where(most > 0.0, mean, 1.0)
    row, column = np.exp2(np.round(np.log2(row))), np.exp2(np.round(np.log2(column)))
    second_row, second_column = scales(row[:, None] * K * column)
    return row * second_row, column * second_column


def entrywise_scales(M: Any, *, congruent: bool = False) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Powers of two (row, column) that bring the largest entries of rows and columns of M, dense or sparse, near one.

    Rows and columns are divided by the square roots of their largest entries, six times. ``congruent`` requires that
    row and column are the same.

    D. Ruiz, A scaling algorithm to equilibrate both rows and columns norms in matrices, RAL-TR-2001-034.
    """
    n = M.shape[0]
    row, column = np.ones(n), np.ones(n)
    if n == 0:
        return row, column
    sizes = abs(M)
    dense = isinstance(M, np.ndarray)
    if not dense:
        sizes = sizes.tocoo()
    for _ in range(6):
        if dense:
            scaled = row[:, None] * sizes * column
            in_row, in_column = scaled.max(axis=1), scaled.max(axis=0)
        else:
            data = row[sizes.row] * sizes.data * column[sizes.col]
            in_row, in_column = np.zeros(n), np.zeros(n)
            np.maximum.at(in_row, sizes.row, data)
            np.maximum.at(in_column, sizes.col, data)
        if congruent:
            in_row = in_column = np.maximum(in_row, in_column)
        row /= np.sqrt(np.where(in_row > 0.0, in_row, 1.0))
        column /= np.sqrt(np.where(in_column > 0.0, in_column, 1.0))
    return np.exp2(np.round(np.log2(row))), np.exp2(np.round(np.log2(column)))
