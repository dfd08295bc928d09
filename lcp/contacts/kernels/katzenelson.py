"""Lines through the changes of contacts' modes: forces at eps from where they are known, whatever folds lie between.

Contacts that give way by eps answer rates s by P(x), x = -s / eps, P linear by pieces (`contact_response`). With a
shift, x = t b - s / eps, velocities and forces are linear in t until a contact changes its mode; there the line goes on
in the new mode, t rising again where it turns back (Katzenelson 1965 for networks of resistors; Fujisawa and Kuh 1972
for the turns). Two beginnings are known at t = 1:

* ``begin_near``: forces at another compliance, by the shift that makes them an answer. A short way, mostly;
* ``begin_open``: no forces at all, by a shift b that holds every contact open (Lemke 1965). In exact arithmetic this
  line arrives at t = 0. It has no other end: beyond its beginning nothing bears, which is one answer alone, and between
  v cannot grow, since a force on a contact that bears takes energy, p . J v <= -p (k + t |b| eps), friction included.
  How many pieces it takes nobody knows; in jams most turns are long and some are short, so that another one, with
  other entries of b, is worth more than a longer one.

A change of modes changes one block of the matrix; what is not factored is kept beside, and formed anew now and then.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from lcp.compiler.views import rows_at
from lcp.contacts.kernels.active_set import soft_force, soft_slope
from lcp.contacts.kernels.contact_modes import OPEN
from lcp.contacts.kernels.contact_response import (
    THREE,
    Polygon,
    force_of,
    mode_of,
    place_rates,
    rates_of,
    width_of,
)
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.elimination import factor_panels, panel_size, solve_panels
from lcp.contacts.kernels.facets import facet_of
from lcp.contacts.kernels.mode_system import add_contact, add_row, form_system, push, push_row, row_speed
from lcp.contacts.kernels.proximal_points import JOINT_COMPLIANCE
from lcp.contacts.kernels.search import Search, recover_velocity
from lcp.kernels import Floats, kernel

# How far beyond a change of modes the new one is asked for, in parts of the point, at first and at most.
BEYOND: Final = 1e-12
FARTHEST: Final = 1e-3
# Pieces after which the matrix is formed anew: what was added and taken away leaves its rounding.
REFRESH: Final = 40
# Shift of the tangents in parts of that of the normals, which it must not outweigh.
ACROSS: Final = 0.2
# By how much a turn scatters the forces that a line begins near; what scatters.
BESIDE: Final = 0.5
GOLDEN: Final = 0.6180339887498949


class Shifted(NamedTuple):
    """A line: points x = fixed + t moving that forces are those of, and the linear system that they come from."""

    shift: Floats  # (ncone, 3)
    fixed: Floats  # (ncone, 3)
    moving: Floats  # (ncone, 3)
    kept: Floats  # (ncone, 3) forces from which a line begins
    joined: Floats  # (3, nj) shift, fixed and moving of rows of joints
    right: Floats  # (2, nv) right-hand sides, without t and of it
    v: Floats  # (2, nv) velocities likewise
    base: Floats  # (nv^2,) panels of the matrix, not factored


class Line(NamedTuple):
    """How far a line has led."""

    arrived: bool  # at t = 0
    systems: int


@kernel
def shifted_floats(ncone: int, nj: int, nv: int) -> int:
    """Numbers that it keeps."""
    return 4 * THREE * ncone + 3 * nj + 4 * nv + nv * nv


@kernel(inner=True)
def lay_out_shifted(ncone: int, nj: int, nv: int, memory: Floats) -> Shifted:
    """Cut it from its memory."""
    size = THREE * ncone
    at = 4 * size + 3 * nj
    return Shifted(
        rows_at(memory, 0, ncone, THREE),
        rows_at(memory, size, ncone, THREE),
        rows_at(memory, 2 * size, ncone, THREE),
        rows_at(memory, 3 * size, ncone, THREE),
        rows_at(memory, 4 * size, 3, nj),
        rows_at(memory, at, 2, nv),
        rows_at(memory, at + 2 * nv, 2, nv),
        memory[at + 4 * nv : at + 4 * nv + nv * nv],
    )


@kernel(inline=True)
def spread(c: int, step: float) -> float:
    """A number in [0, 1) for each c, far from those of its neighbours."""
    return (c + 1) * step % 1.0


@kernel(inner=True)
def begin_near(
    rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, before: float, eps: float, turn: int
) -> None:
    """Fill the shift that makes forces of contacts that give way by ``before``, by rates in the search, those at eps.

    Turns after the first begin at forces beside them.
    """
    contacts = search.contacts
    for c in range(contacts.p.shape[0]):
        s, x = contacts.s[c], shifted.shift[c]
        x[0] = -s[0] / (rows.gamma[rows.cone_contacts[c]] + before)
        x[1] = -s[1] / before
        x[2] = -s[2] / before
        for i in range(THREE):
            x[i] *= 1.0 + BESIDE * turn * (spread(THREE * c + i, GOLDEN) - 0.5)
        if c >= rows.nc:
            x[0] = shifted.shift[rows.cone_contacts[c], 0]
        contacts.mode[c] = mode_of(polygon, width_of(rows, c), c, x[0], x[1], x[2])
        force_of(polygon, width_of(rows, c), contacts.mode[c], x[0], x[1], x[2], contacts.p[c])
    recover_velocity(rows, polygon, search)
    for c in range(contacts.p.shape[0]):
        s, x = contacts.s[c], shifted.shift[c]
        x[0] += s[0] / (rows.gamma[rows.cone_contacts[c]] + eps)
        x[1] += s[1] / eps
        x[2] += s[2] / eps
    shifted.joined[0, :] = 0.0


@kernel(inner=True)
def begin_open(rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, eps: float, turn: int) -> None:
    """Fill a shift that holds every contact open, and rows of joints at a bound; modes are those at its beginning."""
    contacts, joined = search.contacts, search.joined
    for i in range(search.trial.shape[0]):
        search.trial[i] = rows.v_free[i]
    place_rates(rows, polygon, search.trial, 1.0, contacts.s)
    speed = 0.0
    ncone = contacts.mode.shape[0]
    for c in range(ncone):
        for i in range(THREE):
            speed = max(speed, abs(contacts.s[c, i]))
    for c in range(ncone):
        contacts.mode[c] = OPEN
        normal = rows.cone_contacts[c]
        shifted.shift[c, 0] = -speed * (1.0 + spread(normal + turn * ncone, GOLDEN)) / (rows.gamma[normal] + eps)
        across = ACROSS * speed / (eps * max(1.0, width_of(rows, c)))
        shifted.shift[c, 1] = across * (spread(c + turn * ncone, 0.7548776662466927) - 0.5)
        shifted.shift[c, 2] = across * (spread(c + turn * ncone, 0.5698402909980532) - 0.5)
        if c >= rows.nc and rows.r[c] == 1:
            shifted.shift[c, 2] = 0.0
    for i in range(joined.p.shape[0]):
        stiff = 1.0 / (joined.gamma[i] + JOINT_COMPLIANCE * joined.own[i]) if joined.own[i] > 0.0 else 0.0
        far = speed * stiff * (1.0 + spread((turn + 1) * ncone + i, GOLDEN))
        joined.slope[i] = 0.0
        shifted.joined[0, i] = 0.0
        if joined.lo[i] > -math.inf:
            joined.p[i] = joined.lo[i]
            shifted.joined[0, i] = -far
        elif joined.hi[i] < math.inf:
            joined.p[i] = joined.hi[i]
            shifted.joined[0, i] = far
        else:
            joined.slope[i] = stiff


@kernel(inner=True)
def add_forces(
    rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, c: int, eps: float, sign: float
) -> None:
    """Add to the right-hand sides what a contact's forces are in its mode at no velocity; take it away by -1."""
    p = search.contacts.p[c]
    b = shifted.shift[c]
    for side in range(2):
        if side == 0:
            rates_of(rows, polygon, c, search.trial, 1.0, search.contacts.s[c])
            soft_force(rows, polygon, search.contacts, c, eps)
        else:
            force_of(polygon, width_of(rows, c), search.contacts.mode[c], b[0], b[1], b[2], p)
        for i in range(THREE):
            p[i] *= sign
        push(rows, polygon, c, p, shifted.right[side])


