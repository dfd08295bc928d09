"""Reuse of the previous step's forces: whether they are still the selected ones, decided without a linear system.

Contacts with equal compliance eps have p = P(-(J v_eps + k) / eps), and rigid ones have the rates s = J v+ + k. Forces
are the selected ones if they equal P(J y - s / eps) for any motion y of the bodies. Otherwise their distance from the
selected forces is at most their distance from this projection. The y of the previous step (``dv_deps``) is used. It is
accurate for bodies at rest or sliding along one edge of the polygon, and the test takes a few products.
"""

from __future__ import annotations

import math
from typing import Final

from lcp.contacts.kernels.active_set import (
    MAX_ACTIVE_SET_STEPS,
    SELECTED_WITHIN,
    final_compliance,
    law_violation,
    solve_active_set,
)
from lcp.contacts.kernels.boxed_rows import first_limit
from lcp.contacts.kernels.contact_law import (
    CONTACT_DIM,
    SLIDE_EDGE,
    FrictionCone,
    contact_rates,
    mode_of,
    projected_force,
)
from lcp.contacts.kernels.contact_system import ContactSystem, dot_of_row
from lcp.contacts.kernels.elimination import solve_panels
from lcp.contacts.kernels.island_acceptance import (
    BLEND,
    IslandProblem,
    IslandSolution,
    accept_or_keep_best,
    count_rows,
    with_rows,
)
from lcp.contacts.kernels.mode_system import apply_contact_impulse
from lcp.contacts.kernels.proximal_points import run_proximal_points, update_modes
from lcp.contacts.kernels.rigid_forces import MANY_POINTS
from lcp.contacts.kernels.solver_state import (
    SolverState,
    contact_force_from_z,
    copy_rows,
    forces_unchanged,
    load_forces,
    recover_velocity,
    stay_near,
    store_forces,
)
from lcp.kernels import Floats, kernel
from lcp.kernels.residuals import is_solved

# Forces that solve the problem and are within this fraction of the largest from the selected ones count as selected.
SAME_FORCES: Final = 1e-5
# Fraction of this within which the effect of the contacts' compliance is not checked.
SURELY: Final = 0.1
# If they have drifted by at most this factor, the fraction of the distance to new forces by which they move.
DRIFT: Final = 8.0
DRIFT_CORRECTION: Final = 0.25
# The compliance of `refine_in_one_step`, relative to the path's end.
CLOSEST: Final = 1e-4
# A slip is along an edge if it is this factor faster than the compliance, also rotated by this angle in both
# directions.
FAST: Final = 1e3
TURNED: Final = 1e-3
# Newton steps to dv_deps of the forces of z0.
DV_DEPS_ITERATIONS: Final = 2


@kernel(inner=True)
def with_delassus_diagonal(case: IslandProblem, diagonal: Floats) -> IslandProblem:
    """Fill ``diagonal`` (m,) with J_i Y_i of the rows, and return the problem with it as ``rows.diagonal``."""
    r = case.rows
    for i in range(diagonal.shape[0]):
        diagonal[i] = dot_of_row(r, i, r.J[i], r.Y[i])
    rows = ContactSystem(
        r.h, r.nc, r.nr, r.nl, r.nb, r.r, r.mu, r.cone_contacts, r.J, r.Y, r.k, r.gamma, r.gammaE, r.lo, r.hi,
        r.v_free, r.Mv, r.column_ranges, diagonal, r.J_entries, r.Y_entries, r.offsets,
    )  # fmt: skip
    return with_rows(case, rows)


