"""Distance of the cores of two convex shapes: the simplex nearest to the origin, and its refinement."""

from __future__ import annotations

import math

from contactlab.contact.detection.kernels.support import cross, dot, relative, support
from contactlab.contact.kernels.layout import Posed
from contactlab.spatial.arrays import FloatArray, Vec3
from lcp.kernels import kernel

# A vertex of the simplex is a row of nine: the difference w = a - b, then a and b.
ROW = 9


@kernel(inner=True)
def corner(work: FloatArray, i: int) -> Vec3:
    """Return vertex i of the simplex, a - b."""
    return work[ROW * i], work[ROW * i + 1], work[ROW * i + 2]


@kernel(inner=True)
def triangle_normal(work: FloatArray, i: int, j: int, k: int) -> Vec3:
    """Return (j - i) x (k - i) of three vertices of the simplex: a normal, not of unit length."""
    ax, ay, az = corner(work, i)
    bx, by, bz = corner(work, j)
    cx, cy, cz = corner(work, k)
    return cross((bx - ax, by - ay, bz - az), (cx - ax, cy - ay, cz - az))


@kernel
def weighted(n: int, weights: FloatArray, work: FloatArray, column: int) -> Vec3:
    """Return the weighted sum of n vertices: of their differences (column 0), or of the points of A (column 3)."""
    x, y, z = 0.0, 0.0, 0.0
    for i in range(n):
        if weights[i] > 0.0:
            offset = ROW * i + column
            x += weights[i] * work[offset]
            y += weights[i] * work[offset + 1]
            z += weights[i] * work[offset + 2]
    return x, y, z


@kernel
def _segment(work: FloatArray, i: int, j: int) -> tuple[float, float]:
    """Return the weights of vertices i, j for the point of their segment closest to the origin."""
    a, b = corner(work, i), corner(work, j)
    side = (b[0] - a[0], b[1] - a[1], b[2] - a[2])
    projection, length2 = -dot(a, side), dot(side, side)
    if projection <= 0.0 or length2 == 0.0:
        return 1.0, 0.0
    if projection >= length2:
        return 0.0, 1.0
    t = projection / length2
    return 1.0 - t, t


@kernel
def _areas(work: FloatArray, i: int, j: int, k: int) -> tuple[float, float, float]:
    """Return the areas of the triangles of the origin's projection with each side of (i, j, k), times a common factor.

    Ericson computes them from differences of products of lengths. Vertices on a round rim are so close to each other
    that these lose all digits. Products with the sides keep the digits, and the two shorter sides give the best normal.
    """
    ax, ay, az = corner(work, i)
    bx, by, bz = corner(work, j)
    cx, cy, cz = corner(work, k)
    ux, uy, uz = bx - ax, by - ay, bz - az
    vx, vy, vz = cx - bx, cy - by, cz - bz
    wx, wy, wz = ax - cx, ay - cy, az - cz
    # normal from the two shorter sides
    u, v, w = (ux, uy, uz), (vx, vy, vz), (wx, wy, wz)
    uu, vv, ww = dot(u, u), dot(v, v), dot(w, w)
    if uu >= vv and uu >= ww:
        nx, ny, nz = cross(v, w)
    elif vv >= ww:
        nx, ny, nz = cross(w, u)
    else:
        nx, ny, nz = cross(u, v)
    # areas of the projection with each side
    va = nx * (by * vz - bz * vy) + ny * (bz * vx - bx * vz) + nz * (bx * vy - by * vx)
    vb = nx * (cy * wz - cz * wy) + ny * (cz * wx - cx * wz) + nz * (cx * wy - cy * wx)
    vc = nx * (ay * uz - az * uy) + ny * (az * ux - ax * uz) + nz * (ax * uy - ay * ux)
    return va, vb, vc


@kernel
def _triangle(work: FloatArray, i: int, j: int, k: int) -> tuple[float, float, float]:
    """Return the weights of vertices i, j, k for the point of their triangle closest to the origin."""
    a, b, c = corner(work, i), corner(work, j), corner(work, k)
    ab, ac = (b[0] - a[0], b[1] - a[1], b[2] - a[2]), (c[0] - a[0], c[1] - a[1], c[2] - a[2])
    # Voronoi regions of the vertices and sides
    d1, d2, d3, d4, d5, d6 = -dot(ab, a), -dot(ac, a), -dot(ab, b), -dot(ac, b), -dot(ab, c), -dot(ac, c)
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
    # rounding can place the point of a thin triangle in no region: it is then on one of the sides
    if min(va, vb, vc) <= 0.0:
        return _closest_on_sides(work, i, j, k)
    # inside: barycentric coordinates
    total = va + vb + vc
    return va / total, vb / total, vc / total


