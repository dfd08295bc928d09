"""Row and column scaling of an LCP by powers of two, which changes no digit of the data.

With R, C positive and diagonal, z = C z' solves LCP(M, q) if and only if z' solves LCP(R M C, R q), w = R^-1 w'.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lcp.kernels import kernel
from lcp.kernels.reductions import largest_size


@kernel(inline=True)
def power_of_two(x: float) -> float:
    """The power of two next below x in magnitude; 1 for zero and for what is not finite."""
    if x <= 0.0 or not np.isfinite(x):
        return 1.0
    return 2.0 ** np.floor(np.log2(x))


@kernel
def equilibrate(
    M: NDArray[np.float64],
    row: NDArray[np.float64],
    column: NDArray[np.float64],
    sweeps: int,
    work: NDArray[np.float64],
) -> None:
    """Fill ``row`` and ``column`` so that the largest entries of every row and column of R M C come near one.

    Ruiz (2001): divide rows and columns by the square roots of their largest entries, a few times. ``work`` has
    length 3 n. A zero row or column keeps the scale one.
    """
    n = M.shape[0]
    for i in range(n):
        row[i] = 1.0
        column[i] = 1.0
    for sweep in range(sweeps):
        for i in range(2 * n):
            work[i] = 0.0
        columns = work[n : 2 * n]
        sizes = work[2 * n : 3 * n]
        for i in range(n):
            r = row[i]
            source = M[i]
            if sweep == 0:
                for j in range(n):
                    sizes[j] = abs(source[j])
                    columns[j] = max(columns[j], sizes[j])
            else:
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
