"""Height field and sphere, capsule, box, cylinder or convex hull."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from contactlab.contact.detection.kernels.layout import BOX, CAPSULE, CONVEX, CYLINDER, MESH, SPHERE
from contactlab.contact.detection.kernels.segments import closest_on_segments
from contactlab.contact.detection.kernels.terrain import cell_range, signed_distance
from contactlab.contact.detection.kernels.writing import put
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

__all__ = ["height_field_any"]

# Grid points that stand in a box are numbered from here, corners of the box from 0.
GRID_POINT = 1 << 21
RIM = 8


@kernel
def _round_point(
    p: tuple[float, float, float],
    radius: float,
    size: FloatArray,
    pose: FloatArray,
    data: FloatArray,
    code: int,
    margin: float,
    count: int,
    out: FloatArray,
    feature: NDArray[np.int64],
) -> int:
    """Contact of a point with a radius, given in the field's axes."""
    x, y, z = p
    distance, lx, ly, lz = signed_distance(x, y, z, margin + radius, size, data)
    gap = distance - radius
    if not gap <= margin:
        return count
    # From the body's point back to the field's.
    x, y, z = x - distance * lx, y - distance * ly, z - distance * lz
    ax = pose[9] + pose[0] * x + pose[1] * y + pose[2] * z
    ay = pose[10] + pose[3] * x + pose[4] * y + pose[5] * z
    az = pose[11] + pose[6] * x + pose[7] * y + pose[8] * z
    nx = pose[0] * lx + pose[1] * ly + pose[2] * lz
    ny = pose[3] * lx + pose[4] * ly + pose[5] * lz
    nz = pose[6] * lx + pose[7] * ly + pose[8] * lz
    return put(ax, ay, az, nx, ny, nz, gap, code, count, out, feature)


