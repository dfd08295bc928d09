"""Hulls of fine meshes: of their farthest corners, as many as the kernels take with ease."""

from __future__ import annotations

import numpy as np

from contactlab.contact.errors import ContactError
from contactlab.contact.shapes.convex_points import ConvexPoints
from contactlab.contact.shapes.hull import hull_faces, hull_points
from contactlab.spatial.arrays import FloatArray

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