@kernel(inner=True)
def store_dv_deps(
    case: IslandProblem, answer: IslandSolution, polygon: FrictionCone, search: SolverState, eps: float
) -> None:
    """Store y of `is_still_equal_compliance`: (v+ - v_eps) / eps, corrected for the forces in z0.

    Nothing is stored for exact cones, cones of moments or joint rows. The factored matrix of the modes is
    1 + h Y' J / eps, accurate enough for corrections. The state's rates and forces are overwritten.
    """
    # only polygons without joint rows and moments
    rows, y, contacts, x = case.rows, answer.dv_deps, search.contacts, search.trial_v
    nv = y.shape[0]
    if nv == 0 or case.exact_cone or rows.r.shape[0] != rows.nc or rows.nl + rows.lo.shape[0] > 0:
        return
    # first estimate, from the motion between compliance eps and none
    for p in range(nv):
        y[p] = (answer.v_plus[p] - search.v[p]) / eps
    # correct it with the factored matrix
    for _ in range(DV_DEPS_ITERATIONS):
        x[:] = 0.0
        # force of z0 minus rates of y, projected to the contact's mode
        for c in range(rows.nc):
            contact_rates(rows, polygon, c, y, 0.0, contacts.s[c])
            contact_force_from_z(rows, polygon, c, case.z0, contacts.p[c])
            for i in range(CONTACT_DIM):
                contacts.p[c, i] = (contacts.p[c, i] - contacts.s[c, i]) / eps
            p0, p1, p2 = contacts.p[c, 0], contacts.p[c, 1], contacts.p[c, 2]
            projected_force(polygon, rows.mu[c], contacts.mode[c], p0, p1, p2, contacts.p[c])
            apply_contact_impulse(rows, polygon, c, contacts.p[c], x)
        # the factored matrix gives the correction of y
        solve_panels(search.trees, search.K, x)
        for p in range(nv):
            y[p] += x[p]