@kernel
def _length2(work: FloatArray, i: int, s: float, j: int, t: float) -> float:
    """Return the squared length of s times vertex i plus t times vertex j."""
    a, b = corner(work, i), corner(work, j)
    x = (s * a[0] + t * b[0], s * a[1] + t * b[1], s * a[2] + t * b[2])
    return dot(x, x)


@kernel
def _closest_on_sides(work: FloatArray, i: int, j: int, k: int) -> tuple[float, float, float]:
    """Return the weights of vertices i, j, k for the point of their triangle's sides closest to the origin."""
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
    """Return a number > 0 if the origin and vertex m are on one side of the plane of i, j, k; 0 if nearly flat."""
    a, n, d = corner(work, i), triangle_normal(work, i, j, k), corner(work, m)
    d = (d[0] - a[0], d[1] - a[1], d[2] - a[2])
    origin, other, area2 = -dot(n, a), dot(n, d), dot(n, n)
    # the sides of a thin tetrahedron are below rounding: all its faces are then candidates
    if abs(other) <= 1e-9 * math.sqrt(area2 * dot(d, d)):
        return 0.0
    if abs(origin) <= 1e-13 * math.sqrt(area2 * dot(a, a)):
        return 0.0
    return origin if other > 0.0 else -origin


@kernel
def keep_closest(work: FloatArray, n: int, weights: FloatArray) -> int:
    """Reduce the n vertices to the feature of the closest point and set their weights; return their number.

    The number is 4 if the origin is inside.

    Ericson 2005, sections 5.1.5 and 5.1.6: Voronoi regions for segments and triangles, the faces visible from the
    origin for a tetrahedron.
    """
    weights[0] = 1.0
    weights[1] = weights[2] = weights[3] = 0.0
    if n == 2:
        weights[0], weights[1] = _segment(work, 0, 1)
    elif n == 3:
        weights[0], weights[1], weights[2] = _triangle(work, 0, 1, 2)
    elif n == 4:
        # closest point over the faces visible from the origin
        smallest = math.inf
        for skip in range(4):
            i, j, k = (1 if skip == 0 else 0), (2 if skip <= 1 else 1), (3 if skip <= 2 else 2)
            if _side(work, i, j, k, skip) > 0.0:
                continue
            s, t, r = _triangle(work, i, j, k)
            a, b, c = corner(work, i), corner(work, j), corner(work, k)
            x = (
                s * a[0] + t * b[0] + r * c[0],
                s * a[1] + t * b[1] + r * c[1],
                s * a[2] + t * b[2] + r * c[2],
            )
            length2 = dot(x, x)
            if length2 < smallest:
                smallest = length2
                weights[i], weights[j], weights[k], weights[skip] = s, t, r, 0.0
        if smallest == math.inf:
            return 4
    # keep the vertices with positive weights
    kept = 0
    for i in range(n):
        if weights[i] > 0.0:
            for m in range(ROW):
                work[ROW * kept + m] = work[ROW * i + m]
            weights[kept] = weights[i]
            kept += 1
    return kept


MAX_ITERATIONS = 200

# Offset of the previous simplex.
PREVIOUS = 4 * ROW


@kernel
def add_corner(a: Posed, b: Posed, d: Vec3, number: int, work: FloatArray) -> float:
    """Fill row ``number`` with the point w of A - B farthest along d; return d . w."""
    p, q = support(a, d), support(b, (-d[0], -d[1], -d[2]))
    at = ROW * number
    w = (p[0] - q[0], p[1] - q[1], p[2] - q[2])
    work[at], work[at + 1], work[at + 2] = w
    work[at + 3], work[at + 4], work[at + 5] = p
    work[at + 6], work[at + 7], work[at + 8] = q
    return dot(d, w)


@kernel(inner=True)
def _is_repeated(work: FloatArray, n: int) -> bool:
    """Return True if vertex n equals one of the first n."""
    repeated = False
    for i in range(n):
        repeated = repeated or corner(work, i) == corner(work, n)
    return repeated


