"""Distance of the cores of two convex shapes: the simplex nearest to the origin, and its refinement."""

from __future__ import annotations

import math

from contactlab.contact.detection.kernels.support import cross, dot, relative, support
from contactlab.contact.kernels.layout import Posed, Vec3
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

# A corner of the simplex is a row of nine: the difference w = a - b, then a and b.
ROW = 9


@kernel(inner=True)
def corner(work: FloatArray, i: int) -> Vec3:
    """Corner i of the simplex, a - b."""
    return work[ROW * i], work[ROW * i + 1], work[ROW * i + 2]


@kernel(inner=True)
def triangle_normal(work: FloatArray, i: int, j: int, k: int) -> Vec3:
    """(j - i) x (k - i) of three corners."""
    ax, ay, az = corner(work, i)
    bx, by, bz = corner(work, j)
    cx, cy, cz = corner(work, k)
    return cross((bx - ax, by - ay, bz - az), (cx - ax, cy - ay, cz - az))


@kernel
def weighted(n: int, weights: FloatArray, work: FloatArray, column: int) -> Vec3:
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


MAX_ITERATIONS = 200

# Where the simplex before the present one is kept.
PREVIOUS = 4 * ROW


@kernel
def add_corner(a: Posed, b: Posed, d: Vec3, corner: int, work: FloatArray) -> float:
    """Fill row ``corner`` with the point of A - B farthest along d; returns how far that is, times |d|."""
    p, q = support(a, d), support(b, (-d[0], -d[1], -d[2]))
    at = ROW * corner
    w = (p[0] - q[0], p[1] - q[1], p[2] - q[2])
    work[at], work[at + 1], work[at + 2] = w
    work[at + 3], work[at + 4], work[at + 5] = p
    work[at + 6], work[at + 7], work[at + 8] = q
    return dot(d, w)


@kernel
def gjk(
    a: Posed, b: Posed, scale: float, enough: float, work: FloatArray, weights: FloatArray
) -> tuple[float, int, float]:
    """Distance of the two cores (0 in overlap), the number of corners of the simplex left in ``work``, and a bound.

    The bound is how far apart the cores lie along the direction found: the distance is proved where the two agree. They
    do to ``1e-14 scale``, but where rounding in a thin simplex ends the search.

    E. G. Gilbert, D. W. Johnson, S. S. Keerthi, A fast procedure for computing the distance between complex objects,
    IEEE Journal of Robotics and Automation 4 (1988); G. van den Bergen, A fast and robust GJK implementation (1999)
    for the end test: the distance is known to ``1e-14 scale`` when the search stops, or to be more than ``enough``.

    Parameters
    ----------
    scale
        Length of the order of both shapes.
    enough
        A distance beyond this is of no interest: the search stops as soon as it is certain.
    work, weights
        Corners of the simplex (rows of 9) and the weights (4) of the closest point, each with room for those of the
        step before.
    """
    vx, vy, vz = relative(b.pose, a.pose)
    if vx * vx + vy * vy + vz * vz == 0.0:
        vx = 1.0
    add_corner(a, b, (-vx, -vy, -vz), 0, work)
    weights[0] = 1.0
    n, n_before, length2, lower = 1, 1, math.inf, 0.0
    for _ in range(MAX_ITERATIONS):
        vx, vy, vz = weighted(n, weights, work, 0)
        now = vx * vx + vy * vy + vz * vz
        if not now < length2:
            # Rounding in a thin simplex: the one before was as good as it gets.
            n = n_before
            for i in range(ROW * n):
                work[i] = work[PREVIOUS + i]
            for i in range(n):
                weights[i] = weights[4 + i]
            break
        length2 = now
        length = math.sqrt(now)
        if length <= 1e-15 * scale or length < 1e-150:
            return 0.0, n, 0.0
        nearest = -add_corner(a, b, (-vx, -vy, -vz), n, work)
        lower = nearest / length
        if nearest > enough * length or now - nearest <= 1e-14 * length * max(scale, length):
            break
        repeated = False
        for i in range(n):
            same = True
            for m in range(3):
                same = same and work[ROW * i + m] == work[ROW * n + m]
            repeated = repeated or same
        if repeated:
            break
        n_before = n
        for i in range(ROW * n):
            work[PREVIOUS + i] = work[i]
        for i in range(n):
            weights[4 + i] = weights[i]
        n = keep_closest(work, n + 1, weights)
        if n == 4:
            return 0.0, 4, 0.0
    return math.sqrt(length2), n, lower


@kernel
def _towards(v: Vec3, n: int, work: FloatArray) -> Vec3:
    """Unit direction from the point v of a simplex to the origin, across the simplex to the last bit.

    The digits that v has lost lie along the sides; the sides themselves have all of theirs.
    """
    dx, dy, dz = -v[0], -v[1], -v[2]
    if n == 2:
        (px, py, pz), (qx, qy, qz) = corner(work, 0), corner(work, 1)
        e = (qx - px, qy - py, qz - pz)
        for _ in range(2):
            part = dot((dx, dy, dz), e) / dot(e, e)
            dx, dy, dz = dx - part * e[0], dy - part * e[1], dz - part * e[2]
    elif n == 3:
        m = triangle_normal(work, 0, 1, 2)
        if dot(m, m) > 0.0:
            dx, dy, dz = m if dot(m, v) < 0.0 else (-m[0], -m[1], -m[2])
    length = math.sqrt(dx * dx + dy * dy + dz * dz)
    return dx / length, dy / length, dz / length


@kernel
def sharpen(
    a: Posed, b: Posed, start: Vec3, shift: float, enough: float, work: FloatArray, weights: FloatArray
) -> tuple[float, float, Vec3, Vec3]:
    """Closest points of cores that all but touch, or overlap, once more, with directions that keep all their digits.

    The search is that of `gjk`, of cores moved ``shift`` apart along ``start``, but the direction of the next corner is
    that of the simplex, not that of the difference of two points next to one another. Of all directions met the one is
    taken along which points of both are apart by what their cores are along it, most nearly. The search ends where they
    are so to ``enough``.

    Returns by how much they do not, the overlap along the direction, the direction and the point on A.
    """
    off, least, n, point, count = math.inf, 0.0, start, (0.0, 0.0, 0.0), 0
    d = start
    for step in range(MAX_ITERATIONS):
        v = (0.0, 0.0, 0.0)
        if step > 0:
            v = weighted(count, weights, work, 0)
            if dot(v, v) == 0.0:
                break
            d = _towards(v, count, work)
        value = add_corner(a, b, d, count, work)
        for m in range(3):
            work[ROW * count + m] -= shift * start[m]
        if step > 0:
            # Moved back, the points lie v + shift start apart.
            rest = (v[0] + shift * start[0], v[1] + shift * start[1], v[2] + shift * start[2])
            rest = (rest[0] - value * d[0], rest[1] - value * d[1], rest[2] - value * d[2])
            here = math.sqrt(dot(rest, rest))
            if here < off:
                off, least, n, point = here, value, d, weighted(count, weights, work, 3)
            if off <= enough:
                break
            repeated = False
            for i in range(count):
                repeated = repeated or corner(work, i) == corner(work, count)
            if repeated:
                break
        count = keep_closest(work, count + 1, weights)
        if count == 4:
            break
    return off, least, n, point
