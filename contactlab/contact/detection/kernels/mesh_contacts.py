"""Contacts of a triangle mesh with a sphere, capsule, box, cylinder or convex hull."""

from __future__ import annotations

import numpy as np

from contactlab.contact.detection.kernels.contacts import reduce_coplanar
from contactlab.contact.detection.kernels.convex_convex import RELATIVE_ACCURACY as CLOSEST
from contactlab.contact.detection.kernels.convex_convex import TOUCHING, closest
from contactlab.contact.detection.kernels.gjk import closest_on_triangle
from contactlab.contact.detection.kernels.manifold import manifold
from contactlab.contact.detection.kernels.support import (
    characteristic_size,
    core_radius,
    origin,
    relative_pose,
    shape_bounds,
)
from contactlab.contact.kernels.layout import (
    BITS,
    CONVEX,
    MAX_TRIANGLES,
    MESH,
    MESH_BOX,
    MESH_POSE,
    MESH_SIZE,
    NONE,
    SIZE,
    TRIANGLE,
    TRIANGLE_BITS,
    ContactBuffer,
    Posed,
    Workspace,
)
from contactlab.spatial.arrays import IntArray, Vec3
from contactlab.spatial.kernels.vectors import add, dot, rotate, rotate_inverse, subtract, times, vector_at
from lcp.kernels import kernel

# Tolerance within which two directions, and heights relative to their lengths, are equal.
SAME_DIRECTION = 1e-6

# Accuracy of distances, relative to the size.
DISTANCE_ACCURACY = 1e-12

# Angle [rad] to the triangle's normal below which the contact of an extended body is along this normal.
NEARLY_NORMAL = 1e-2

# Smallest cosine between the shortest path and a triangle's normal with which its face is searched for contacts.
STEEP = 0.5


@kernel
def _is_outermost(triangle: int, mesh: Posed, d: Vec3) -> bool:
    """Return True if the vertices of a triangle farthest along d (mesh axes) are farther than their neighbours.

    They are then a ridge or a peak of the mesh along this direction. In a flat or hollow region some neighbour is
    farther, and the triangle there is the one that touches.
    """
    data, loops = mesh.data, mesh.loops
    header, corners = int(mesh.size[4]), int(mesh.size[5])
    numbers, starts, neighbours = header + loops[header + 1], header + loops[header + 2], header + loops[header + 3]
    # height of the farthest vertex, and the size of the triangle
    farthest, extent = -np.inf, 0.0
    for i in range(3):
        at = corners + 3 * loops[numbers + 3 * triangle + i]
        farthest = max(farthest, dot(d, vector_at(data, at)))
        before = corners + 3 * loops[numbers + 3 * triangle + (i + 2) % 3]
        for m in range(3):
            extent = max(extent, abs(data[at + m] - data[before + m]))
    # no neighbour of a farthest vertex may be farther
    for i in range(3):
        corner = loops[numbers + 3 * triangle + i]
        at = vector_at(data, corners + 3 * corner)
        if dot(d, at) < farthest - SAME_DIRECTION * extent:
            continue
        for k in range(loops[starts + corner], loops[starts + corner + 1]):
            side = subtract(vector_at(data, corners + 3 * loops[neighbours + k]), at)
            if dot(d, side) > SAME_DIRECTION * dot(side, side) ** 0.5:
                return False
    return True


@kernel
def _is_nearer(mesh: Posed, b: Vec3, gap: float, slack: float) -> bool:
    """Return True if some triangle is nearer to a point b (world axes) than ``gap``, by more than ``slack``."""
    size, pose, data, loops = mesh.size, mesh.pose, mesh.data, mesh.loops
    x, y, z = point = rotate_inverse(pose, subtract(b, origin(pose)))
    reach2 = max(0.0, gap - slack) ** 2
    header, boxes, triangles = int(size[4]), int(size[3]), int(size[2])
    # walk through the tree of boxes
    nodes, node = loops[header], 0
    while node < nodes:
        at = boxes + 6 * node
        entry = header + 4 + 3 * node
        near = data[at] <= x + gap and data[at + 1] <= y + gap and data[at + 2] <= z + gap
        if not (near and data[at + 3] >= x - gap and data[at + 4] >= y - gap and data[at + 5] >= z - gap):
            node = loops[entry]
            continue
        for i in range(loops[entry + 1], loops[entry + 1] + loops[entry + 2]):
            t = triangles + TRIANGLE * i
            q = closest_on_triangle(
                subtract(vector_at(data, t), point),
                subtract(vector_at(data, t + 3), point),
                subtract(vector_at(data, t + 6), point),
            )
            if dot(q, q) < reach2:
                return True
        node += 1
    return False


