"""Distance of the cores of two convex shapes: the simplex nearest to the origin, and its refinement."""

from __future__ import annotations

import math

from contactlab.collision.detection.kernels.support import relative, support, unit
from contactlab.collision.kernels import Posed
from contactlab.multibody.spatial.arrays import FloatArray, Vec3
from contactlab.multibody.spatial.kernels import (
    add,
    copy,
    cross,
    dot,
    opposite,
    put,
    put_spatial,
    subtract,
    times,
    vector_at,
)
from lcp.kernels import kernel

# A vertex of the simplex is a row of nine: the difference w = a - b, then a and b.
ROW = 9


@kernel(inner=True)
def corner(work: FloatArray, i: int) -> Vec3:
    """Return vertex i of the simplex, a - b."""
    return vector_at(work, ROW * i)


@kernel(inner=True)
def triangle_normal(work: FloatArray, i: int, j: int, k: int) -> Vec3:
    """Return (j - i) x (k - i) of three vertices of the simplex: a normal, not of unit length."""
    return cross(_side_of(work, i, j), _side_of(work, i, k))


@kernel(inner=True)
def _side_of(work: FloatArray, i: int, j: int) -> Vec3:
    """Return the vector from vertex i to vertex j."""
    return subtract(corner(work, j), corner(work, i))


@kernel
def weighted(n: int, weights: FloatArray, work: FloatArray, column: int) -> Vec3:
    """Return the weighted sum of n vertices: of their differences (column 0), or of the points of A (column 3)."""
    total = (0.0, 0.0, 0.0)
    for i in range(n):
        if weights[i] != 0.0:
            total = add(total, times(weights[i], vector_at(work, ROW * i + column)))
    return total


@kernel
def _segment(a: Vec3, b: Vec3) -> tuple[float, float]:
    """Return the weights of the ends for the point of a segment closest to the origin."""
    side = subtract(b, a)
    projection, length2 = -dot(a, side), dot(side, side)
    if projection <= 0.0 or length2 == 0.0:
        return 1.0, 0.0
    if projection >= length2:
        return 0.0, 1.0
    t = projection / length2
    return 1.0 - t, t


@kernel
def _areas(a: Vec3, b: Vec3, c: Vec3) -> Vec3:
    """Return the areas of the triangles that each side of (a, b, c) makes with the origin's projection, times a factor.

    Ericson computes them from differences of products of lengths. Vertices on a round rim are so close to each other
    that these lose all digits. Products with the sides keep the digits, and the two shorter sides give the best normal.
    """
    u, v, w = subtract(b, a), subtract(c, b), subtract(a, c)
    # normal from the two shorter sides
    uu, vv, ww = dot(u, u), dot(v, v), dot(w, w)
    if uu >= vv and uu >= ww:
        n = cross(v, w)
    elif vv >= ww:
        n = cross(w, u)
    else:
        n = cross(u, v)
    # areas of the projection with each side
    return dot(n, cross(b, v)), dot(n, cross(c, w)), dot(n, cross(a, u))


@kernel
def triangle_weights(a: Vec3, b: Vec3, c: Vec3) -> Vec3:
    """Return the weights of the vertices for the point of a triangle closest to the origin; NaN in, NaN out.

    The triangle can be a segment or a point.
    """
    # Voronoi regions of the vertices and sides
    ab, ac = subtract(b, a), subtract(c, a)
    d1, d2, d3, d4, d5, d6 = -dot(ab, a), -dot(ac, a), -dot(ab, b), -dot(ac, b), -dot(ab, c), -dot(ac, c)
    if d1 <= 0.0 and d2 <= 0.0:
        return 1.0, 0.0, 0.0
    if d3 >= 0.0 and d4 <= d3:
        return 0.0, 1.0, 0.0
    va, vb, vc = _areas(a, b, c)
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        return _on_side(0, a, b, c)
    if d6 >= 0.0 and d5 <= d6:
        return 0.0, 0.0, 1.0
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        s, t = _segment(a, c)
        return s, 0.0, t
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        return _on_side(1, a, b, c)
    # inside: barycentric coordinates
    if min(va, vb, vc) > 0.0:
        total = va + vb + vc
        return va / total, vb / total, vc / total
    # rounding can place the point of a thin triangle in no region: it is then on one of the sides; a coordinate that
    # is not a number gives weights that are none
    weights, least = (math.nan, math.nan, math.nan), math.inf
    for side in range(3):
        own = _on_side(side, a, b, c)
        x = weighted_sum(own, a, b, c)
        if dot(x, x) < least:
            weights, least = own, dot(x, x)
    return weights


@kernel
def _on_side(side: int, a: Vec3, b: Vec3, c: Vec3) -> Vec3:
    """Return the weights of the vertices for the point closest to the origin of a side: 0 a b, 1 b c, 2 c a."""
    s, t = _segment(a if side == 0 else (b if side == 1 else c), b if side == 0 else (c if side == 1 else a))
    if side == 0:
        return s, t, 0.0
    return (0.0, s, t) if side == 1 else (t, 0.0, s)


@kernel(inner=True)
def weighted_sum(weights: Vec3, a: Vec3, b: Vec3, c: Vec3) -> Vec3:
    """Return the point of a triangle with these weights of its vertices."""
    return add(add(times(weights[0], a), times(weights[1], b)), times(weights[2], c))


