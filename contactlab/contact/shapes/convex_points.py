"""Convex hull of points, by Qhull, and coarse hulls of fine meshes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from contactlab.contact.kernels.layout import CONVEX, MAX_FACE, MAX_POINTS
from contactlab.contact.shapes.shape import PackedShape, Points, Shape
from contactlab.contact.shapes.surface_mesh import SurfaceMesh, balls, faces
from contactlab.spatial import RigidInertia
from contactlab.spatial.arrays import FloatArray, IntArray, finite_array, set_fields
from contactlab.spatial.errors import ContactError, SpatialError
from contactlab.spatial.polyhedron import hull_triangles, outward_triangles, unit_solid

if TYPE_CHECKING:
    from scipy.spatial import ConvexHull


# Neighbouring triangles of a hull are one face if the entries of their normals differ by less than this.
COPLANAR = 1e-9

# Twice the area of a face, relative to its longest side squared, below which it is a line.
LINE = 1e-12


def hull_faces(points: FloatArray) -> tuple[FloatArray, list[list[int]]]:
    """Return outward unit normals (m, 3) of the faces of the hull of ``points`` (n, 3), and corners, counter-clockwise.

    A flat set has two faces, one on either side. A straight set has one "face" of its two ends, and a single point has
    one of itself; both have the normal zero.
    """
    rank, axes = _rank_and_axes(points)
    if rank == 0:
        return np.zeros((1, 3)), [[0]]
    if rank == 1:
        return np.zeros((1, 3)), [_ends(points, axes[0])]
    if rank == 2:
        loop = _loop(points, np.arange(len(points)), axes[2])
        return _check_size(np.array([axes[2], -axes[2]]), [loop, loop[::-1]])
    return _check_size(*_solid_faces(points))


def packed_hull(points: FloatArray, *, faces: bool) -> PackedShape:
    """Return the packed hull of ``points`` (n, 3), without its faces unless ``faces``.

    A `ContactError` is raised if a face has too many corners for the kernels.
    """
    normals, loops = hull_faces(points) if faces else (np.zeros((0, 3)), [])
    starts = np.cumsum([len(loops) + 1, *map(len, loops)]) if faces else ()
    return PackedShape(
        CONVEX,
        [len(points), 0, len(loops), points.size, 0],
        np.concatenate([points.ravel(), normals.ravel()]),
        [*starts, *(i for loop in loops for i in loop)],
        in_data=(1, 3),
        in_loops=(4,),
    )


def hull_points(points: FloatArray) -> list[int]:
    """Return the indices, ascending, of all corners of the hull of ``points`` (n, 3), which can be flat."""
    rank, axes = _rank_and_axes(points)
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


def _rank_and_axes(points: FloatArray) -> tuple[int, FloatArray]:
    """Return the dimension of a set of points (0 to 3), and its principal axes (3, 3), the longest first."""
    center = points.mean(axis=0)
    _, extents, axes = np.linalg.svd(points - center, full_matrices=len(points) < 3)
    size = float(extents[0]) if len(extents) else 0.0
    if not size > 1e-14 * float(np.max(np.abs(points))):
        return 0, axes
    return int(np.sum(extents > 1e-9 * max(size, 1e-300))), axes


def _ends(points: FloatArray, axis: FloatArray) -> list[int]:
    along = (points - points.mean(axis=0)) @ axis
    return [int(np.argmin(along)), int(np.argmax(along))]


def _solid_faces(points: FloatArray) -> tuple[FloatArray, list[list[int]]]:
    """Return outward unit normals (n, 3) and corner loops of the faces of a hull; coplanar triangles are joined."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    # Qhull returns triangles; coplanar neighbours are joined to one face.
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
    """Return the hull's corners of coplanar points, counter-clockwise about ``normal``; empty for collinear points."""
    from scipy.spatial import ConvexHull, QhullError

    axis = int(np.argmin(np.abs(normal)))
    u = np.cross(normal, np.eye(3)[axis])
    u /= np.linalg.norm(u)
    flat = points[numbers] @ np.stack([u, np.cross(normal, u)], axis=1)
    try:
        return [int(i) for i in numbers[ConvexHull(flat).vertices]]
    except QhullError:
        return []


def _check_size(normals: FloatArray, loops: list[list[int]]) -> tuple[FloatArray, list[list[int]]]:
    """Return normals and loops unchanged; raise if a face or the hull has too many corners for the kernels."""
    largest = max(map(len, loops))
    if largest > MAX_FACE:
        raise ContactError("points", f"a face of the hull has {largest} corners, at most {MAX_FACE} can be taken")
    highest = max(map(max, loops))
    if highest >= MAX_POINTS:
        raise ContactError("points", f"corner {highest} of the hull: at most {MAX_POINTS} points can be taken")
    return normals, loops


@dataclass(frozen=True, eq=False, init=False)
class ConvexPoints(Shape):
    """Convex hull of ``points`` (n, 3) [m] in body axes, n >= 1; each point may touch, in the order given.

    Raises
    ------
    ContactError
        No points, an array of another shape, or an entry that is not finite.
    """

    points: Points

    def __init__(self, points: ArrayLike) -> None:
        checked = finite_array(points, "points", (None, 3), ContactError)
        if checked.shape[0] == 0:
            raise ContactError("points", "must hold at least one point, got none")
        if checked.shape[0] > 1 and not np.ptp(checked, axis=0).any():
            raise ContactError("points", f"are {checked.shape[0]} times the same point, {checked[0]}: give it once")
        set_fields(self, points=checked)

    def support_points(self) -> tuple[FloatArray, FloatArray]:
        """Return the points (n, 3) and zero radii (n,), as new arrays."""
        return self.points.copy(), np.zeros(self.points.shape[0])

    def pack(self, *, faces: bool = True) -> PackedShape:
        """Return the points and the faces of their hull."""
        return packed_hull(self.points, faces=faces)

    def surface_mesh(self) -> SurfaceMesh:
        """Return the faces of the hull; for a point or a rod, which has no surface, the contact points."""
        _, loops = hull_faces(self.points)
        if len(loops[0]) >= 3:
            return faces([self.points[loop] for loop in loops])
        rod = balls(*self.support_points())
        return SurfaceMesh(
            rod.vertices, rod.triangles, self.points[loops[0]][None] if len(loops[0]) == 2 else rod.lines
        )

    def inertia(self) -> RigidInertia | None:
        """Return the inertia at a density of 1 kg/m^3; None for points in a plane, which have no volume."""
        try:
            solid = unit_solid(self.points, hull_triangles(self.points))
        except SpatialError:
            return None
        return RigidInertia(*solid) if solid.mass > 0.0 else None


#: Maximum number of corners of a coarse hull: the farthest ones along directions spread over the sphere.
MAX_CORNERS = 256

# Numbers of directions, tried in turn until no face has too many corners for the kernels; with 64 corners none can.
_COUNTS = (MAX_CORNERS, 128, 64)


def coarse_hull(points: FloatArray) -> ConvexPoints:
    """Return the hull of points (n, 3), or of its farthest corners if there are more than `MAX_CORNERS`.

    Points that coincide or are collinear raise a `ContactError`.
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
    """Return n unit vectors (n, 3) spread over the sphere on a spiral with the golden angle; the same in every call."""
    i = np.arange(n)
    z = 1.0 - (2.0 * i + 1.0) / n
    angle, r = i * np.pi * (3.0 - np.sqrt(5.0)), np.sqrt(1.0 - z * z)
    return np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=1)
