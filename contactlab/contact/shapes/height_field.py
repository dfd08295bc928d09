"""Height field: terrain over a rectangular grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from contactlab.contact.errors import ContactError
from contactlab.contact.kernels.layout import HEIGHT_FIELD
from contactlab.contact.shapes.shape import Grid, Packed, Shape, positive_number
from contactlab.contact.shapes.solid import Solid, flat
from contactlab.spatial.arrays import finite_array, read_only


@dataclass(frozen=True, eq=False, init=False)
class HeightField(Shape):
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

    heights: Grid
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

    def packed(self, *, faces: bool = True) -> Packed:
        """The heights, the grid and the range of the heights."""
        low, high = float(self.heights.min()), float(self.heights.max())
        sizes = [0, *self.heights.shape, *self.spacing, low, high]
        return Packed(HEIGHT_FIELD, sizes, self.heights.ravel(), in_data=(0,))

    def solid(self) -> Solid:
        """Two triangles a cell, and the lines of the grid."""
        nx, ny = self.heights.shape
        x, y = np.meshgrid(self.spacing[0] * np.arange(nx), self.spacing[1] * np.arange(ny), indexing="ij")
        corner = (np.arange(nx - 1)[:, None] * ny + np.arange(ny - 1)).ravel()
        triangles = np.concatenate([corner[:, None] + [0, ny, ny + 1], corner[:, None] + [0, ny + 1, 1]])
        points = np.stack((x, y, self.heights), axis=-1)
        along = np.concatenate((np.stack((points[:-1], points[1:]), axis=2).reshape(-1, 2, 3),))
        across = np.stack((points[:, :-1], points[:, 1:]), axis=2).reshape(-1, 2, 3)
        return flat(points.reshape(-1, 3), triangles, np.concatenate((along, across)))
