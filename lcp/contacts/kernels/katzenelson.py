"""Forces of contacts that give way by eps, along a piecewise linear path that no fold of it ends.

Known terms are shifted so that given forces answer them; as the shift t is taken back from 1 to 0 velocities and forces
change linearly until a contact changes its mode, and go on in the new modes, t rising again where the path turns back
(Katzenelson 1965 for networks of resistors; Fujisawa and Kuh 1972 for the turns). It goes on where an active set goes
round in circles and where a branch followed by eps ends, at the price of a system for each change.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from lcp.compiler.views import rows_at
from lcp.contacts.kernels.active_set import soft_force
from lcp.contacts.kernels.contact_modes import ALONG, BETWEEN, OPEN, STICK
from lcp.contacts.kernels.contact_response import (
    THREE,
    Polygon,
    fill_slope,
    force_of,
    mode_of,
    place_rates,
    tangential_response,
    width_of,
)
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.elimination import factor_panels, solve_panels
from lcp.contacts.kernels.mode_system import form_system, push
from lcp.contacts.kernels.search import Search, recover_velocity
from lcp.kernels import Floats, kernel

# How far beyond a change of modes the new one is asked for, in parts of the point, at first and at most.
BEYOND: Final = 1e-12
FARTHEST: Final = 1e-3


class Shifted(NamedTuple):
    """Points x = fixed + t moving that contacts' forces are those of, and the shift they come from."""

    shift: Floats  # (ncone, 3)
    fixed: Floats  # (ncone, 3)
    moving: Floats  # (ncone, 3)
    v: Floats  # (nv,) velocity for a unit of t


@kernel
def shifted_floats(ncone: int, nv: int) -> int:
    """Numbers that it keeps."""
    return 3 * THREE * ncone + nv


@kernel(inner=True)
def lay_out_shifted(ncone: int, nv: int, memory: Floats) -> Shifted:
    """Cut it from its memory."""
    size = THREE * ncone
    return Shifted(
        rows_at(memory, 0, ncone, THREE),
        rows_at(memory, size, ncone, THREE),
        rows_at(memory, 2 * size, ncone, THREE),
        memory[3 * size : 3 * size + nv],
    )


@kernel(inner=True)
def facet(polygon: Polygon, mu: float, mode: int, i: int, n: Floats) -> bool:
    """Fill n of the i-th inequality n x <= 0 of the points x of a mode; False where there are no more."""
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
    turns = polygon.turns
    if polygon.r == 1:
        if i > (2 if mode == STICK else 1):
            return False
        sign = (1.0 if i == 1 else -1.0) if mode == STICK else (-1.0 if mode == ALONG else 1.0)
        n[0] = -mu if mode == STICK else mu
        n[1] = sign
        return True
    if mode == STICK:
        if i > 2 * polygon.r:
            return False
        outside(turns, mu, i - 1, 1.0, n)
        return True
    j = (mode - ALONG) // 2
    if (mode - ALONG) % 2 == BETWEEN - ALONG:
        if i == 1:
            outside(turns, mu, j, -1.0, n)
        elif i == 2:
            beside(turns, mu, j, j, -1.0, n)
        elif i == 3:
            beside(turns, mu, j, j + 1, 1.0, n)
        return i < 4
    if i == 1:
        beside(turns, mu, j, j, 1.0, n)
    elif i == 2:
        before = j - 1 if j > 0 else 2 * polygon.r - 1
        beside(turns, mu, before, before + 1, -1.0, n)
    return i < 3


@kernel(inline=True)
def facet_of(rows: ContactSystem, polygon: Polygon, c: int, mode: int, i: int, n: Floats) -> bool:
    """`facet` of a contact or of a cone of moments."""
    there = facet(polygon, width_of(rows, c), mode, i, n)
    if rows.r[c] == 1:
        n[2] = 0.0
    return there


@kernel(inner=True)
def outside(turns: Floats, mu: float, j: int, sign: float, n: Floats) -> None:
    """Fill n of being outside the side from edge j to the next, times ``sign``."""
    x = turns[j, 0] + turns[j + 1, 0]
    y = turns[j, 1] + turns[j + 1, 1]
    n[0] = -sign * mu * (x * turns[j, 0] + y * turns[j, 1])
    n[1] = sign * x
    n[2] = sign * y


