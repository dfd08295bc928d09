"""Vectors by their coordinates, and poses, rows of twelve, that turn and move them."""

from __future__ import annotations

import math

from contactlab.contact.kernels.layout import Vector
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel


@kernel(inner=True)
def dot(a: Vector, b: Vector) -> float:
    """Inner product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel(inner=True)
def cross(a: Vector, b: Vector) -> Vector:
    """Product a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel(inner=True)
def turned(pose: FloatArray, v: Vector) -> Vector:
    """Direction in the world of one in the axes of a shape."""
    return (
        pose[0] * v[0] + pose[1] * v[1] + pose[2] * v[2],
        pose[3] * v[0] + pose[4] * v[1] + pose[5] * v[2],
        pose[6] * v[0] + pose[7] * v[1] + pose[8] * v[2],
    )


@kernel(inner=True)
def turned_back(pose: FloatArray, v: Vector) -> Vector:
    """Direction in the axes of a shape of one in the world."""
    return (
        pose[0] * v[0] + pose[3] * v[1] + pose[6] * v[2],
        pose[1] * v[0] + pose[4] * v[1] + pose[7] * v[2],
        pose[2] * v[0] + pose[5] * v[1] + pose[8] * v[2],
    )


@kernel(inner=True)
def placed(pose: FloatArray, v: Vector) -> Vector:
    """Point in the world of one in the axes of a shape."""
    return (
        pose[9] + pose[0] * v[0] + pose[1] * v[1] + pose[2] * v[2],
        pose[10] + pose[3] * v[0] + pose[4] * v[1] + pose[5] * v[2],
        pose[11] + pose[6] * v[0] + pose[7] * v[1] + pose[8] * v[2],
    )


@kernel(inner=True)
def origin(pose: FloatArray) -> Vector:
    """Origin of a shape."""
    return pose[9], pose[10], pose[11]


@kernel(inner=True)
def relative(pose: FloatArray, other: FloatArray) -> Vector:
    """Origin of another shape from that of this one, world axes."""
    return other[9] - pose[9], other[10] - pose[10], other[11] - pose[11]


@kernel
def pose_in(pose: FloatArray, other: FloatArray, out: FloatArray) -> None:
    """Fill ``out`` with the pose of another shape in the axes of this one."""
    dx, dy, dz = relative(pose, other)
    for i in range(3):
        x, y, z = pose[i], pose[3 + i], pose[6 + i]
        for j in range(3):
            out[3 * i + j] = x * other[j] + y * other[3 + j] + z * other[6 + j]
        out[9 + i] = x * dx + y * dy + z * dz


@kernel
def place_shape(body: FloatArray, place: FloatArray, pose: FloatArray) -> None:
    """Fill ``pose`` (12,) of a shape in the world from its body's pose and its place in the body, rows of 12 alike."""
    for i in range(3):
        r0, r1, r2 = body[3 * i], body[3 * i + 1], body[3 * i + 2]
        for j in range(3):
            pose[3 * i + j] = r0 * place[j] + r1 * place[3 + j] + r2 * place[6 + j]
        pose[9 + i] = body[9 + i] + r0 * place[9] + r1 * place[10] + r2 * place[11]


@kernel
def across(v: Vector) -> Vector:
    """Unit vector across v, a fixed function of it; the world's x axis where it is zero."""
    x, y, z = v
    length = math.sqrt(x * x + y * y + z * z)
    if length < 1e-150:
        return 1.0, 0.0, 0.0
    x, y, z = x / length, y / length, z / length
    # The world axis with the smallest part along the vector leaves the longest part across it.
    if abs(x) <= abs(y) and abs(x) <= abs(z):
        a, b, c = 1.0 - x * x, -x * y, -x * z
    elif abs(y) <= abs(z):
        a, b, c = -x * y, 1.0 - y * y, -y * z
    else:
        a, b, c = -x * z, -y * z, 1.0 - z * z
    length = math.sqrt(a * a + b * b + c * c)
    return a / length, b / length, c / length
