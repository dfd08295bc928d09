"""Convex hull of points, and hulls of fine meshes: of their farthest corners, as many as the kernels take with ease."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from contactlab.contact.errors import ContactError
from contactlab.contact.shapes.hull import hull_faces, hull_points, packed_hull
from contactlab.contact.shapes.shape import Packed, Points, Shape
from contactlab.contact.shapes.solid import Solid, balls, faces
from contactlab.spatial import RigidInertia
from contactlab.spatial.arrays import FloatArray, finite_array, read_only
from contactlab.spatial.errors import SpatialError
from contactlab.spatial.polyhedron import hull_triangles, unit_solid


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

    def inertia(self) -> RigidInertia | None:
        """The inertia at a density of 1 kg/m^3; None of points in a plane, which have no volume."""
        try:
            solid = unit_solid(self.points, hull_triangles(self.points))
        except SpatialError:
            return None
        return RigidInertia(*solid) if solid.mass > 0.0 else None


#: Corners a hull keeps at most: those farthest along directions spread over the sphere.
CORNERS = 256

# Tried in turn, until no face has more corners than the kernels take: of 64 corners none can.
_COUNTS = (CORNERS, 128, 64)


def coarse_hull(points: FloatArray) -> ConvexPoints:
    """Return the hull of points (n, 3), of its farthest corners where there are more than `CORNERS`.

    A `ContactError` where the points coincide or lie in a line.
    """
    numbers = hull_points(points)
    if len(numbers) < 3:
        raise ContactError("points", "coincide or lie in a line, which bounds nothing: mend the mesh or go without")
    corners = points[numbers]
    for count in _COUNTS:
        kept = corners
        if len(corners) > count:
            kept = corners[np.unique(np.argmax(corners @ directions(count).T, axis=0))]
        try:
            hull_faces(kept)
            break
        except ContactError:
            if count == _COUNTS[-1]:
                raise
    return ConvexPoints(kept)


def directions(n: int) -> FloatArray:
    """Return n unit vectors (n, 3) spread over the sphere: on a spiral, the golden angle apart; always the same."""
    i = np.arange(n)
    z = 1.0 - (2.0 * i + 1.0) / n
    angle, r = i * np.pi * (3.0 - np.sqrt(5.0)), np.sqrt(1.0 - z * z)
    return np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=1)
