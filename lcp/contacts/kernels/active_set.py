"""An active set method for contacts that give way by eps, rows of joints being rigid.

With a compliance eps of every contact, in every direction, rates s are answered by P(-s / eps) (`contact_law`),
and the velocities solve an equation without redundancy: modes give forces and rates, which give modes. Forces of rows
of joints are kept from one eps to the next.
"""

from __future__ import annotations

from typing import Final

from lcp.contacts.kernels.contact_law import (
    CONTACT_DIM,
    ContactState,
    FrictionCone,
    fill_contact_rates,
    fill_force_jacobian,
    friction_bound,
    nearest_force,
    projected_force,
)
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.elimination import factor_panels, solve_panels
from lcp.contacts.kernels.mode_system import apply_contact_impulse, apply_row_impulse, form_system
from lcp.contacts.kernels.packed_rows import row_dot
from lcp.contacts.kernels.proximal_points import JOINT_COMPLIANCE, ROUNDING, update_modes
from lcp.contacts.kernels.solver_state import JointRowState, SolverState
from lcp.kernels import kernel

# Newton's steps from given modes.
MAX_ACTIVE_SET_STEPS: Final = 6
# So few modes may change at any time.
MAX_MODE_CHANGES: Final = 8
# Of discs: this many times as many, since corners turn, and the misfit in parts of the speeds that ends them.
CIRCULAR_STEP_FACTOR: Final = 2
CONVERGENCE_TOLERANCE: Final = 1e-8
# Forces whose modes go on changing are found where they are so near to the law of their rates, of the largest force,
# or as near as these rates are known.
NEAR_LAW: Final = 1e-6
# A disc that slides only by what it gives way turns too little to be seen: its forces may be farther off than this.
CREEPING: Final = 1e-3
# Rounds in which the forces of rows of joints are kept.
JOINT_ROUNDS: Final = 3


@kernel(inner=True)
def fill_rhs(rows: ContactSystem, polygon: FrictionCone, search: SolverState, eps: float) -> None:
    """Fill velocities and forces of contacts that give way by eps in given modes, and of rows of joints likewise."""
    contacts, joined, v = search.contacts, search.joined, search.v
    nv = v.shape[0]
    first = rows.nc + rows.nr
    # In given modes forces are linear in the rates: of no velocity, those of the known terms.
    for p in range(nv):
        search.trial_v[p] = 0.0
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
    """Fill the force of a contact that gives way by eps in its mode, for its rates."""
    s = contacts.s[c]
    x = -s[0] / (rows.gamma[rows.cone_contacts[c]] + eps)
    projected_force(polygon, friction_bound(rows, c), contacts.mode[c], x, -s[1] / eps, -s[2] / eps, contacts.p[c])


@kernel(inner=True)
def compliant_stiffness(rows: ContactSystem, polygon: FrictionCone, contacts: ContactState, c: int, eps: float) -> None:
    """Fill the slope of that force."""
    normal = 1.0 / (rows.gamma[rows.cone_contacts[c]] + eps)
    fill_force_jacobian(rows, polygon, c, contacts.mode[c], normal, 1.0 / eps, contacts.B[c])


@kernel(inner=True)
def joint_row_force(joined: JointRowState, i: int) -> None:
    """Fill the force of a row of joints for its rate: at its bound, or between."""
    if joined.slope[i] > 0.0:
        joined.p[i] = (JOINT_COMPLIANCE * joined.diagonal[i] * joined.previous_p[i] - joined.s[i]) * joined.slope[i]


@kernel(inner=True)
def follow_law(rows: ContactSystem, polygon: FrictionCone, search: SolverState, eps: float, part: float) -> bool:
    """Whether the contacts' forces are P(-s / eps) of their rates, whatever their modes, to a part of the largest.

    A misfit in parts of the speeds does not tell: where rows are redundant, rates that are off by a thousandth of what
    contacts give way leave forces that are off by a thousandth of the largest.
    """
    contacts, law = search.contacts, search.scratch3_a
    largest = 0.0
    off = 0.0
    for c in range(contacts.p.shape[0]):
        p, s = contacts.p[c], contacts.s[c]
        x = -s[0] / (rows.gamma[rows.cone_contacts[c]] + eps)
        nearest_force(polygon, friction_bound(rows, c), c, x, -s[1] / eps, -s[2] / eps, law)
        for i in range(CONTACT_DIM):
            off = max(off, abs(p[i] - law[i]))
        largest = max(largest, p[0])
    return off <= max(part * largest, ROUNDING * search.speed / eps)


@kernel(inner=True)
def iterate_active_set(rows: ContactSystem, polygon: FrictionCone, search: SolverState, eps: float, most: int) -> int:
    """Iterate the primal-dual active set at compliance eps; systems solved, or -1 if the modes did not converge.

    A primal-dual active set method: modes give forces and rates, which give modes. Where many of these change at once,
    they are not about to settle.
    """
    contacts, joined, v = search.contacts, search.joined, search.v
    first = rows.nc + rows.nr
    # Of a contact that hardly carries the corner of a disc is rounding, and goes on turning.
    settled = (CONVERGENCE_TOLERANCE if polygon.exact else ROUNDING) * search.speed
    found = False
    for step in range(CIRCULAR_STEP_FACTOR * most if polygon.exact else most):
        for c in range(contacts.p.shape[0]):
            compliant_stiffness(rows, polygon, contacts, c, eps)
        form_system(rows, polygon, contacts, joined.slope, search.trees, search.W, search.K)
        if not factor_panels(search.trees, search.K, search.W[0]):
            return -1
        if found:
            return step
        fill_rhs(rows, polygon, search, eps)
        solve_panels(search.trees, search.K, v)
        fill_contact_rates(rows, polygon, v, 1.0, contacts.s)
        for c in range(contacts.p.shape[0]):
            compliant_force(rows, polygon, contacts, c, eps)
        for i in range(joined.p.shape[0]):
            joined.s[i] = row_dot(rows, first + i, v) + rows.k[first + i]
            joint_row_force(joined, i)
        changed, turned, misfit = update_modes(rows, polygon, search, eps, 1.0)
        if not turned:
            return step + 1
        found = misfit <= settled and follow_law(rows, polygon, search, eps, NEAR_LAW)
        if found and not polygon.exact:
            return step + 1
        if step > 0 and changed > max(MAX_MODE_CHANGES, contacts.p.shape[0] // 4) and not polygon.exact:
            return -1
    return -1


@kernel(inner=True)
def solve_rigid_joint_rows(rows: ContactSystem, polygon: FrictionCone, search: SolverState, eps: float) -> int:
    """Make the rows of joints rigid while contacts give way by eps; steps made, or -1."""
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
    """Solve for the forces at compliance eps with rigid joint rows; systems solved, or 0 on failure."""
    solved = iterate_active_set(rows, polygon, search, eps, most)
    if solved < 0:
        return 0
    more = solve_rigid_joint_rows(rows, polygon, search, eps)
    return 0 if more < 0 else solved + more
