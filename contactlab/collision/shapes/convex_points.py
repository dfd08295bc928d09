"""Convex hulls of points, by Qhull, coarse hulls of fine meshes, and triangle meshes with their tables for the kernels.

A mesh that bounds its convex hull is packed as the hull, any other one as triangles in a tree of boxes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from contactlab.collision import kernels as layout
from contactlab.collision.kernels import CONVEX, MAX_FACE, MAX_POINTS
from contactlab.collision.shapes.shape import PackedShape, Points, Shape, SurfaceMesh, balls, faces, flat
from contactlab.multibody.spatial import RigidInertia
from contactlab.multibody.spatial.arrays import (
    ContactError,
    FloatArray,
    IntArray,
    SpatialError,
    finite_array,
    set_fields,
)
from contactlab.multibody.spatial.inertia import (
    hull_triangles,
    outward_triangles,
    surface_fault,
    unit_solid,
    vertex_numbers,
)

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
    loop, normal = _flat_outline(points)
    if loop is None:
        return _check_size(*_solid_faces(points))
    if not normal.any():
        return np.zeros((1, 3)), [loop]
    return _check_size(np.array([normal, -normal]), [loop, loop[::-1]])


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
    loop, _ = _flat_outline(points)
    return sorted(int(i) for i in (_qhull(points).vertices if loop is None else loop))


def _qhull(points: FloatArray) -> ConvexHull:
    """Return the convex hull of points by Qhull; raise `ContactError` if it fails."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return ConvexHull(points)
    except QhullError as error:
        why = str(error).strip().partition("\n")[0]
        detail = f"have no hull that can be computed ({why}): make them exactly flat, or give them a thickness"
        raise ContactError("points", detail) from error


def _flat_outline(points: FloatArray) -> tuple[list[int] | None, FloatArray]:
    """Return the outline of points in a plane, on a line or at one place, and the normal of the plane, or zero.

    The outline is None for points that span a solid.
    """
    along = points - points.mean(axis=0)
    _, extents, axes = np.linalg.svd(along, full_matrices=len(points) < 3)
    size = float(extents[0]) if len(extents) else 0.0
    if not size > 1e-14 * float(np.max(np.abs(points))):
        return [0], np.zeros(3)
    rank = int(np.sum(extents > 1e-9 * max(size, 1e-300)))
    if rank == 1:
        return [int(np.argmin(along @ axes[0])), int(np.argmax(along @ axes[0]))], np.zeros(3)
    return (_loop(points, np.arange(len(points)), axes[2]) if rank == 2 else None), axes[2]


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


# Triangles of one leaf of the tree.
LEAF_TRIANGLES = 4

# Height above a face, relative to the mesh's size, up to which a corner still counts as below it.
CONVEX_TOLERANCE = 1e-9


class MeshTables(NamedTuple):
    """Derived quantities of a mesh."""

    hull: FloatArray  # (n, 3) corners of its convex hull [m]
    packed: PackedShape | None  # packed triangles; None if the mesh bounds its hull, which is packed instead


def mesh_tables(vertices: FloatArray, triangles: IntArray) -> MeshTables:
    """Return the tables without triangles of no area; a `ContactError` if none is left, or there are too many."""
    # Files often store separate corners for every triangle.
    points, number = np.unique(vertices, axis=0, return_inverse=True)
    corners = number.reshape(-1)[triangles]
    edges = points[corners[:, 1:]] - points[corners[:, :1]]
    normals = np.cross(edges[:, 0], edges[:, 1])
    area = np.linalg.norm(normals, axis=1)
    longest = np.abs(edges).max(axis=(1, 2), initial=0.0)
    good = area > 1e-12 * longest * longest
    corners, normals = corners[good], normals[good] / area[good, None]
    if not len(corners):
        raise ContactError("triangles", "have no area")
    if len(corners) >= layout.MAX_TRIANGLES:
        raise ContactError("triangles", f"are {len(corners)}, at most {layout.MAX_TRIANGLES - 1} can be taken")
    used = points[np.unique(corners)]
    hull = used[hull_points(used)]
    if _is_convex(points, corners, normals, len(hull)):
        return MeshTables(hull, None)
    order, nodes, boxes = _tree(points[corners])
    corners, normals = corners[order], normals[order]
    flat = np.concatenate([points[corners].reshape(-1, 9), normals, -normals], axis=1)
    starts, neighbours = _neighbours(corners, len(points))
    # In loops: header, nodes, triangles' corners, starts of the neighbours, neighbours, the loops of a triangle.
    places = np.cumsum([4, nodes.size, corners.size, starts.size, neighbours.size])
    header = np.array([len(nodes), places[1], places[2], places[3]])
    triangle = np.array([3, 6, 9, 0, 1, 2, 2, 1, 0])
    loops = np.concatenate([header, nodes.ravel(), corners.ravel(), starts, neighbours, triangle]).astype(np.int64)
    data = np.concatenate([hull.ravel(), flat.ravel(), boxes.ravel(), points.ravel()])
    in_data = np.cumsum([0, hull.size, flat.size, boxes.size])
    sizes = [len(hull), *in_data[:3], 0, in_data[3], places[4]]
    return MeshTables(hull, PackedShape(layout.MESH, sizes, data, loops, in_data=(1, 2, 3, 5), in_loops=(4, 6)))


