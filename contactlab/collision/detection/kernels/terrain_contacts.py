"""Contacts of height fields and triangle meshes with a sphere, capsule, box, cylinder or convex hull."""

from __future__ import annotations

import math

import numpy as np

from contactlab.collision.detection.kernels.closed_form import closest_on_segments
from contactlab.collision.detection.kernels.contacts import append_contact, reduce_coplanar
from contactlab.collision.detection.kernels.convex_convex import RELATIVE_ACCURACY as CLOSEST
from contactlab.collision.detection.kernels.convex_convex import TOUCHING, closest
from contactlab.collision.detection.kernels.faces import RIM
from contactlab.collision.detection.kernels.gjk import closest_on_triangle
from contactlab.collision.detection.kernels.manifold import manifold
from contactlab.collision.detection.kernels.support import (
    axis_of,
    characteristic_size,
    core_radius,
    ground_point,
    ground_point_count,
    origin,
    relative_pose,
    shape_bounds,
    transform_point,
    unit,
)
from contactlab.collision.kernels import (
    BITS,
    BOX,
    CAPSULE,
    CONVEX,
    CYLINDER,
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
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, Vec3
from contactlab.multibody.spatial.kernels import (
    add,
    dot,
    rotate,
    rotate_inverse,
    subtract,
    times,
    vector_at,
)
from lcp.kernels import kernel


@kernel
def cell_range(low: float, high: float, spacing: float, n: int) -> tuple[int, int]:
    """Return the first and one past the last of the n - 1 cells along one axis that meet an interval."""
    # compared as floats, because infinity has no integer
    first = int(min(max(math.floor(low / spacing), 0.0), n - 2.0))
    last = int(min(max(math.floor(high / spacing), 0.0), n - 2.0))
    return first, last + 1


@kernel
def height_at(x: float, y: float, size: FloatArray, data: FloatArray) -> float:
    """Return the height of the surface at (x, y) in the field's axes; minus infinity outside the grid."""
    start, nx, ny, dx, dy = int(size[0]), int(size[1]), int(size[2]), size[3], size[4]
    if not (0.0 <= x <= dx * (nx - 1) and 0.0 <= y <= dy * (ny - 1)):
        return -math.inf
    i, j = min(int(x / dx), nx - 2), min(int(y / dy), ny - 2)
    s, t = x / dx - i, y / dy - j
    at = start + i * ny + j
    z00, z10, z01, z11 = data[at], data[at + ny], data[at + 1], data[at + ny + 1]
    # the diagonal of every cell runs from (0, 0) to (1, 1)
    if s >= t:
        return z00 + s * (z10 - z00) + t * (z11 - z10)
    return z00 + t * (z01 - z00) + s * (z11 - z01)


@kernel
def signed_distance(p: Vec3, within: float, size: FloatArray, data: FloatArray) -> tuple[float, Vec3]:
    """Return the distance of a point from the surface, negative below it, and the unit vector that increases it.

    The solid is everything below the surface. For points farther above than ``within`` the distance can be any number
    beyond ``within``, also infinity. All values are in the field's axes.
    """
    (x, y, z), start, nx, ny, dx, dy = p, int(size[0]), int(size[1]), int(size[2]), size[3], size[4]
    above = z - height_at(x, y, size, data)
    # the vertical distance bounds the shortest distance, so a search within it is enough
    near = min(within, abs(above)) if above > 0.0 else -above
    if not near >= 0.0:
        return math.inf, (0.0, 0.0, 1.0)
    if z - near > size[6]:
        return math.inf, (0.0, 0.0, 1.0)
    i0, i1 = cell_range(x - near, x + near, dx, nx)
    j0, j1 = cell_range(y - near, y + near, dy, ny)
    # closest point over both triangles of each cell within reach
    best, closest, slope = math.inf, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)
    for i in range(i0, i1):
        for j in range(j0, j1):
            at = start + i * ny + j
            x0, x1, y0, y1 = i * dx - x, (i + 1) * dx - x, j * dy - y, (j + 1) * dy - y
            z00, z10, z01, z11 = data[at] - z, data[at + ny] - z, data[at + 1] - z, data[at + ny + 1] - z
            for half in range(2):
                if half == 0:
                    q = closest_on_triangle((x0, y0, z00), (x1, y0, z10), (x1, y1, z11))
                    m = (-(z10 - z00) / dx, -(z11 - z10) / dy, 1.0)
                else:
                    q = closest_on_triangle((x0, y0, z00), (x1, y1, z11), (x0, y1, z01))
                    m = (-(z11 - z01) / dx, -(z01 - z00) / dy, 1.0)
                if dot(q, q) < best:
                    best, closest, slope = dot(q, q), q, m
    distance = math.sqrt(best)
    if distance > 1e-9 * (dx + dy):
        sign = -1.0 if above > 0.0 else 1.0
        return -sign * distance, (
            sign * closest[0] / distance,
            sign * closest[1] / distance,
            sign * closest[2] / distance,
        )
    # on the surface the difference to the closest point is rounding, so the normal of the triangle is used
    return (distance if above > 0.0 else -distance), unit(slope)


