"""Pose arithmetic, and quantities of a shape for the kernels: support points, ground points, bounds.

A pose is a row of twelve numbers: the rotation by rows, then the origin.
"""

from __future__ import annotations

import math

from contactlab.collision.kernels import (
    BOX,
    CAPSULE,
    CONVEX,
    CYLINDER,
    HALF_SPACE,
    HEIGHT_FIELD,
    MESH,
    SPHERE,
    Posed,
)
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, Vec3
from contactlab.multibody.spatial.kernels import dot, rotate, rotate_inverse, subtract, transform, vector_at
from lcp.kernels import kernel


@kernel(inner=True)
def transform_point(pose: FloatArray, v: Vec3) -> Vec3:
    """Transform a point from the axes of a shape to world axes."""
    return transform(pose, vector_at(pose, 9), v)


@kernel(inner=True)
def origin(pose: FloatArray) -> Vec3:
    """Return the origin of a shape."""
    return vector_at(pose, 9)


@kernel(inner=True)
def relative(pose: FloatArray, other: FloatArray) -> Vec3:
    """Return the vector from the origin of this shape to the origin of another, world axes."""
    return subtract(vector_at(other, 9), vector_at(pose, 9))


@kernel
def relative_pose(pose: FloatArray, other: FloatArray, out: FloatArray) -> None:
    """Fill ``out`` (12,) with the pose of another shape in the axes of this one."""
    for j in range(3):
        out[j], out[3 + j], out[6 + j] = rotate_inverse(pose, axis_of(other, j))
    out[9], out[10], out[11] = rotate_inverse(pose, relative(pose, other))


@kernel
def place_shape(body: FloatArray, place: FloatArray, pose: FloatArray) -> None:
    """Fill the world pose (12,) of a shape from the pose of its body and its place in the body, (12,) each."""
    for j in range(3):
        pose[j], pose[3 + j], pose[6 + j] = rotate(body, axis_of(place, j))
    pose[9], pose[10], pose[11] = transform_point(body, origin(place))


@kernel
def perpendicular(v: Vec3) -> Vec3:
    """Return a unit vector normal to v, a fixed function of v; the x axis if v is zero."""
    length = math.sqrt(dot(v, v))
    if length < 1e-150:
        return 1.0, 0.0, 0.0
    x, y, z = v[0] / length, v[1] / length, v[2] / length
    # project the world axis with the smallest component along v
    if abs(x) <= abs(y) and abs(x) <= abs(z):
        return unit((1.0 - x * x, -x * y, -x * z))
    if abs(y) <= abs(z):
        return unit((-x * y, 1.0 - y * y, -y * z))
    return unit((-x * z, -y * z, 1.0 - z * z))


SIN_120 = math.sqrt(0.75)

# Shapes that are symmetric about their origin.
SYMMETRIC = (SPHERE, CAPSULE, BOX, CYLINDER)


@kernel
def core_radius(shape: Posed) -> float:
    """Return the radius by which the core of a shape is rounded: of spheres (points) and capsules (segments)."""
    if shape.kind in (BOX, CYLINDER, CONVEX, MESH):
        return 0.0
    return shape.size[0]


@kernel
def has_curved_core(kind: int) -> bool:
    """Return True if the core is not a polytope."""
    return kind == CYLINDER


@kernel
def characteristic_size(shape: Posed) -> float:
    """Return the length scale of the core of a shape, to which rounding errors are relative."""
    # one branch for each kind of shape
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


@kernel(inner=True)
def farthest(data: FloatArray, first: int, n: int, d: Vec3) -> tuple[int, float]:
    """Return the offset of the farthest of n points along d, the first of equals, and d.x; they begin at ``first``."""
    best, highest = 0, -math.inf
    for offset in range(first, first + 3 * n, 3):
        height = dot(d, vector_at(data, offset))
        if height > highest:
            best, highest = offset, height
    return best, highest


@kernel(inner=True)
def farthest_hull_point(shape: Posed, d: Vec3) -> tuple[int, float]:
    """Return the offset in ``data`` of the hull point farthest along d (shape axes), and d . x."""
    return farthest(shape.data, int(shape.size[1]), int(shape.size[0]), d)


@kernel(inner=True)
def farthest_face(shape: Posed, d: Vec3) -> int:
    """Return the number of the face of a hull whose outward normal is most along d (shape axes)."""
    start = int(shape.size[3])
    offset, _ = farthest(shape.data, start, int(shape.size[2]), d)
    return (offset - start) // 3


@kernel(inner=True)
def axis_of(pose: FloatArray, k: int) -> Vec3:
    """Return axis k of a shape in world axes."""
    return pose[k], pose[3 + k], pose[6 + k]


@kernel(inner=True)
def unit(v: Vec3) -> Vec3:
    """Return the unit vector along v, which is not zero."""
    length = math.sqrt(dot(v, v))
    return v[0] / length, v[1] / length, v[2] / length


