"""The point of a simplex closest to the origin, and the smallest part of the simplex that holds it."""

from __future__ import annotations

import math

from contactlab.contact.detection.kernels.vectors import cross, dot
from contactlab.contact.kernels.layout import Vector
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

# A corner of the simplex is a row of nine: the difference w = a - b, then a and b.
ROW = 9


@kernel(inner=True)
def corner(work: FloatArray, i: int) -> Vector:
    """Corner i of the simplex, a - b."""
    return work[ROW * i], work[ROW * i + 1], work[ROW * i + 2]


@kernel(inner=True)
def triangle_normal(work: FloatArray, i: int, j: int, k: int) -> Vector:
    """(j - i) x (k - i) of three corners."""
    ax, ay, az = corner(work, i)
    bx, by, bz = corner(work, j)
    cx, cy, cz = corner(work, k)
    return cross((bx - ax, by - ay, bz - az), (cx - ax, cy - ay, cz - az))


@kernel
def weighted(n: int, weights: FloatArray, work: FloatArray, column: int) -> Vector:
    """Sum of n corners by their weights: of their differences (column 0), or of the points of A (column 3)."""
    x, y, z = 0.0, 0.0, 0.0
    for i in range(n):
        if weights[i] > 0.0:
            at = ROW * i + column
            x += weights[i] * work[at]
            y += weights[i] * work[at + 1]
            z += weights[i] * work[at + 2]
    return x, y, z


@kernel
def _segment(work: FloatArray, i: int, j: int) -> tuple[float, float]:
    """Weights of the corners i, j of the segment's point closest to the origin."""
    along, length2 = 0.0, 0.0
    for k in range(3):
        a, b = work[ROW * i + k], work[ROW * j + k]
        along -= a * (b - a)
        length2 += (b - a) * (b - a)
    if along <= 0.0 or length2 == 0.0:
        return 1.0, 0.0
    if along >= length2:
        return 0.0, 1.0
    t = along / length2
    return 1.0 - t, t


@kernel
def _areas(work: FloatArray, i: int, j: int, k: int) -> tuple[float, float, float]:
    """Areas of the triangles the origin's foot makes with each side of (i, j, k), times twice the whole area twice.

    Ericson has differences of products of lengths here. Corners on a round rim come so close to each other that those
    lose all digits; products with the sides keep them, and the two shorter sides give the best normal.
    """
    ax, ay, az = corner(work, i)
    bx, by, bz = corner(work, j)
    cx, cy, cz = corner(work, k)
    ux, uy, uz = bx - ax, by - ay, bz - az
    vx, vy, vz = cx - bx, cy - by, cz - bz
    wx, wy, wz = ax - cx, ay - cy, az - cz
    u, v, w = (ux, uy, uz), (vx, vy, vz), (wx, wy, wz)
    uu, vv, ww = dot(u, u), dot(v, v), dot(w, w)
    if uu >= vv and uu >= ww:
        nx, ny, nz = cross(v, w)
    elif vv >= ww:
        nx, ny, nz = cross(w, u)
    else:
        nx, ny, nz = cross(u, v)
    va = nx * (by * vz - bz * vy) + ny * (bz * vx - bx * vz) + nz * (bx * vy - by * vx)
    vb = nx * (cy * wz - cz * wy) + ny * (cz * wx - cx * wz) + nz * (cx * wy - cy * wx)
    vc = nx * (ay * uz - az * uy) + ny * (az * ux - ax * uz) + nz * (ax * uy - ay * ux)
    return va, vb, vc


