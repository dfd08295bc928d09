"""Distance of the cores of two convex shapes."""

from __future__ import annotations

import math

from contactlab.contact.detection.kernels.simplex import ROW, corner, keep_closest, triangle_normal, weighted
from contactlab.contact.detection.kernels.support import support
from contactlab.contact.detection.kernels.vectors import dot, relative
from contactlab.contact.kernels.layout import Posed, Vector
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

MAX_STEPS = 200
# Where the simplex before the present one is kept.
KEPT = 4 * ROW


@kernel
def add_corner(a: Posed, b: Posed, d: Vector, corner: int, work: FloatArray) -> float:
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
    for _ in range(MAX_STEPS):
        vx, vy, vz = weighted(n, weights, work, 0)
        now = vx * vx + vy * vy + vz * vz
        if not now < length2:
            # Rounding in a thin simplex: the one before was as good as it gets.
            n = n_before
            for i in range(ROW * n):
                work[i] = work[KEPT + i]
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
            work[KEPT + i] = work[i]
        for i in range(n):
            weights[4 + i] = weights[i]
        n = keep_closest(work, n + 1, weights)
        if n == 4:
            return 0.0, 4, 0.0
    return math.sqrt(length2), n, lower


@kernel
def _towards(v: Vector, n: int, work: FloatArray) -> Vector:
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
    a: Posed, b: Posed, start: Vector, shift: float, enough: float, work: FloatArray, weights: FloatArray
) -> tuple[float, float, Vector, Vector]:
    """Closest points of cores that all but touch, or overlap, once more, with directions that keep all their digits.

    The search is that of `gjk`, of cores moved ``shift`` apart along ``start``, but the direction of the next corner is
    that of the simplex, not that of the difference of two points next to one another. Of all directions met the one is
    taken along which points of both are apart by what their cores are along it, most nearly. The search ends where they
    are so to ``enough``.

    Returns by how much they do not, the overlap along the direction, the direction and the point on A.
    """
    off, least, n, point, count = math.inf, 0.0, start, (0.0, 0.0, 0.0), 0
    d = start
    for step in range(MAX_STEPS):
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
