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
from typing import Final, NamedTuple

from lcp.compiler.views import view_2d
from lcp.contacts.kernels.column_ranges import row_dot
from lcp.contacts.kernels.contact_law import (
    CONTACT_DIM,
    SLIDE_EDGE,
    ContactState,
    FrictionCone,
    contact_rates,
    fill_contact_rates,
    fill_force_jacobian,
    friction_bound,
    mode_of,
    projected_force,
    proximal_response,
    tangential_response,
)
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.elimination import factor_panels, solve_panels
from lcp.contacts.kernels.mode_system import apply_contact_impulse, apply_row_impulse, form_system
from lcp.contacts.kernels.proximal_points import JOINT_COMPLIANCE, ROUNDING, update_modes
from lcp.contacts.kernels.solver_state import JointRowState, SolverState, copy_rows
from lcp.kernels import Floats, kernel

# Newton steps from given modes.
MAX_ACTIVE_SET_STEPS: Final = 6
# This number of modes can change in any iteration.
MAX_MODE_CHANGES: Final = 8
# Discs need this factor more iterations, because their corners rotate; residual, as a fraction of the speeds, at which
# they end.
CIRCULAR_STEP_FACTOR: Final = 2
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


class SavedStep(NamedTuple):
    """Forces of contacts and joint rows that a step saves in order to restore them."""

    start: Floats  # (ncone, 3) forces from which the next compliance is tried
    fixed: Floats  # (ncone, 3)
    moving: Floats  # (ncone, 3)
    joined: Floats  # (2, nj) forces of joint rows, and previous ones


@kernel(inner=True)
def fill_rhs(rows: ContactSystem, polygon: FrictionCone, search: SolverState, eps: float) -> None:
    """Fill the right side of the system of the given modes: the forces at zero velocity, and the v they give.

    ``search.v`` becomes v_free + h sum Y' p, with the forces p of contacts of compliance eps and of joint rows.
    """
    contacts, joined, v = search.contacts, search.joined, search.v
    first = rows.nc + rows.nr
    # In given modes forces are linear in the rates. At zero velocity they are the forces of the known terms.
    search.trial_v[:] = 0.0
    for p in range(v.shape[0]):
        v[p] = rows.v_free[p]
    fill_contact_rates(rows, polygon, search.trial_v, 1.0, contacts.s)
    for c in range(contacts.p.shape[0]):
        compliant_force(rows, polygon, contacts, c, eps)
        apply_contact_impulse(rows, polygon, c, contacts.p[c], v)
    for i in range(joined.p.shape[0]):
        joined.s[i] = rows.k[first + i]
        joint_row_force(joined, i)
        apply_row_impulse(rows, first + i, joined.p[i], v)


@kernel(inner=True)
def compliant_force(rows: ContactSystem, polygon: FrictionCone, contacts: ContactState, c: int, eps: float) -> None:
    """Set ``contacts.p[c]`` to the force of contact c in its mode at its rates ``contacts.s[c]``.

    ``eps`` is its compliance, to which the normal adds its own softness.
    """
    s = contacts.s[c]
    x = -s[0] / (rows.gamma[rows.cone_contacts[c]] + eps)
    projected_force(polygon, friction_bound(rows, c), contacts.mode[c], x, -s[1] / eps, -s[2] / eps, contacts.p[c])


@kernel(inner=True)
def compliant_stiffness(rows: ContactSystem, polygon: FrictionCone, contacts: ContactState, c: int, eps: float) -> None:
    """Fill ``contacts.B[c]`` with minus the derivative of `compliant_force` by the rates, in the contact's mode."""
    normal = 1.0 / (rows.gamma[rows.cone_contacts[c]] + eps)
    fill_force_jacobian(rows, polygon, c, contacts.mode[c], normal, 1.0 / eps, contacts.B[c])


