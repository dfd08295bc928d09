"""What a contact of an associated law answers: the point of the cone nearest to a force, and how that point moves.

The friction cone K over the polygon or the disc of a contact, {p: pT in mu pN times the polygon}, is convex. With De
Saxce's shift g = mu times the speed of slip, Coulomb's law is that of K (De Saxce and Feng 1998)::

    p = P(p0 - W (s + g n))

where P moves a point to the nearest one of K in the metric 1 / W, W the weights along the normal and across it. For a
given g that is the gradient of a convex function of the rates s: unlike Coulomb's response, in which the bound of
friction follows the normal force and not the other way round, it has a symmetric slope.

Of a cone of moments the bound is that of the normal force p0N from before (Tresca's law): the sections of K at p0N, for
which no shift is needed.
"""

from __future__ import annotations

import math
from typing import Final

from lcp.contacts.kernels.contact_modes import ALONG, OPEN, STICK, enclosing_edge
from lcp.contacts.kernels.contact_response import THREE, Polygon, force_of, mode_of, side
from lcp.kernels import Floats, kernel

# Part of the way to a cone's side that is not at it yet.
INSIDE: Final = 1e-9


@kernel(inner=True)
def slip_speed(polygon: Polygon, u: Floats) -> float:
    """Speed of slip of the rates u (3,): the largest along an edge, or the length."""
    if polygon.r == 0:
        return 0.0
    if polygon.r == 1:
        return abs(u[1])
    if polygon.exact:
        return math.sqrt(u[1] * u[1] + u[2] * u[2])
    speed = 0.0
    for j in range(polygon.r):
        speed = max(speed, abs(polygon.turns[j, 0] * u[1] + polygon.turns[j, 1] * u[2]))
    return speed


@kernel(inner=True)
def add_square(factor: float, a: Floats, D: Floats) -> None:
    """D += factor a a'."""
    for i in range(THREE):
        for j in range(THREE):
            D[i, j] += factor * a[i] * a[j]


@kernel(inner=True)
def to_ray(x: float, y: float, z: float, a: Floats, p: Floats, D: Floats) -> None:
    """Move (x; y, z) to the ray of a (3,), with its slope."""
    square = a[0] * a[0] + a[1] * a[1] + a[2] * a[2]
    share = (x * a[0] + y * a[1] + z * a[2]) / square
    if share > 0.0:
        for i in range(THREE):
            p[i] = share * a[i]
        add_square(1.0 / square, a, D)


@kernel(inner=True)
def to_disc_cone(mu: float, x: float, y: float, z: float, a: Floats, b: Floats, p: Floats, D: Floats) -> None:
    """Move (x; y, z), outside the cone over the disc, to it; a, b (3,) are scratch."""
    size = math.sqrt(y * y + z * z)
    if mu * size <= -x:
        return
    a[0] = 1.0
    a[1] = mu * y / size
    a[2] = mu * z / size
    to_ray(x, y, z, a, p, D)
    b[0] = 0.0
    b[1] = -z / size
    b[2] = y / size
    # Across the ray the point turns with what it is moved from.
    add_square(mu * p[0] / size, b, D)


@kernel(inner=True)
def to_pyramid(
    polygon: Polygon,
    mu: float,
    j: int,
    x: float,
    y: float,
    z: float,
    a: Floats,
    b: Floats,
    p: Floats,
    D: Floats,
) -> None:
    """Move (x; y, z), enclosed by edges j and j + 1 outside the pyramid, to its side or edge; a, b (3,) are scratch."""
    turns = polygon.turns
    a[0] = 1.0
    a[1] = mu * turns[j, 0]
    a[2] = mu * turns[j, 1]
    if polygon.r == 1:
        a[2] = 0.0
        to_ray(x, y, 0.0, a, p, D)
        return
    b[0] = 1.0
    b[1] = mu * turns[j + 1, 0]
    b[2] = mu * turns[j + 1, 1]
    # By symmetry the nearest point lies between the same two edges.
    square = 1.0 + mu * mu
    product = a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    along = x * a[0] + y * a[1] + z * a[2]
    next_along = x * b[0] + y * b[1] + z * b[2]
    first = along * square - next_along * product
    second = next_along * square - along * product
    if first >= 0.0 and second >= 0.0:
        scale = 1.0 / (square * square - product * product)
        for i in range(THREE):
            p[i] = scale * (first * a[i] + second * b[i])
        # The side's plane: all but its normal a x b.
        n0 = a[1] * b[2] - a[2] * b[1]
        n1 = a[2] * b[0] - a[0] * b[2]
        n2 = a[0] * b[1] - a[1] * b[0]
        a[0] = n0
        a[1] = n1
        a[2] = n2
        for i in range(THREE):
            D[i, i] = 1.0
        add_square(-1.0 / (n0 * n0 + n1 * n1 + n2 * n2), a, D)
    elif first >= second:
        to_ray(x, y, z, a, p, D)
    else:
        to_ray(x, y, z, b, p, D)


