"""Half-space or height field, and sphere, capsule, box, cylinder or convex hull."""

from __future__ import annotations

import math

from contactlab.contact.detection.kernels.contacts import put
from contactlab.contact.detection.kernels.segments import closest_on_segments
from contactlab.contact.detection.kernels.support import core_radius, touching_point, touching_points
from contactlab.contact.detection.kernels.terrain import cell_range, signed_distance
from contactlab.contact.detection.kernels.vectors import placed, turned, turned_back
from contactlab.contact.kernels.layout import BOX, CAPSULE, CYLINDER, Contacts, Posed, Vector
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

# Grid points that stand in a box are numbered from here, corners of the box from 0.
GRID_POINT = 1 << 21
RIM = 8


@kernel
def half_space_any(a: Posed, b: Posed, margin: float, out: Contacts) -> int:
    """Contacts of a half-space (A) and a body's shape (B): one for each point of B within ``margin`` of the surface.

    `support.touching_point` says which points, and what their features are.
    """
    nx, ny, nz = normal = turned(a.pose, (a.size[0], a.size[1], a.size[2]))
    offset = a.size[3] + nx * a.pose[9] + ny * a.pose[10] + nz * a.pose[11]
    downwards = turned_back(b.pose, normal)
    downwards = (-downwards[0], -downwards[1], -downwards[2])
    radius, count = core_radius(b), 0
    for i in range(touching_points(b)):
        lx, ly, lz, code = touching_point(b, i, downwards)
        # The order of operations is that of the core's `world_point` and of `half_space.collide_point`: the same bits.
        x, y, z = turned(b.pose, (lx, ly, lz))
        x, y, z = b.pose[9] + x, b.pose[10] + y, b.pose[11] + z
        gap = nx * x + ny * y + nz * z - radius - offset
        if gap <= margin:
            reach = radius + gap
            count = put((x - reach * nx, y - reach * ny, z - reach * nz), normal, gap, code, count, out)
    return count


@kernel
def _round_point(p: Vector, radius: float, field: Posed, code: int, margin: float, count: int, out: Contacts) -> int:
    """Contact of a point with a radius, given in the field's axes."""
    distance, up = signed_distance(p, margin + radius, field.size, field.data)
    gap = distance - radius
    if not gap <= margin:
        return count
    # From the body's point back to the field's.
    on_field = (p[0] - distance * up[0], p[1] - distance * up[1], p[2] - distance * up[2])
    return put(placed(field.pose, on_field), turned(field.pose, up), gap, code, count, out)


@kernel
def _local(pose: FloatArray, pose_b: FloatArray, v: Vector) -> Vector:
    """Coordinates in the field's axes of a point in those of B."""
    x, y, z = placed(pose_b, v)
    return turned_back(pose, (x - pose[9], y - pose[10], z - pose[11]))


@kernel
def _lowest_on_axis(field: Posed, b: Posed, margin: float) -> tuple[float, float]:
    """Where between its ends a capsule's axis is closest to the surface, and that signed distance.

    Over a triangle the distance has no minimum inside the axis: only where the axis is closest to an edge.
    """
    size, pose, data, size_b = field.size, field.pose, field.data, b.size
    nx, ny, dx, dy, radius, half = int(size[1]), int(size[2]), size[3], size[4], size_b[0], size_b[1]
    cx, cy, cz = _local(pose, b.pose, (0.0, 0.0, 0.0))
    ex, ey, ez = _local(pose, b.pose, (0.0, 0.0, 1.0))
    ux, uy, uz = ex - cx, ey - cy, ez - cz
    within = margin + radius
    i0, i1 = cell_range(cx - half * abs(ux) - within, cx + half * abs(ux) + within, dx, nx)
    j0, j1 = cell_range(cy - half * abs(uy) - within, cy + half * abs(uy) + within, dy, ny)
    where, least = 0.0, math.inf
    start = int(size[0])
    for i in range(i0, i1 + 1):
        for j in range(j0, j1 + 1):
            z0 = data[start + i * ny + j]
            # Edges that start in this grid point: along x, along y, and the diagonal.
            for edge in range(3):
                k, m = i + int(edge != 1), j + int(edge != 0)
                if k < nx and m < ny:
                    wx, wy, wz = (k - i) * dx, (m - j) * dy, data[start + k * ny + m] - z0
                    length = math.sqrt(wx * wx + wy * wy + wz * wz)
                    px, py, pz = i * dx + 0.5 * wx - cx, j * dy + 0.5 * wy - cy, z0 + 0.5 * wz - cz
                    wx, wy, wz = wx / length, wy / length, wz / length
                    du, dw = px * ux + py * uy + pz * uz, px * wx + py * wy + pz * wz
                    s, _ = closest_on_segments(du, dw, ux * wx + uy * wy + uz * wz, half, 0.5 * length)
                    if abs(s) < half:
                        p = (cx + s * ux, cy + s * uy, cz + s * uz)
                        if p[2] - within <= size[6]:
                            here = signed_distance(p, within, size, data)[0]
                            if here < least:
                                where, least = s, here
    return where, least


