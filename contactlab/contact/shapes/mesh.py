"""Triangle mesh, and its tables for the kernels: a convex hull if it bounds one, else triangles in a tree of boxes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from contactlab.contact.kernels import layout
from contactlab.contact.shapes.convex_points import hull_faces, hull_points, packed_hull
from contactlab.contact.shapes.shape import PackedShape, Points, Shape
from contactlab.contact.shapes.surface_mesh import SurfaceMesh, flat
from contactlab.spatial import RigidInertia
from contactlab.spatial.arrays import FloatArray, IntArray, finite_array, set_fields
from contactlab.spatial.errors import ContactError
from contactlab.spatial.polyhedron import surface_fault, unit_solid, vertex_numbers

# Triangles of one leaf of the tree.
LEAF_TRIANGLES = 4

# Height above a face, relative to the mesh's size, up to which a corner still counts as below it.
CONVEX_TOLERANCE = 1e-9

# Maximum number of corners of a mesh that is tested for convexity: more do not fit the kernel of hulls.
MAX_HULL_POINTS = layout.MAX_POINTS


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
    if n_hull > MAX_HULL_POINTS:
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
