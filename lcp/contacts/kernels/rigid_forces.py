"""From compliant forces to rigid forces, and whether these are still the equal-compliance forces.

Proximal points remove the compliance, but can lead away from the equal-compliance forces. A contact that slides only as
far as its compliance is at its bound, and sticks in the rigid problem. In its sliding mode its compliant motion counts
as a rate that a force should stop. If rates contradict one another, each point adds to a self-stress. Forces that have
moved far are computed again in the modes of the compliance only.
"""

from __future__ import annotations

from typing import Final

from lcp.compiler.kernels import copy_array
from lcp.contacts.kernels.active_set import (
    MAX_ACTIVE_SET_STEPS,
    SELECTED_WITHIN,
    SMALL_ISLAND_CONTACTS,
    final_compliance,
    restore_step,
    save_step,
    solve_active_set,
)
from lcp.contacts.kernels.contact_law import (
    CONTACT_DIM,
    SLIDE_EDGE,
    FrictionCone,
    friction_bound,
    project_sliding,
    tangential_response,
)
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.proximal_points import (
    factor_modes,
    natural_residual,
    proximal_step,
    run_proximal_points,
    update_modes,
)
from lcp.contacts.kernels.solver_state import SolverState, copy_rows, recover_velocity, stay_near
from lcp.kernels import kernel

# With a compliance above this fraction of a contact's response proximal points do not converge.
SOFT: Final = 1e-4
# Maximum number of points. With many contacts, whose modes keep changing, Newton's method is more likely to succeed.
MANY_POINTS: Final = 20
FEW_POINTS: Final = 6
# Fraction of the tolerance at which points in the modes of the compliance have converged.
IN_MODES: Final = 0.3
# Factor between two compliances, and the number of compliances for which forces are compared.
DECADE: Final = 0.1
DECADES_ASKED: Final = 3


@kernel(inner=True)
def remove_compliance(
    rows: ContactSystem,
    polygon: FrictionCone,
    search: SolverState,
    eps: float,
    tolerance: float,
) -> int:
    """Compute rigid forces by proximal points, from the path's forces at compliance eps; return the number of systems.

    If eps is the path's end, the factored matrix is used again. ``tolerance`` is the tolerance of the problem.
    """
    # the factored matrix can be used only if eps is the path's end and small for every contact
    save_step(search)
    compliance = eps if eps == final_compliance(rows, search) else 0.0
    for c in range(rows.nc):
        if eps > SOFT * search.contacts.diagonal[c]:
            compliance = 0.0
    for c in range(rows.nc, rows.r.shape[0]):
        if eps > SOFT * tangential_response(rows, polygon, search.contacts, c):
            compliance = 0.0
    # proximal points in all modes
    # In large islands with polygons and without joints modes keep changing.
    polygons = polygon.r > 0 and not polygon.exact
    if rows.nc > SMALL_ISLAND_CONTACTS and polygons and search.joined.lo.shape[0] == 0:
        formed = remove_compliance_or_restore(rows, polygon, search, compliance, FEW_POINTS)
    else:
        formed = run_proximal_points(rows, polygon, search, compliance, MANY_POINTS)
    # accept forces near the compliant ones, otherwise keep their modes
    if stay_selected(search):
        return formed
    return formed + remove_compliance_in_modes(rows, polygon, search, eps, IN_MODES * tolerance)


@kernel(inline=True)
def stay_selected(search: SolverState) -> bool:
    """Return True if the forces are near the saved compliant ones."""
    return stay_near(search, search.kept.start, SELECTED_WITHIN)


@kernel(inner=True)
def remove_compliance_or_restore(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, eps: float, most: int
) -> int:
    """Make at most ``most`` proximal points; keep the forces in the previous modes if their residual is smaller.

    Return the number of systems formed.
    """
    # residual of the forces at entry
    contacts = search.contacts
    copy_rows(contacts.p, search.kept.fixed)
    recover_velocity(rows, polygon, search)
    _, _, before = update_modes(rows, polygon, search, 0.0, 1.0)
    # proximal points from the saved modes
    copy_rows(search.kept.fixed, contacts.p)
    copy_array(search.previous_modes, contacts.mode)
    formed = run_proximal_points(rows, polygon, search, eps, most)
    # residual of the new forces
    copy_rows(contacts.p, search.kept.moving)
    recover_velocity(rows, polygon, search)
    _, _, misfit = update_modes(rows, polygon, search, 0.0, 1.0)
    # keep the forces of smaller residual
    copy_rows(search.kept.moving if misfit <= before else search.kept.fixed, contacts.p)
    recover_velocity(rows, polygon, search)
    return formed


