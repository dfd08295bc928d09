"""What a shape is to the kernels: how far it reaches along a direction, where it touches a ground, its bounds."""

from __future__ import annotations

import math

from contactlab.contact.detection.kernels.vectors import placed, turned_back
from contactlab.contact.kernels.layout import (
    BOX,
    CAPSULE,
    CONVEX,
    CYLINDER,
    HALF_SPACE,
    HEIGHT_FIELD,
    MESH,
    SPHERE,
    Posed,
    Vector,
)
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel

SIN_120 = math.sqrt(0.75)

# Shapes that are the same on either side of their origin.
SYMMETRIC = (SPHERE, CAPSULE, BOX, CYLINDER)


@kernel
def core_radius(shape: Posed) -> float:
    """Radius by which a shape is rounded: spheres and capsules are points and segments with a radius."""
    if shape.kind in (BOX, CYLINDER, CONVEX, MESH):
        return 0.0
    return shape.size[0]


@kernel
def has_curved_core(kind: int) -> bool:
    """Whether the core is no polytope."""
    return kind == CYLINDER


@kernel
def reach(shape: Posed) -> float:
    """Length of the order of the shape's core: what rounding errors are measured against."""
    kind, size = shape.kind, shape.size
    if kind == BOX:
        return size[0] + size[1] + size[2]
    if kind == CYLINDER:
        return size[0] + size[1]
    if kind == CAPSULE:
        return size[1]
    if kind == CONVEX:
        first, largest = int(size[1]), 0.0
        for i in range(3 * int(size[0])):
            largest = max(largest, abs(shape.data[first + i]))
        return largest
    return 0.0


@kernel
def support(shape: Posed, d: Vector) -> Vector:
    """Point of the shape's core that reaches farthest along d, of any length; all in world axes.

    Ties go to the positive side, the lowest number of a hull's points, the x axis of a cylinder's cap.
    """
    kind, size, data = shape.kind, shape.size, shape.data
    lx, ly, lz = turned_back(shape.pose, d)
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
    return placed(shape.pose, (x, y, z))


@kernel
def touching_points(shape: Posed) -> int:
    """Number of points by which a shape touches a ground; a ground touches none."""
    kind = shape.kind
    if kind in (HALF_SPACE, HEIGHT_FIELD):
        return 0
    if kind in (CONVEX, MESH):
        return int(shape.size[0])
    if kind == BOX:
        return 8
    if kind == CYLINDER:
        return 4
    return 2 if kind == CAPSULE else 1


@kernel
def touching_point(shape: Posed, i: int, d: Vector) -> tuple[float, float, float, int]:
    """Point i, in the shape's axes, by which its core touches a ground that lies along d (same axes), and its feature.

    A sphere's centre; the ends of a capsule's axis at -z and +z; corner 4 i + 2 j + k of a box, of the sides i, j, k =
    0 or 1 along x, y, z; a hull's points, and a mesh's those of its hull, in the order given; their number is the
    feature. Of a cylinder's rims the deepest point of each, features 0 and 1 for that at -z and +z, and two more, 120
    degrees on, of the deeper rim, features 2, 3 or 4, 5: lying it rests on the first two, standing on the deepest of
    its lower rim and the other two.
    """
    kind, size, data = shape.kind, shape.size, shape.data
    if kind == CAPSULE:
        return 0.0, 0.0, (size[1] if i == 1 else -size[1]), i
    if kind == BOX:
        x = size[0] if i & 4 else -size[0]
        y = size[1] if i & 2 else -size[1]
        z = size[2] if i & 1 else -size[2]
        return x, y, z, i
    if kind in (CONVEX, MESH):
        at = int(size[1]) + 3 * i
        return data[at], data[at + 1], data[at + 2], i
    if kind == CYLINDER:
        radius, half = size[0], size[1]
        dx, dy, dz = d
        length = math.sqrt(dx * dx + dy * dy)
        if length > 1e-12:
            dx, dy = dx / length, dy / length
        else:
            dx, dy = 1.0, 0.0
        if i < 2:
            return radius * dx, radius * dy, (half if i == 1 else -half), i
        s = SIN_120 if i == 3 else -SIN_120
        upper = dz > 0.0
        code = i + 2 * int(upper)
        return radius * (-0.5 * dx - s * dy), radius * (s * dx - 0.5 * dy), (half if upper else -half), code
    return 0.0, 0.0, 0.0, 0


@kernel
def half_width(kind: int, size: FloatArray, u: float, v: float, w: float) -> float:
    """How far a symmetric shape reaches along a unit direction in its axes."""
    if kind == CAPSULE:
        return size[0] + abs(w) * size[1]
    if kind == BOX:
        return abs(u) * size[0] + abs(v) * size[1] + abs(w) * size[2]
    if kind == CYLINDER:
        return size[0] * math.sqrt(u * u + v * v) + abs(w) * size[1]
    return size[0]


@kernel
def shape_bounds(kind: int, size: FloatArray, pose: FloatArray, data: FloatArray, box: FloatArray) -> None:
    """Fill ``box`` (6,) with the lowest and the highest x, y, z of a shape; a half-space is infinite."""
    for i in range(3):
        u, v, w = pose[3 * i], pose[3 * i + 1], pose[3 * i + 2]
        center, low, high = pose[9 + i], 0.0, 0.0
        if kind in SYMMETRIC:
            high = half_width(kind, size, u, v, w)
            low = -high
        elif kind in (CONVEX, MESH):
            low, high = math.inf, -math.inf
            first = int(size[1])
            for j in range(int(size[0])):
                at = first + 3 * j
                along = u * data[at] + v * data[at + 1] + w * data[at + 2]
                low, high = min(low, along), max(high, along)
        elif kind == HEIGHT_FIELD:
            # The solid has no bottom: what has sunk through the surface is still inside.
            x, y = u * size[3] * (size[1] - 1.0), v * size[4] * (size[2] - 1.0)
            low, high = min(x, 0.0) + min(y, 0.0), max(x, 0.0) + max(y, 0.0)
            low += w * size[6] if w < 0.0 else (-math.inf if w > 0.0 else 0.0)
            high += w * size[6] if w > 0.0 else (math.inf if w < 0.0 else 0.0)
        elif kind == HALF_SPACE:
            low, high = -math.inf, math.inf
        box[i] = center + low
        box[3 + i] = center + high


@kernel
def all_bounds(
    kind: IntArray,
    size: FloatArray,
    poses: FloatArray,
    data: FloatArray,
    enlarged: float,
    boxes: FloatArray,
) -> None:
    """Fill ``boxes`` (n, 6) for n shapes at ``poses`` (n, POSE), each side moved out by ``enlarged`` [m]."""
    for i in range(kind.shape[0]):
        shape_bounds(kind[i], size[i], poses[i], data, boxes[i])
        for j in range(3):
            boxes[i, j] -= enlarged
            boxes[i, 3 + j] += enlarged
