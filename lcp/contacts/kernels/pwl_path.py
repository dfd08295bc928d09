"""Piecewise-linear paths through the changes of contacts' modes, to the forces at compliance eps.

Contacts of compliance eps have the forces P(x), x = -s / eps, with P piecewise linear (`contact_law`). With a shift, x
= t b - s / eps, velocities and forces are linear in t until a contact changes its mode. There the path continues in the
new mode, and t rises again if it turns back (Katzenelson 1965 for networks of resistors; Lemke 1965; Fujisawa and Kuh
1972 for the turns). It starts at t = 1, with the shift for which the given forces are a solution (`proximal_pwl`). The
number of pieces is not known in advance, but mostly small. A sliding disc uses its tangent.

A change of modes changes one block of the matrix. The unfactored matrix is stored, and formed again at intervals.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from lcp.compiler.kernels import copy_array
from lcp.compiler.views import view_2d
from lcp.contacts.kernels.contact_law import (
    CONTACT_DIM,
    OPEN,
    SLIDE_EDGE,
    SLIDE_FACE,
    STICK,
    FrictionCone,
    contact_rates,
    fill_contact_rates,
    friction_bound,
    mode_of,
    normal_row,
    project_sliding,
    projected_force,
)
from lcp.contacts.kernels.contact_system import ContactSystem, add_row_times
from lcp.contacts.kernels.elimination import factor_panels, panel_size, solve_panels
from lcp.contacts.kernels.mode_system import add_contact, apply_contact_impulse, form_system
from lcp.contacts.kernels.proximal_points import compliance_of, fill_stiffness
from lcp.contacts.kernels.solver_state import SolverState
from lcp.kernels import Floats, kernel

# Distance beyond a change of modes at which the new mode is determined, relative to the point: first and maximum.
BEYOND: Final = 1e-12
FARTHEST: Final = 1e-3
# Pieces after which the matrix is formed again, because additions and subtractions leave rounding.
REFRESH: Final = 40


class PwlPath(NamedTuple):
    """Path: points x = fixed + t moving, which determine the forces, and the linear system of the points."""

    shift: Floats  # (n, 3)
    fixed: Floats  # (n, 3)
    moving: Floats  # (n, 3)
    kept: Floats  # (n, 3) forces at which a path begins
    center: Floats  # (n, 3) forces without compliant motion
    right: Floats  # (2, nv) right-hand sides: constant part and factor of t
    v: Floats  # (2, nv) velocities in the same form
    base: Floats  # (nv^2,) panels of the matrix, not factored


@kernel
def pwl_path_float_size(n: int, nv: int) -> int:
    """Return the number of floats of `PwlPath`, for n cones and joint rows."""
    return 5 * CONTACT_DIM * n + 4 * nv + nv * nv


@kernel(inner=True)
def pwl_path_views(n: int, nv: int, memory: Floats) -> PwlPath:
    """Return views of ``memory``, of `pwl_path_float_size` numbers, as a `PwlPath`."""
    size = CONTACT_DIM * n
    at = 5 * size
    return PwlPath(
        view_2d(memory, 0, n, CONTACT_DIM),
        view_2d(memory, size, n, CONTACT_DIM),
        view_2d(memory, 2 * size, n, CONTACT_DIM),
        view_2d(memory, 3 * size, n, CONTACT_DIM),
        view_2d(memory, 4 * size, n, CONTACT_DIM),
        view_2d(memory, at, 2, nv),
        view_2d(memory, at + 2 * nv, 2, nv),
        memory[at + 4 * nv : at + 4 * nv + nv * nv],
    )


@kernel(inner=True)
def add_forces(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, shifted: PwlPath, c: int, eps: float, sign: float
) -> None:
    """Add the force of contact c at zero velocity, in its mode, times ``sign`` to the right-hand sides of the path.

    The first side has its constant part, the second the part of the shift, which is multiplied by t. A joint row at a
    bound has the force in the state.
    """
    contacts, p, b = search.contacts, search.scratch3_b, shifted.shift[c]
    mode, s, row, soft = contacts.mode[c], contacts.s[c], normal_row(rows, c), compliance_of(rows, contacts, c, eps)
    if mode == OPEN:
        if c >= rows.r.shape[0]:
            add_row_times(rows, row, rows.h * sign * contacts.p[c, 0], shifted.right[0])
        return
    contact_rates(rows, polygon, c, search.trial_v, 1.0, s)
    for side in range(2):
        x, y, z = b[0], b[1], b[2]
        if side == 0:
            for i in range(CONTACT_DIM):
                s[i] -= soft * shifted.center[c, i]
            x, y, z = -s[0] / (rows.gamma[row] + soft), -s[1] / soft, -s[2] / soft
        projected_force(polygon, friction_bound(rows, c), mode, x, y, z, p)
        for i in range(CONTACT_DIM):
            p[i] *= sign
        apply_contact_impulse(rows, polygon, c, p, shifted.right[side])


@kernel(inner=True)
def form_path_system(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, shifted: PwlPath, eps: float
) -> None:
    """Form the system of the state's modes."""
    contacts, right = search.contacts, shifted.right
    for i in range(right.shape[1]):
        search.trial_v[i] = 0.0
        right[0, i] = rows.v_free[i]
        right[1, i] = 0.0
    for c in range(contacts.mode.shape[0]):
        fill_stiffness(rows, polygon, contacts, c, eps)
        add_forces(rows, polygon, search, shifted, c, eps, 1.0)
    form_system(rows, polygon, contacts, search.trees, search.W, shifted.base)


