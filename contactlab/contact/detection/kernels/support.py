"""Support points: where a convex shape reaches farthest along a direction."""

from __future__ import annotations

import math

from contactlab.contact.detection.kernels.layout import BOX, CAPSULE, CONVEX, CYLINDER
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

__all__ = ["core_radius", "reach", "support"]


@kernel
def core_radius(kind: int, size: FloatArray) -> float:
    """Radius by which a shape is rounded: spheres and capsules are points and segments with a radius."""
    if kind in (BOX, CYLINDER, CONVEX):
        return 0.0
    return size[0]


@kernel
def reach(kind: int, size: FloatArray, data: FloatArray) -> float:
    """Length of the order of the shape's core: what rounding errors are measured against."""
    if kind == BOX:
        return size[0] + size[1] + size[2]
    if kind == CYLINDER:
        return size[0] + size[1]
    if kind == CAPSULE:
        return size[1]
    if kind == CONVEX:
        first, largest = int(size[1]), 0.0
        for i in range(3 * int(size[0])):
            largest = max(largest, abs(data[first + i]))
        return largest
    return 0.0


@kernel
def support(
    kind: int, size: FloatArray, pose: FloatArray, data: FloatArray, dx: float, dy: float, dz: float
) -> tuple[float, float, float]:
    """Point of the shape's core that reaches farthest along (dx, dy, dz), of any length; all in world axes.

    Ties go to the positive side, the lowest number of a hull's points, the x axis of a cylinder's cap.
    """
    lx = pose[0] * dx + pose[3] * dy + pose[6] * dz
    ly = pose[1] * dx + pose[4] * dy + pose[7] * dz
    lz = pose[2] * dx + pose[5] * dy + pose[8] * dz
    x, y, z = 0.0, 0.0, 0.0
    if kind == BOX:
        x = size[0] if lx >= 0.0 else -size[0]
        y = size[1] if ly >= 0.0 else -size[1]
        z = size[2] if lz >= 0.0 else -size[2]
    elif kind == CAPSULE:
        z = size[1] if lz >= 0.0 else -size[1]
    elif kind == CYLINDER:
        z = size[1] if lz >= 0.0 else -size[1]
        length = math.sqrt(lx * lx + ly * ly)
        if length > 1e-14 * abs(lz):
            x, y = size[0] * lx / length, size[0] * ly / length
        else:
            x = size[0]
    elif kind == CONVEX:
        first, best, farthest = int(size[1]), 0, -math.inf
        for i in range(int(size[0])):
            at = first + 3 * i
            along = lx * data[at] + ly * data[at + 1] + lz * data[at + 2]
            if along > farthest:
                best, farthest = at, along
        x, y, z = data[best], data[best + 1], data[best + 2]
    wx = pose[9] + pose[0] * x + pose[1] * y + pose[2] * z
    wy = pose[10] + pose[3] * x + pose[4] * y + pose[5] * z
    wz = pose[11] + pose[6] * x + pose[7] * y + pose[8] * z
    return wx, wy, wz
