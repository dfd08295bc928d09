"""Convex hull of points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from contactlab.contact.errors import ContactError
from contactlab.contact.shapes.hull import hull_faces, packed_hull
from contactlab.contact.shapes.shape import Packed, Points, Shape
from contactlab.contact.shapes.solid import Solid, balls, faces
from contactlab.spatial.arrays import FloatArray, finite_array, read_only


@dataclass(frozen=True, eq=False, init=False)
class ConvexPoints(Shape):
    """Convex hull of ``points`` (n, 3) [m] in body axes, n >= 1; each point may touch, in the order given.

    Raises
    ------
    ContactError
        No point, another shape, or an entry that is not finite.
    """

    points: Points

    def __init__(self, points: ArrayLike) -> None:
        checked = finite_array(points, "points", (None, 3), ContactError)
        if checked.shape[0] == 0:
            raise ContactError("points", "must hold at least one point, got none")
        if checked.shape[0] > 1 and not np.ptp(checked, axis=0).any():
            raise ContactError("points", f"are {checked.shape[0]} times the same point, {checked[0]}: give it once")
        object.__setattr__(self, "points", read_only(checked))

    def support_points(self) -> tuple[FloatArray, FloatArray]:
        """The points (n, 3) and zero radii (n,), as new arrays."""
        return self.points.copy(), np.zeros(self.points.shape[0])

    def packed(self, *, faces: bool = True) -> Packed:
        """The points and the faces of their hull."""
        return packed_hull(self.points, faces=faces)

    def solid(self) -> Solid:
        """The faces of the hull; of a point or a rod, which has no surface, what touches."""
        _, loops = hull_faces(self.points)
        if len(loops[0]) >= 3:
            return faces([self.points[loop] for loop in loops])
        rod = balls(*self.support_points())
        return Solid(rod.vertices, rod.triangles, self.points[loops[0]][None] if len(loops[0]) == 2 else rod.lines)