@kernel
def closest_on_triangle(a: Vec3, b: Vec3, c: Vec3) -> Vec3:
    """Return the point of the triangle a, b, c closest to the origin (Ericson 2005, section 5.1.5).

    It is faster than `triangle_weights`, and less accurate for thin triangles.
    """
    # Voronoi regions of the vertices and sides
    u, v = subtract(b, a), subtract(c, a)
    d1, d2, d3, d4, d5, d6 = -dot(u, a), -dot(v, a), -dot(u, b), -dot(v, b), -dot(u, c), -dot(v, c)
    if d1 <= 0.0 and d2 <= 0.0:
        return a
    if d3 >= 0.0 and d4 <= d3:
        return b
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        return add(a, times(d1 / (d1 - d3), u))
    if d6 >= 0.0 and d5 <= d6:
        return c
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        return add(a, times(d2 / (d2 - d6), v))
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        return add(b, times((d4 - d3) / ((d4 - d3) + (d5 - d6)), subtract(c, b)))
    # inside: barycentric coordinates
    total = va + vb + vc
    return add(add(a, times(vb / total, u)), times(vc / total, v))


@kernel
def _side(work: FloatArray, i: int, j: int, k: int, m: int) -> float:
    """Return a number > 0 if the origin and vertex m are on one side of the plane of i, j, k; 0 if nearly flat."""
    a, n, d = corner(work, i), triangle_normal(work, i, j, k), _side_of(work, i, m)
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

    Ericson 2005, sections 5.1.5 and 5.1.6: Voronoi regions for triangles, the faces visible from the origin for a
    tetrahedron.
    """
    weights[0] = 1.0
    weights[1] = weights[2] = weights[3] = 0.0
    if n == 2:
        weights[0], weights[1] = _segment(corner(work, 0), corner(work, 1))
    elif n == 3:
        put(triangle_weights(corner(work, 0), corner(work, 1), corner(work, 2)), weights)
    elif n == 4:
        # closest point over the faces visible from the origin
        smallest = math.inf
        for skip in range(4):
            i, j, k = (1 if skip == 0 else 0), (2 if skip <= 1 else 1), (3 if skip <= 2 else 2)
            if _side(work, i, j, k, skip) > 0.0:
                continue
            a, b, c = corner(work, i), corner(work, j), corner(work, k)
            own = triangle_weights(a, b, c)
            x = weighted_sum(own, a, b, c)
            if dot(x, x) < smallest:
                smallest = dot(x, x)
                weights[i], weights[j], weights[k] = own
                weights[skip] = 0.0
        if smallest == math.inf:
            return 4
    # keep the vertices with weights that are not zero
    kept = 0
    for i in range(n):
        if weights[i] != 0.0:
            copy(work[ROW * i :], work[ROW * kept : ROW * kept + ROW])
            weights[kept] = weights[i]
            kept += 1
    return kept


MAX_ITERATIONS = 200

# Offset of the previous simplex.
PREVIOUS = 4 * ROW


@kernel
def add_corner(a: Posed, b: Posed, d: Vec3, number: int, work: FloatArray) -> float:
    """Fill row ``number`` with the point w of A - B farthest along d; return d . w."""
    p, q = support(a, d), support(b, opposite(d))
    at, w = ROW * number, subtract(p, q)
    put_spatial(w, p, work[at : at + 6])
    put(q, work[at + 6 : at + 9])
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
    v = relative(b.pose, a.pose)
    if dot(v, v) == 0.0:
        v = (1.0, v[1], v[2])
    add_corner(a, b, opposite(v), 0, work)
    weights[0] = 1.0
    n, n_before, length2, lower = 1, 1, math.inf, 0.0
    for _ in range(MAX_ITERATIONS):
        v = weighted(n, weights, work, 0)
        now = dot(v, v)
        if not now < length2:
            # rounding in a thin simplex: the previous one is the best
            n = n_before
            copy(work[PREVIOUS:], work[: ROW * n])
            copy(weights[4:], weights[:n])
            break
        # overlap, or the next vertex and the lower bound of the distance
        length2 = now
        length = math.sqrt(now)
        if length <= 1e-15 * scale or length < 1e-150:
            return 0.0, n, 0.0
        nearest = -add_corner(a, b, opposite(v), n, work)
        lower = nearest / length
        if nearest > enough * length or now - nearest <= 1e-14 * length * max(scale, length):
            break
        if _is_repeated(work, n):
            break
        # keep the present simplex, then reduce it with the new vertex
        n_before = n
        copy(work, work[PREVIOUS : PREVIOUS + ROW * n])
        copy(weights, weights[4 : 4 + n])
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
    d = opposite(v)
    if n == 2:
        e = _side_of(work, 0, 1)
        for _ in range(2):
            d = subtract(d, times(dot(d, e) / dot(e, e), e))
    elif n == 3:
        m = triangle_normal(work, 0, 1, 2)
        if dot(m, m) > 0.0:
            d = m if dot(m, v) < 0.0 else opposite(m)
    return unit(d)


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
        put(subtract(corner(work, count), times(shift, start)), work[ROW * count :])
        if step > 0:
            # residual of the two points, moved back: v + shift start - value d
            rest = subtract(add(v, times(shift, start)), times(value, d))
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
