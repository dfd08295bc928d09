"""Proximal points along piecewise-linear paths: from nearby forces to a solution, mode change by mode change.

Forces c lead to the next ones by p = P(c - s / eps), which is piecewise linear. The forces of the previous centre are a
solution for c with a shift, and a path removes this shift (`pwl_path`). It takes one system if no mode changes, and
cannot cycle if many do. If gaps contradict one another, each point moves forces along the self-stress by the same small
amount; then the path continues directly to the first change of modes. Discs use their tangents at each point.
"""

from __future__ import annotations

import math
from typing import Final

from lcp.contacts.kernels.contact_law import (
    CONTACT_DIM,
    SLIDE_EDGE,
    FrictionCone,
    friction_bound,
    mode_of,
    project_sliding,
    projected_force,
    tangential_response,
)
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.proximal_newton import ProximalState, restore_forces, save_forces
from lcp.contacts.kernels.proximal_points import JOINT_COMPLIANCE, natural_residual, run_proximal_points
from lcp.contacts.kernels.pwl_path import PwlPath, follow_pwl_path, next_mode_change
from lcp.contacts.kernels.solver_state import SolverState, recover_velocity
from lcp.kernels import kernel

# Rotation and relative difference of two changes of the forces up to which they count as equal.
SAME_WAY: Final = 0.999
SAME_SIZE: Final = 0.9
# Residual, as a fraction of the speed, at which it ends; residual below which modes are tried as the right ones; number
# of points between such tries, and of proximal points of each (`proximal_points`).
ENOUGH: Final = 1e-10
WORTH: Final = 1e-7
EVERY: Final = 5
LAST_POINTS: Final = 6
# Distance beyond the change of a mode that a path continues, as a fraction of its length.
BEYOND: Final = 1e-12


@kernel(inner=True)
def fill_path_points(rows: ContactSystem, polygon: FrictionCone, search: SolverState, shifted: PwlPath) -> None:
    """Fill the points x = p - s / response, and their modes, from the forces p and rates s in the state.

    The forces of joint rows become their points, clipped to the bounds.
    """
    contacts, joined = search.contacts, search.joined
    for c in range(contacts.p.shape[0]):
        s, x, p = contacts.s[c], shifted.fixed[c], contacts.p[c]
        normal = rows.cone_contacts[c]
        soft = tangential_response(rows, polygon, contacts, c)
        x[0] = p[0] - (s[0] + rows.gamma[normal] * p[0]) / contacts.diagonal[normal]
        x[1] = p[1] - s[1] / soft
        x[2] = p[2] - s[2] / soft
        contacts.mode[c] = mode_of(polygon, friction_bound(rows, c), c, x[0], x[1], x[2])
    for i in range(joined.p.shape[0]):
        joined.slope[i] = 0.0
        shifted.joined[1, i] = joined.p[i]
        if joined.diagonal[i] > 0.0:
            point = joined.p[i] - (joined.s[i] + joined.gamma[i] * joined.p[i]) / joined.diagonal[i]
            shifted.joined[1, i] = point
            joined.p[i] = min(max(point, joined.lo[i]), joined.hi[i])
            if joined.lo[i] < point < joined.hi[i]:
                joined.slope[i] = 1.0 / (joined.gamma[i] + JOINT_COMPLIANCE * joined.diagonal[i])


@kernel(inner=True)
def begin_at_points(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, shifted: PwlPath, eps: float
) -> None:
    """Fill ``shifted.shift`` such that the state's forces, at the path's points, are a solution at t = 1.

    Their velocities and rates are computed.
    """
    contacts, joined = search.contacts, search.joined
    for i in range(joined.p.shape[0]):
        if joined.slope[i] > 0.0:
            joined.p[i] = shifted.joined[1, i]
        joined.previous_p[i] = joined.p[i]
    recover_velocity(rows, polygon, search)
    for c in range(contacts.p.shape[0]):
        s, x, b, p = contacts.s[c], shifted.fixed[c], shifted.shift[c], shifted.center[c]
        b[0] = x[0] + (s[0] - eps * p[0]) / (rows.gamma[rows.cone_contacts[c]] + eps)
        b[1] = x[1] + s[1] / eps - p[1]
        b[2] = x[2] + s[2] / eps - p[2]
        if c >= rows.nc:
            b[0] = shifted.shift[rows.cone_contacts[c], 0]
    for i in range(joined.p.shape[0]):
        shifted.joined[0, i] = 0.0
        if joined.diagonal[i] > 0.0:
            soft = JOINT_COMPLIANCE * joined.diagonal[i]
            rate = joined.s[i] - soft * joined.previous_p[i]
            shifted.joined[0, i] = shifted.joined[1, i] + rate / (joined.gamma[i] + soft)


@kernel(inner=True)
def centre_at_points(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, shifted: PwlPath, eps: float
) -> None:
    """Set the state's forces and ``shifted.center`` to the projected points, and compute the shift for them.

    ``shifted.kept`` gets the change of the centre. The shift makes the forces a solution at t = 1 (`begin_at_points`).
    """
    contacts, aim = search.contacts, search.scratch3_b
    for c in range(contacts.p.shape[0]):
        x, p, mode, width = shifted.fixed[c], contacts.p[c], contacts.mode[c], friction_bound(rows, c)
        if polygon.exact and mode >= SLIDE_EDGE:
            project_sliding(polygon, width, c, False, eps, x[0], x[1], x[2], aim)
        projected_force(polygon, width, mode, x[0], x[1], x[2], p)
        for i in range(CONTACT_DIM):
            shifted.kept[c, i] = p[i] - shifted.center[c, i]
            shifted.center[c, i] = p[i]
    begin_at_points(rows, polygon, search, shifted, eps)


