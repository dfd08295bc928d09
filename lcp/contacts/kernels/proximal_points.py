"""Proximal points: from given forces to the forces of the rigid problem, in the modes of rates and forces.

Forces p0 with rates s lead to p = P(p0 - s / eps) (`contact_law`), with eps a small fraction of each diagonal response.
A step leaves about this fraction of the rates, and forces change as little as possible, also if rows are dependent.
This is the method of multipliers (Hestenes 1969, Powell 1969) with a primal-dual active set (Alart and Curnier 1991;
Hintermueller, Ito and Kunisch 2002).
"""

from __future__ import annotations

import math
from typing import Final

from lcp.contacts.kernels.contact_law import (
    CONTACT_DIM,
    OPEN,
    SLIDE_EDGE,
    STICK,
    ContactState,
    FrictionCone,
    contact_rates,
    edge_vector,
    fill_force_jacobian,
    friction_bound,
    mode_of,
    normal_row,
    project_sliding,
    projected_force,
    tangential_response,
)
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.elimination import solve_panels
from lcp.contacts.kernels.mode_system import apply_contact_impulse
from lcp.contacts.kernels.solver_state import SolverState, factor_system, recover_velocity
from lcp.kernels import Floats, kernel

# Compliance of a contact relative to its response, if each has its own; the same for joint rows.
STIFFNESS: Final = 1e7
JOINT_COMPLIANCE: Final = 1e-9
# Residual, as a fraction of the speeds, at which the points end.
ROUNDING: Final = 4e-16
# Rotation of a disc's corner that counts as a change of mode.
FAR: Final = 1e-3


@kernel(inner=True)
def update_modes(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, eps: float, share: float, keep: bool = False
) -> tuple[int, bool, float]:
    """Choose each mode from the force that would cancel the rate of its row alone.

    - eps is the compliance of contacts, 0 if all is rigid.
    - ``share`` is a factor of the diagonal response: a force responds to its rate with share * response + eps.
    - ``keep`` is True to measure only: the modes and forces in the state stay.

    Forces are projected to new modes. Returns how many modes changed, whether any mode or the corner of a disc changed,
    and the residual. The residual is the largest speed by which a row violates its law. For a polygon and eps > 0 it is
    eps times the largest error of a force.
    """
    contacts, joined, ncone = search.contacts, search.joined, rows.r.shape[0]
    soft_misfit = eps > 0.0 and not polygon.exact
    changed = 0
    turned = False
    misfit = 0.0
    aim = search.scratch3_a
    # contacts: the force that would cancel the rates, and its mode
    for c in range(ncone):
        p = contacts.p[c]
        s = contacts.s[c]
        normal, mu = rows.cone_contacts[c], friction_bound(rows, c)
        own = share * contacts.diagonal[normal] + eps
        soft = share * tangential_response(rows, polygon, contacts, c) + eps
        x = p[0] - (s[0] + (rows.gamma[normal] + eps) * p[0]) / own
        y = p[1] - (s[1] + eps * p[1]) / soft
        z = p[2] - (s[2] + eps * p[2]) / soft
        mode = mode_of(polygon, mu, c, x, y, z)
        moved = mode != contacts.mode[c]
        if moved:
            changed += 1
        # project this force to the cone; a disc can also rotate its sliding direction
        if polygon.exact and mode >= SLIDE_EDGE:
            turn = project_sliding(polygon, mu, c, not (moved or keep), soft, x, y, z, aim)
            if turn > FAR and not moved:
                changed += 1
            moved = turn > 0.0
        else:
            projected_force(polygon, mu, mode, x, y, z, aim)
        # residual: distance between the force and its projection
        off = max(abs(p[1] - aim[1]), abs(p[2] - aim[2]))
        if soft_misfit:
            misfit = max(misfit, eps * max(abs(p[0] - aim[0]), off))
        else:
            misfit = max(misfit, own * abs(p[0] - aim[0]), soft * off)
        # project the force to its new mode
        if moved and not keep:
            turned = True
            contacts.mode[c] = mode
            projected_force(polygon, mu, mode, p[0], p[1], p[2], p)
    # joint rows: the same, with their bounds in place of a cone
    for i in range(joined.lo.shape[0]):
        c, row = ncone + i, rows.nc + rows.nr + i
        own, p0, was = contacts.diagonal[row], contacts.p[c, 0], contacts.mode[c]
        soft = JOINT_COMPLIANCE * own
        held = soft * (p0 - joined.previous_p[i]) if eps > 0.0 else 0.0
        x = p0 - (contacts.s[c, 0] + rows.gamma[row] * p0 + held) / own if own > 0.0 else p0
        bounded = bounded_force(rows, search, c, x)
        misfit = max(misfit, (soft if soft_misfit else own) * abs(p0 - bounded))
        # Also from one bound to the other.
        if keep:
            contacts.mode[c] = was
        elif contacts.mode[c] != was or (contacts.mode[c] == OPEN and p0 != bounded):
            changed += 1
            if contacts.mode[c] == OPEN:
                contacts.p[c, 0] = bounded
    return changed, changed > 0 or turned, misfit