def _is_convex(points: FloatArray, corners: IntArray, normals: FloatArray, n_hull: int) -> bool:
    """Return True if the triangles are the whole surface of their convex hull, and it fits the kernels."""
    if n_hull > MAX_POINTS:
        return False
    directed = {(int(a), int(b)) for one in corners for a, b in zip(one, np.roll(one, -1), strict=True)}
    if len(directed) != corners.size or any((b, a) not in directed for a, b in directed):
        return False
    size = float(np.ptp(points, axis=0).max())
    used = points[np.unique(corners)]
    for corner, normal in zip(points[corners[:, 0]], normals, strict=True):
        if np.max((used - corner) @ normal) > CONVEX_TOLERANCE * size:
            return False
    try:
        hull_faces(used[hull_points(used)])
    except ContactError:
        return False
    return True


def _tree(triangles: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the tree of boxes of triangles (m, 3, 3): their order (m,), nodes (n, 3) and boxes (n, 6).

    Each node halves its triangles along the longest extent of their centres. A node is the number of the next node
    outside its subtree, and, for a leaf, the start in the order and the number of triangles. A box is low, then high.
    """
    low, high = triangles.min(axis=1), triangles.max(axis=1)
    centers = 0.5 * (low + high)
    order: list[int] = []
    nodes: list[list[int]] = []
    boxes: list[FloatArray] = []

    def add(members: IntArray) -> None:
        node = len(nodes)
        boxes.append(np.concatenate([low[members].min(axis=0), high[members].max(axis=0)]))
        if len(members) <= LEAF_TRIANGLES:
            nodes.append([node + 1, len(order), len(members)])
            order.extend(int(i) for i in members)
            return
        nodes.append([0, 0, 0])
        axis = int(np.argmax(np.ptp(centers[members], axis=0)))
        ordered = members[np.argsort(centers[members, axis], kind="stable")]
        half = len(members) // 2
        add(ordered[:half])
        add(ordered[half:])
        nodes[node][0] = len(nodes)

    add(np.arange(len(triangles)))
    return np.array(order), np.array(nodes), np.array(boxes)


def _neighbours(corners: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """Return starts (n + 1,) and a list: the neighbours of corner i, ascending, are the entries from starts[i] on."""
    pairs = np.concatenate([corners[:, [i, j]] for i in range(3) for j in range(3) if i != j])
    pairs = np.unique(pairs, axis=0)
    return np.searchsorted(pairs[:, 0], np.arange(n + 1)), pairs[:, 1]


MAX_SIDES_DRAWN = 400  # triangles of a mesh up to which their sides are drawn


@dataclass(frozen=True, eq=False, init=False)
class Mesh(Shape):
    """Solid bounded by triangles, or a piece of terrain; its inside is behind the triangles.

    A closed convex mesh is replaced by the hull that it bounds. Triangles of any other mesh have contacts on their
    outer side only; a shape that has sunk through them has no contact.

    Parameters
    ----------
    vertices
        (n, 3) [m] in the shape's axes.
    triangles
        (m, 3) numbers of vertices, counter-clockwise seen from outside; at least one triangle.

    Raises
    ------
    ContactError
        Arrays of another shape, an entry that is not finite, or an index without a vertex.
    """

    vertices: Points
    triangles: IntArray

    def __init__(self, vertices: ArrayLike, triangles: ArrayLike) -> None:
        points = finite_array(vertices, "vertices", (None, 3), ContactError)
        whole = vertex_numbers(triangles, len(points), ContactError)
        same = np.flatnonzero((whole == np.roll(whole, 1, axis=1)).any(axis=1))
        if same.size:
            raise ContactError("triangles", f"row {same[0]}, {whole[same[0]].tolist()}, has a corner twice: no area")
        set_fields(self, vertices=points, triangles=whole)

    @cached_property
    def tables(self) -> MeshTables:
        """Arguments of the kernels of collision detection; made on first use."""
        return mesh_tables(self.vertices, self.triangles)

    @property
    def convex(self) -> bool:
        """Whether the triangles bound a convex solid that is small enough for the kernels of hulls."""
        return self.tables.packed is None

    def support_points(self) -> tuple[FloatArray, FloatArray]:
        """Return the corners (n, 3) of the convex hull and zero radii (n,), as new arrays."""
        return self.tables.hull.copy(), np.zeros(len(self.tables.hull))

    def pack(self, *, faces: bool = True) -> PackedShape:
        """Return the hull of a convex mesh, or the triangles of any other mesh."""
        tables = self.tables
        return packed_hull(tables.hull, faces=faces) if tables.packed is None else tables.packed

    def surface_mesh(self) -> SurfaceMesh:
        """Return the triangles, with their sides if there are few."""
        lines = np.zeros((0, 2, 3))
        if len(self.triangles) <= MAX_SIDES_DRAWN:
            sides = np.concatenate([self.triangles[:, [k, (k + 1) % 3]] for k in range(3)])
            lines = self.vertices[np.unique(np.sort(sides, axis=1), axis=0)]
        return flat(self.vertices, self.triangles, lines)

    def inertia(self) -> RigidInertia | None:
        """Return the inertia at a density of 1 kg/m^3; None if the surface is not closed or does not face outward."""
        if surface_fault(self.vertices, self.triangles) is not None:
            return None
        return RigidInertia(*unit_solid(self.vertices, self.triangles))