@kernel(inner=True)
def fill_answer(rows: ContactSystem, polygon: FrictionCone, search: SolverState, shifted: PwlPath, far: float) -> None:
    """Continue the path by ``far`` in t beyond its end: move its points, and fill their forces in the state."""
    contacts, joined = search.contacts, search.joined
    for c in range(contacts.p.shape[0]):
        x = shifted.fixed[c]
        for i in range(CONTACT_DIM):
            x[i] -= far * shifted.moving[c, i]
        projected_force(polygon, friction_bound(rows, c), contacts.mode[c], x[0], x[1], x[2], contacts.p[c])
    for i in range(joined.p.shape[0]):
        shifted.joined[1, i] -= far * shifted.joined[2, i]
        if joined.slope[i] > 0.0:
            joined.p[i] = shifted.joined[1, i]


@kernel(inner=True)
def is_drifting(rows: ContactSystem, search: SolverState, shifted: PwlPath) -> bool:
    """Return True if the last two changes of the forces, weighted by the responses, are nearly equal.

    These are the change from the centre, and the change of the centre in ``shifted.kept``.
    """
    square = 0.0
    product = 0.0
    before = 0.0
    contacts = search.contacts
    for c in range(contacts.p.shape[0]):
        own = contacts.diagonal[rows.cone_contacts[c]]
        for i in range(CONTACT_DIM):
            change = contacts.p[c, i] - shifted.center[c, i]
            last = shifted.kept[c, i]
            square += own * change * change
            product += own * change * last
            before += own * last * last
    return product > SAME_WAY * math.sqrt(square * before) and SAME_SIZE * before < square < before / SAME_SIZE


@kernel(inner=True)
def finish_with_fixed_modes(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, shifted: PwlPath
) -> tuple[int, float]:
    """Make proximal points in the state's modes, which are saved with the forces; return systems and the residual."""
    for c in range(search.previous_modes.shape[0]):
        search.previous_modes[c] = search.contacts.mode[c]
    formed = run_proximal_points(rows, polygon, search, 0.0, LAST_POINTS)
    return formed, natural_residual(rows, polygon, search)


@kernel(inner=True)
def restore_modes(rows: ContactSystem, polygon: FrictionCone, search: SolverState, shifted: PwlPath) -> None:
    """Restore the saved modes, and the forces of the path's points."""
    joined = search.joined
    for c in range(search.previous_modes.shape[0]):
        search.contacts.mode[c] = search.previous_modes[c]
    for i in range(joined.p.shape[0]):
        point = shifted.joined[1, i]
        joined.p[i] = min(max(point, joined.lo[i]), joined.hi[i])
        inside = joined.diagonal[i] > 0.0 and joined.lo[i] < point < joined.hi[i]
        joined.slope[i] = 1.0 / (joined.gamma[i] + JOINT_COMPLIANCE * joined.diagonal[i]) if inside else 0.0
    fill_answer(rows, polygon, search, shifted, 0.0)


@kernel(inner=True)
def solve_proximal_pwl(
    rows: ContactSystem,
    polygon: FrictionCone,
    search: SolverState,
    shifted: PwlPath,
    near: ProximalState,
    eps: float,
    pieces: int,
    most: int,
) -> int:
    """Move the forces in the state to forces of the rigid problem, by points of this compliance; return the systems.

    A path has at most ``pieces`` pieces, and all paths have at most ``most`` systems.
    """
    least = natural_residual(rows, polygon, search)
    save_forces(search, near.best, near.joined[1])
    fill_path_points(rows, polygon, search, shifted)
    spent = 0
    turn, tried = 0, -EVERY
    while spent < most:
        centre_at_points(rows, polygon, search, shifted, eps)
        arrived, systems = follow_pwl_path(rows, polygon, search, shifted, eps, min(pieces, most - spent))
        spent += systems
        if not arrived:
            break
        fill_answer(rows, polygon, search, shifted, 0.0)
        misfit = natural_residual(rows, polygon, search)
        if misfit < least:
            least = misfit
            save_forces(search, near.best, near.joined[1])
        if misfit <= WORTH * search.speed and turn - tried >= EVERY:
            tried = turn
            formed, hard = finish_with_fixed_modes(rows, polygon, search, shifted)
            spent += formed
            if hard < least:
                least = hard
                save_forces(search, near.best, near.joined[1])
            restore_modes(rows, polygon, search, shifted)
        if least <= ENOUGH * search.speed:
            break
        if turn > 0 and is_drifting(rows, search, shifted):
            far, changing, _ = next_mode_change(rows, polygon, search, shifted, 0.0, -1.0)
            if changing < 0:
                break
            fill_answer(rows, polygon, search, shifted, (1.0 + BEYOND) * far)
        turn += 1
    restore_forces(search, near.best, near.joined[1])
    recover_velocity(rows, polygon, search)
    return spent