@kernel(inner=True)
def joint_row_force(joined: JointRowState, i: int) -> None:
    """Set the force of joint row i, if it is between its bounds, from its rate; a force at a bound stays."""
    if joined.slope[i] > 0.0:
        joined.p[i] = (JOINT_COMPLIANCE * joined.diagonal[i] * joined.previous_p[i] - joined.s[i]) * joined.slope[i]


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
    for c in range(contacts.p.shape[0]):
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
    """Iterate the active set at compliance eps; return the systems solved, or -1 if the modes did not converge.

    This is a primal-dual active set method: modes give forces and rates, which give new modes. If many modes change
    together, they are far from converged.
    """
    contacts, joined, v = search.contacts, search.joined, search.v
    first = rows.nc + rows.nr
    # The corner of a nearly unloaded disc is rounding, and keeps rotating.
    settled = (CONVERGENCE_TOLERANCE if polygon.exact else ROUNDING) * search.speed
    found = False
    for step in range(CIRCULAR_STEP_FACTOR * most if polygon.exact else most):
        # form and factor the matrix of the modes
        for c in range(contacts.p.shape[0]):
            compliant_stiffness(rows, polygon, contacts, c, eps)
        form_system(rows, polygon, contacts, joined.slope, search.trees, search.W, search.K)
        if not factor_panels(search.trees, search.K, search.W[0]):
            return -1
        if found:
            return step
        # velocities, rates and forces in these modes
        fill_rhs(rows, polygon, search, eps)
        solve_panels(search.trees, search.K, v)
        fill_contact_rates(rows, polygon, v, 1.0, contacts.s)
        for c in range(contacts.p.shape[0]):
            compliant_force(rows, polygon, contacts, c, eps)
        for i in range(joined.p.shape[0]):
            joined.s[i] = row_dot(rows, first + i, v) + rows.k[first + i]
            joint_row_force(joined, i)
        # new modes: the same ones end the iteration
        changed, turned, misfit = update_modes(rows, polygon, search, eps, 1.0)
        if not turned:
            return step + 1
        # nearly the same ones end it if the forces follow their law
        found = misfit <= settled and follows_law(rows, polygon, search, eps, NEAR_LAW)
        if found and not polygon.exact:
            return step + 1
        # many changes after the first step: far from converged
        if step > 0 and changed > max(MAX_MODE_CHANGES, contacts.p.shape[0] // 4) and not polygon.exact:
            return -1
    return -1


@kernel(inner=True)
def solve_rigid_joint_rows(rows: ContactSystem, polygon: FrictionCone, search: SolverState, eps: float) -> int:
    """Make the joint rows rigid by proximal rounds, with contacts of compliance eps.

    Return the number of active-set steps, or -1 if the modes of a round did not converge.
    """
    # each round starts at the forces of the last one
    joined = search.joined
    steps = 0
    for _ in range(JOINT_ROUNDS if joined.p.shape[0] > 0 else 0):
        for i in range(joined.p.shape[0]):
            joined.previous_p[i] = joined.p[i]
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
    # contacts: force that cancels the rate of its own rows
    contacts, joined, v = search.contacts, search.joined, search.v
    change = search.scratch3_b
    for c in range(contacts.p.shape[0]):
        p = contacts.p[c]
        contact_rates(rows, polygon, c, v, 1.0, change)
        soft = tangential_response(rows, polygon, contacts, c) + eps
        if c < rows.nc:
            x = p[0] - (change[0] + (rows.gamma[c] + eps) * p[0]) / (contacts.diagonal[c] + eps)
        else:
            # A moment is bounded by the new force of its contact.
            x = contacts.p[rows.cone_contacts[c], 0]
        # friction, projected together with the normal force
        y = p[1] - (change[1] + eps * p[1]) / soft
        z = p[2] - (change[2] + eps * p[2]) / soft
        proximal_response(rows, polygon, c, soft, x, y, z, search.scratch3_a)
        # apply the change of the force to the velocities
        for i in range(CONTACT_DIM):
            change[i] = search.scratch3_a[i] - p[i]
            p[i] = search.scratch3_a[i]
        apply_contact_impulse(rows, polygon, c, change, v)
    # joint rows: the same, with their bounds
    before = rows.nc + rows.nr
    for i in range(joined.p.shape[0]):
        if joined.diagonal[i] > 0.0:
            rate = row_dot(rows, before + i, v) + rows.k[before + i]
            force = joined.p[i] - (rate + joined.gamma[i] * joined.p[i]) / joined.diagonal[i]
            force = min(max(force, joined.lo[i]), joined.hi[i])
            apply_row_impulse(rows, before + i, force - joined.p[i], v)
            joined.p[i] = force


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


@kernel
def saved_step_float_size(ncone: int, nj: int) -> int:
    """Return the number of floats of `SavedStep`."""
    return 3 * CONTACT_DIM * ncone + 2 * nj


@kernel(inner=True)
def saved_step_views(ncone: int, nj: int, memory: Floats) -> SavedStep:
    """Return views of ``memory``, of `saved_step_float_size` numbers, as a `SavedStep`."""
    size = CONTACT_DIM * ncone
    return SavedStep(
        view_2d(memory, 0, ncone, CONTACT_DIM),
        view_2d(memory, size, ncone, CONTACT_DIM),
        view_2d(memory, 2 * size, ncone, CONTACT_DIM),
        view_2d(memory, 3 * size, 2, nj),
    )


@kernel(inner=True)
def continue_to_compliance(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, kept: SavedStep, eps: float, end: float
) -> tuple[bool, int]:
    """Reduce the compliance in steps from eps, whose forces and modes are in the state, to ``end``.

    A step whose modes do not converge is repeated with a shorter one. If steps become too short or systems too many,
    the state has the last accepted forces. Return whether the end was reached, and the number of systems solved.
    """
    contacts = search.contacts
    solved, shrink, last = 0, SHRINK, eps
    save_step(search, kept)
    while last > end:
        eps = max(end, shrink * last)
        more = iterate_active_set(rows, polygon, search, eps, STEPS)
        if more >= 0:
            solved += more
            save_step(search, kept)
            last = eps
            if more <= FAST_STEP_ITERATIONS:
                shrink = max(SHRINK, shrink * shrink)
            continue
        # Make a shorter step from the last accepted compliance.
        solved += STEPS
        restore_step(search)
        shrink = math.sqrt(shrink)
        if shrink > MAX_SHRINK or solved > MAX_SYSTEMS:
            copy_rows(kept.start, contacts.p)
            return False, solved
    return True, solved


@kernel(inner=True)
def save_step(search: SolverState, kept: SavedStep) -> None:
    """Save the modes and forces from which the next step is made."""
    copy_rows(search.contacts.p, kept.start)
    for c in range(search.previous_modes.shape[0]):
        search.previous_modes[c] = search.contacts.mode[c]
    for i in range(search.joined.p.shape[0]):
        search.joined.previous_p[i] = search.joined.p[i]


@kernel(inner=True)
def restore_step(search: SolverState) -> None:
    """Restore the modes and the forces of joint rows that `save_step` saved, and the slopes of these forces."""
    joined = search.joined
    for c in range(search.previous_modes.shape[0]):
        search.contacts.mode[c] = search.previous_modes[c]
    for i in range(joined.p.shape[0]):
        joined.p[i] = joined.previous_p[i]
        free = joined.diagonal[i] > 0.0 and joined.lo[i] < joined.p[i] < joined.hi[i]
        joined.slope[i] = 1.0 / (joined.gamma[i] + JOINT_COMPLIANCE * joined.diagonal[i]) if free else 0.0
