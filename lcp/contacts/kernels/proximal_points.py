"""Proximal points: from given forces to the forces of the rigid problem, in the modes of rates and forces.

Forces p0 with rates s lead to p = P(p0 - s / eps) (`contact_law`), with eps a small fraction of each diagonal response.
A step leaves about this fraction of the rates, and forces change as little as possible, also if rows are dependent.
This is the method of multipliers (Hestenes 1969, Powell 1969) with a primal-dual active set (Alart and Curnier 1991;
Hintermueller, Ito and Kunisch 2002).
"""

from __future__ import annotations

import math
from typing import Final

from lcp.contacts.kernels.column_ranges import row_dot
from lcp.contacts.kernels.contact_law import (
    CONTACT_DIM,
    OPEN,
    SLIDE_EDGE,
    ContactState,
    FrictionCone,
    contact_rates,
    edge_vector,
    fill_force_jacobian,
    friction_bound,
    mode_of,
    project_sliding,
    projected_force,
    tangential_response,
)
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.elimination import factor_panels, solve_panels
from lcp.contacts.kernels.mode_system import apply_contact_impulse, apply_row_impulse, form_system
from lcp.contacts.kernels.solver_state import SolverState, recover_velocity
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
    contacts, joined = search.contacts, search.joined
    soft_misfit = eps > 0.0 and not polygon.exact
    changed = 0
    turned = False
    misfit = 0.0
    aim = search.scratch3_a
    # contacts: the force that would cancel the rates, and its mode
    for c in range(contacts.p.shape[0]):
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
    for i in range(joined.p.shape[0]):
        own = joined.diagonal[i]
        soft = JOINT_COMPLIANCE * own
        was = joined.slope[i]
        joined.slope[i] = 0.0
        aimed = joined.p[i]
        if own > 0.0:
            kept = soft * (aimed - joined.previous_p[i]) if eps > 0.0 else 0.0
            aimed -= (joined.s[i] + joined.gamma[i] * aimed + kept) / own
            if joined.lo[i] < aimed < joined.hi[i]:
                joined.slope[i] = 1.0 / (joined.gamma[i] + soft)
        aimed = min(max(aimed, joined.lo[i]), joined.hi[i])
        misfit = max(misfit, (soft if soft_misfit else own) * abs(joined.p[i] - aimed))
        # Also from one bound to the other.
        if keep:
            joined.slope[i] = was
        elif joined.slope[i] != was or (joined.slope[i] == 0.0 and joined.p[i] != aimed):
            changed += 1
            if joined.slope[i] == 0.0:
                joined.p[i] = aimed
    return changed, changed > 0 or turned, misfit


@kernel(inner=True)
def natural_residual(rows: ContactSystem, polygon: FrictionCone, search: SolverState) -> float:
    """Fill v and s of the forces; return the largest speed by which a row violates its law."""
    recover_velocity(rows, polygon, search)
    _, _, misfit = update_modes(rows, polygon, search, 0.0, 1.0, True)
    return misfit


@kernel(inner=True)
def stiffness_of(
    rows: ContactSystem, polygon: FrictionCone, contacts: ContactState, c: int, eps: float
) -> tuple[float, float]:
    """Return the stiffness 1 / compliance of contact c along its normal and along its tangents.

    The compliance is eps. If eps is 0, it is the contact's own: its response over `STIFFNESS`. The normal adds its
    softness.
    """
    normal = rows.cone_contacts[c]
    if eps > 0.0:
        return 1.0 / (rows.gamma[normal] + eps), 1.0 / eps
    tangent = STIFFNESS / tangential_response(rows, polygon, contacts, c)
    return 1.0 / (rows.gamma[normal] + contacts.diagonal[normal] / STIFFNESS), tangent


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
    x = -normal * (s[0] + rows.gamma[rows.cone_contacts[c]] * contacts.p[c, 0] + ds[0])
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
    contacts, joined = search.contacts, search.joined
    dv = search.trial_v
    dv[:] = 0.0
    shift = search.scratch3_a
    ds = search.scratch3_b
    ds[:] = 0.0
    for c in range(contacts.p.shape[0]):
        force_increment(rows, polygon, contacts, c, eps, ds, shift)
        apply_contact_impulse(rows, polygon, c, shift, dv)
    # joint rows add the changes of their free forces
    first = rows.nc + rows.nr
    for i in range(joined.p.shape[0]):
        change = -joined.slope[i] * (joined.s[i] + joined.gamma[i] * joined.p[i])
        apply_row_impulse(rows, first + i, change, dv)
    # change of the velocities
    solve_panels(search.trees, search.K, dv)
    # contact forces at the changed rates
    for c in range(contacts.p.shape[0]):
        contact_rates(rows, polygon, c, dv, 0.0, ds)
        force_increment(rows, polygon, contacts, c, eps, ds, shift)
        for i in range(CONTACT_DIM):
            contacts.p[c, i] += shift[i]
        # The normal force of a moment cone equals the one of its contact to the bit, in all modes.
        contacts.p[c, 0] = contacts.p[rows.cone_contacts[c], 0]
    # joint forces at the changed rates
    for i in range(joined.p.shape[0]):
        rate = joined.s[i] + row_dot(rows, first + i, dv)
        joined.p[i] -= joined.slope[i] * (rate + joined.gamma[i] * joined.p[i])


@kernel(inner=True)
def run_proximal_points(rows: ContactSystem, polygon: FrictionCone, search: SolverState, eps: float, most: int) -> int:
    """Make at most ``most`` proximal steps from the state's forces to rigid ones; return the systems formed.

    ``eps`` > 0: the matrix of the state's modes is already factored, for contacts of compliance eps.
    """
    contacts, joined = search.contacts, search.joined
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
            for c in range(contacts.p.shape[0]):
                normal, tangent = stiffness_of(rows, polygon, contacts, c, eps)
                fill_force_jacobian(rows, polygon, c, contacts.mode[c], normal, tangent, contacts.B[c])
            form_system(rows, polygon, contacts, joined.slope, search.trees, search.W, search.K)
            formed += 1
            if not factor_panels(search.trees, search.K, search.W[0]):
                break
        # step with the factored matrix
        proximal_step(rows, polygon, search, eps)
        recover_velocity(rows, polygon, search)
    return formed
