"""Convex hulls by Qhull, flat ones and single points included, and the hull as the kernels take it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contactlab.contact.errors import ContactError
from contactlab.contact.kernels.layout import CONVEX, MAX_FACE, MAX_POINTS
from contactlab.contact.shapes.shape import Packed
from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.spatial.polyhedron import outward_triangles

if TYPE_CHECKING:
    from scipy.spatial import ConvexHull

# Neighbouring triangles of a hull whose normals agree this well are one face.
COPLANAR = 1e-9
# Twice the area of a face, relative to its longest side squared, below which it is a line.
LINE = 1e-12


def hull_faces(points: FloatArray) -> tuple[FloatArray, list[list[int]]]:
    """Outward unit normals (m, 3) of the faces of the hull of ``points`` (n, 3), and their corners, counter-clockwise.

    A flat set has two faces, one on either side; a straight one a single "face" of its two ends, and a point itself,
    both with the normal zero.
    """
    rank, axes = _extent(points)
    if rank == 0:
        return np.zeros((1, 3)), [[0]]
    if rank == 1:
        return np.zeros((1, 3)), [_ends(points, axes[0])]
    if rank == 2:
        loop = _loop(points, np.arange(len(points)), axes[2])
        return _checked(np.array([axes[2], -axes[2]]), [loop, loop[::-1]])
    return _checked(*_solid(points))


def packed_hull(points: FloatArray, *, faces: bool) -> Packed:
    """Hull of ``points`` (n, 3) as the kernels take it; a `ContactError` where a face has too many corners for them."""
    normals, loops = hull_faces(points) if faces else (np.zeros((0, 3)), [])
    starts = np.cumsum([len(loops) + 1, *map(len, loops)]) if faces else ()
    return Packed(
        CONVEX,
        [len(points), 0, len(loops), points.size, 0],
        np.concatenate([points.ravel(), normals.ravel()]),
        [*starts, *(i for loop in loops for i in loop)],
        in_data=(1, 3),
        in_loops=(4,),
    )


def hull_points(points: FloatArray) -> list[int]:
    """Numbers, ascending, of the corners of the hull of ``points`` (n, 3); any number of them."""
    rank, axes = _extent(points)
    if rank == 0:
        return [0]
    if rank == 1:
        return sorted(_ends(points, axes[0]))
    if rank == 2:
        return sorted(_loop(points, np.arange(len(points)), axes[2]))
    return sorted(int(i) for i in _qhull(points).vertices)


def _qhull(points: FloatArray) -> ConvexHull:
    from scipy.spatial import ConvexHull, QhullError

    try:
        return ConvexHull(points)
    except QhullError as error:
        why = str(error).strip().partition("\n")[0]
        detail = f"have no hull that can be computed ({why}): make them exactly flat, or give them a thickness"
        raise ContactError("points", detail) from error


def _extent(points: FloatArray) -> tuple[int, FloatArray]:
    """Dimension of a set of points (0 to 3), and its principal axes (3, 3), the longest first."""
    center = points.mean(axis=0)
    _, extents, axes = np.linalg.svd(points - center, full_matrices=len(points) < 3)
    size = float(extents[0]) if len(extents) else 0.0
    if not size > 1e-14 * float(np.max(np.abs(points))):
        return 0, axes
    return int(np.sum(extents > 1e-9 * max(size, 1e-300))), axes


def _ends(points: FloatArray, axis: FloatArray) -> list[int]:
    along = (points - points.mean(axis=0)) @ axis
    return [int(np.argmin(along)), int(np.argmax(along))]


def _solid(points: FloatArray) -> tuple[FloatArray, list[list[int]]]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    # The hull comes in triangles: neighbours of one plane are one face.
    hull = _qhull(points)
    all_normals, n = hull.equations[:, :3], len(hull.simplices)
    one, other = np.repeat(np.arange(n), 3), hull.neighbors.ravel()
    same = np.abs(all_normals[one] - all_normals[other]).max(axis=1) < COPLANAR
    graph = coo_array((np.ones(int(same.sum())), (one[same], other[same])), shape=(n, n))
    count, face = connected_components(graph, directed=False)
    triangles = outward_triangles(points, hull)
    a, b, c = (points[triangles[:, k]] for k in range(3))
    longest = np.max([np.abs(b - a), np.abs(c - a), np.abs(c - b)], axis=(0, 2))
    solid = np.linalg.norm(np.cross(b - a, c - a), axis=1) > LINE * longest**2
    members = np.split(np.argsort(face, kind="stable"), np.cumsum(np.bincount(face, minlength=count))[:-1])
    normals, loops = [], []
    for own in members:
        normal = all_normals[own[0]]
        if len(own) == 1:
            loop = [int(i) for i in triangles[own[0]]] if solid[own[0]] else []
        else:
            loop = _loop(points, np.unique(triangles[own]), normal)
        if loop:
            normals.append(normal)
            loops.append(loop)
    return np.array(normals), loops


def _loop(points: FloatArray, numbers: IntArray, normal: FloatArray) -> list[int]:
    """Corners of the hull of coplanar points, counter-clockwise about ``normal``; none where they are in line."""
    from scipy.spatial import ConvexHull, QhullError

    axis = int(np.argmin(np.abs(normal)))
    u = np.cross(normal, np.eye(3)[axis])
    u /= np.linalg.norm(u)
    flat = points[numbers] @ np.stack([u, np.cross(normal, u)], axis=1)
    try:
        return [int(i) for i in numbers[ConvexHull(flat).vertices]]
    except QhullError:
        return []


def _checked(normals: FloatArray, loops: list[list[int]]) -> tuple[FloatArray, list[list[int]]]:
    largest = max(map(len, loops))
    if largest > MAX_FACE:
        raise ContactError("points", f"a face of the hull has {largest} corners, at most {MAX_FACE} can be taken")
    highest = max(map(max, loops))
    if highest >= MAX_POINTS:
        raise ContactError("points", f"corner {highest} of the hull: at most {MAX_POINTS} points can be taken")
    return normals, loops