@kernel
def nearest(
    polygon: Polygon,
    mu: float,
    normal: float,
    tangent: float,
    x: Floats,
    a: Floats,
    b: Floats,
    p: Floats,
    D: Floats,
) -> None:
    """Fill p (3,) with the point of the cone nearest to x (3,), and D (3, 3) = dp / dx.

    ``normal`` and ``tangent`` are the weights W along the normal and across it; a, b (3,) are scratch.
    """
    for i in range(THREE):
        p[i] = 0.0
        for j in range(THREE):
            D[i, j] = 0.0
    if polygon.r == 0 or mu == 0.0:
        if x[0] > 0.0:
            p[0] = x[0]
            D[0, 0] = 1.0
        return
    # In units in which both weights are alike the metric is Euclid's, and the cone one of another width.
    stretch = math.sqrt(normal / tangent)
    width = mu * stretch
    y = stretch * x[1]
    z = stretch * x[2] if polygon.r > 1 else 0.0
    bound = width * x[0]
    j = 0
    if polygon.exact:
        inside = x[0] >= 0.0 and y * y + z * z <= bound * bound
    else:
        j, along, next_along = enclosing_edge(polygon.half, polygon.turns, y, z)
        inside = x[0] >= 0.0 and along + next_along <= bound
    if inside:
        for i in range(THREE):
            p[i] = x[i]
            D[i, i] = 1.0
        if polygon.r == 1:
            p[2] = 0.0
            D[2, 2] = 0.0
        return
    if polygon.exact:
        to_disc_cone(width, x[0], y, z, a, b, p, D)
    else:
        to_pyramid(polygon, width, j, x[0], y, z, a, b, p, D)
    for i in range(1, THREE):
        p[i] /= stretch
        D[i, 0] /= stretch
        D[0, i] *= stretch


@kernel
def nearest_moment(polygon: Polygon, r: int, x: Floats, p: Floats, D: Floats) -> None:
    """Fill p (3,) with the point nearest to x (3,) of the section of a cone of moments at x[0], and D (3, 3) = dp / dx.

    ``r`` are its directions. In the plane all weights are alike.
    """
    for i in range(THREE):
        p[i] = 0.0
        for j in range(THREE):
            D[i, j] = 0.0
    mode = mode_of(polygon, 1.0, 0, x[0], x[1], x[2])
    if mode == STICK:
        p[1] = x[1]
        p[2] = x[2]
        D[1, 1] = 1.0
        D[2, 2] = 1.0 if r > 1 else 0.0
    elif mode != OPEN:
        force_of(polygon, 1.0, mode, x[0], x[1], x[2], p)
        if (mode - ALONG) % 2 == 1:
            ex, ey = side(polygon, mode)
            share = 1.0 / (ex * ex + ey * ey)
            D[1, 1] = share * ex * ex
            D[2, 2] = share * ey * ey
            D[1, 2] = D[2, 1] = share * ex * ey
    p[0] = x[0]


@kernel(inner=True)
def way_to_slip(polygon: Polygon, mu: float, p: Floats, d: Floats) -> float:
    """How many times d (3,) leads from the force p (3,), inside its cone, to the cone's side; infinite if never."""
    if polygon.r == 0 or mu == 0.0 or not p[0] > 0.0:
        return math.inf
    if polygon.exact:
        # |pT + t dT| = mu (pN + t dN), squared.
        inside = mu * mu * p[0] * p[0] - p[1] * p[1] - p[2] * p[2]
        half = p[1] * d[1] + p[2] * d[2] - mu * mu * p[0] * d[0]
        square = d[1] * d[1] + d[2] * d[2] - mu * mu * d[0] * d[0]
        if not inside > INSIDE * mu * mu * p[0] * p[0]:
            return math.inf
        root = half * half + square * inside
        below = half + math.sqrt(root) if root >= 0.0 else 0.0
        return inside / below if below > 0.0 else math.inf
    far = math.inf
    turns = polygon.turns
    for j in range(2 * polygon.r):
        x, y = turns[j, 0], 0.0
        reach = 1.0
        if polygon.r > 1:
            x += turns[j + 1, 0]
            y = turns[j, 1] + turns[j + 1, 1]
            reach = x * turns[j, 0] + y * turns[j, 1]
        room = mu * reach * p[0] - x * p[1] - y * p[2]
        speed = x * d[1] + y * d[2] - mu * reach * d[0]
        if speed > 0.0 and room > INSIDE * mu * reach * p[0]:
            far = min(far, room / speed)
    return far
