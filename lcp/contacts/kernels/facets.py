"""Boundaries of the modes of a contact: the sides of each linear piece of its law, as inequalities."""

from __future__ import annotations

from lcp.contacts.kernels.contact_law import OPEN, SLIDE_EDGE, SLIDE_FACE, STICK, FrictionCone, friction_bound
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.kernels import Floats, kernel


@kernel(inner=True)
def facet(polygon: FrictionCone, mu: float, mode: int, i: int, n: Floats) -> bool:
    """Fill n (3,) of the i-th inequality n . x <= 0 that the points x = (normal; tangential) of a mode satisfy.

    Return False if the mode has no i-th inequality. The boundary of a circular cone is not among those of STICK.
    """
    n[0] = -1.0
    n[1] = 0.0
    n[2] = 0.0
    if mode == OPEN:
        n[0] = 1.0
        return i == 0
    if i == 0:
        return True
    if polygon.r == 0 or mu == 0.0:
        return False
    turns = polygon.edge_directions
    if polygon.exact:
        # A sticking point leaves its circular cone: see `pwl_path.distance_to_cone`.
        if mode == STICK or i > 1:
            return False
        slide = polygon.slide_state[(mode - SLIDE_EDGE) // 2]
        n[0] = mu
        n[1] = -slide[0]
        n[2] = -slide[1]
        return True
    if polygon.half == 1:
        if i > (2 if mode == STICK else 1):
            return False
        sign = (1.0 if i == 1 else -1.0) if mode == STICK else (-1.0 if mode == SLIDE_EDGE else 1.0)
        n[0] = -mu if mode == STICK else mu
        n[1] = sign
        return True
    if mode == STICK:
        if i > 2 * polygon.half:
            return False
        outside(turns, mu, i - 1, 1.0, n)
        return True
    j = (mode - SLIDE_EDGE) // 2
    if (mode - SLIDE_EDGE) % 2 == SLIDE_FACE - SLIDE_EDGE:
        if i == 1:
            outside(turns, mu, j, -1.0, n)
        elif i == 2:
            past_corner(turns, mu, j, j, -1.0, n)
        elif i == 3:
            past_corner(turns, mu, j, j + 1, 1.0, n)
        return i < 4
    if i == 1:
        past_corner(turns, mu, j, j, 1.0, n)
    elif i == 2:
        before = j - 1 if j > 0 else 2 * polygon.half - 1
        past_corner(turns, mu, before, before + 1, -1.0, n)
    return i < 3


@kernel(inline=True)
def facet_of(rows: ContactSystem, polygon: FrictionCone, c: int, mode: int, i: int, n: Floats) -> bool:
    """Return `facet` for cone c, a contact or a cone of moments, with its friction bound."""
    there = facet(polygon, friction_bound(rows, c), mode, i, n)
    if rows.r[c] == 1:
        n[2] = 0.0
    return there


@kernel(inner=True)
def outside(turns: Floats, mu: float, j: int, sign: float, n: Floats) -> None:
    """Fill n (3,) so that n . x > 0 for points x outside the pyramid's side from edge j to edge j + 1.

    ``sign`` is 1, or -1 for the reversed inequality.
    """
    x = turns[j, 0] + turns[j + 1, 0]
    y = turns[j, 1] + turns[j + 1, 1]
    n[0] = -sign * mu * (x * turns[j, 0] + y * turns[j, 1])
    n[1] = sign * x
    n[2] = sign * y


@kernel(inner=True)
def past_corner(turns: Floats, mu: float, j: int, corner: int, sign: float, n: Floats) -> None:
    """Fill n (3,) so that n . x > 0 for points x beyond a corner, in the direction from edge j to edge j + 1.

    ``sign`` is 1, or -1 for the reversed inequality.
    """
    x = turns[j + 1, 0] - turns[j, 0]
    y = turns[j + 1, 1] - turns[j, 1]
    n[0] = -sign * mu * (x * turns[corner, 0] + y * turns[corner, 1])
    n[1] = sign * x
    n[2] = sign * y
