"""Units of rows and columns, so that no decision on rank or sign depends on the units of the data."""

from __future__ import annotations

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