@kernel
def _grid_points(field: Posed, b: Posed, margin: float, count: int, out: Contacts) -> int:
    """Contacts of grid points that stand in a box, or under it: through the nearest face that looks down on them."""
    size, pose, data, half, pose_b = field.size, field.pose, field.data, b.size, b.pose
    cx, cy, _ = _local(pose, b.pose, (0.0, 0.0, 0.0))
    start, nx, ny, dx, dy = int(size[0]), int(size[1]), int(size[2]), size[3], size[4]
    reach = half[0] + half[1] + half[2] + margin
    i0, i1 = cell_range(cx - reach, cx + reach, dx, nx)
    j0, j1 = cell_range(cy - reach, cy + reach, dy, ny)
    for i in range(i0, i1 + 1):
        for j in range(j0, j1 + 1):
            x, y, z = i * dx, j * dy, data[start + i * ny + j]
            point = placed(pose, (x, y, z))
            wx, wy, wz = point[0] - pose_b[9], point[1] - pose_b[10], point[2] - pose_b[11]
            face, sign, gap, outside = -1, 0.0, -math.inf, 0
            for k in range(3):
                c = pose_b[k] * wx + pose_b[3 + k] * wy + pose_b[6 + k] * wz
                up = pose_b[k] * pose[2] + pose_b[3 + k] * pose[5] + pose_b[6 + k] * pose[8]
                s = -1.0 if up > 0.0 else 1.0
                here = s * c - half[k]
                if abs(c) > half[k]:
                    outside += 1
                if abs(up) > 0.3 and here > gap:
                    face, sign, gap = k, s, here
            inside = outside == 0 or (outside == 1 and gap > 0.0)
            if face >= 0 and inside and gap <= margin:
                # The normal leads from the field into the box: against the face's own.
                normal = (-sign * pose_b[face], -sign * pose_b[3 + face], -sign * pose_b[6 + face])
                count = put(point, normal, gap, GRID_POINT + i * ny + j, count, out)
    return count


@kernel
def height_field_any(a: Posed, b: Posed, margin: float, out: Contacts) -> int:
    """Contacts of a height field (A) and a body's shape (B).

    The body touches with points, each along the shortest way to the surface, triangles with edges and corners taken
    exactly: the centre of a sphere; the ends of a capsule's axis and its lowest point between them; a box's and a
    hull's corners; eight points of either rim of a cylinder. A box is also touched by grid points that reach into a
    face of its underside. A ridge that meets a hull's face or a box's edge between such points is missed: the grid
    should be as fine as the bodies are small.
    """
    radius, count = core_radius(b), 0
    if b.kind == CYLINDER:
        for i in range(2 * RIM):
            angle = 2.0 * math.pi * (i % RIM) / RIM
            z = b.size[1] if i >= RIM else -b.size[1]
            p = _local(a.pose, b.pose, (b.size[0] * math.cos(angle), b.size[0] * math.sin(angle), z))
            count = _round_point(p, radius, a, i, margin, count, out)
        return count
    least_end = math.inf
    downwards = turned_back(b.pose, turned(a.pose, (0.0, 0.0, -1.0)))
    for i in range(touching_points(b)):
        x, y, z, code = touching_point(b, i, downwards)
        p = _local(a.pose, b.pose, (x, y, z))
        count = _round_point(p, radius, a, code, margin, count, out)
        if b.kind == CAPSULE:
            least_end = min(least_end, signed_distance(p, margin + radius, a.size, a.data)[0])
    if b.kind == CAPSULE:
        where, least = _lowest_on_axis(a, b, margin)
        if least < least_end - 1e-9 * (radius + b.size[1]):
            count = _round_point(_local(a.pose, b.pose, (0.0, 0.0, where)), radius, a, 2, margin, count, out)
    elif b.kind == BOX:
        count = _grid_points(a, b, margin, count, out)
    return count
