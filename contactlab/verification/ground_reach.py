"""How far a body is within reach of a ground that is not convex: a mesh, terrain; in plain numpy.

What is asked is what cannot be denied. Of a mesh: the triangle that comes nearest, where the shortest way leaves its
outer side; and of a polytope that has sunk in a little, a triangle that it stands on with a point well inside it.
Deeper, or at an edge that it overlaps, which way is out is a matter of choice, and nothing is asked.
"""

from __future__ import annotations

import itertools

import numpy as np

from contactlab.contact import HeightField, Mesh
from contactlab.spatial.arrays import FloatArray
from contactlab.verification.proximity import Core, Place, Support, corners, nearest

NEAR = 1e-9  # part of the size of things by which two shapes may be within reach, and no row of theirs be there
UPRIGHT = 0.1  # cosine: a surface is touched from its outer side
SUNK = 0.01  # part of a body's thickness by which it may have sunk in, and still only one way lead out
INSIDE = 4.0  # times that depth: as far from the triangle's edges no way past them is shorter than up


def mesh_excess(mesh: Mesh, at: Place, core: Core, at_b: Place, margin: float) -> float:
    """Return by how much a convex shape is nearer to a mesh than ``margin``, over their place's size; 0 where not."""
    # In the mesh's axes.
    R, p = at.R.T @ at_b.R, at.R.T @ (at_b.p - at.p)
    size = 1.0 + float(np.abs(at.p).sum()) + float(np.abs(at_b.p).sum()) + core.reach
    slack = NEAR * size

    def support(d: FloatArray) -> FloatArray:
        return R @ core.support(R.T @ d) + p

    low = np.array([support(-axis)[i] for i, axis in enumerate(np.eye(3))]) - core.radius - margin
    high = np.array([support(axis)[i] for i, axis in enumerate(np.eye(3))]) + core.radius + margin
    triangles = mesh.vertices[mesh.triangles]
    close = np.all((triangles.min(axis=1) <= high) & (triangles.max(axis=1) >= low), axis=1)
    least, outside = np.inf, -1.0
    for triangle in triangles[close]:
        normal = np.cross(triangle[1] - triangle[0], triangle[2] - triangle[0])
        area = float(np.linalg.norm(normal))
        if area == 0.0:
            continue
        normal /= area
        pa, pb = nearest(corners(triangle), support, normal)
        apart = float(np.linalg.norm(pb - pa))
        if apart <= slack:
            depth = _sunk(triangle, normal, support, slack) if core.radius == 0.0 else None
            if depth is not None:
                return (margin + depth) / size
            least, outside = 0.0, -1.0
        elif apart < least - slack:
            least, outside = apart, float(normal @ (pb - pa)) / apart
        elif apart <= least + slack:
            outside = max(outside, float(normal @ (pb - pa)) / apart)
    if outside < UPRIGHT:
        return 0.0
    return max(0.0, margin + core.radius - least - slack) / size


def _sunk(triangle: FloatArray, normal: FloatArray, support: Support, slack: float) -> float | None:
    """Return how far a polytope must rise to stand on a triangle it overlaps; None where it may leave another way.

    Some point of it lies so deep, c from the nearest edge: along a way out at the angle t from the normal it has to go
    depth cos t + c sin t at least, which exceeds the depth for c = 4 depth up to t = 152 degrees, and the body's
    thickness stands against the rest.
    """
    lowest, highest = float(normal @ support(-normal)), float(normal @ support(normal))
    depth = max(0.0, float(normal @ triangle[0]) - lowest)
    sides = np.linalg.norm(np.roll(triangle, -1, axis=0) - np.roll(triangle, -2, axis=0), axis=1)
    middle = sides @ triangle / sides.sum()
    radius = float(np.linalg.norm(np.cross(triangle[1] - triangle[0], triangle[2] - triangle[0]))) / float(sides.sum())
    share = 1.0 - INSIDE * max(depth, slack) / radius
    if share <= 0.0 or depth > SUNK * (highest - lowest):
        return None
    inner = corners(middle + share * (triangle - middle))
    pa, pb = nearest(inner, lambda d: support(d) + depth * normal, normal)
    return depth if float(np.linalg.norm(pb - pa)) <= 2.0 * slack else None


def points_excess(terrain: HeightField, at: Place, points: FloatArray, margin: float) -> float:
    """Return by how much a point (n, 3) over terrain, world axes, is lower than ``margin`` above it, over its size."""
    dx, dy = terrain.spacing
    nx, ny = terrain.heights.shape
    x, y, z = ((points - at.p) @ at.R).T
    over = (x >= 0.0) & (x <= (nx - 1) * dx) & (y >= 0.0) & (y <= (ny - 1) * dy)
    if not over.any():
        return 0.0
    x, y, z = x[over] / dx, y[over] / dy, z[over]
    i, j = np.minimum(x.astype(int), nx - 2), np.minimum(y.astype(int), ny - 2)
    x, y, H = x - i, y - j, terrain.heights
    below = np.where(
        x >= y,
        H[i, j] + x * (H[i + 1, j] - H[i, j]) + y * (H[i + 1, j + 1] - H[i + 1, j]),
        H[i, j] + y * (H[i, j + 1] - H[i, j]) + x * (H[i + 1, j + 1] - H[i, j + 1]),
    )
    size = 1.0 + np.abs(points[over]).sum(axis=1) + float(np.abs(at.p).sum())
    return float(np.max(np.maximum(0.0, margin - (z - below) - NEAR * size) / size))


def triangles_of(terrain: HeightField, place: Place, center: FloatArray, reach: float) -> list[FloatArray]:
    """Return the triangles (3, 3), in the terrain's axes, of the cells within reach of a ball."""
    dx, dy = terrain.spacing
    x, y = (place.R.T @ (center - place.p))[:2]
    nx, ny = terrain.heights.shape
    first = [max(0, int(np.floor((value - reach) / step))) for value, step in ((x, dx), (y, dy))]
    last = [min(n - 1, int(np.ceil((value + reach) / step))) for value, step, n in ((x, dx, nx), (y, dy, ny))]
    triangles = []
    for i, j in itertools.product(range(first[0], last[0]), range(first[1], last[1])):
        for a, b in ((1, 0), (0, 1)):
            cell = ((i, j), (i + 1, j + 1), (i + a, j + b))
            triangles.append(np.array([[m * dx, n * dy, terrain.heights[m, n]] for m, n in cell]))
    return triangles