@kernel
def _local(pose: FloatArray, pose_b: FloatArray, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Coordinates in the field's axes of a point in those of B."""
    wx = pose_b[9] + pose_b[0] * x + pose_b[1] * y + pose_b[2] * z - pose[9]
    wy = pose_b[10] + pose_b[3] * x + pose_b[4] * y + pose_b[5] * z - pose[10]
    wz = pose_b[11] + pose_b[6] * x + pose_b[7] * y + pose_b[8] * z - pose[11]
    return (
        pose[0] * wx + pose[3] * wy + pose[6] * wz,
        pose[1] * wx + pose[4] * wy + pose[7] * wz,
        pose[2] * wx + pose[5] * wy + pose[8] * wz,
    )


@kernel
def _lowest_on_axis(
    size: FloatArray, pose: FloatArray, size_b: FloatArray, pose_b: FloatArray, data: FloatArray, margin: float
) -> tuple[float, float]:
    """Where between its ends a capsule's axis is closest to the surface, and that signed distance.

    Over a triangle the distance has no minimum inside the axis: only where the axis is closest to an edge.
    """
    nx, ny, dx, dy, radius, half = int(size[1]), int(size[2]), size[3], size[4], size_b[0], size_b[1]
    cx, cy, cz = _local(pose, pose_b, 0.0, 0.0, 0.0)
    ex, ey, ez = _local(pose, pose_b, 0.0, 0.0, 1.0)
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
                a, b = i + int(edge != 1), j + int(edge != 0)
                if a < nx and b < ny:
                    wx, wy, wz = (a - i) * dx, (b - j) * dy, data[start + a * ny + b] - z0
                    length = math.sqrt(wx * wx + wy * wy + wz * wz)
                    px, py, pz = i * dx + 0.5 * wx - cx, j * dy + 0.5 * wy - cy, z0 + 0.5 * wz - cz
                    wx, wy, wz = wx / length, wy / length, wz / length
                    du, dw = px * ux + py * uy + pz * uz, px * wx + py * wy + pz * wz
                    s, _ = closest_on_segments(du, dw, ux * wx + uy * wy + uz * wz, half, 0.5 * length)
                    if abs(s) < half:
                        x, y, z = cx + s * ux, cy + s * uy, cz + s * uz
                        if z - within <= size[6]:
                            here = signed_distance(x, y, z, within, size, data)[0]
                            if here < least:
                                where, least = s, here
    return where, least


@kernel
def _grid_points(
    size: FloatArray,
    pose: FloatArray,
    half: FloatArray,
    pose_b: FloatArray,
    data: FloatArray,
    margin: float,
    count: int,
    out: FloatArray,
    feature: NDArray[np.int64],
) -> int:
    """Contacts of grid points that stand in a box, or under it: through the nearest face that looks down on them."""
    cx, cy, _ = _local(pose, pose_b, 0.0, 0.0, 0.0)
    start, nx, ny, dx, dy = int(size[0]), int(size[1]), int(size[2]), size[3], size[4]
    reach = half[0] + half[1] + half[2] + margin
    i0, i1 = cell_range(cx - reach, cx + reach, dx, nx)
    j0, j1 = cell_range(cy - reach, cy + reach, dy, ny)
    for i in range(i0, i1 + 1):
        for j in range(j0, j1 + 1):
            x, y, z = i * dx, j * dy, data[start + i * ny + j]
            ax = pose[9] + pose[0] * x + pose[1] * y + pose[2] * z
            ay = pose[10] + pose[3] * x + pose[4] * y + pose[5] * z
            az = pose[11] + pose[6] * x + pose[7] * y + pose[8] * z
            wx, wy, wz = ax - pose_b[9], ay - pose_b[10], az - pose_b[11]
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
                mx, my, mz = -sign * pose_b[face], -sign * pose_b[3 + face], -sign * pose_b[6 + face]
                code = GRID_POINT + i * ny + j
                count = put(ax, ay, az, mx, my, mz, gap, code, count, out, feature)
    return count


@kernel
def height_field_any(
    size_a: FloatArray,
    pose_a: FloatArray,
    kind_b: int,
    size_b: FloatArray,
    pose_b: FloatArray,
    data: FloatArray,
    margin: float,
    out: FloatArray,
    feature: NDArray[np.int64],
) -> int:
    """Contacts of a height field (A) and a body's shape (B).

    The body touches with points, each along the shortest way to the surface, triangles with edges and corners taken
    exactly: the centre of a sphere; the ends of a capsule's axis and its lowest point between them; a box's and a
    hull's corners; eight points of either rim of a cylinder. A box is also touched by grid points that reach into a
    face of its underside. A ridge that meets a hull's face or a box's edge between such points is missed: the grid
    should be as fine as the bodies are small.
    """
    count = 0
    if kind_b == SPHERE:
        p = _local(pose_a, pose_b, 0.0, 0.0, 0.0)
        count = _round_point(p, size_b[0], size_a, pose_a, data, 0, margin, count, out, feature)
    elif kind_b == CAPSULE:
        least_end = math.inf
        for end in range(2):
            p = _local(pose_a, pose_b, 0.0, 0.0, size_b[1] if end == 1 else -size_b[1])
            here = signed_distance(p[0], p[1], p[2], margin + size_b[0], size_a, data)[0]
            least_end = min(least_end, here)
            count = _round_point(p, size_b[0], size_a, pose_a, data, end, margin, count, out, feature)
        where, least = _lowest_on_axis(size_a, pose_a, size_b, pose_b, data, margin)
        if least < least_end - 1e-9 * (size_b[0] + size_b[1]):
            p = _local(pose_a, pose_b, 0.0, 0.0, where)
            count = _round_point(p, size_b[0], size_a, pose_a, data, 2, margin, count, out, feature)
    elif kind_b == BOX:
        for corner in range(8):
            x = size_b[0] if corner & 4 else -size_b[0]
            y = size_b[1] if corner & 2 else -size_b[1]
            z = size_b[2] if corner & 1 else -size_b[2]
            p = _local(pose_a, pose_b, x, y, z)
            count = _round_point(p, 0.0, size_a, pose_a, data, corner, margin, count, out, feature)
        count = _grid_points(size_a, pose_a, size_b, pose_b, data, margin, count, out, feature)
    elif kind_b == CYLINDER:
        for i in range(2 * RIM):
            angle = 2.0 * math.pi * (i % RIM) / RIM
            z = size_b[1] if i >= RIM else -size_b[1]
            p = _local(pose_a, pose_b, size_b[0] * math.cos(angle), size_b[0] * math.sin(angle), z)
            count = _round_point(p, 0.0, size_a, pose_a, data, i, margin, count, out, feature)
    elif kind_b in (CONVEX, MESH):
        first = int(size_b[1])
        for i in range(int(size_b[0])):
            at = first + 3 * i
            p = _local(pose_a, pose_b, data[at], data[at + 1], data[at + 2])
            count = _round_point(p, 0.0, size_a, pose_a, data, i, margin, count, out, feature)
    return count
