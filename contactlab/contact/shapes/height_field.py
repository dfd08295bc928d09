"""Height field: terrain over a rectangular grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from contactlab.contact.errors import ContactError
from contactlab.contact.shapes.positive import positive_number
from contactlab.spatial.arrays import FloatArray, finite_array, read_only

__all__ = ["HeightField"]


@dataclass(frozen=True, eq=False, init=False)
class HeightField:
    """Solid below a surface z = height(x, y) over a rectangular grid; there is nothing beyond the grid's edges.

    Parameters
    ----------
    heights
        (nx, ny) [m], at least 2 x 2: ``heights[i, j]`` is the height at x = i dx, y = j dy. Every cell is cut into two
        triangles along the diagonal from its lower corner (i, j) to (i + 1, j + 1).
    spacing
        (dx, dy) [m] of the grid, positive, or one number for both.

    Raises
    ------
    ContactError
        A grid too small, a spacing that is not positive, or an entry that is not finite.
    """

    heights: FloatArray
    spacing: tuple[float, float]

    def __init__(self, heights: ArrayLike, spacing: float | tuple[float, float]) -> None:
        checked = finite_array(heights, "heights", (None, None), ContactError)
        if min(checked.shape) < 2:
            raise ContactError("heights", f"must be at least 2 x 2, got shape {checked.shape}")
        if np.ndim(spacing) == 0:
            dx = dy = positive_number(spacing, "spacing")  # type: ignore[arg-type]  # a number, as its dimension says
        else:
            pair = finite_array(spacing, "spacing", (2,), ContactError)
            dx, dy = positive_number(pair[0], "spacing"), positive_number(pair[1], "spacing")
        object.__setattr__(self, "heights", read_only(checked))
        object.__setattr__(self, "spacing", (dx, dy))