@kernel(inner=True)
def add_row_forces(rows: ContactSystem, search: Search, shifted: Shifted, i: int, sign: float) -> None:
    """The same of a row of joints."""
    joined = search.joined
    at = rows.nc + rows.nr + i
    if joined.slope[i] > 0.0:
        force = (JOINT_COMPLIANCE * joined.own[i] * joined.base[i] - rows.k[at]) * joined.slope[i]
        push_row(rows, at, sign * force, shifted.right[0])
        push_row(rows, at, sign * shifted.joined[0, i], shifted.right[1])
    else:
        push_row(rows, at, sign * joined.p[i], shifted.right[0])


@kernel(inner=True)
def form_line(rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, eps: float) -> None:
    """Form the system of the modes in the search."""
    contacts, right = search.contacts, shifted.right
    for i in range(right.shape[1]):
        search.trial[i] = 0.0
        right[0, i] = rows.v_free[i]
        right[1, i] = 0.0
    for c in range(contacts.mode.shape[0]):
        soft_slope(rows, polygon, contacts, c, eps)
        if contacts.mode[c] != OPEN:
            add_forces(rows, polygon, search, shifted, c, eps, 1.0)
    for i in range(search.joined.p.shape[0]):
        add_row_forces(rows, search, shifted, i, 1.0)
    form_system(rows, polygon, contacts, search.joined.slope, search.trees, search.W, shifted.base)


