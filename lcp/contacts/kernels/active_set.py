"""Active set method for contacts of compliance eps with rigid joint rows.

All contacts have the compliance eps in every direction, so rates s give the forces P(-s / eps) (`contact_law`). The
velocities then solve an equation without redundancy: modes give forces and rates, which give new modes. Forces of joint
rows are kept from one eps to the next. The limit for small eps are the equal-compliance forces. They are found from the
modes of given forces, for the final eps directly or for decreasing ones.

Block Gauss-Seidel over the contacts (Jourdan, Alart and Jean 1998) shows quickly which contacts carry load and which
slide; the active set starts from these modes. A sweep computes each force from the rate of its row only, and updates
the velocities.
"""

from __future__ import annotations

import math
from typing import Final

from lcp.compiler.kernels import copy_array
from lcp.contacts.kernels.contact_law import (
    CONTACT_DIM,
    SLIDE_EDGE,
    FrictionCone,
    contact_rates,
    fill_contact_rates,
    friction_bound,
    mode_of,
    normal_row,
    projected_force,
    proximal_response,
    tangential_response,
)
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.elimination import solve_panels
from lcp.contacts.kernels.mode_system import apply_contact_impulse
from lcp.contacts.kernels.proximal_points import (
    ROUNDING,
    bounded_force,
    compliance_of,
    factor_modes,
    fill_mode_force,
    update_modes,
)
from lcp.contacts.kernels.solver_state import SolverState, center_rows, copy_rows
from lcp.kernels import kernel

# Newton steps from given modes.
MAX_ACTIVE_SET_STEPS: Final = 6
# This number of modes can change in any iteration.
MAX_MODE_CHANGES: Final = 8
# Discs need this factor more iterations, because their corners rotate; residual, as a fraction of the speeds, at which
# they end.
CIRCULAR_STEP_FACTOR: Final = 3
CONVERGENCE_TOLERANCE: Final = 1e-8
# If modes keep changing, forces are accepted within this fraction of the largest force from the law of their rates, or
# within the error of these rates.
NEAR_LAW: Final = 1e-6
# If a disc slides only by its compliance, its rotation is too small to show; its forces can be off by more than this.
CREEPING: Final = 1e-3
# Rounds in which the forces of joint rows are kept.
JOINT_ROUNDS: Final = 3
# Final compliance: this fraction of the smallest diagonal response, at least this fraction of the largest.
MIN_COMPLIANCE: Final = 1e-7
SMALLEST_COMPLIANCE: Final = 1e-9
# Factor between two compliances; Newton steps for each; systems after which the continuation is given up.
SHRINK: Final = 0.03
STEPS: Final = 8
MAX_SYSTEMS: Final = 150
# Contacts up to which many proximal points are used to reach the rigid problem.
SMALL_ISLAND_CONTACTS: Final = 64
# Steps after which the next one is longer; factor at which the continuation is given up.
FAST_STEP_ITERATIONS: Final = 3
MAX_SHRINK: Final = 0.9
# The rigid forces are the selected ones if they differ from the forces at the path's end by at most this fraction of
# the largest. If gaps contradict one another, proximal points can lead to others.
SELECTED_WITHIN: Final = 1e-3


@kernel(inner=True)
def fill_rhs(rows: ContactSystem, polygon: FrictionCone, search: SolverState, eps: float) -> None:
    """Fill the right side of the system of the given modes: the forces at zero velocity, and the v they give.

    ``search.v`` becomes v_free + h sum Y' p, with the forces p of contacts of compliance eps and of joint rows.
    """
    contacts, v = search.contacts, search.v
    # In given modes forces are linear in the rates. At zero velocity they are the forces of the known terms.
    search.trial_v[:] = 0.0
    copy_array(rows.v_free, v)
    fill_contact_rates(rows, polygon, search.trial_v, 1.0, contacts.s)
    for c in range(contacts.p.shape[0]):
        compliant_force(rows, polygon, search, c, eps)
        apply_contact_impulse(rows, polygon, c, contacts.p[c], v)


@kernel(inner=True)
def compliant_force(rows: ContactSystem, polygon: FrictionCone, search: SolverState, c: int, eps: float) -> None:
    """Set the force of contact c in its mode at its rates in the state.

    ``eps`` is its compliance, to which the normal adds its own softness. A joint row has its own compliance, about its
    force from before.
    """
    s, soft, row = search.contacts.s[c], compliance_of(rows, search.contacts, c, eps), normal_row(rows, c)
    held = soft * search.joined.previous_p[c - rows.r.shape[0]] if c >= rows.r.shape[0] else 0.0
    x = (held - s[0]) / (rows.gamma[row] + soft)
    fill_mode_force(rows, polygon, search.contacts, c, x, -s[1] / soft, -s[2] / soft)


