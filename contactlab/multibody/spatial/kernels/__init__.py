"""Vectors as tuples of three numbers, for kernels: arithmetic, and parts of arrays.

Rotation matrices are rows of nine numbers in arrays. Symmetric matrices are six numbers: xx, yy, zz, xy, xz, yz.
Spatial vectors are arrays of six numbers, angular part first.
"""

from __future__ import annotations

import math

from contactlab.multibody.spatial.arrays import FloatArray, IntArray, Vec3
from lcp.kernels import kernel

#: The angular and the linear part of a spatial vector.
Pair = tuple[Vec3, Vec3]


@kernel(inner=True)
def vector(a: FloatArray) -> Vec3:
    """Return the first three numbers of an array."""
    return a[0], a[1], a[2]


@kernel(inner=True)
def vector_at(a: FloatArray, k: int) -> Vec3:
    """Return three numbers of an array from place k on."""
    return a[k], a[k + 1], a[k + 2]


@kernel(inner=True)
def linear(s: FloatArray) -> Vec3:
    """Return the linear part of a spatial vector."""
    return s[3], s[4], s[5]


@kernel(inner=True)
def copy(a: FloatArray | IntArray, out: FloatArray | IntArray) -> None:
    """Fill ``out`` with the numbers of an array."""
    for k in range(out.shape[0]):
        out[k] = a[k]


@kernel(inner=True)
def fill(value: float, out: FloatArray) -> None:
    """Fill ``out`` with one number."""
    for k in range(out.shape[0]):
        out[k] = value


@kernel(inner=True)
def are_finite(a: FloatArray) -> bool:
    """Return True if all numbers of an array are finite."""
    # a sum of zeros, unless a number is not finite
    rest = 0.0
    for k in range(a.shape[0]):
        rest += 0.0 * a[k]
    return rest == 0.0


@kernel(inner=True)
def add_to(a: FloatArray, out: FloatArray) -> None:
    """Add the numbers of an array to ``out``."""
    for k in range(out.shape[0]):
        out[k] += a[k]


@kernel(inner=True)
def pair_of(s: FloatArray) -> Pair:
    """Return both parts of a spatial vector."""
    return vector(s), linear(s)


@kernel(inner=True)
def put(v: Vec3, out: FloatArray) -> None:
    """Fill the first three numbers of an array."""
    out[0], out[1], out[2] = v


@kernel(inner=True)
def put_spatial(w: Vec3, v: Vec3, out: FloatArray) -> None:
    """Fill a spatial vector."""
    out[0], out[1], out[2] = w
    out[3], out[4], out[5] = v


@kernel(inner=True)
def put_pair(parts: Pair, out: FloatArray) -> None:
    """Fill a spatial vector with its two parts."""
    put_spatial(parts[0], parts[1], out)


@kernel(inner=True)
def add_spatial(w: Vec3, v: Vec3, out: FloatArray) -> None:
    """Add to a spatial vector."""
    out[0] += w[0]
    out[1] += w[1]
    out[2] += w[2]
    out[3] += v[0]
    out[4] += v[1]
    out[5] += v[2]


@kernel(inner=True)
def add(a: Vec3, b: Vec3) -> Vec3:
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@kernel(inner=True)
def add_pairs(a: Pair, b: Pair) -> Pair:
    """Return the sum of two spatial vectors."""
    return add(a[0], b[0]), add(a[1], b[1])


@kernel(inner=True)
def subtract_pairs(a: Pair, b: Pair) -> Pair:
    """Return the difference of two spatial vectors."""
    return subtract(a[0], b[0]), subtract(a[1], b[1])


@kernel(inner=True)
def dot_pairs(a: Pair, b: Pair) -> float:
    """Return the inner product of two spatial vectors."""
    return dot(a[0], b[0]) + dot(a[1], b[1])


@kernel(inner=True)
def subtract(a: Vec3, b: Vec3) -> Vec3:
    """Return a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel(inner=True)
def times(factor: float, a: Vec3) -> Vec3:
    """Return the product with a number."""
    return factor * a[0], factor * a[1], factor * a[2]


@kernel(inner=True)
def opposite(a: Vec3) -> Vec3:
    """Return -a."""
    return -a[0], -a[1], -a[2]


@kernel(inner=True)
def dot(a: Vec3, b: Vec3) -> float:
    """Return the inner product a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel(inner=True)
def norm(a: Vec3) -> float:
    """Return the length of a vector."""
    return math.sqrt(dot(a, a))


@kernel(inner=True)
def cross(a: Vec3, b: Vec3) -> Vec3:
    """Return the cross product a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel(inner=True)
def rotate(R: FloatArray, v: Vec3) -> Vec3:
    """Return R v; for a pose, from the axes of a shape or body to world axes."""
    return (
        R[0] * v[0] + R[1] * v[1] + R[2] * v[2],
        R[3] * v[0] + R[4] * v[1] + R[5] * v[2],
        R[6] * v[0] + R[7] * v[1] + R[8] * v[2],
    )


@kernel(inner=True)
def rotate_inverse(R: FloatArray, v: Vec3) -> Vec3:
    """Return R^T v; for a pose, from world axes to the axes of a shape or body."""
    return (
        R[0] * v[0] + R[3] * v[1] + R[6] * v[2],
        R[1] * v[0] + R[4] * v[1] + R[7] * v[2],
        R[2] * v[0] + R[5] * v[1] + R[8] * v[2],
    )


@kernel(inner=True)
def transform(R: FloatArray, p: Vec3, v: Vec3) -> Vec3:
    """Return p + R v, added from the left."""
    return (
        p[0] + R[0] * v[0] + R[1] * v[1] + R[2] * v[2],
        p[1] + R[3] * v[0] + R[4] * v[1] + R[5] * v[2],
        p[2] + R[6] * v[0] + R[7] * v[1] + R[8] * v[2],
    )


@kernel(inner=True)
def cross_linear(w: Vec3, v: Vec3, a: Vec3, b: Vec3) -> Vec3:
    """Return the linear part w x b + v x a of the product of the motions (w, v) and (a, b), added from the left."""
    return (
        w[1] * b[2] - w[2] * b[1] + v[1] * a[2] - v[2] * a[1],
        w[2] * b[0] - w[0] * b[2] + v[2] * a[0] - v[0] * a[2],
        w[0] * b[1] - w[1] * b[0] + v[0] * a[1] - v[1] * a[0],
    )


@kernel(inner=True)
def symmetric_times(J: FloatArray, v: Vec3) -> Vec3:
    """Return J v for a symmetric matrix J (6,)."""
    return (
        J[0] * v[0] + J[3] * v[1] + J[4] * v[2],
        J[3] * v[0] + J[1] * v[1] + J[5] * v[2],
        J[4] * v[0] + J[5] * v[1] + J[2] * v[2],
    )