@kernel(inner=True)
def solve_path_system(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, shifted: PwlPath, eps: float
) -> bool:
    """Factor the path's matrix, and fill the points and velocities of the present modes as constant part + t part.

    The results are ``shifted.fixed``, ``moving`` and ``v``. Return False if the matrix is singular.
    """
    contacts, v = search.contacts, shifted.v
    copy_array(shifted.base, search.K[: panel_size(search.trees)])
    if not factor_panels(search.trees, search.K, search.W[0]):
        return False
    for side in range(2):
        for i in range(v.shape[1]):
            v[side, i] = shifted.right[side, i]
        solve_panels(search.trees, search.K, v[side])
        fill_contact_rates(rows, polygon, v[side], 1.0 - side, contacts.s)
        points = shifted.fixed if side == 0 else shifted.moving
        for c in range(contacts.mode.shape[0]):
            s, b, soft = contacts.s[c], shifted.shift[c], compliance_of(rows, contacts, c, eps)
            if side == 0:
                for i in range(CONTACT_DIM):
                    s[i] -= soft * shifted.center[c, i]
            points[c, 0] = side * b[0] - s[0] / (rows.gamma[normal_row(rows, c)] + soft)
            points[c, 1] = side * b[1] - s[1] / soft
            points[c, 2] = side * b[2] - s[2] / soft
    return True