@kernel(inner=True)
def solve_line(rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, eps: float) -> bool:
    """Fill the points and velocities of the system; False where it has no factors."""
    contacts, joined, v = search.contacts, search.joined, shifted.v
    for i in range(panel_size(search.trees)):
        search.K[i] = shifted.base[i]
    if not factor_panels(search.trees, search.K, search.W[0]):
        return False
    for side in range(2):
        for i in range(v.shape[1]):
            v[side, i] = shifted.right[side, i]
        solve_panels(search.trees, search.K, v[side])
        place_rates(rows, polygon, v[side], 1.0 - side, contacts.s)
        points = shifted.fixed if side == 0 else shifted.moving
        for c in range(contacts.mode.shape[0]):
            s, b = contacts.s[c], shifted.shift[c]
            points[c, 0] = side * b[0] - s[0] / (rows.gamma[rows.cone_contacts[c]] + eps)
            points[c, 1] = side * b[1] - s[1] / eps
            points[c, 2] = side * b[2] - s[2] / eps
        for i in range(joined.p.shape[0]):
            at = rows.nc + rows.nr + i
            rate = row_speed(rows, at, v[side]) + (1.0 - side) * rows.k[at]
            soft = JOINT_COMPLIANCE * joined.own[i]
            kept = side * shifted.joined[0, i]
            if joined.own[i] > 0.0:
                kept += ((1.0 - side) * soft * joined.base[i] - rate) / (joined.gamma[i] + soft)
            shifted.joined[1 + side, i] = kept
    return True


@kernel(inner=True)
def first_t(rows: ContactSystem, search: Search, shifted: Shifted) -> float:
    """From where on, t rising, nothing bears: 1 but where rows of joints without bounds move what is free."""
    joined = search.joined
    t = 1.0
    for c in range(rows.nc):
        t = max(t, -1.01 * shifted.fixed[c, 0] / shifted.moving[c, 0])
    for i in range(joined.p.shape[0]):
        if shifted.joined[0, i] != 0.0:
            t = max(t, 1.01 * (joined.p[i] - shifted.joined[1, i]) / shifted.joined[2, i])
    return t


@kernel(inner=True)
def next_change(
    rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, t: float, way: float
) -> tuple[float, int, int]:
    """How far t goes until a mode changes, which contact's or, behind them, row's, and the number of the inequality."""
    n, joined = search.change, search.joined
    least, changing, which = math.inf, -1, -1
    for c in range(search.contacts.mode.shape[0]):
        x, d = shifted.fixed[c], shifted.moving[c]
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
    for i in range(joined.p.shape[0]):
        if not (joined.own[i] > 0.0 and joined.lo[i] < joined.hi[i]):
            continue
        speed = way * shifted.joined[2, i]
        point = shifted.joined[1, i] + t * shifted.joined[2, i]
        # Between its bounds a row meets one of them, at a bound it leaves that one to the inside.
        inside = joined.slope[i] > 0.0
        bound = joined.p[i]
        if inside:
            bound = joined.hi[i] if speed > 0.0 else joined.lo[i]
        outwards = speed > 0.0 if inside or bound == joined.lo[i] else speed < 0.0
        if speed != 0.0 and abs(bound) < math.inf and (inside or outwards):
            far = max(0.0, (bound - point) / speed)
            if far < least:
                least = far
                changing = search.contacts.mode.shape[0] + i
                which = 1 if speed > 0.0 else 0
    return least, changing, which


@kernel(inner=True)
def change_mode(
    rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, c: int, t: float, n: Floats
) -> bool:
    """Change the mode of a contact whose point meets the inequality n; False where there is no other."""
    contacts = search.contacts
    fixed, moving = shifted.fixed[c], shifted.moving[c]
    x, y, z = fixed[0] + t * moving[0], fixed[1] + t * moving[1], fixed[2] + t * moving[2]
    size = max(abs(x), abs(y), abs(z))
    normal = math.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
    beyond = BEYOND
    while beyond < FARTHEST:
        far = beyond * size / normal
        # Moments keep the normal force that they have.
        normal_point = x + far * n[0] if c < rows.nc else x
        mode = mode_of(polygon, width_of(rows, c), c, normal_point, y + far * n[1], z + far * n[2])
        if mode != contacts.mode[c]:
            contacts.mode[c] = mode
            return True
        beyond *= 10.0
    return False


