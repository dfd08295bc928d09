"""Unbounded shapes: the half-space, and terrain over a rectangular grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from contactlab.contact.kernels.layout import HALF_SPACE, HEIGHT_FIELD
from contactlab.contact.shapes.shape import (
    Grid,
    PackedShape,
    Shape,
    SurfaceMesh,
    Vec3Array,
    flat,
    join_surfaces,
    positive_number,
)
from contactlab.spatial.arrays import FloatArray, finite_array, finite_number, set_fields
from contactlab.spatial.errors import ContactError


@dataclass(frozen=True, eq=False, init=False)
class HalfSpace(Shape):
    """Solid that fills all points y with n . y <= offset, n the outward unit normal.

    Parameters
    ----------
    normal
        Outward normal (3,) in world axes, of any length but zero; it is normalised.
    offset
        Distance [m] of the surface from the world origin along the UNIT normal: ``HalfSpace((0, 0, 2), 1)`` ends at
        z = 1.

    Raises
    ------
    ContactError
        A zero normal, or an entry that is not finite.
    """

    normal: Vec3Array
    offset: float

    def __init__(self, normal: ArrayLike = (0.0, 0.0, 1.0), offset: float = 0.0) -> None:
        set_fields(self, normal=unit_vector(normal, "normal"), offset=finite_number(offset, "offset", ContactError))

    @classmethod
    def through(cls, point: ArrayLike, normal: ArrayLike) -> HalfSpace:
        """Return the half-space whose surface passes through ``point`` (3,) [m], with the outward ``normal`` (3,)."""
        n = unit_vector(normal, "normal")
        return cls(n, float(n @ finite_array(point, "point", (3,), ContactError)))

    def pack(self, *, faces: bool = True) -> PackedShape:
        """Return the normal and offset."""
        return PackedShape(HALF_SPACE, [*self.normal.tolist(), self.offset])

    def surface_mesh(self) -> SurfaceMesh:
        """Return an empty surface; `contactlab.drawing.Ground` draws the visible part of the half-space."""
        return join_surfaces([])


def unit_vector(value: ArrayLike, field: str) -> FloatArray:
    """Return ``value`` (3,) divided by its length; a `ContactError` if it is zero."""
    vector = finite_array(value, field, (3,), ContactError)
    largest = float(np.max(np.abs(vector)))
    if largest == 0.0:
        raise ContactError(field, "is zero and gives no direction")
    # A vector of unit length keeps its bits, so that normalising twice does not move a surface.
    if largest < 2.0 and abs(float(vector @ vector) - 1.0) <= 4.0 * np.finfo(np.float64).eps:
        return vector
    # Scaled by the largest entry first: squares of tiny or huge entries would underflow or overflow.
    vector = vector / largest
    return np.asarray(vector / np.linalg.norm(vector))


@dataclass(frozen=True, eq=False, init=False)
class HeightField(Shape):
    """Solid below a surface z = height(x, y) over a rectangular grid; the solid ends at the grid's edges.

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
        pair = finite_array(spacing if np.ndim(spacing) else (spacing, spacing), "spacing", (2,), ContactError)
        dx, dy = positive_number(pair[0], "spacing"), positive_number(pair[1], "spacing")
        set_fields(self, heights=checked, spacing=(dx, dy))

    def pack(self, *, faces: bool = True) -> PackedShape:
        """Return the heights, the grid and the range of the heights."""
        low, high = float(self.heights.min()), float(self.heights.max())
        sizes = [0, *self.heights.shape, *self.spacing, low, high]
        return PackedShape(HEIGHT_FIELD, sizes, self.heights.ravel(), in_data=(0,))

    def surface_mesh(self) -> SurfaceMesh:
        """Return two triangles a cell, and the lines of the grid."""
        nx, ny = self.heights.shape
        x, y = np.meshgrid(self.spacing[0] * np.arange(nx), self.spacing[1] * np.arange(ny), indexing="ij")
        corner = (np.arange(nx - 1)[:, None] * ny + np.arange(ny - 1)).ravel()
        triangles = np.concatenate([corner[:, None] + [0, ny, ny + 1], corner[:, None] + [0, ny + 1, 1]])
        points = np.stack((x, y, self.heights), axis=-1)
        along = np.concatenate((np.stack((points[:-1], points[1:]), axis=2).reshape(-1, 2, 3),))
        across = np.stack((points[:, :-1], points[:, 1:]), axis=2).reshape(-1, 2, 3)
        return flat(points.reshape(-1, 3), triangles, np.concatenate((along, across)))