@kernel(inner=True)
def facet(polygon: FrictionCone, mu: float, mode: int, i: int, n: Floats) -> bool:
    """Fill n (3,) of the i-th inequality n . x <= 0 that the points x = (normal; tangential) of a mode satisfy.

    Return False if the mode has no i-th inequality. STICK has none for the boundary of a circular cone.
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
        # A sticking point leaves its circular cone: see `distance_to_cone`.
        if mode == STICK or i > 1:
            return False
        slide = polygon.slide_state[(mode - SLIDE_EDGE) // 2]
        n[0] = mu
        n[1] = -slide[0]
        n[2] = -slide[1]
        return True
    if polygon.r == 1:
        if i > (2 if mode == STICK else 1):
            return False
        sign = (1.0 if i == 1 else -1.0) if mode == STICK else (-1.0 if mode == SLIDE_EDGE else 1.0)
        n[0] = -mu if mode == STICK else mu
        n[1] = sign
        return True
    if mode == STICK:
        if i > 2 * polygon.r:
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
        before = j - 1 if j > 0 else 2 * polygon.r - 1
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


@kernel(inner=True)
def distance_to_cone(width: float, x: Floats, d: Floats, t: float, way: float) -> float:
    """Return how far t can move in the direction ``way`` until x + t d leaves its circular cone, or infinity.

    ``width`` is the friction bound, ``way`` is 1 or -1.
    """
    x0, y0, z0 = x[0] + t * d[0], x[1] + t * d[1], x[2] + t * d[2]
    a = d[1] * d[1] + d[2] * d[2] - width * width * d[0] * d[0]
    b = way * (y0 * d[1] + z0 * d[2] - width * width * x0 * d[0])
    c = y0 * y0 + z0 * z0 - width * width * x0 * x0
    if c >= 0.0:
        return 0.0 if b > 0.0 else math.inf
    # From inside (c < 0) along a growing b: the first root beyond.
    square = b * b - a * c
    if square < 0.0:
        return math.inf
    root = math.sqrt(square)
    bottom = b + root
    return -c / bottom if bottom > 0.0 else math.inf


@kernel(inner=True)
def begin_sliding(
    polygon: FrictionCone, width: float, c: int, eps: float, x: Floats, d: Floats, t: float, n: Floats
) -> None:
    """Store the sliding direction of contact c, whose point x + t d is at the boundary of its circular cone.

    n (3,) becomes the normal that points out of the cone there.
    """
    y, z = x[1] + t * d[1], x[2] + t * d[2]
    size = math.sqrt(y * y + z * z)
    project_sliding(polygon, width, c, False, eps, size / width, y, z, n)
    n[0], n[1], n[2] = -width, y / size, z / size


@kernel(inner=True)
def next_mode_change(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, shifted: PwlPath, t: float, way: float
) -> tuple[float, int, int]:
    """Return how far t can move in the direction ``way`` until a mode changes, the cone or row, and its inequality.

    The second value is -1 if nothing changes. The inequality is the number i of `facet`, or 1 for a joint row whose
    force rises, 0 if it falls.
    """
    n, joined, contacts, ncone = search.scratch3_b, search.joined, search.contacts, rows.r.shape[0]
    least, changing, which = math.inf, -1, -1
    for c in range(ncone):
        x, d = shifted.fixed[c], shifted.moving[c]
        # Moments open with their contact.
        i = 0 if c < rows.nc else 1
        width = friction_bound(rows, c)
        if polygon.exact and contacts.mode[c] == STICK and width > 0.0 and rows.r[c] > 0:
            far = distance_to_cone(width, x, d, t, way)
            if far < least:
                least, changing, which = far, c, 1
        while facet_of(rows, polygon, c, contacts.mode[c], i, n):
            speed = way * (n[0] * d[0] + n[1] * d[1] + n[2] * d[2])
            if speed > 0.0:
                fixed = n[0] * x[0] + n[1] * x[1] + n[2] * x[2]
                far = max(0.0, -(fixed + t * way * speed) / speed)
                if far < least:
                    least, changing, which = far, c, i
            i += 1
    for i in range(joined.lo.shape[0]):
        c = ncone + i
        if not (contacts.diagonal[normal_row(rows, c)] > 0.0 and joined.lo[i] < joined.hi[i]):
            continue
        speed = way * shifted.moving[c, 0]
        point = shifted.fixed[c, 0] + t * shifted.moving[c, 0]
        # A row between its bounds reaches one of them; a row at a bound leaves it inwards.
        inside = contacts.mode[c] == STICK
        bound = contacts.p[c, 0]
        if inside:
            bound = joined.hi[i] if speed > 0.0 else joined.lo[i]
        outwards = speed > 0.0 if inside or bound == joined.lo[i] else speed < 0.0
        if speed != 0.0 and abs(bound) < math.inf and (inside or outwards):
            far = max(0.0, (bound - point) / speed)
            if far < least:
                least, changing, which = far, c, 1 if speed > 0.0 else 0
    return least, changing, which


@kernel(inner=True)
def change_mode(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, shifted: PwlPath, c: int, t: float, n: Floats
) -> bool:
    """Set contact c to the mode of a point slightly beyond the inequality n, which its point reaches at t.

    Return False if no point up to `FARTHEST` beyond has another mode.
    """
    contacts = search.contacts
    fixed, moving = shifted.fixed[c], shifted.moving[c]
    x, y, z = fixed[0] + t * moving[0], fixed[1] + t * moving[1], fixed[2] + t * moving[2]
    size = max(abs(x), abs(y), abs(z))
    normal = math.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
    beyond = BEYOND
    while beyond < FARTHEST:
        far = beyond * size / normal
        # Moments keep their normal force.
        normal_point = x + far * n[0] if c < rows.nc else x
        mode = mode_of(polygon, friction_bound(rows, c), c, normal_point, y + far * n[1], z + far * n[2])
        if mode != contacts.mode[c]:
            contacts.mode[c] = mode
            return True
        beyond *= 10.0
    return False


@kernel(inner=True)
def update_contact(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, shifted: PwlPath, c: int, before: int, eps: float
) -> None:
    """Replace the terms of contact c in the path's matrix and right sides: the mode ``before`` by its present one."""
    contacts = search.contacts
    B = contacts.B[c]
    mode = contacts.mode[c]
    for turn in range(2):
        contacts.mode[c] = before if turn == 0 else mode
        sign = -1.0 if turn == 0 else 1.0
        fill_stiffness(rows, polygon, contacts, c, eps)
        add_forces(rows, polygon, search, shifted, c, eps, sign)
        if contacts.mode[c] != OPEN:
            for i in range(CONTACT_DIM):
                for j in range(CONTACT_DIM):
                    B[i, j] *= sign
            add_contact(rows, polygon, search.trees, c, B, search.W, shifted.base)