# Feature numbers of grid points inside a box begin here, vertices of the box at 0.
GRID_POINT = 1 << 21


@kernel
def _round_point(p: Vec3, radius: float, field: Posed, code: int, margin: float, count: int, out: ContactBuffer) -> int:
    """Write the contact of a point with a radius, given in the field's axes; return the new count."""
    distance, up = signed_distance(p, margin + radius, field.size, field.data)
    gap = distance - radius
    if not gap <= margin:
        return count
    # from the point of the body back to the surface of the field
    on_field = subtract(p, times(distance, up))
    return append_contact(transform_point(field.pose, on_field), rotate(field.pose, up), gap, code, count, out)


@kernel
def _local(pose: FloatArray, pose_b: FloatArray, v: Vec3) -> Vec3:
    """Return the coordinates in the field's axes of a point given in the axes of B."""
    return rotate_inverse(pose, subtract(transform_point(pose_b, v), origin(pose)))


@kernel
def _lowest_on_axis(field: Posed, b: Posed, margin: float) -> tuple[float, float]:
    """Return the position on a capsule's axis, between its ends, closest to the surface, and its signed distance.

    Over a triangle the distance has no minimum inside the axis. It has one only at the point closest to an edge.
    """
    size, pose, data, size_b = field.size, field.pose, field.data, b.size
    nx, ny, dx, dy, radius, half = int(size[1]), int(size[2]), size[3], size[4], size_b[0], size_b[1]
    # axis of the capsule in the field's axes, and the cells within reach
    center = _local(pose, b.pose, (0.0, 0.0, 0.0))
    u = subtract(_local(pose, b.pose, (0.0, 0.0, 1.0)), center)
    within = margin + radius
    i0, i1 = cell_range(center[0] - half * abs(u[0]) - within, center[0] + half * abs(u[0]) + within, dx, nx)
    j0, j1 = cell_range(center[1] - half * abs(u[1]) - within, center[1] + half * abs(u[1]) + within, dy, ny)
    where, least = 0.0, math.inf
    start = int(size[0])
    for i in range(i0, i1 + 1):
        for j in range(j0, j1 + 1):
            z0 = data[start + i * ny + j]
            # edges that begin at this grid point: along x, along y, and the diagonal
            for edge in range(3):
                k, m = i + int(edge != 1), j + int(edge != 0)
                if k < nx and m < ny:
                    w = ((k - i) * dx, (m - j) * dy, data[start + k * ny + m] - z0)
                    length = math.sqrt(dot(w, w))
                    p = subtract(add((i * dx, j * dy, z0), times(0.5, w)), center)
                    w = (w[0] / length, w[1] / length, w[2] / length)
                    s, _ = closest_on_segments(dot(p, u), dot(p, w), dot(u, w), half, 0.5 * length)
                    p = add(center, times(s, u))
                    if abs(s) < half and p[2] - within <= size[6]:
                        here = signed_distance(p, within, size, data)[0]
                        if here < least:
                            where, least = s, here
    return where, least


