"""From forces of compliant contacts to rigid forces, and whether these are still the equal-compliance forces.

Proximal points take the compliance out. They may lead away: a contact that slides as far as it gives way, and no
farther, is at its bound and sticks in the rigid problem, and in modes of its own what it gave way by is taken for a
rate that a force is to stop; where rates contradict one another each point adds to a self-stress. Forces that have gone
far are sought once more in the modes of the compliance alone.
"""

from __future__ import annotations

from typing import Final

from lcp.contacts.kernels.active_set import MAX_ACTIVE_SET_STEPS, compliant_stiffness, solve_active_set
from lcp.contacts.kernels.compliance_continuation import (
    SELECTED_WITHIN,
    SMALL_ISLAND_CONTACTS,
    SavedStep,
    final_compliance,
    restore_step,
    save_step,
)
from lcp.contacts.kernels.contact_law import (
    CONTACT_DIM,
    FrictionCone,
    friction_bound,
    project_sliding,
    tangential_response,
)
from lcp.contacts.kernels.contact_modes import SLIDE_EDGE
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.elimination import factor_panels
from lcp.contacts.kernels.mode_system import form_system
from lcp.contacts.kernels.proximal_newton import natural_residual
from lcp.contacts.kernels.proximal_points import proximal_step, run_proximal_points, update_modes
from lcp.contacts.kernels.solver_state import SolverState, copy_rows, recover_velocity, stay_near
from lcp.kernels import kernel

# A compliance of more than this part of a contact's own response is none for proximal points to converge with.
SOFT: Final = 1e-4
# Points at most; where there are many contacts, whose modes go on changing, Newton's method has more of a chance.
MANY_POINTS: Final = 20
FEW_POINTS: Final = 6
# Part of the tolerance at which points in the modes of the compliance have arrived.
IN_MODES: Final = 0.3
# From one compliance to the next smaller one, and so many of them are asked whether forces are theirs.
DECADE: Final = 0.1
DECADES_ASKED: Final = 3


@kernel(inline=True)
def is_large_island(rows: ContactSystem, polygon: FrictionCone, search: SolverState) -> bool:
    """Whether there are so many contacts, with edges and without joints, that modes go on changing."""
    return rows.nc > SMALL_ISLAND_CONTACTS and polygon.r > 0 and not polygon.exact and search.joined.p.shape[0] == 0


@kernel(inner=True)
def remove_compliance(
    rows: ContactSystem,
    polygon: FrictionCone,
    search: SolverState,
    kept: SavedStep,
    eps: float,
    tolerance: float,
) -> int:
    """Go from the branch at eps, saved with its modes, to rigid forces by proximal points; systems formed.

    Where eps is the branch's end its matrix is factored. ``tolerance`` is the case's.
    """
    save_step(search, kept)
    compliance = eps if eps == final_compliance(rows, search) else 0.0
    for c in range(rows.nc):
        if eps > SOFT * search.contacts.diagonal[c]:
            compliance = 0.0
    for c in range(rows.nc, rows.r.shape[0]):
        if eps > SOFT * tangential_response(rows, polygon, search.contacts, c):
            compliance = 0.0
    if is_large_island(rows, polygon, search):
        formed = remove_compliance_or_restore(rows, polygon, search, kept, compliance, FEW_POINTS)
    else:
        formed = run_proximal_points(rows, polygon, search, compliance, MANY_POINTS)
    if stay_selected(search, kept):
        return formed
    return formed + harden_in_modes(rows, polygon, search, kept, eps, IN_MODES * tolerance)


@kernel(inline=True)
def stay_selected(search: SolverState, kept: SavedStep) -> bool:
    """Whether the forces are near those kept, of contacts that give way."""
    return stay_near(search, kept.start, SELECTED_WITHIN)


@kernel(inner=True)
def remove_compliance_or_restore(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, kept: SavedStep, eps: float, most: int
) -> int:
    """Take proximal points, or the earlier modes' forces if these solve the rigid problem better; systems."""
    contacts = search.contacts
    copy_rows(contacts.p, kept.fixed)
    recover_velocity(rows, polygon, search)
    _, _, before = update_modes(rows, polygon, search, 0.0, 1.0)
    copy_rows(kept.fixed, contacts.p)
    for c in range(search.previous_modes.shape[0]):
        contacts.mode[c] = search.previous_modes[c]
    formed = run_proximal_points(rows, polygon, search, eps, most)
    copy_rows(contacts.p, kept.moving)
    recover_velocity(rows, polygon, search)
    _, _, misfit = update_modes(rows, polygon, search, 0.0, 1.0)
    copy_rows(kept.moving if misfit <= before else kept.fixed, contacts.p)
    recover_velocity(rows, polygon, search)
    return formed