@kernel(inner=True)
def law_violation(rows: ContactSystem, polygon: FrictionCone, search: SolverState, eps: float) -> tuple[float, float]:
    """Return the largest error |p - P(-s / eps)| of the contacts' forces, and the largest normal force.

    P is the projection to the cone, for any mode. A residual as a fraction of the speeds is not enough. With redundant
    rows an error of the rates, as a fraction of the compliant ones, is the same fraction of the largest force.
    """
    # difference of each force from the projection of its compliant force
    contacts, law = search.contacts, search.scratch3_a
    largest = 0.0
    off = 0.0
    for c in range(rows.r.shape[0]):
        p, s = contacts.p[c], contacts.s[c]
        x = -s[0] / (rows.gamma[rows.cone_contacts[c]] + eps)
        y, z, mu = -s[1] / eps, -s[2] / eps, friction_bound(rows, c)
        mode = mode_of(polygon, mu, c, x, y, z)
        projected_force(polygon, mu, mode, x, y, z, law)
        if polygon.exact and mode >= SLIDE_EDGE:
            share = mu * x / math.sqrt(y * y + z * z)
            law[1], law[2] = share * y, share * z
        for i in range(CONTACT_DIM):
            off = max(off, abs(p[i] - law[i]))
        largest = max(largest, p[0])
    return off, largest


@kernel(inner=True)
def follows_law(rows: ContactSystem, polygon: FrictionCone, search: SolverState, eps: float, part: float) -> bool:
    """Return True if the forces follow their law to ``part`` of the largest, or to the error of the rates."""
    off, largest = law_violation(rows, polygon, search, eps)
    return off <= max(part * largest, ROUNDING * search.speed / eps)