@kernel
def _on_triangle(
    triangle: int, a: Posed, b: Posed, margin: float, count: int, room: Workspace, out: ContactBuffer
) -> int:
    """Append the contacts of one triangle, a flat convex hull; return the new count."""
    # closest points of the triangle and B
    size, data = room.work[MESH_SIZE : MESH_SIZE + SIZE], a.data
    start = int(a.size[2]) + TRIANGLE * triangle
    size[0], size[1], size[2], size[3], size[4] = 3.0, start, 2.0, start + 9.0, a.size[6]
    hull = Posed(CONVEX, size, a.pose, data, a.loops)
    reach_b = characteristic_size(b)
    scale = characteristic_size(hull) + reach_b
    exact = CLOSEST * (reach_b + core_radius(b))
    gap, normal, point = closest(hull, b, margin, scale, exact, room)
    if not gap <= margin:
        return count
    # direction of the shortest path, in the mesh's axes, against the normal of the triangle
    local, own = rotate_inverse(a.pose, normal), vector_at(data, start + 9)
    cosine = dot(local, own)
    if cosine < -SAME_DIRECTION:
        return count  # behind the triangle, inside the solid
    off = dot(subtract(local, own), subtract(local, own))
    radius = core_radius(b)
    scale += radius
    first = min(count, out.rows.shape[0])
    rest = ContactBuffer(out.rows[first:], out.features[first:])
    # along the normal of the triangle, if the shortest path is nearly normal to it
    face = rotate(a.pose, own)
    more, decided = 0, False
    if off <= SAME_DIRECTION * SAME_DIRECTION:
        normal, decided = face, True
    elif off <= NEARLY_NORMAL * NEARLY_NORMAL:
        # common polygon of the triangle and the face of B above it; a ball, or a body beside it, has none
        more = manifold(hull, b, face, point, np.inf, scale, exact, margin, room, rest, False)
    if more == 0 and not decided and not _is_outermost(triangle, a, local):
        # from the core of B, a point or segment in a rounded shape, whose distances resolve small angles
        core = gap + radius
        on_core = add(point, times(core, normal))
        if not core > TOUCHING * scale or _is_nearer(a, on_core, core, DISTANCE_ACCURACY * scale):
            # a neighbour is closer there, but the part of B over this triangle can still be within the margin
            if cosine < STEEP:
                return count
            normal, gap = face, np.inf
    if more == 0:
        more = manifold(hull, b, normal, point, gap, scale, exact, margin, room, rest, False)
    codes = rest.features
    for i in range(min(count + more - first, codes.shape[0])):
        # three vertices and "none" fit into two bits
        corner = min(codes[i] >> BITS, 3)
        codes[i] = (triangle << TRIANGLE_BITS) | (corner << BITS) | (codes[i] & NONE)
    return count + more


@kernel
def _drop_triangle_ids(count: int, feature: IntArray) -> None:
    """Remove the triangle from feature numbers of vertices of B that stay distinct without it.

    Such a contact keeps its number while it slides from one triangle to the next.
    """
    # vertices of B
    of_b = (1 << TRIANGLE_BITS) - 1
    for i in range(count):
        name = feature[i] & of_b
        if name >> BITS != 3:
            continue
        # vertices in contact with one triangle only
        alone = True
        for j in range(count):
            if j != i and feature[j] & of_b == name:
                alone = False
        if alone:
            feature[i] = ((MAX_TRIANGLES - 1) << TRIANGLE_BITS) | name


@kernel
def mesh_any(a: Posed, b: Posed, margin: float, room: Workspace, out: ContactBuffer) -> int:
    """Write the contacts of a mesh (A) and a convex shape (B) by triangles; return their number, 0 for two meshes.

    The triangles near B are found in a tree of boxes (S. Gottschalk, M. C. Lin, D. Manocha, OBBTree, SIGGRAPH 1996,
    with boxes along the mesh's axes). Each is a flat convex shape with contacts on its outer side only. Edges and
    vertices touch only if they protrude from the mesh, so that a body sliding over a flat region does not catch on its
    inner edges. Contacts in one plane, with one normal and gaps that change linearly, are reduced to the corners of
    their outline. The other contacts would not increase the set of forces, however fine the mesh is.
    """
    if b.kind == MESH:
        return 0
    # bounding box of B in the mesh's axes
    data, loops, work = a.data, a.loops, room.work
    in_mesh, box = work[MESH_POSE : MESH_POSE + 12], work[MESH_BOX : MESH_BOX + 6]
    relative_pose(a.pose, b.pose, in_mesh)
    shape_bounds(b.kind, b.size, in_mesh, data, box)
    # triangles in boxes of the tree that are within the margin
    header, boxes = int(a.size[4]), int(a.size[3])
    nodes, count, node = loops[header], 0, 0
    while node < nodes:
        at = boxes + 6 * node
        near = True
        for m in range(3):
            if data[at + m] > box[3 + m] + margin or data[at + 3 + m] < box[m] - margin:
                near = False
        entry = header + 4 + 3 * node
        if not near:
            node = loops[entry]
            continue
        for i in range(loops[entry + 1], loops[entry + 1] + loops[entry + 2]):
            count = _on_triangle(i, a, b, margin, count, room, out)
        node += 1
    # reduce coplanar contacts, and make feature numbers independent of the triangle if possible
    if count > out.rows.shape[0]:
        return count
    count = reduce_coplanar(count, core_radius(b) + characteristic_size(b), room.ints, out)
    _drop_triangle_ids(count, out.features)
    return count