@kernel
def _grid_points(field: Posed, b: Posed, margin: float, count: int, out: ContactBuffer) -> int:
    """Write the contacts of grid points inside or under a box, through its nearest downward face; return the count."""
    size, pose, data, half, pose_b = field.size, field.pose, field.data, b.size, b.pose
    # cells within reach of the box
    cx, cy, _ = _local(pose, b.pose, (0.0, 0.0, 0.0))
    start, nx, ny, dx, dy = int(size[0]), int(size[1]), int(size[2]), size[3], size[4]
    reach = half[0] + half[1] + half[2] + margin
    i0, i1 = cell_range(cx - reach, cx + reach, dx, nx)
    j0, j1 = cell_range(cy - reach, cy + reach, dy, ny)
    for i in range(i0, i1 + 1):
        for j in range(j0, j1 + 1):
            x, y, z = i * dx, j * dy, data[start + i * ny + j]
            point = transform_point(pose, (x, y, z))
            w = subtract(point, origin(pose_b))
            # the nearest face whose normal points down
            face, sign, gap, outside = -1, 0.0, -math.inf, 0
            for k in range(3):
                c, up = dot(axis_of(pose_b, k), w), dot(axis_of(pose_b, k), axis_of(pose, 2))
                s = -1.0 if up > 0.0 else 1.0
                here = s * c - half[k]
                if abs(c) > half[k]:
                    outside += 1
                if abs(up) > 0.3 and here > gap:
                    face, sign, gap = k, s, here
            inside = outside == 0 or (outside == 1 and gap > 0.0)
            if face >= 0 and inside and gap <= margin:
                # the contact normal points from the field into the box, against the normal of the face
                normal = times(-sign, axis_of(pose_b, face))
                count = append_contact(point, normal, gap, GRID_POINT + i * ny + j, count, out)
    return count


@kernel
def height_field_any(a: Posed, b: Posed, margin: float, out: ContactBuffer) -> int:
    """Write the contacts of a height field (A) and a body's shape (B); return their number.

    The body touches with points, each along the shortest path to the surface. Edges and vertices of the triangles are
    exact. The points are the centre of a sphere; the ends of a capsule's axis and its lowest point between them; the
    vertices of a box or hull; and eight points of each rim of a cylinder. Grid points that reach into a face of a box's
    underside touch too. A ridge that meets a hull's face or a box's edge between such points is missed. So the grid
    should be as fine as the bodies are small.
    """
    # eight points of each rim of a cylinder
    radius, count = core_radius(b), 0
    if b.kind == CYLINDER:
        for i in range(2 * RIM):
            angle = 2.0 * math.pi * (i % RIM) / RIM
            z = b.size[1] if i >= RIM else -b.size[1]
            p = _local(a.pose, b.pose, (b.size[0] * math.cos(angle), b.size[0] * math.sin(angle), z))
            count = _round_point(p, radius, a, i, margin, count, out)
        return count
    # the ground points of the other shapes
    least_end = math.inf
    downwards = rotate_inverse(b.pose, rotate(a.pose, (0.0, 0.0, -1.0)))
    for i in range(ground_point_count(b)):
        x, y, z, code = ground_point(b, i, downwards)
        p = _local(a.pose, b.pose, (x, y, z))
        count = _round_point(p, radius, a, code, margin, count, out)
        if b.kind == CAPSULE:
            least_end = min(least_end, signed_distance(p, margin + radius, a.size, a.data)[0])
    # the lowest point of a capsule between its ends, and grid points in a box
    if b.kind == CAPSULE:
        where, least = _lowest_on_axis(a, b, margin)
        if least < least_end - 1e-9 * (radius + b.size[1]):
            count = _round_point(_local(a.pose, b.pose, (0.0, 0.0, where)), radius, a, 2, margin, count, out)
    elif b.kind == BOX:
        count = _grid_points(a, b, margin, count, out)
    return count


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
