"""Half-space and sphere, capsule, box, cylinder or convex hull."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from contactlab.contact.detection.kernels.layout import BOX, CAPSULE, CONVEX, CYLINDER, MESH, SPHERE
from contactlab.contact.detection.kernels.writing import put
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

__all__ = ["half_space_any"]

SIN_120 = math.sqrt(0.75)


@kernel
def _point(
    lx: float,
    ly: float,
    lz: float,
    radius: float,
    pose: FloatArray,
    normal: tuple[float, float, float],
    offset: float,
    code: int,
    margin: float,
    count: int,
    out: FloatArray,
    feature: NDArray[np.int64],
) -> int:
    """Contact of one point of the body, with a radius, at (lx, ly, lz) in the body's axes."""
    nx, ny, nz = normal
    # The order of operations is that of the core's `world_point` and of `half_space.collide_point`: the same bits.
    x = pose[9] + (pose[0] * lx + pose[1] * ly + pose[2] * lz)
    y = pose[10] + (pose[3] * lx + pose[4] * ly + pose[5] * lz)
    z = pose[11] + (pose[6] * lx + pose[7] * ly + pose[8] * lz)
    gap = nx * x + ny * y + nz * z - radius - offset
    if not gap <= margin:
        return count
    reach = radius + gap
    return put(x - reach * nx, y - reach * ny, z - reach * nz, nx, ny, nz, gap, code, count, out, feature)


@kernel
def _cylinder(
    size: FloatArray,
    pose: FloatArray,
    normal: tuple[float, float, float],
    offset: float,
    margin: float,
    out: FloatArray,
    feature: NDArray[np.int64],
) -> int:
    """At most four points of the rims: the deepest of each, and two more, 120 degrees on, of the deeper rim.

    A lying cylinder rests on the first two, a standing one on the deepest of its lower rim and the other two. The
    features name rim and role: 0, 1 the deepest point of the rim at -z, +z; 2, 3 and 4, 5 the others.
    """
    nx, ny, nz = normal
    radius, half = size[0], size[1]
    # The downward direction across the axis, in the body's x and y.
    dx = -(pose[0] * nx + pose[3] * ny + pose[6] * nz)
    dy = -(pose[1] * nx + pose[4] * ny + pose[7] * nz)
    dz = -(pose[2] * nx + pose[5] * ny + pose[8] * nz)
    length = math.sqrt(dx * dx + dy * dy)
    if length > 1e-12:
        dx, dy = dx / length, dy / length
    else:
        dx, dy = 1.0, 0.0
    count = 0
    for rim in range(2):
        z = half if rim == 1 else -half
        count = _point(radius * dx, radius * dy, z, 0.0, pose, normal, offset, rim, margin, count, out, feature)
    upper = dz > 0.0
    z = half if upper else -half
    for side in range(2):
        s = SIN_120 if side == 1 else -SIN_120
        x, y = radius * (-0.5 * dx - s * dy), radius * (s * dx - 0.5 * dy)
        code = 2 + 2 * int(upper) + side
        count = _point(x, y, z, 0.0, pose, normal, offset, code, margin, count, out, feature)
    return count


@kernel
def half_space_any(
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
    """Contacts of a half-space (A) and a body's shape (B): one for each point of B within ``margin`` of the surface.

    Sphere 1; capsule 2, its ends at -z and +z; box 8, corner 4 i + 2 j + k of the sides i, j, k = 0 or 1 along x, y, z;
    cylinder at most 4; hull its points in the order given, mesh those of its hull. The feature is the point's number.
    """
    mx, my, mz = size_a[0], size_a[1], size_a[2]
    nx = pose_a[0] * mx + pose_a[1] * my + pose_a[2] * mz
    ny = pose_a[3] * mx + pose_a[4] * my + pose_a[5] * mz
    nz = pose_a[6] * mx + pose_a[7] * my + pose_a[8] * mz
    offset = size_a[3] + nx * pose_a[9] + ny * pose_a[10] + nz * pose_a[11]
    normal = (nx, ny, nz)
    count = 0
    if kind_b == SPHERE:
        count = _point(0.0, 0.0, 0.0, size_b[0], pose_b, normal, offset, 0, margin, count, out, feature)
    elif kind_b == CAPSULE:
        for end in range(2):
            z = size_b[1] if end == 1 else -size_b[1]
            count = _point(0.0, 0.0, z, size_b[0], pose_b, normal, offset, end, margin, count, out, feature)
    elif kind_b == BOX:
        for corner in range(8):
            x = size_b[0] if corner & 4 else -size_b[0]
            y = size_b[1] if corner & 2 else -size_b[1]
            z = size_b[2] if corner & 1 else -size_b[2]
            count = _point(x, y, z, 0.0, pose_b, normal, offset, corner, margin, count, out, feature)
    elif kind_b == CYLINDER:
        count = _cylinder(size_b, pose_b, normal, offset, margin, out, feature)
    elif kind_b in (CONVEX, MESH):
        first = int(size_b[1])
        for i in range(int(size_b[0])):
            at = first + 3 * i
            x, y, z = data[at], data[at + 1], data[at + 2]
            count = _point(x, y, z, 0.0, pose_b, normal, offset, i, margin, count, out, feature)
    return count