@kernel(inner=True)
def beside(turns: Floats, mu: float, j: int, corner: int, sign: float, n: Floats) -> None:
    """Fill n of being past a corner in the direction of side j, times ``sign``."""
    x = turns[j + 1, 0] - turns[j, 0]
    y = turns[j + 1, 1] - turns[j, 1]
    n[0] = -sign * mu * (x * turns[corner, 0] + y * turns[corner, 1])
    n[1] = sign * x
    n[2] = sign * y


@kernel(inner=True)
def begin(rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, before: float, eps: float) -> None:
    """Fill the shift at which the rates in the search, of contacts that give way by ``before``, are those at eps."""
    contacts = search.contacts
    for c in range(search.contacts.p.shape[0]):
        s = contacts.s[c]
        x = -s[0] / (rows.gamma[rows.cone_contacts[c]] + before)
        y = -s[1] / before
        z = -s[2] / before
        contacts.mode[c] = mode_of(polygon, width_of(rows, c), c, x, y, z)
        shifted.shift[c, 0] = x + s[0] / (rows.gamma[rows.cone_contacts[c]] + eps)
        shifted.shift[c, 1] = y + s[1] / eps
        shifted.shift[c, 2] = z + s[2] / eps


@kernel(inner=True)
def begin_near(rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, eps: float) -> None:
    """Fill the shift at which forces near those in the search, with their rates, are those at eps."""
    contacts = search.contacts
    for c in range(search.contacts.p.shape[0]):
        p = contacts.p[c]
        s = contacts.s[c]
        soft = tangential_response(rows, polygon, contacts, c)
        x = p[0] - (s[0] + rows.gamma[rows.cone_contacts[c]] * p[0]) / contacts.own[rows.cone_contacts[c]]
        y = p[1] - s[1] / soft
        z = p[2] - s[2] / soft
        contacts.mode[c] = mode_of(polygon, width_of(rows, c), c, x, y, z)
        force_of(polygon, width_of(rows, c), contacts.mode[c], x, y, z, p)
        shifted.shift[c, 0] = x
        shifted.shift[c, 1] = y
        shifted.shift[c, 2] = z
    recover_velocity(rows, polygon, search)
    for c in range(search.contacts.p.shape[0]):
        s = contacts.s[c]
        shifted.shift[c, 0] += s[0] / (rows.gamma[rows.cone_contacts[c]] + eps)
        shifted.shift[c, 1] += s[1] / eps
        shifted.shift[c, 2] += s[2] / eps


@kernel(inner=True)
def line(rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, eps: float) -> bool:
    """Fill the points and velocities of the modes in the search; False where their system has no factors."""
    contacts, v, moving = search.contacts, search.v, shifted.v
    for i in range(v.shape[0]):
        search.trial[i] = 0.0
        v[i] = rows.v_free[i]
        moving[i] = 0.0
    place_rates(rows, polygon, search.trial, 1.0, contacts.s)
    for c in range(search.contacts.p.shape[0]):
        mode = contacts.mode[c]
        normal = 1.0 / (rows.gamma[rows.cone_contacts[c]] + eps)
        fill_slope(rows, polygon, c, mode, normal, 1.0 / eps, contacts.B[c])
        soft_force(rows, polygon, contacts, c, eps)
        push(rows, polygon, c, contacts.p[c], v)
        b = shifted.shift[c]
        force_of(polygon, width_of(rows, c), mode, b[0], b[1], b[2], contacts.p[c])
        push(rows, polygon, c, contacts.p[c], moving)
    form_system(rows, polygon, contacts, search.joined.slope, search.trees, search.W, search.K)
    if not factor_panels(search.trees, search.K, search.W[0]):
        return False
    solve_panels(search.trees, search.K, v)
    solve_panels(search.trees, search.K, moving)
    place_rates(rows, polygon, moving, 0.0, contacts.s)
    for c in range(search.contacts.p.shape[0]):
        s = contacts.s[c]
        shifted.moving[c, 0] = shifted.shift[c, 0] - s[0] / (rows.gamma[rows.cone_contacts[c]] + eps)
        shifted.moving[c, 1] = shifted.shift[c, 1] - s[1] / eps
        shifted.moving[c, 2] = shifted.shift[c, 2] - s[2] / eps
    place_rates(rows, polygon, v, 1.0, contacts.s)
    for c in range(search.contacts.p.shape[0]):
        s = contacts.s[c]
        shifted.fixed[c, 0] = -s[0] / (rows.gamma[rows.cone_contacts[c]] + eps)
        shifted.fixed[c, 1] = -s[1] / eps
        shifted.fixed[c, 2] = -s[2] / eps
    return True


