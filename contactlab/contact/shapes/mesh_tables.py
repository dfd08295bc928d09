"""A triangle mesh as the tables the kernels take: a convex hull where it is one, else triangles in a tree of boxes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from contactlab.contact.errors import ContactError
from contactlab.contact.kernels import layout
from contactlab.contact.shapes.hull import hull_faces, hull_points
from contactlab.contact.shapes.shape import Packed
from contactlab.spatial.arrays import FloatArray, IntArray

# Triangles of one leaf of the tree.
LEAF = 4
# Height over a face, relative to the mesh's size, at which a corner still counts as behind it.
FLAT = 1e-9
# Corners of a mesh that is asked whether it is convex, at most: more do not fit the kernel of hulls.
MOST = layout.MAX_POINTS


class MeshTables(NamedTuple):
    """What is known of a mesh."""

    hull: FloatArray  # (n, 3) corners of its convex hull [m]
    packed: Packed | None  # its triangles as the kernels take them; None where it bounds that hull, and is taken so


def mesh_tables(vertices: FloatArray, triangles: IntArray) -> MeshTables:
    """The tables; a `ContactError` where no triangle has an area, or there are too many."""
    # Files often give every triangle corners of its own.
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
    # In loops: header, nodes, triangles' corners, where the neighbours begin, neighbours, the loops of a triangle.
    places = np.cumsum([4, nodes.size, corners.size, starts.size, neighbours.size])
    header = np.array([len(nodes), places[1], places[2], places[3]])
    triangle = np.array([3, 6, 9, 0, 1, 2, 2, 1, 0])
    loops = np.concatenate([header, nodes.ravel(), corners.ravel(), starts, neighbours, triangle]).astype(np.int64)
    data = np.concatenate([hull.ravel(), flat.ravel(), boxes.ravel(), points.ravel()])
    in_data = np.cumsum([0, hull.size, flat.size, boxes.size])
    sizes = [len(hull), *in_data[:3], 0, in_data[3], places[4]]
    return MeshTables(hull, Packed(layout.MESH, sizes, data, loops, in_data=(1, 2, 3, 5), in_loops=(4, 6)))


def _is_convex(points: FloatArray, corners: IntArray, normals: FloatArray, n_hull: int) -> bool:
    """Whether the triangles are the whole surface of their convex hull, and it fits the kernels."""
    if n_hull > MOST:
        return False
    directed = {(int(a), int(b)) for one in corners for a, b in zip(one, np.roll(one, -1), strict=True)}
    if len(directed) != corners.size or any((b, a) not in directed for a, b in directed):
        return False
    size = float(np.ptp(points, axis=0).max())
    used = points[np.unique(corners)]
    for corner, normal in zip(points[corners[:, 0]], normals, strict=True):
        if np.max((used - corner) @ normal) > FLAT * size:
            return False
    try:
        hull_faces(used[hull_points(used)])
    except ContactError:
        return False
    return True


def _tree(triangles: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Order of the triangles (m, 3, 3), nodes (n, 3) and their boxes (n, 6): halves along the longest side, in turn."""
    low, high = triangles.min(axis=1), triangles.max(axis=1)
    centers = 0.5 * (low + high)
    order: list[int] = []
    nodes: list[list[int]] = []
    boxes: list[FloatArray] = []

    def add(members: IntArray) -> None:
        node = len(nodes)
        boxes.append(np.concatenate([low[members].min(axis=0), high[members].max(axis=0)]))
        if len(members) <= LEAF:
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
    """Where the neighbours of each corner begin (n + 1,), and the neighbours, ascending."""
    pairs = np.concatenate([corners[:, [i, j]] for i in range(3) for j in range(3) if i != j])
    pairs = np.unique(pairs, axis=0)
    return np.searchsorted(pairs[:, 0], np.arange(n + 1)), pairs[:, 1]
