"""Proximal points along piecewise-linear paths: from nearby forces to a solution, mode change by mode change.

Forces c lead to the next ones by p = P(c - s / eps), which is piecewise linear. The forces of the previous centre are a
solution for c with a shift, and a path removes this shift (`pwl_path`). It takes one system if no mode changes, and
cannot cycle if many do. If gaps contradict one another, each point moves forces along the self-stress by the same small
amount; then the path continues directly to the first change of modes. Discs use their tangents at each point.
"""

from __future__ import annotations

import math
from typing import Final

from lcp.compiler.kernels import copy_array
from lcp.contacts.kernels.contact_law import (
    CONTACT_DIM,
    SLIDE_EDGE,
    FrictionCone,
    friction_bound,
    mode_of,
    normal_row,
    project_sliding,
    tangential_response,
)
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.proximal_newton import ProximalState
from lcp.contacts.kernels.proximal_points import (
    bounded_force,
    compliance_of,
    fill_mode_force,
    natural_residual,
    run_proximal_points,
)
from lcp.contacts.kernels.pwl_path import PwlPath, follow_pwl_path, next_mode_change
from lcp.contacts.kernels.solver_state import SolverState, center_rows, copy_rows, recover_velocity
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
    contacts = search.contacts
    for c in range(contacts.p.shape[0]):
        s, x, p, row = contacts.s[c], shifted.fixed[c], contacts.p[c], normal_row(rows, c)
        own = contacts.diagonal[row]
        x[:] = 0.0
        x[0] = p[0] - (s[0] + rows.gamma[row] * p[0]) / own if own > 0.0 else p[0]
        if c >= rows.r.shape[0]:
            p[0] = bounded_force(rows, search, c, x[0])
            continue
        soft = tangential_response(rows, polygon, contacts, c)
        x[1] = p[1] - s[1] / soft
        x[2] = p[2] - s[2] / soft
        contacts.mode[c] = mode_of(polygon, friction_bound(rows, c), c, x[0], x[1], x[2])


@kernel(inner=True)
def centre_at_points(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, shifted: PwlPath, eps: float
) -> None:
    """Set the state's forces and ``shifted.center`` to the projected points, and compute their velocities and rates.

    ``shifted.kept`` gets the change of the centre. ``shifted.shift`` gets the shift that makes the forces a solution
    at t = 1.
    """
    contacts, aim = search.contacts, search.scratch3_b
    for c in range(contacts.p.shape[0]):
        x, p, width = shifted.fixed[c], contacts.p[c], friction_bound(rows, c)
        if polygon.exact and contacts.mode[c] >= SLIDE_EDGE:
            project_sliding(polygon, width, c, False, eps, x[0], x[1], x[2], aim)
        fill_mode_force(rows, polygon, contacts, c, x[0], x[1], x[2])
        for i in range(CONTACT_DIM):
            shifted.kept[c, i] = p[i] - shifted.center[c, i]
            shifted.center[c, i] = p[i]
    center_rows(search)
    recover_velocity(rows, polygon, search)
    for c in range(contacts.p.shape[0]):
        s, x, b, p = contacts.s[c], shifted.fixed[c], shifted.shift[c], shifted.center[c]
        soft = compliance_of(rows, contacts, c, eps)
        b[0] = x[0] + (s[0] - soft * p[0]) / (rows.gamma[normal_row(rows, c)] + soft)
        b[1] = x[1] + s[1] / soft - p[1]
        b[2] = x[2] + s[2] / soft - p[2]
        if rows.nc <= c < rows.r.shape[0]:
            b[0] = shifted.shift[rows.cone_contacts[c], 0]


@kernel(inner=True)
def fill_answer(rows: ContactSystem, polygon: FrictionCone, search: SolverState, shifted: PwlPath, far: float) -> None:
    """Continue the path by ``far`` in t beyond its end: move its points, and fill their forces in the state."""
    for c in range(search.contacts.p.shape[0]):
        x = shifted.fixed[c]
        for i in range(CONTACT_DIM):
            x[i] -= far * shifted.moving[c, i]
        fill_mode_force(rows, polygon, search.contacts, c, x[0], x[1], x[2])


@kernel(inner=True)
def is_drifting(rows: ContactSystem, search: SolverState, shifted: PwlPath) -> bool:
    """Return True if the last two changes of the forces, weighted by the responses, are nearly equal.

    These are the change from the centre, and the change of the centre in ``shifted.kept``.
    """
    square = 0.0
    product = 0.0
    before = 0.0
    contacts = search.contacts
    for c in range(rows.r.shape[0]):
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
    copy_array(search.contacts.mode, search.previous_modes)
    formed = run_proximal_points(rows, polygon, search, 0.0, LAST_POINTS)
    return formed, natural_residual(rows, polygon, search)


@kernel(inner=True)
def restore_modes(rows: ContactSystem, polygon: FrictionCone, search: SolverState, shifted: PwlPath) -> None:
    """Restore the saved modes, and the forces of the path's points."""
    contacts, joined = search.contacts, search.joined
    copy_array(search.previous_modes, contacts.mode)
    for i in range(joined.lo.shape[0]):
        c = rows.r.shape[0] + i
        contacts.p[c, 0] = min(max(shifted.fixed[c, 0], joined.lo[i]), joined.hi[i])
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
    copy_rows(search.contacts.p, near.best)
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
            copy_rows(search.contacts.p, near.best)
        if misfit <= WORTH * search.speed and turn - tried >= EVERY:
            tried = turn
            formed, hard = finish_with_fixed_modes(rows, polygon, search, shifted)
            spent += formed
            if hard < least:
                least = hard
                copy_rows(search.contacts.p, near.best)
            restore_modes(rows, polygon, search, shifted)
        if least <= ENOUGH * search.speed:
            break
        if turn > 0 and is_drifting(rows, search, shifted):
            far, changing, _ = next_mode_change(rows, polygon, search, shifted, 0.0, -1.0)
            if changing < 0:
                break
            fill_answer(rows, polygon, search, shifted, (1.0 + BEYOND) * far)
        turn += 1
    copy_rows(near.best, search.contacts.p)
    recover_velocity(rows, polygon, search)
    return spent
