"""Faces of a convex hull, flat ones and single points included, and the hull as the kernels take it."""

from __future__ import annotations

import numpy as np

from contactlab.contact.errors import ContactError
from contactlab.contact.kernels.layout import CONVEX, MAX_FACE, MAX_POINTS
from contactlab.contact.shapes.shape import Packed
from contactlab.spatial.arrays import FloatArray

# Triangles of a hull whose normals agree this well are one face.
COPLANAR = 1e-9


def hull_faces(points: FloatArray) -> tuple[FloatArray, list[list[int]]]:
    """Outward unit normals (m, 3) of the faces of the hull of ``points`` (n, 3), and their corners, counter-clockwise.

    A flat set has two faces, one on either side; a straight one a single "face" of its two ends, and a point itself,
    both with the normal zero.
    """
    rank, size, axes = _extent(points)
    if rank == 0:
        return np.zeros((1, 3)), [[0]]
    if rank == 1:
        return np.zeros((1, 3)), [_ends(points, axes[0])]
    if rank == 2:
        loop = _loop(points, list(range(len(points))), axes[2])
        return _checked(np.array([axes[2], -axes[2]]), [loop, loop[::-1]])
    return _checked(*_solid(points, size))


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
    from scipy.spatial import ConvexHull

    rank, _, axes = _extent(points)
    if rank == 0:
        return [0]
    if rank == 1:
        return sorted(_ends(points, axes[0]))
    if rank == 2:
        return sorted(_loop(points, list(range(len(points))), axes[2]))
    return sorted(int(i) for i in ConvexHull(points).vertices)


def _extent(points: FloatArray) -> tuple[int, float, FloatArray]:
    """Dimension of a set of points (0 to 3), its size, and its principal axes (3, 3), the longest first."""
    center = points.mean(axis=0)
    _, extents, axes = np.linalg.svd(points - center, full_matrices=len(points) < 3)
    size = float(extents[0]) if len(extents) else 0.0
    if not size > 1e-14 * float(np.max(np.abs(points))):
        return 0, size, axes
    return int(np.sum(extents > 1e-9 * max(size, 1e-300))), size, axes


def _ends(points: FloatArray, axis: FloatArray) -> list[int]:
    along = (points - points.mean(axis=0)) @ axis
    return [int(np.argmin(along)), int(np.argmax(along))]


def _solid(points: FloatArray, size: float) -> tuple[FloatArray, list[list[int]]]:
    from scipy.spatial import ConvexHull

    # The hull comes in triangles: those of one plane are one face.
    planes, left = [], ConvexHull(points).equations
    while len(left):
        planes.append(left[0])
        left = left[np.abs(left[:, :3] - left[0, :3]).max(axis=1) >= COPLANAR]
    normals, loops = [], []
    for plane in planes:
        on = np.flatnonzero(points @ plane[:3] + plane[3] > -COPLANAR * size)
        loop = _loop(points, [int(i) for i in on], plane[:3])
        if len(loop) >= 3:
            normals.append(plane[:3])
            loops.append(loop)
    return np.array(normals), loops


def _loop(points: FloatArray, numbers: list[int], normal: FloatArray) -> list[int]:
    """Corners of the hull of coplanar points, counter-clockwise about ``normal`` (A. M. Andrew's monotone chain)."""
    axis = int(np.argmin(np.abs(normal)))
    u = np.cross(normal, np.eye(3)[axis])
    u /= np.linalg.norm(u)
    v = np.cross(normal, u)
    flat = {i: (float(points[i] @ u), float(points[i] @ v)) for i in numbers}
    order = sorted(numbers, key=lambda i: (*flat[i], i))
    extent = max(np.ptp([flat[i][m] for i in numbers]) for m in range(2))

    def chain(sequence: list[int]) -> list[int]:
        corners: list[int] = []
        for i in sequence:
            while len(corners) >= 2:
                (ax, ay), (bx, by), (cx, cy) = flat[corners[-2]], flat[corners[-1]], flat[i]
                if (bx - ax) * (cy - ay) - (by - ay) * (cx - ax) > 1e-12 * extent * extent:
                    break
                corners.pop()
            corners.append(i)
        return corners[:-1]

    return chain(order) + chain(order[::-1])


def _checked(normals: FloatArray, loops: list[list[int]]) -> tuple[FloatArray, list[list[int]]]:
    largest = max(map(len, loops))
    if largest > MAX_FACE:
        raise ContactError("points", f"a face of the hull has {largest} corners, at most {MAX_FACE} can be taken")
    highest = max(map(max, loops))
    if highest >= MAX_POINTS:
        raise ContactError("points", f"corner {highest} of the hull: at most {MAX_POINTS} points can be taken")
    return normals, loops