@kernel(inner=True)
def harden_in_modes(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, kept: SavedStep, eps: float, close: float
) -> int:
    """Take proximal points from the saved forces in their modes only; systems formed.

    Two points: where rates contradict one another the second goes as far along the self-stress as the first, and is
    taken off it. The forces before are put back where these are off the rigid problem by more, and by more than
    ``close``, in parts of the speeds.
    """
    contacts, joined = search.contacts, search.joined
    hold(search, kept)
    before = natural_residual(rows, polygon, search)
    copy_rows(kept.start, contacts.p)
    restore_step(search)
    recover_velocity(rows, polygon, search)
    for c in range(contacts.p.shape[0]):
        s = contacts.s[c]
        if polygon.exact and contacts.mode[c] >= SLIDE_EDGE:
            x = -s[0] / (rows.gamma[rows.cone_contacts[c]] + eps)
            project_sliding(
                polygon, friction_bound(rows, c), c, False, eps, x, -s[1] / eps, -s[2] / eps, search.scratch3_a
            )
        compliant_stiffness(rows, polygon, contacts, c, eps)
    form_system(rows, polygon, contacts, joined.slope, search.trees, search.W, search.K)
    if factor_panels(search.trees, search.K, search.W[0]):
        proximal_step(rows, polygon, search, eps)
        copy_rows(contacts.p, kept.moving)
        recover_velocity(rows, polygon, search)
        proximal_step(rows, polygon, search, eps)
        for c in range(contacts.p.shape[0]):
            for i in range(CONTACT_DIM):
                contacts.p[c, i] = 2.0 * kept.moving[c, i] - contacts.p[c, i]
    if not natural_residual(rows, polygon, search) <= max(before, close * search.speed):
        put_back(rows, polygon, search, kept)
    return 1


@kernel(inner=True)
def hold(search: SolverState, kept: SavedStep) -> None:
    """Save the forces of contacts and of joint rows."""
    joined = search.joined
    copy_rows(search.contacts.p, kept.fixed)
    for i in range(joined.p.shape[0]):
        kept.joined[0, i] = joined.p[i]
        kept.joined[1, i] = joined.previous_p[i]


@kernel(inner=True)
def put_back(rows: ContactSystem, polygon: FrictionCone, search: SolverState, kept: SavedStep) -> None:
    """Take the forces that `hold` has noted."""
    joined = search.joined
    copy_rows(kept.fixed, search.contacts.p)
    for i in range(joined.p.shape[0]):
        joined.p[i] = kept.joined[0, i]
        joined.previous_p[i] = kept.joined[1, i]
    recover_velocity(rows, polygon, search)


@kernel(inner=True)
def lead_back(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, kept: SavedStep, eps: float
) -> tuple[bool, int]:
    """Whether forces, far from those of the branch's end, are still of contacts that give way alike; systems formed.

    They are so where their own modes lead back to them for a compliance some decades below eps: where rates contradict
    one another, a contact slides or opens on the way, and what comes then changes no more.
    """
    hold(search, kept)
    systems = 0
    near = False
    for _ in range(DECADES_ASKED):
        eps *= DECADE
        more, near = ask_compliance(rows, polygon, search, kept, eps)
        systems += max(more, 1)
        if near:
            break
    return near, systems


@kernel(inner=True)
def lead_elsewhere(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, kept: SavedStep, eps: float
) -> tuple[bool, int]:
    """Whether a compliance a decade below eps leads from forces, near those of the branch's end, to others; systems."""
    hold(search, kept)
    systems, near = ask_compliance(rows, polygon, search, kept, DECADE * eps)
    return systems > 0 and not near, max(systems, 1)


@kernel(inner=True)
def ask_compliance(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, kept: SavedStep, eps: float
) -> tuple[int, bool]:
    """Solve for contacts that give way by eps, from the modes of the forces held, and take these back.

    Systems solved, 0 if the modes go on changing; and whether the forces are near the ones held.
    """
    update_modes(rows, polygon, search, 0.0, 1.0)
    systems = solve_active_set(rows, polygon, search, eps, MAX_ACTIVE_SET_STEPS)
    near = stay_near(search, kept.fixed, SELECTED_WITHIN)
    put_back(rows, polygon, search, kept)
    return systems, near