@kernel(inner=True)
def natural_residual(rows: ContactSystem, polygon: FrictionCone, search: SolverState) -> float:
    """Fill v and s of the forces; return the largest speed by which a row violates its law."""
    recover_velocity(rows, polygon, search)
    _, _, misfit = update_modes(rows, polygon, search, 0.0, 1.0, True)
    return misfit


@kernel(inner=True)
def bounded_force(rows: ContactSystem, search: SolverState, c: int, x: float) -> float:
    """Return the force of joint row c nearest to x within its bounds, and set its mode there."""
    i = c - rows.r.shape[0]
    lo, hi = search.joined.lo[i], search.joined.hi[i]
    between = search.contacts.diagonal[normal_row(rows, c)] > 0.0 and lo < x < hi
    search.contacts.mode[c] = STICK if between else OPEN
    return min(max(x, lo), hi)


@kernel(inline=True)
def compliance_of(rows: ContactSystem, contacts: ContactState, c: int, eps: float) -> float:
    """Return the compliance eps of a contact, or the small one of a joint row; any if the row moves nothing."""
    if c < rows.r.shape[0]:
        return eps
    own = contacts.diagonal[normal_row(rows, c)]
    return JOINT_COMPLIANCE * own if own > 0.0 else 1.0


@kernel(inline=True)
def stiffness_of(
    rows: ContactSystem, polygon: FrictionCone, contacts: ContactState, c: int, eps: float
) -> tuple[float, float]:
    """Return the stiffness 1 / compliance of contact c along its normal and along its tangents.

    The compliance is eps. If eps is 0, it is the contact's own: its response over `STIFFNESS`. The normal adds its
    softness. A joint row always has its own.
    """
    normal, soft = normal_row(rows, c), compliance_of(rows, contacts, c, eps)
    if soft > 0.0:
        return 1.0 / (rows.gamma[normal] + soft), 1.0 / soft
    tangent = STIFFNESS / tangential_response(rows, polygon, contacts, c)
    return 1.0 / (rows.gamma[normal] + contacts.diagonal[normal] / STIFFNESS), tangent


@kernel(inner=True)
def fill_stiffness(rows: ContactSystem, polygon: FrictionCone, contacts: ContactState, c: int, eps: float) -> None:
    """Fill ``contacts.B[c]`` with minus the derivative of the force by the rates, in the contact's mode."""
    normal, tangent = stiffness_of(rows, polygon, contacts, c, eps)
    fill_force_jacobian(rows, polygon, c, contacts.mode[c], normal, tangent, contacts.B[c])


@kernel(inner=True)
def factor_modes(rows: ContactSystem, polygon: FrictionCone, search: SolverState, eps: float) -> bool:
    """Form and factor the matrix of the state's modes, with ``eps`` as in `stiffness_of`; False if it is singular."""
    for c in range(search.contacts.p.shape[0]):
        fill_stiffness(rows, polygon, search.contacts, c, eps)
    return factor_system(rows, polygon, search)


@kernel(inner=True)
def fill_mode_force(
    rows: ContactSystem, polygon: FrictionCone, contacts: ContactState, c: int, x: float, y: float, z: float
) -> None:
    """Set ``contacts.p[c]`` to the force of the point (x; y, z) in the contact's mode; a joint row at a bound stays."""
    mode = contacts.mode[c]
    if c < rows.r.shape[0] or mode == STICK:
        projected_force(polygon, friction_bound(rows, c), mode, x, y, z, contacts.p[c])