@kernel(inner=True)
def next_change(
    rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, t: float, way: float, n: Floats
) -> tuple[float, int, int]:
    """How far t goes until a contact changes its mode, which one, and the number of the inequality."""
    least = math.inf
    changing = -1
    which = -1
    for c in range(search.contacts.p.shape[0]):
        x = shifted.fixed[c]
        d = shifted.moving[c]
        # Moments open with the contact that they lean on.
        i = 0 if c < rows.nc else 1
        while facet_of(rows, polygon, c, search.contacts.mode[c], i, n):
            speed = way * (n[0] * d[0] + n[1] * d[1] + n[2] * d[2])
            if speed > 0.0:
                fixed = n[0] * x[0] + n[1] * x[1] + n[2] * x[2]
                far = max(0.0, -(fixed + t * way * speed) / speed)
                if far < least:
                    least = far
                    changing = c
                    which = i
            i += 1
    return least, changing, which


@kernel(inner=True)
def change_mode(
    rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, c: int, which: int, t: float, n: Floats
) -> bool:
    """Change the mode of a contact whose point meets an inequality n, of that number; False where there is no other."""
    contacts = search.contacts
    fixed = shifted.fixed[c]
    moving = shifted.moving[c]
    x = fixed[0] + t * moving[0]
    y = fixed[1] + t * moving[1]
    z = fixed[2] + t * moving[2]
    size = max(abs(x), abs(y), abs(z))
    normal = math.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
    beyond = BEYOND
    while beyond < FARTHEST:
        far = beyond * size / normal
        mode = mode_of(polygon, width_of(rows, c), c, x + far * n[0], y + far * n[1], z + far * n[2])
        if mode != contacts.mode[c]:
            contacts.mode[c] = mode
            if which == 0:
                open_moments(rows, polygon, search, shifted, c, t, x + far * n[0])
            return True
        beyond *= 10.0
    return False


@kernel(inner=True)
def open_moments(
    rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, contact: int, t: float, x: float
) -> None:
    """Change the modes of the moments that lean on a contact whose normal point has come to x."""
    for c in range(rows.nc, rows.r.shape[0]):
        if rows.cone_contacts[c] == contact:
            y = shifted.fixed[c, 1] + t * shifted.moving[c, 1]
            z = shifted.fixed[c, 2] + t * shifted.moving[c, 2]
            search.contacts.mode[c] = mode_of(polygon, 1.0, c, x, y, z)


@kernel(inner=True)
def follow_line(rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, eps: float, most: int) -> int:
    """From the modes in the search and the shift that they begin with to modes at eps, without any.

    Returns the systems solved, negative where it does not get there.
    """
    n = search.shift
    t = 1.0
    way = -1.0
    changing = 0
    for solved in range(1, most + 1):
        if not line(rows, polygon, search, shifted, eps):
            return -solved
        if solved > 1:
            d = shifted.moving[changing]
            way = 1.0 if n[0] * d[0] + n[1] * d[1] + n[2] * d[2] > 0.0 else -1.0
        far, changing, which = next_change(rows, polygon, search, shifted, t, way, search.change)
        if way < 0.0 and not far < t:
            return solved
        if changing < 0:
            return -solved
        t += way * far
        # Beyond its beginning a line wanders, and was never seen to come back.
        if t > 1.0:
            return -solved
        facet_of(rows, polygon, changing, search.contacts.mode[changing], which, n)
        if not change_mode(rows, polygon, search, shifted, changing, which, t, n):
            return -solved
    return -most