@kernel(inner=True)
def slides_along_edge(rows: ContactSystem, polygon: FrictionCone, c: int, eps: float, p: Floats, s: Floats) -> bool:
    """Return True if contact c certainly slides with its force p (3,) at a corner of the polygon, at rates s (3,).

    The slip must be much larger than the compliant motion at eps, and must have the same corner if it turns a little.
    """
    # the slip must be larger than the motion by compliance
    bound = rows.mu[c] * p[0]
    if math.sqrt(s[1] * s[1] + s[2] * s[2]) <= FAST * eps * bound:
        return False
    # the corner must be the same if the slip turns by a small angle either way
    far = -1.0 / eps
    mode = mode_of(polygon, rows.mu[c], c, p[0], far * (s[1] - TURNED * s[2]), far * (s[2] + TURNED * s[1]))
    if mode != mode_of(polygon, rows.mu[c], c, p[0], far * (s[1] + TURNED * s[2]), far * (s[2] - TURNED * s[1])):
        return False
    # a side of the polygon is no corner
    if mode < SLIDE_EDGE or (mode - SLIDE_EDGE) % 2 == 1:
        return False
    # the force must be at this corner
    corner = polygon.edge_directions[(mode - SLIDE_EDGE) // 2]
    return max(abs(p[1] - bound * corner[0]), abs(p[2] - bound * corner[1])) <= SURELY * SAME_FORCES * bound


@kernel(inner=True)
def is_still_equal_compliance(
    case: IslandProblem, answer: IslandSolution, polygon: FrictionCone, search: SolverState
) -> bool:
    """Return True if the forces of z0, which solve the problem, are certainly its equal-compliance forces.

    This is judged from y = ``answer.dv_deps`` (`store_dv_deps`) without a solve. Return False with joint rows, exact
    cones, cones of moments or softness, and if in doubt.

    The caller counts one system for it, so that records do not depend on where a run was resumed.
    """
    # cases that are never decided here
    rows, y = case.rows, answer.dv_deps
    p, s, rates = search.scratch3_a, search.scratch3_b, search.contacts.s[0]
    if y.shape[0] == 0 or case.exact_cone or polygon.r < 1:
        return False
    if rows.r.shape[0] != rows.nc or rows.nl + rows.lo.shape[0] > 0:
        return False
    # largest normal force, the scale of all differences
    largest = 0.0
    for c in range(rows.nc):
        largest = max(largest, case.z0[c])
    eps = CLOSEST * final_compliance(rows, search)
    off = 0.0
    # friction spent by each contact in z0
    for c in range(rows.nc):
        first = polygon.first[c]
        spent = 0.0
        for i in range(first, first + rows.r[c]):
            spent += max(case.z0[i], 0.0) + max(case.z0[i + rows.nr], 0.0)
        contact_force_from_z(rows, polygon, c, case.z0, p)
        if rows.gamma[c] > 0.0:
            return False
        contact_rates(rows, polygon, c, y, 0.0, s)
        # firm contacts: difference between the force and its rates
        if min(p[0], rows.mu[c] * p[0] - spent) > SAME_FORCES * largest:
            for i in range(CONTACT_DIM):
                off += (p[i] - s[i]) * (p[i] - s[i])
            continue
        # Open contacts can have a force that is rounding only; the friction of sliding ones can be as well.
        shift = p[0] - s[0]
        contact_rates(rows, polygon, c, answer.v_plus, 1.0, rates)
        if p[0] == 0.0:
            shift = max(0.0, s[0] - max(rates[0], 0.0) / eps)
        elif p[0] <= SAME_FORCES * largest or not slides_along_edge(rows, polygon, c, eps, p, rates):
            return False
        off += (1.0 + rows.mu[c] * rows.mu[c]) * shift * shift
    # the sum of differences must be certainly below the tolerance
    return math.sqrt(off) <= SURELY * SAME_FORCES * largest


@kernel(inner=True)
def refine_in_one_step(
    case: IslandProblem, answer: IslandSolution, polygon: FrictionCone, search: SolverState
) -> tuple[bool, int, bool]:
    """Reduce the compliance to four decades below the path's end in one step, in the modes of the previous forces.

    Returns three values: whether the forces of z0 are the result and solve the problem; the number of systems, 0 if it
    failed and the state is unchanged; and whether the forces follow the law of this compliance. They need not if a
    disc's corner rotates. This occurs for bodies whose gaps contradict one another by rounding.
    """
    # only a warm start without joint rows
    rows, contacts = case.rows, search.contacts
    if not case.warm_start or search.joined.lo.shape[0] > 0:
        return False, 0, False
    copy_rows(contacts.p, search.kept.fixed)
    load_forces(rows, polygon, search, case.z0)
    recover_velocity(rows, polygon, search)
    update_modes(rows, polygon, search, 0.0, 1.0)
    eps = CLOSEST * final_compliance(rows, search)
    systems = solve_active_set(rows, polygon, search, eps, MAX_ACTIVE_SET_STEPS)
    if systems > 0:
        off, largest = law_violation(rows, polygon, search, eps)
        selected = off <= SELECTED_WITHIN * largest
        copy_rows(contacts.p, search.kept.moving)
        held = answer.state[BLEND] == 0.0 and forces_unchanged(rows, polygon, search, case.z0, SAME_FORCES)
        if held:
            for i in range(answer.z.shape[0]):
                answer.z[i] = max(case.z0[i], 0.0)
        else:
            systems += run_proximal_points(rows, polygon, search, eps, MANY_POINTS)
            store_forces(rows, polygon, search, answer.z)
        near = held or stay_near(search, search.kept.moving, SELECTED_WITHIN)
        if near and accept_or_keep_best(case, answer, search.contacts.diagonal, search.loads):
            if held:
                store_dv_deps(case, answer, polygon, search, eps)
            return held, systems, selected
    copy_rows(search.kept.fixed, contacts.p)
    return False, 0, False


@kernel(inner=True)
def separates_freely(rows: ContactSystem, q: Floats, loads: Floats) -> bool:
    """Return True if no normal or limit approaches by more than rounding at zero force, so that all forces are zero.

    ``q`` and ``loads`` come from `fill_rhs_and_scales`. With boxed rows the answer is False.
    """
    if rows.lo.shape[0] > 0:
        return False
    rounding_errors = loads[count_rows(rows) :]
    limit = first_limit(rows)
    least = 0.0
    for c in range(rows.nc):
        least = min(least, q[c] + rounding_errors[c])
    for i in range(rows.nl):
        least = min(least, q[limit + i] + rounding_errors[rows.nc + rows.nr + i])
    return least >= 0.0


@kernel(inner=True)
def blend_factor(measures: Floats, limit: float) -> float:
    """Return the blend between z0 (0), which has these residuals, and newly computed forces (1).

    0 if z0 solves the problem within the strict limit, and 1 if it does not solve it. Between these, speeds are
    rounding that has grown while forces were reused. Forces that stop them immediately would, if reused, reverse them,
    and bodies at rest would be solved for in every other step.
    """
    if is_solved(measures, limit):
        return 0.0
    return DRIFT_CORRECTION if is_solved(measures, DRIFT * limit) else 1.0


@kernel(inner=True)
def polish_previous_forces(
    case: IslandProblem, answer: IslandSolution, polygon: FrictionCone, search: SolverState
) -> int:
    """Polish the forces of z0 by proximal points to nearby forces in ``answer.z``; return the systems formed."""
    load_forces(case.rows, polygon, search, case.z0)
    systems = run_proximal_points(case.rows, polygon, search, 0.0, MANY_POINTS)
    store_forces(case.rows, polygon, search, answer.z)
    return systems
