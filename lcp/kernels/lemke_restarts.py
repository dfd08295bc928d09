"""What changes from one try of Lemke's method to the next: thresholds, length of the path, covering vector."""

from __future__ import annotations

import numpy as np

from lcp.kernels import Floats, kernel


@kernel(inline=True)
def pivot_threshold(tolerance: float, restart: int) -> float:
    """Smallest admissible pivot of a restart, relative to its column.

    Redundant contacts make exact zeros that rounding fills with noise, so the first tries demand large pivots; wide
    spreads of mass make small pivots that are real, so the later ones do not.
    """
    if restart < 2:
        return tolerance
    return tolerance * (1e-4 if restart in (3, 6) else 1e-2)


@kernel(inline=True)
def tie_threshold(tolerance: float, restart: int) -> float:
    """Width of a tie of a restart.

    Wide ones allow for more rounding; the narrow one tells apart forces a trillion times smaller than the largest.
    """
    if restart in (1, 4):
        return tolerance * 1e3
    return tolerance * (1e-2 if restart in (3, 6) else 1.0)


@kernel(inline=True)
def balanced(restart: int) -> bool:
    """Whether a restart scales by geometric means, which tell a heavy body's rows from those of its friction cone."""
    return restart in (6, 7)


@kernel(inline=True)
def path_limit(limit: float, restart: int, restarts: float, n: int, pivots: int) -> float:
    """Pivots at which a path is given up: one that long often cycles; but the last may use up the whole limit."""
    return limit if restart >= restarts else min(limit, pivots + max(100, 8 * n))


@kernel(inner=True)
def cover_vector(restart: int, covered: bool, given: Floats, row: Floats, cover: Floats) -> None:
    """Covering vector of a restart, in equilibrated rows: the given one or ones, then fixed irregular vectors.

    Another covering vector follows another path; a path that rounding has led astray is not met again.
    """
    for i in range(cover.shape[0]):
        if restart < 4 or restart in (6, 7):
            cover[i] = given[i] * row[i] if covered else 1.0
        else:
            # Fractional parts of multiples of the golden ratio: irregular, and the same on every machine.
            turn = (i + 1) * (0.6180339887498949 + 0.1 * restart)
            cover[i] = 0.5 + (turn - np.floor(turn))