@kernel
def gjk(
    a: Posed, b: Posed, scale: float, enough: float, work: FloatArray, weights: FloatArray
) -> tuple[float, int, float]:
    """Return the distance of two cores (0 in overlap), the number of vertices of the simplex in ``work``, and a bound.

    The bound is the separation of the cores along the direction found. The distance is proved if the two agree. They
    agree to ``1e-14 scale``, unless rounding in a thin simplex ends the search.

    E. G. Gilbert, D. W. Johnson, S. S. Keerthi, A fast procedure for computing the distance between complex objects,
    IEEE Journal of Robotics and Automation 4 (1988); G. van den Bergen, A fast and robust GJK implementation (1999)
    for the end test: the distance is known to ``1e-14 scale`` when the search stops, or to be more than ``enough``.

    Parameters
    ----------
    scale
        Length of the order of both shapes.
    enough
        The search stops as soon as the distance certainly exceeds this.
    work, weights
        Vertices of the simplex (rows of 9) and weights (4) of the closest point, each with space for the previous
        ones.
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
            # rounding in a thin simplex: the previous one is the best
            n = n_before
            for i in range(ROW * n):
                work[i] = work[PREVIOUS + i]
            for i in range(n):
                weights[i] = weights[4 + i]
            break
        # overlap, or the next vertex and the lower bound of the distance
        length2 = now
        length = math.sqrt(now)
        if length <= 1e-15 * scale or length < 1e-150:
            return 0.0, n, 0.0
        nearest = -add_corner(a, b, (-vx, -vy, -vz), n, work)
        lower = nearest / length
        if nearest > enough * length or now - nearest <= 1e-14 * length * max(scale, length):
            break
        if _is_repeated(work, n):
            break
        # keep the present simplex, then reduce it with the new vertex
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
def _direction_to_origin(v: Vec3, n: int, work: FloatArray) -> Vec3:
    """Return the unit direction from the point v of a simplex to the origin, normal to the simplex to the last bit.

    v has lost digits along the sides of the simplex, but the sides have all of their digits.
    """
    # minus v, made normal to the simplex
    dx, dy, dz = -v[0], -v[1], -v[2]
    if n == 2:
        (px, py, pz), (qx, qy, qz) = corner(work, 0), corner(work, 1)
        e = (qx - px, qy - py, qz - pz)
        for _ in range(2):
            component = dot((dx, dy, dz), e) / dot(e, e)
            dx, dy, dz = dx - component * e[0], dy - component * e[1], dz - component * e[2]
    elif n == 3:
        m = triangle_normal(work, 0, 1, 2)
        if dot(m, m) > 0.0:
            dx, dy, dz = m if dot(m, v) < 0.0 else (-m[0], -m[1], -m[2])
    # unit length
    length = math.sqrt(dx * dx + dy * dy + dz * dz)
    return dx / length, dy / length, dz / length


@kernel
def sharpen(
    a: Posed, b: Posed, start: Vec3, shift: float, enough: float, work: FloatArray, weights: FloatArray
) -> tuple[float, float, Vec3, Vec3]:
    """Find the closest points of cores that nearly touch, or overlap, with directions that keep all their digits.

    The search is `gjk` for cores moved apart by ``shift`` along ``start``. The direction to the next vertex comes from
    the simplex, and not from the difference of two nearby points. The residual of a direction is the error of the
    separation of the two points along it. The search returns the direction of least residual, and ends at ``enough``.

    Return the residual, the overlap along the direction, the direction and the point on A.
    """
    off, least, n, point, count = math.inf, 0.0, start, (0.0, 0.0, 0.0), 0
    d = start
    for step in range(MAX_ITERATIONS):
        v = (0.0, 0.0, 0.0)
        if step > 0:
            v = weighted(count, weights, work, 0)
            if dot(v, v) == 0.0:
                break
            d = _direction_to_origin(v, count, work)
        value = add_corner(a, b, d, count, work)
        for m in range(3):
            work[ROW * count + m] -= shift * start[m]
        if step > 0:
            # residual of the two points, moved back: v + shift start - value d
            rest = (v[0] + shift * start[0], v[1] + shift * start[1], v[2] + shift * start[2])
            rest = (rest[0] - value * d[0], rest[1] - value * d[1], rest[2] - value * d[2])
            here = math.sqrt(dot(rest, rest))
            if here < off:
                off, least, n, point = here, value, d, weighted(count, weights, work, 3)
            if off <= enough:
                break
            if _is_repeated(work, count):
                break
        count = keep_closest(work, count + 1, weights)
        if count == 4:
            break
    return off, least, n, point
