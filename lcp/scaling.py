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