@kernel
def _triangle(work: FloatArray, i: int, j: int, k: int) -> tuple[float, float, float]:
    """Weights of the corners i, j, k of the triangle's point closest to the origin."""
    d1, d2, d3, d4, d5, d6 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for m in range(3):
        a, b, c = work[ROW * i + m], work[ROW * j + m], work[ROW * k + m]
        d1 -= (b - a) * a
        d2 -= (c - a) * a
        d3 -= (b - a) * b
        d4 -= (c - a) * b
        d5 -= (b - a) * c
        d6 -= (c - a) * c
    if d1 <= 0.0 and d2 <= 0.0:
        return 1.0, 0.0, 0.0
    if d3 >= 0.0 and d4 <= d3:
        return 0.0, 1.0, 0.0
    va, vb, vc = _areas(work, i, j, k)
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        s, t = _segment(work, i, j)
        return s, t, 0.0
    if d6 >= 0.0 and d5 <= d6:
        return 0.0, 0.0, 1.0
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        s, t = _segment(work, i, k)
        return s, 0.0, t
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        s, t = _segment(work, j, k)
        return 0.0, s, t
    if min(va, vb, vc) <= 0.0:
        # Rounding has put a thin triangle's point nowhere: it is on one of the sides.
        return _sides(work, i, j, k)
    total = va + vb + vc
    return va / total, vb / total, vc / total


@kernel
def _length2(work: FloatArray, i: int, s: float, j: int, t: float) -> float:
    """Squared length of s times corner i plus t times corner j."""
    total = 0.0
    for m in range(3):
        x = s * work[ROW * i + m] + t * work[ROW * j + m]
        total += x * x
    return total


@kernel
def _sides(work: FloatArray, i: int, j: int, k: int) -> tuple[float, float, float]:
    """Weights of the point closest to the origin on the sides of a triangle."""
    s, t = _segment(work, i, j)
    a, b, c, least = s, t, 0.0, _length2(work, i, s, j, t)
    s, t = _segment(work, j, k)
    here = _length2(work, j, s, k, t)
    if here < least:
        a, b, c, least = 0.0, s, t, here
    s, t = _segment(work, k, i)
    if _length2(work, k, s, i, t) < least:
        a, b, c = t, 0.0, s
    return a, b, c


@kernel
def _side(work: FloatArray, i: int, j: int, k: int, m: int) -> float:
    """Positive when the origin and corner m lie on the same side of the plane of i, j, k; zero for a flat corner."""
    a, n, d = corner(work, i), triangle_normal(work, i, j, k), corner(work, m)
    d = (d[0] - a[0], d[1] - a[1], d[2] - a[2])
    origin, other, area2 = -dot(n, a), dot(n, d), dot(n, n)
    # A thin tetrahedron has sides in name only: all its faces are then looked at.
    if abs(other) <= 1e-9 * math.sqrt(area2 * dot(d, d)):
        return 0.0
    if abs(origin) <= 1e-13 * math.sqrt(area2 * dot(a, a)):
        return 0.0
    return origin if other > 0.0 else -origin


@kernel
def keep_closest(work: FloatArray, n: int, weights: FloatArray) -> int:
    """Reduce the n corners to those of the closest point, and set their weights; 4 if the origin is inside.

    Ericson 2005, sections 5.1.5 and 5.1.6: regions of Voronoi for segments and triangles, the faces that see the
    origin for a tetrahedron.
    """
    weights[0] = 1.0
    weights[1] = weights[2] = weights[3] = 0.0
    if n == 2:
        weights[0], weights[1] = _segment(work, 0, 1)
    elif n == 3:
        weights[0], weights[1], weights[2] = _triangle(work, 0, 1, 2)
    elif n == 4:
        smallest = math.inf
        for skip in range(4):
            i, j, k = (1 if skip == 0 else 0), (2 if skip <= 1 else 1), (3 if skip <= 2 else 2)
            if _side(work, i, j, k, skip) > 0.0:
                continue
            s, t, r = _triangle(work, i, j, k)
            length2 = 0.0
            for m in range(3):
                x = s * work[ROW * i + m] + t * work[ROW * j + m] + r * work[ROW * k + m]
                length2 += x * x
            if length2 < smallest:
                smallest = length2
                weights[i], weights[j], weights[k], weights[skip] = s, t, r, 0.0
        if smallest == math.inf:
            return 4
    kept = 0
    for i in range(n):
        if weights[i] > 0.0:
            for m in range(ROW):
                work[ROW * kept + m] = work[ROW * i + m]
            weights[kept] = weights[i]
            kept += 1
    return kept