@kernel(inner=True)
def update_moments(
    rows: ContactSystem,
    polygon: FrictionCone,
    search: SolverState,
    shifted: PwlPath,
    contact: int,
    t: float,
    eps: float,
) -> None:
    """Open or close the moment cones of contacts that have opened; they slide there without force."""
    contacts = search.contacts
    for c in range(rows.nc, rows.r.shape[0]):
        if rows.cone_contacts[c] == contact:
            y = shifted.fixed[c, 1] + t * shifted.moving[c, 1]
            z = shifted.fixed[c, 2] + t * shifted.moving[c, 2]
            size = max(abs(y), abs(z))
            x = 0.0 if contacts.mode[contact] == OPEN else (BEYOND * size if size > 0.0 else 1.0)
            before = contacts.mode[c]
            contacts.mode[c] = mode_of(polygon, 1.0, c, x, y, z)
            update_contact(rows, polygon, search, shifted, c, before, eps)


@kernel(inner=True)
def follow_pwl_path(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, shifted: PwlPath, eps: float, most: int
) -> tuple[bool, int]:
    """Follow the path from t = 1, with the shift and the state's modes, to t = 0, in at most ``most`` systems.

    If it arrives, the state's modes and ``shifted.fixed`` are a solution at compliance eps without the shift. Return
    whether it arrives, and the number of systems.
    """
    n, contacts, ncone = search.scratch3_a, search.contacts, rows.r.shape[0]
    t, way = 1.0, -1.0
    changing = -1
    for solved in range(1, most + 1):
        if solved % REFRESH == 1:
            form_path_system(rows, polygon, search, shifted, eps)
        if not solve_path_system(rows, polygon, search, shifted, eps):
            return False, solved
        if changing >= 0:
            d = shifted.moving[changing]
            way = 1.0 if n[0] * d[0] + n[1] * d[1] + n[2] * d[2] > 0.0 else -1.0
        far, changing, which = next_mode_change(rows, polygon, search, shifted, t, way)
        if way < 0.0 and not far < t:
            return True, solved
        if changing < 0:
            return False, solved
        t += way * far
        before = contacts.mode[changing]
        if changing >= ncone:
            i = changing - ncone
            n[0], n[1], n[2] = 1.0 if which == 1 else -1.0, 0.0, 0.0
            if before == STICK:
                contacts.p[changing, 0] = search.joined.hi[i] if which == 1 else search.joined.lo[i]
            contacts.mode[changing] = OPEN if before == STICK else STICK
            update_contact(rows, polygon, search, shifted, changing, before, eps)
            continue
        if polygon.exact and before == STICK and which == 1:
            width = friction_bound(rows, changing)
            begin_sliding(polygon, width, changing, eps, shifted.fixed[changing], shifted.moving[changing], t, n)
            contacts.mode[changing] = SLIDE_EDGE + 2 * changing
            update_contact(rows, polygon, search, shifted, changing, before, eps)
            continue
        facet_of(rows, polygon, changing, before, which, n)
        if polygon.exact and before >= SLIDE_EDGE:
            contacts.mode[changing] = STICK if which == 1 else OPEN
        elif not change_mode(rows, polygon, search, shifted, changing, t, n):
            return False, solved
        update_contact(rows, polygon, search, shifted, changing, before, eps)
        if (before == OPEN) != (contacts.mode[changing] == OPEN):
            update_moments(rows, polygon, search, shifted, changing, t, eps)
    return False, most