@kernel(inner=True)
def remove_compliance_in_modes(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, eps: float, close: float
) -> int:
    """Remove the compliance by two proximal points from the saved forces, whose modes stay fixed.

    If rates contradict one another, both points move equally far along the self-stress. So the second move is
    subtracted from the first point. The previous forces are restored if the residual of the new ones is larger, and
    larger than ``close``, as a fraction of the speeds. Return the number of systems formed, 1.
    """
    # residual of the rigid forces so far
    contacts = search.contacts
    keep_rigid_forces(search)
    before = natural_residual(rows, polygon, search)
    # return to the compliant forces and modes
    copy_rows(search.kept.start, contacts.p)
    restore_step(search)
    recover_velocity(rows, polygon, search)
    # sliding directions of each contact in its mode
    for c in range(contacts.p.shape[0]):
        s = contacts.s[c]
        if polygon.exact and contacts.mode[c] >= SLIDE_EDGE:
            x = -s[0] / (rows.gamma[rows.cone_contacts[c]] + eps)
            project_sliding(
                polygon, friction_bound(rows, c), c, False, eps, x, -s[1] / eps, -s[2] / eps, search.scratch3_a
            )
    # matrix of these modes
    if factor_modes(rows, polygon, search, eps):
        # first proximal point, then the second from there
        proximal_step(rows, polygon, search, eps)
        copy_rows(contacts.p, search.kept.moving)
        recover_velocity(rows, polygon, search)
        proximal_step(rows, polygon, search, eps)
        # subtract the second motion from the first
        for c in range(rows.r.shape[0]):
            for i in range(CONTACT_DIM):
                contacts.p[c, i] = 2.0 * search.kept.moving[c, i] - contacts.p[c, i]
    # keep the rigid forces if they were better
    if not natural_residual(rows, polygon, search) <= max(before, close * search.speed):
        restore_rigid_forces(rows, polygon, search)
    return 1


@kernel(inner=True)
def keep_rigid_forces(search: SolverState) -> None:
    """Copy the state's forces to ``kept.fixed``, and the previous forces of joint rows to ``kept.previous_p``."""
    copy_rows(search.contacts.p, search.kept.fixed)
    copy_array(search.joined.previous_p, search.kept.previous_p)


@kernel(inner=True)
def restore_rigid_forces(rows: ContactSystem, polygon: FrictionCone, search: SolverState) -> None:
    """Restore the forces saved by `keep_rigid_forces`, and compute their velocities and rates."""
    copy_rows(search.kept.fixed, search.contacts.p)
    copy_array(search.kept.previous_p, search.joined.previous_p)
    recover_velocity(rows, polygon, search)


@kernel(inner=True)
def check_selection(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, eps: float, close: bool
) -> tuple[bool, int]:
    """Return whether the state's forces are equal-compliance forces, and the number of systems solved.

    They are if the compliant problem, solved from their modes with a compliance below eps, has forces near them. Forces
    far from the path's end are compared at some decades. If rates contradict one another, a contact slides or opens in
    between. After that the forces hardly change. Forces that are ``close`` to the path's end are compared at one
    decade, and are equal-compliance forces too if the modes do not converge.
    """
    keep_rigid_forces(search)
    systems, selected = 0, False
    for _ in range(1 if close else DECADES_ASKED):
        eps *= DECADE
        update_modes(rows, polygon, search, 0.0, 1.0)
        solved = solve_active_set(rows, polygon, search, eps, MAX_ACTIVE_SET_STEPS)
        selected = stay_near(search, search.kept.fixed, SELECTED_WITHIN) or (close and solved == 0)
        restore_rigid_forces(rows, polygon, search)
        systems += max(solved, 1)
        if selected:
            break
    return selected, systems