@kernel
def support(shape: Posed, d: Vec3) -> Vec3:
    """Return the point of the core of a shape that is farthest along d (any length), in world axes.

    Ties go to the positive side, the lowest number of a hull's points, the x axis of a cylinder's cap.
    """
    # direction in the axes of the shape
    kind, size = shape.kind, shape.size
    lx, ly, lz = rotate_inverse(shape.pose, d)
    x, y, z = 0.0, 0.0, 0.0
    # one branch for each kind of shape
    if kind == BOX:
        x = size[0] if lx >= 0.0 else -size[0]
        y = size[1] if ly >= 0.0 else -size[1]
        z = size[2] if lz >= 0.0 else -size[2]
    elif kind == CAPSULE:
        z = size[1] if lz >= 0.0 else -size[1]
    elif kind == CYLINDER:
        z = size[1] if lz >= 0.0 else -size[1]
        length = math.sqrt(lx * lx + ly * ly)
        x = size[0]
        if length > 1e-14 * abs(lz):
            x, y = size[0] * lx / length, size[0] * ly / length
    elif kind == CONVEX:
        x, y, z = vector_at(shape.data, farthest_hull_point(shape, (lx, ly, lz))[0])
    return transform_point(shape.pose, (x, y, z))


@kernel
def ground_point_count(shape: Posed) -> int:
    """Return the number of points with which a shape can touch a ground; 0 for a ground."""
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
def ground_point(shape: Posed, i: int, d: Vec3) -> tuple[float, float, float, int]:
    """Return point i with which the core of a shape can touch a ground along d, in shape axes, and its feature number.

    A sphere has its centre, a capsule the ends of its axis at -z and +z. A box has corner 4 i + 2 j + k, of the sides
    i, j, k = 0 or 1 along x, y, z. A hull has its points, and a mesh the points of its hull, in the order given. The
    number of the point is the feature.

    A cylinder has the deepest point of each rim, features 0 and 1 at -z and +z. It has two more points of the deeper
    rim, 120 degrees apart, features 2, 3 or 4, 5. Lying it rests on the first two. Standing it rests on the deepest
    point of its lower rim and on the other two.
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
        offset = int(size[1]) + 3 * i
        return data[offset], data[offset + 1], data[offset + 2], i
    if kind == CYLINDER:
        # radial direction to the deepest point of a rim
        radius, half = size[0], size[1]
        length = math.sqrt(d[0] * d[0] + d[1] * d[1])
        dx, dy = (d[0] / length, d[1] / length) if length > 1e-12 else (1.0, 0.0)
        if i < 2:
            return radius * dx, radius * dy, (half if i == 1 else -half), i
        # a point of the deeper rim, 120 degrees from its deepest point
        s = SIN_120 if i == 3 else -SIN_120
        upper = d[2] > 0.0
        code = i + 2 * int(upper)
        return radius * (-0.5 * dx - s * dy), radius * (s * dx - 0.5 * dy), (half if upper else -half), code
    return 0.0, 0.0, 0.0, 0


@kernel
def half_width(kind: int, size: FloatArray, u: float, v: float, w: float) -> float:
    """Return the half width of a symmetric shape along a unit direction in its axes."""
    if kind == CAPSULE:
        return size[0] + abs(w) * size[1]
    if kind == BOX:
        return abs(u) * size[0] + abs(v) * size[1] + abs(w) * size[2]
    if kind == CYLINDER:
        return size[0] * math.sqrt(u * u + v * v) + abs(w) * size[1]
    return size[0]


@kernel
def shape_bounds(kind: int, size: FloatArray, pose: FloatArray, data: FloatArray, box: FloatArray) -> None:
    """Fill ``box`` (6,) with the lowest and the highest x, y, z of a shape; the box of a half-space is infinite."""
    for i in range(3):
        u, v, w = pose[3 * i], pose[3 * i + 1], pose[3 * i + 2]
        center, low, high = pose[9 + i], 0.0, 0.0
        if kind in SYMMETRIC:
            high = half_width(kind, size, u, v, w)
            low = -high
        elif kind in (CONVEX, MESH):
            low, high = math.inf, -math.inf
            for j in range(int(size[0])):
                height = dot((u, v, w), vector_at(data, int(size[1]) + 3 * j))
                low, high = min(low, height), max(high, height)
        elif kind == HEIGHT_FIELD:
            # the solid has no bottom, so that a body that has sunk through the surface is still inside
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
    """Fill the bounding boxes (n, 6) of n shapes at ``poses`` (n, POSE), each side moved out by ``enlarged`` [m]."""
    for i in range(kind.shape[0]):
        shape_bounds(kind[i], size[i], poses[i], data, boxes[i])
        for j in range(3):
            boxes[i, j] -= enlarged
            boxes[i, 3 + j] += enlarged