@kernel(inner=True)
def iterate_active_set(rows: ContactSystem, polygon: FrictionCone, search: SolverState, eps: float, most: int) -> int:
    """Iterate the active set at compliance eps; return the systems solved, negative if the modes did not converge.

    This is a primal-dual active set method: modes give forces and rates, which give new modes. If many modes change
    together, they are far from converged.
    """
    contacts, v = search.contacts, search.v
    # The corner of a nearly unloaded disc is rounding, and keeps rotating.
    settled = (CONVERGENCE_TOLERANCE if polygon.exact else ROUNDING) * search.speed
    found = False
    for step in range(CIRCULAR_STEP_FACTOR * most if polygon.exact else most):
        # form and factor the matrix of the modes
        if not factor_modes(rows, polygon, search, eps):
            return -step - 1
        if found:
            return step
        # velocities, rates and forces in these modes
        fill_rhs(rows, polygon, search, eps)
        solve_panels(search.trees, search.K, v)
        fill_contact_rates(rows, polygon, v, 1.0, contacts.s)
        for c in range(contacts.p.shape[0]):
            compliant_force(rows, polygon, search, c, eps)
        # new modes: the same ones end the iteration
        changed, turned, misfit = update_modes(rows, polygon, search, eps, 1.0)
        if not turned:
            return step + 1
        # nearly the same ones end it if the forces follow their law
        found = misfit <= settled and follows_law(rows, polygon, search, eps, NEAR_LAW)
        if found and not polygon.exact:
            return step + 1
        # many changes after the first step: far from converged
        if step > 0 and changed > max(MAX_MODE_CHANGES, rows.r.shape[0] // 4) and not polygon.exact:
            return -step - 1
    # circular cones that converge in the last step
    if found and factor_modes(rows, polygon, search, eps):
        return CIRCULAR_STEP_FACTOR * most
    return -most


@kernel(inner=True)
def solve_rigid_joint_rows(rows: ContactSystem, polygon: FrictionCone, search: SolverState, eps: float) -> int:
    """Make the joint rows rigid by proximal rounds, with contacts of compliance eps.

    Return the number of active-set steps, or -1 if the modes of a round did not converge.
    """
    # each round starts at the forces of the last one
    steps = 0
    for _ in range(JOINT_ROUNDS if search.joined.lo.shape[0] > 0 else 0):
        center_rows(search)
        more = iterate_active_set(rows, polygon, search, eps, MAX_ACTIVE_SET_STEPS)
        if more < 0:
            return -1
        steps += more
    return steps


@kernel(inner=True)
def solve_active_set(rows: ContactSystem, polygon: FrictionCone, search: SolverState, eps: float, most: int) -> int:
    """Solve for the forces at compliance eps with rigid joint rows; return the systems solved, or 0 on failure."""
    solved = iterate_active_set(rows, polygon, search, eps, most)
    if solved < 0:
        return 0
    more = solve_rigid_joint_rows(rows, polygon, search, eps)
    return 0 if more < 0 else solved + more


@kernel(inner=True)
def sweep(rows: ContactSystem, polygon: FrictionCone, search: SolverState, eps: float) -> None:
    """Update every force once by Gauss-Seidel; contacts have the compliance eps, joint rows have none."""
    contacts, v = search.contacts, search.v
    aim, change = search.scratch3_a, search.scratch3_b
    for c in range(contacts.p.shape[0]):
        # force that cancels the rate of its own rows
        p, normal, joint = contacts.p[c], normal_row(rows, c), c >= rows.r.shape[0]
        if joint and not contacts.diagonal[normal] > 0.0:
            continue
        contact_rates(rows, polygon, c, v, 1.0, change)
        soft = 0.0 if joint else eps
        x = p[0] - (change[0] + (rows.gamma[normal] + soft) * p[0]) / (contacts.diagonal[normal] + soft)
        if joint:
            aim[0], aim[1], aim[2] = bounded_force(rows, search, c, x), 0.0, 0.0
        else:
            # A moment is bounded by the new force of its contact. Friction is projected together with this force.
            x = x if c < rows.nc else contacts.p[normal, 0]
            soft = tangential_response(rows, polygon, contacts, c) + eps
            y = p[1] - (change[1] + eps * p[1]) / soft
            z = p[2] - (change[2] + eps * p[2]) / soft
            proximal_response(rows, polygon, c, soft, x, y, z, aim)
        # apply the change of the force to the velocities
        for i in range(CONTACT_DIM):
            change[i] = aim[i] - p[i]
            p[i] = aim[i]
        apply_contact_impulse(rows, polygon, c, change, v)


@kernel(inner=True)
def range_of_responses(rows: ContactSystem, search: SolverState) -> tuple[float, float]:
    """Return the smallest and the largest response of a contact along its normal."""
    least = math.inf
    largest = 0.0
    for c in range(rows.nc):
        least = min(least, search.contacts.diagonal[c])
        largest = max(largest, search.contacts.diagonal[c])
    return least, largest


@kernel(inner=True)
def final_compliance(rows: ContactSystem, search: SolverState) -> float:
    """Return the compliance at which the continuation ends."""
    least, largest = range_of_responses(rows, search)
    return max(MIN_COMPLIANCE * least, SMALLEST_COMPLIANCE * largest)


@kernel(inner=True)
def continue_to_compliance(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, eps: float, end: float
) -> tuple[bool, int]:
    """Reduce the compliance in steps from eps, whose forces and modes are in the state, to ``end``.

    A step whose modes do not converge is repeated with a shorter one. If steps become too short or systems too many,
    the state has the last accepted forces. Return whether the end was reached, and the number of systems solved.
    """
    contacts = search.contacts
    solved, shrink, last = 0, SHRINK, eps
    save_step(search)
    while last > end:
        eps = max(end, shrink * last)
        more = iterate_active_set(rows, polygon, search, eps, STEPS)
        if more >= 0:
            solved += more
            save_step(search)
            last = eps
            if more <= FAST_STEP_ITERATIONS:
                shrink = max(SHRINK, shrink * shrink)
            continue
        # Make a shorter step from the last accepted compliance.
        solved += STEPS
        restore_step(search)
        shrink = math.sqrt(shrink)
        if shrink > MAX_SHRINK or solved > MAX_SYSTEMS:
            copy_rows(search.kept.start, contacts.p)
            return False, solved
    return True, solved


@kernel(inner=True)
def save_step(search: SolverState) -> None:
    """Save the modes and forces from which the next step is made."""
    copy_rows(search.contacts.p, search.kept.start)
    copy_array(search.contacts.mode, search.previous_modes)
    center_rows(search)


@kernel(inner=True)
def restore_step(search: SolverState) -> None:
    """Restore the modes and the forces of joint rows that `save_step` saved."""
    p, before = search.contacts.p, search.joined.previous_p
    copy_array(search.previous_modes, search.contacts.mode)
    for i in range(before.shape[0]):
        p[p.shape[0] - before.shape[0] + i, 0] = before[i]