@kernel(inner=True)
def update_contact(
    rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, c: int, before: int, eps: float
) -> None:
    """Bring the system to the mode of contact c, from the mode before."""
    contacts = search.contacts
    B = contacts.B[c]
    mode = contacts.mode[c]
    for turn in range(2):
        contacts.mode[c] = before if turn == 0 else mode
        sign = -1.0 if turn == 0 else 1.0
        if contacts.mode[c] != OPEN:
            add_forces(rows, polygon, search, shifted, c, eps, sign)
            soft_slope(rows, polygon, contacts, c, eps)
            for i in range(THREE):
                for j in range(THREE):
                    B[i, j] *= sign
            add_contact(rows, polygon, search.trees, c, B, search.W, shifted.base)


@kernel(inner=True)
def update_moments(
    rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, contact: int, t: float, eps: float
) -> None:
    """Open the moments that lean on a contact which has opened, or close them: they slide there, without a force."""
    contacts = search.contacts
    for c in range(rows.nc, contacts.mode.shape[0]):
        if rows.cone_contacts[c] == contact:
            y = shifted.fixed[c, 1] + t * shifted.moving[c, 1]
            z = shifted.fixed[c, 2] + t * shifted.moving[c, 2]
            size = max(abs(y), abs(z))
            x = 0.0 if contacts.mode[contact] == OPEN else (BEYOND * size if size > 0.0 else 1.0)
            before = contacts.mode[c]
            contacts.mode[c] = mode_of(polygon, 1.0, c, x, y, z)
            update_contact(rows, polygon, search, shifted, c, before, eps)


@kernel(inner=True)
def update_row(rows: ContactSystem, search: Search, shifted: Shifted, i: int, upwards: bool) -> None:
    """Bring a row of joints that moves upwards through a bound, or downwards, to its other mode, and the system."""
    joined = search.joined
    add_row_forces(rows, search, shifted, i, -1.0)
    if joined.slope[i] > 0.0:
        add_row(rows, search.trees, i, -joined.slope[i], shifted.base)
        joined.slope[i] = 0.0
        joined.p[i] = joined.hi[i] if upwards else joined.lo[i]
    else:
        joined.slope[i] = 1.0 / (joined.gamma[i] + JOINT_COMPLIANCE * joined.own[i])
        add_row(rows, search.trees, i, joined.slope[i], shifted.base)
    add_row_forces(rows, search, shifted, i, 1.0)


@kernel(inner=True)
def follow_line(
    rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, eps: float, open_at: bool, most: int
) -> Line:
    """From the modes in the search and the shift that they begin with to modes at eps, without any; ``most`` systems.

    ``open_at`` says that it begins where nothing bears.
    """
    n, contacts, ncone = search.shift, search.contacts, rows.r.shape[0]
    t, way = 1.0, -1.0
    changing = -1
    for solved in range(1, most + 1):
        if solved % REFRESH == 1:
            form_line(rows, polygon, search, shifted, eps)
        if not solve_line(rows, polygon, search, shifted, eps):
            return Line(False, solved)
        if solved == 1 and open_at:
            t = first_t(rows, search, shifted)
        elif changing >= ncone:
            way = 1.0 if n[0] * shifted.joined[2, changing - ncone] > 0.0 else -1.0
        elif changing >= 0:
            d = shifted.moving[changing]
            way = 1.0 if n[0] * d[0] + n[1] * d[1] + n[2] * d[2] > 0.0 else -1.0
        far, changing, which = next_change(rows, polygon, search, shifted, t, way)
        if way < 0.0 and not far < t:
            return Line(True, solved)
        if changing < 0:
            return Line(False, solved)
        t += way * far
        if changing >= ncone:
            n[0] = 1.0 if which == 1 else -1.0
            update_row(rows, search, shifted, changing - ncone, which == 1)
            continue
        before = contacts.mode[changing]
        facet_of(rows, polygon, changing, before, which, n)
        if not change_mode(rows, polygon, search, shifted, changing, t, n):
            return Line(False, solved)
        update_contact(rows, polygon, search, shifted, changing, before, eps)
        if (before == OPEN) != (contacts.mode[changing] == OPEN):
            update_moments(rows, polygon, search, shifted, changing, t, eps)
    return Line(False, most)
