"""Distance of the cores of two convex shapes."""

from __future__ import annotations

import math

from contactlab.contact.detection.kernels.simplex import ROW, keep_closest, weighted
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