@kernel(inner=True)
def force_increment(
    rows: ContactSystem, polygon: FrictionCone, contacts: ContactState, c: int, eps: float, ds: Floats, shift: Floats
) -> None:
    """Fill ``shift`` (3,) with the change of contact c's force in its mode, for the rates s + ds; ds is (3,).

    ``eps`` is as in `stiffness_of`.
    """
    if contacts.mode[c] == OPEN:
        shift[:] = 0.0
        return
    s = contacts.s[c]
    mode = contacts.mode[c]
    normal, tangent = stiffness_of(rows, polygon, contacts, c, eps)
    x = -normal * (s[0] + rows.gamma[normal_row(rows, c)] * contacts.p[c, 0] + ds[0])
    y = -tangent * (s[1] + ds[1])
    z = -tangent * (s[2] + ds[2])
    if polygon.exact and mode >= SLIDE_EDGE:
        # The corner rotates: the force has not reached it yet.
        p = contacts.p[c]
        projected_force(polygon, friction_bound(rows, c), mode, p[0] + x, p[1] + y, p[2] + z, shift)
        for i in range(CONTACT_DIM):
            shift[i] -= p[i]
        return
    if mode >= SLIDE_EDGE and (mode - SLIDE_EDGE) % 2 == 1:
        # Of a slip only its component along the side counts; remove the rest before multiplying, or digits are lost.
        ex, ey = edge_vector(polygon, mode)
        share = (ex * s[1] + ey * s[2] + (ex * ds[1] + ey * ds[2])) / (ex * ex + ey * ey)
        y = -tangent * share * ex
        z = -tangent * share * ey
    projected_force(polygon, friction_bound(rows, c), mode, x, y, z, shift)


@kernel(inner=True)
def proximal_step(rows: ContactSystem, polygon: FrictionCone, search: SolverState, eps: float) -> None:
    """Take one proximal step in the modes whose matrix is factored: solve K dv = -h Y' B s, and add to the forces.

    The velocities and rates in the state are not updated.

    ``eps`` is the compliance in the matrix, 0 if each contact has its own.
    """
    # right side: impulses of the force changes at the present rates
    contacts = search.contacts
    dv = search.trial_v
    dv[:] = 0.0
    shift = search.scratch3_a
    ds = search.scratch3_b
    ds[:] = 0.0
    for c in range(contacts.p.shape[0]):
        force_increment(rows, polygon, contacts, c, eps, ds, shift)
        apply_contact_impulse(rows, polygon, c, shift, dv)
    # change of the velocities
    solve_panels(search.trees, search.K, dv)
    # forces at the changed rates
    for c in range(contacts.p.shape[0]):
        contact_rates(rows, polygon, c, dv, 0.0, ds)
        force_increment(rows, polygon, contacts, c, eps, ds, shift)
        for i in range(CONTACT_DIM):
            contacts.p[c, i] += shift[i]
        # The normal force of a moment cone equals the one of its contact to the bit, in all modes.
        if rows.nc <= c < rows.r.shape[0]:
            contacts.p[c, 0] = contacts.p[rows.cone_contacts[c], 0]


@kernel(inner=True)
def run_proximal_points(rows: ContactSystem, polygon: FrictionCone, search: SolverState, eps: float, most: int) -> int:
    """Make at most ``most`` proximal steps from the state's forces to rigid ones; return the systems formed.

    ``eps`` > 0: the matrix of the state's modes is already factored, for contacts of compliance eps.
    """
    formed = 0
    last = math.inf
    recover_velocity(rows, polygon, search)
    # modes of the present forces; stop at rounding, or if the residual no longer halves
    for _ in range(most):
        changed, turned, misfit = update_modes(rows, polygon, search, 0.0, 1.0)
        if misfit <= ROUNDING * search.speed or (changed == 0 and not misfit < 0.5 * last):
            break
        last = math.inf if changed > 0 else misfit
        if turned:
            recover_velocity(rows, polygon, search)
        # new modes need a new matrix
        if turned or (formed == 0 and eps == 0.0):
            eps = 0.0
            formed += 1
            if not factor_modes(rows, polygon, search, eps):
                break
        # step with the factored matrix
        proximal_step(rows, polygon, search, eps)
        recover_velocity(rows, polygon, search)
    return formed
