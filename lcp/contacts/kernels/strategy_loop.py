"""Strategies that compute the contact forces of one island, and the loop that runs them.

With redundant contacts the forces are not unique. *Equal-compliance* forces are selected: give all contacts the same
compliance eps, and let eps -> 0 (`active_set`). The *path* of these forces ends at a small
eps. Each strategy computes candidate forces. Only the measures of `island_acceptance`, residual and certificate,
decide whether a candidate solves the problem. The loop stops at the first one that does::

    REUSE           the forces of the step before if they still solve the problem, or forces near them
    ACTIVE_SET      equal-compliance forces, from the modes of the step before; then from Gauss-Seidel sweeps at the
                    final compliance, from sweeps at a softer one, and from the largest compliance     (`active_set`)
    INTERIOR_POINT  equal-compliance forces at a small compliance; then any forces, by Mehrotra's method, then by a
                    homotopy from eight starts, or from three if cones are circular                 (`interior_point`)
    PROXIMAL_POINT  any forces, by proximal points from the best candidate, each along a piecewise-linear path
                    through the changes of modes                                                   (`proximal_pwl`)
    REST            if the accepted forces move bodies that were at rest: forces that hold them             (`rest`)

The order in which kernels run, each compiled when a run first needs it::

    solve_first --> solve_from_sweeps --> solve_fallback --> island keeps the best forces, and is marked as uncertified
         |                 |                    |
         +-----------------+---- accepted ------+--> bodies that were at rest move? --> solve_rest

If any forces will do, `solve_fallback` is not called. An island that these kernels do not support (BEST_RESIDUAL is
NOT_SUPPORTED) is given to a pivoting solver. The callers are `lcp.contacts.strategies` and
`contactlab.simulation.stepping.kernels.next_island`, which alone runs `solve_rest`. The table
`FALLBACK_STRATEGIES` has the turns of `solve_fallback`.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from lcp.compiler.kernels import copy_array
from lcp.contacts.kernels.active_set import (
    CREEPING,
    SMALL_ISLAND_CONTACTS,
    final_compliance,
    follows_law,
)
from lcp.contacts.kernels.boxed_rows import add_reference_forces, recover
from lcp.contacts.kernels.contact_law import CONTACT_DIM, FrictionCone
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.elimination import order_elimination
from lcp.contacts.kernels.force_reuse import (
    DRIFT,
    DRIFT_CORRECTION,
    SAME_FORCES,
    blend_factor,
    is_still_equal_compliance,
    polish_previous_forces,
    refine_in_one_step,
    separates_freely,
    store_dv_deps,
    with_delassus_diagonal,
)
from lcp.contacts.kernels.island_acceptance import (
    BEST_RESIDUAL,
    BLEND,
    PATH_END,
    SAFETY_FACTOR,
    SYSTEMS_SOLVED,
    IslandProblem,
    IslandSolution,
    accept_or_keep_best,
    fill_certificate,
    fill_residuals,
    fill_residuals_of_state,
    fill_rhs_and_scales,
    is_enabled,
    is_rejected_early,
)
from lcp.contacts.kernels.rest import AT_REST, DRIFTING, is_still, rest_views, try_rest
from lcp.contacts.kernels.rigid_forces import check_selection, remove_compliance, stay_selected
from lcp.contacts.kernels.small_island import is_small_island, solve_all_sticking
from lcp.contacts.kernels.solver_state import (
    SolverState,
    fill_delassus_diagonal,
    fill_zero_diagonal,
    forces_unchanged,
    is_supported,
    load_forces,
    state_diagonal_view,
    store_forces,
)
from lcp.contacts.kernels.strategies import (
    FALLBACK_WORK,
    end_views,
    open_state,
    system_budget,
    try_active_set,
    try_equal_compliance,
    try_interior_point,
    try_proximal_point,
    try_sweeps,
)
from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.residuals import is_solved

# The strategies, by the codes of records; codes 2 to 6 belong to removed strategies.
REUSE: Final = 0
ACTIVE_SET: Final = 1
PROXIMAL_POINT: Final = 7
INTERIOR_POINT: Final = 8
REST: Final = 9
#: No strategy found forces.
NO_STRATEGY: Final = -1

# Circular cones use five of the turns of INTERIOR_POINT, because later starts of the homotopy do not help them.
CONE_TURNS: Final = 5
# Turns of `solve_fallback`: 1. forces near the previous ones, if those are exact; 2. equal-compliance forces; 3. forces
# near the previous ones, if those are not exact; 4. any forces, by Mehrotra's method and from eight starts of the
# homotopy; 5. by proximal points, three times.
FALLBACK_STRATEGIES: Final = (
    REUSE,
    INTERIOR_POINT,
    REUSE,
    *(9 * (INTERIOR_POINT,)),
    PROXIMAL_POINT,
    PROXIMAL_POINT,
    PROXIMAL_POINT,
)

# A run continues, marked, with forces that are off by less than this fraction of a condition's scale. Otherwise it
# stops; before that the island gets this factor more systems.
ACCEPTABLE_VIOLATION: Final = 1e-4
FAR_BUDGET_FACTOR: Final = 10
# Rows of contacts per velocity up to which sweeps at a soft compliance are worth their time in islands of any size:
# spheres have about one. Boxes have two to four, and an interior point needs less work there.
MAX_ROWS_PER_VELOCITY: Final = 1.2
# Whether the path's end is known.
PATH_END_UNKNOWN: Final = 0.0
PATH_END_REACHED: Final = 1.0

# BEST_RESIDUAL of an island that these kernels do not support.
NOT_SUPPORTED: Final = -1.0

# Outcomes: no forces; forces other than the selected ones; the selected ones.
NO_FORCES: Final = 0
OTHER_FORCES: Final = 1
EQUAL_COMPLIANCE: Final = 2
# No forces yet; `solve_from_sweeps` continues.
NEEDS_SWEEPS: Final = 4
# Other forces than at the path's end; they can still be the selected ones, see `check_selection`.
MOVED_FORCES: Final = 6

# Fraction of the tolerance within which previous forces still solve a problem: so small that residuals do not add up.
# The fraction for forces near them is larger, because contacts of one body contradict one another by the rounding of
# their gaps.
REUSE_TOLERANCE_FACTOR: Final = 1e-5
NEARBY_TOLERANCE_FACTOR: Final = 1e-2


class SearchResult(NamedTuple):
    """The result of the loop."""

    attempt: int  # code of the accepted strategy; NO_STRATEGY
    outcome: int
    systems: int  # solved in all turns


@kernel(inner=True)
def accept_candidate(
    case: IslandProblem,
    answer: IslandSolution,
    polygon: FrictionCone,
    search: SolverState,
    strategy: int,
    outcome: int,
    systems: int,
    share: float,
) -> SearchResult:
    """Test the forces in the state; return the strategy and outcome if they solve the problem, otherwise NO_STRATEGY.

    ``outcome`` and ``systems`` are results of the strategy. ``answer.z`` gets the forces, and the best ones so far are
    kept. If they equal the previous forces and ``share``, the result of `blend_factor`, is between 0 and 1, only this
    fraction of the change is made. The outcome also depends on whether a smaller compliance gives the same forces.
    """
    rows = case.rows
    drifts = 0.0 < share < 1.0 and forces_unchanged(rows, polygon, search, case.z0, SAME_FORCES)
    store_forces(rows, polygon, search, answer.z)
    if drifts:
        for i in range(answer.z.shape[0]):
            before = max(case.z0[i], 0.0)
            answer.z[i] = before + share * (answer.z[i] - before)
        # For an exact cone the signed force counts: one variable of each pair is 0, as in a record.
        for i in range(rows.nc, rows.nc + rows.nr if case.exact_cone else rows.nc):
            signed = answer.z[i] - answer.z[i + rows.nr]
            answer.z[i], answer.z[i + rows.nr] = max(signed, 0.0), max(-signed, 0.0)
    if not accept_or_keep_best(case, answer, search.contacts.diagonal, search.loads):
        return SearchResult(NO_STRATEGY, NO_FORCES, systems)
    # Joints are rigid along the path. If they share a load with contacts, a smaller compliance must give the same
    # forces.
    asked = outcome == EQUAL_COMPLIANCE and rows.nc > 1 and search.joined.lo.shape[0] > 0
    if not asked and outcome != MOVED_FORCES:
        return SearchResult(strategy, outcome, systems)
    selected, more = check_selection(rows, polygon, search, final_compliance(rows, search), asked)
    return SearchResult(strategy, EQUAL_COMPLIANCE if selected else OTHER_FORCES, systems + more)


@kernel(inner=True)
def select_rigid(
    case: IslandProblem, answer: IslandSolution, polygon: FrictionCone, search: SolverState, systems: int
) -> tuple[int, int]:
    """Remove the compliance of the forces in the state, which are at the path's end; return outcome and systems.

    The outcome is MOVED_FORCES if the rigid forces are far from the compliant ones. The systems include ``systems``,
    solved before.
    """
    rows = case.rows
    answer.state[PATH_END] = PATH_END_REACHED
    outcome = outcome_at_end(rows, polygon, search)
    systems += remove_compliance(rows, polygon, search, final_compliance(rows, search), case.tolerance)
    if outcome == EQUAL_COMPLIANCE and not stay_selected(search):
        outcome = MOVED_FORCES
    return outcome, systems


@kernel(inner=True)
def outcome_at_end(rows: ContactSystem, polygon: FrictionCone, search: SolverState) -> int:
    """Return the outcome of forces at the path's end.

    If the slip of a disc is no more than its own compliance, the disc does not have its force of sliding. The forces
    are then not the selected ones.
    """
    creeps = polygon.exact and not follows_law(rows, polygon, search, final_compliance(rows, search), CREEPING)
    return OTHER_FORCES if creeps else EQUAL_COMPLIANCE


@kernel(inner=True)
def polish_previous(
    case: IslandProblem, answer: IslandSolution, polygon: FrictionCone, search: SolverState
) -> SearchResult:
    """Polish the previous forces by proximal points, for problems in which any solution is accepted.

    Return NO_STRATEGY if the polished forces do not solve the problem.
    """
    loads = search.loads
    systems = polish_previous_forces(case, answer, polygon, search)
    fill_residuals(case, answer, search.contacts.diagonal, loads)
    solved = is_solved(answer.residuals, NEARBY_TOLERANCE_FACTOR * case.tolerance)
    holds = solved and fill_certificate(case, answer, loads) <= SAFETY_FACTOR * case.tolerance
    return SearchResult(REUSE if holds else NO_STRATEGY, OTHER_FORCES if holds else NO_FORCES, systems)


@kernel(inner=True)
def reuse_at_rest(
    case: IslandProblem, answer: IslandSolution, polygon: FrictionCone, search: SolverState
) -> tuple[bool, int]:
    """Reuse the previous forces if they hold the bodies at rest, and remove a part of the drift by rounding.

    Return whether they hold them, and the number of systems solved.
    """
    diagonal, loads = search.contacts.diagonal, search.loads
    for i in range(answer.z.shape[0]):
        answer.z[i] = max(case.z0[i], 0.0)
    v_free = case.rows.v_free
    if not accept_or_keep_best(case, answer, diagonal, loads) or not is_still(answer.v_plus, v_free, DRIFTING):
        return False, 0
    if is_still(answer.v_plus, v_free, AT_REST):
        return True, 0
    # A quarter of the drift by rounding is removed per step: see `blend_factor`.
    systems = polish_previous_forces(case, answer, polygon, search)
    for i in range(answer.z.shape[0]):
        before = max(case.z0[i], 0.0)
        answer.z[i] = before + DRIFT_CORRECTION * (answer.z[i] - before)
    return accept_or_keep_best(case, answer, diagonal, loads), systems


@kernel(short_loops=True)
def solve_first(case: IslandProblem, answer: IslandSolution, wf: Floats, wi: Ints) -> SearchResult:
    """Reuse the forces of the step before, or find new ones from their modes.

    Parameters
    ----------
    case
        The problem, with at least one contact, a sliding cone for each contact, and then cones of moments.
    answer
        Output. If no forces were accepted, the kernels below continue from it and the workspaces.
    wf, wi
        Workspaces, of length `workspace_float_size` and `state_int_size`.
    """
    # right side, scales and rounding of the problem
    _, own, loads, _ = end_views(case, wf)
    case = with_delassus_diagonal(case, own)
    rows, diagonal = case.rows, state_diagonal_view(case.rows, wf)
    fill_delassus_diagonal(rows, diagonal)
    copy_array(rows.v_free, answer.v_plus)
    add_reference_forces(rows, answer.v_plus)
    fill_rhs_and_scales(rows, case.posed, answer.v_plus, diagonal, answer.q, loads)
    # nothing is accepted yet
    answer.state[BEST_RESIDUAL] = math.inf
    answer.state[PATH_END] = PATH_END_UNKNOWN
    share = 1.0
    # contacts that separate without forces: all forces are zero
    if case.equal_compliance and is_enabled(case, REUSE) and separates_freely(rows, answer.q, loads):
        answer.z[:] = 0.0
        fill_residuals(case, answer, diagonal, loads)
        if (
            is_solved(answer.residuals, case.tolerance)
            and fill_certificate(case, answer, loads) <= SAFETY_FACTOR * case.tolerance
        ):
            return SearchResult(REUSE, EQUAL_COMPLIANCE, 0)
    # forces of the step before: measure how well they solve this problem
    if case.warm_start:
        for i in range(answer.z.shape[0]):
            answer.z[i] = max(case.z0[i], 0.0)
        if case.exact_cone:
            fill_residuals(case, answer, diagonal, loads)
            share = blend_factor(answer.residuals, REUSE_TOLERANCE_FACTOR * case.tolerance)
        else:
            recover(rows, answer.z, answer.f, answer.v_plus)
            if not is_rejected_early(case, answer, loads, DRIFT * REUSE_TOLERANCE_FACTOR * case.tolerance):
                fill_residuals_of_state(rows, case.posed, diagonal, answer, loads)
                share = blend_factor(answer.residuals, REUSE_TOLERANCE_FACTOR * case.tolerance)
        # With cones the residual leaves out boxed rows, so their rates would be outdated: no reuse.
        holds = share < 1.0 and is_enabled(case, REUSE) and not (case.exact_cone and rows.lo.shape[0] > 0)
        if not (holds and fill_certificate(case, answer, loads) <= SAFETY_FACTOR * case.tolerance):
            share = 1.0
        # The forces of a single contact are unique: no selection is necessary.
        alone = rows.nc == 1 and rows.nl + rows.lo.shape[0] == 0
        if share == 0.0 and (alone or not case.equal_compliance):
            return SearchResult(REUSE, EQUAL_COMPLIANCE, 0)
    # neither a start nor a selection: nothing to do here
    if not (case.warm_start or case.equal_compliance):
        return SearchResult(NO_STRATEGY, NO_FORCES, 0)
    # state and cone of the strategies, if they can solve the problem
    fill_zero_diagonal(rows, diagonal)
    case, search, polygon = open_state(case, wf, wi, True)
    rows = case.rows
    if case.enabled == 0 or not is_supported(rows, polygon, search):
        answer.state[BEST_RESIDUAL] = NOT_SUPPORTED
        return SearchResult(NO_STRATEGY, NO_FORCES, 0)
    # solved forces may still be the equal-compliance ones
    if share == 0.0 and is_enabled(case, ACTIVE_SET) and is_still_equal_compliance(case, answer, polygon, search):
        return SearchResult(REUSE, EQUAL_COMPLIANCE, 1)
    # start from the forces before; small islands first try that all contacts stick
    if case.warm_start:
        load_forces(rows, polygon, search, case.z0)
        if (
            share == 1.0
            and case.equal_compliance
            and is_enabled(case, ACTIVE_SET)
            and is_small_island(rows, polygon, search)
        ):
            eps, memory = final_compliance(rows, search), search.memory
            if solve_all_sticking(rows, polygon, search, eps, answer.q, memory):
                store_forces(rows, polygon, search, answer.z)
                if accept_or_keep_best(case, answer, diagonal, loads):
                    return SearchResult(ACTIVE_SET, EQUAL_COMPLIANCE, 1)
                # Reset, as if this had not been tried.
                answer.state[BEST_RESIDUAL] = math.inf
                load_forces(rows, polygon, search, case.z0)
    # without equal compliance and a warm start, sweeps are next
    order_elimination(search.trees, rows.column_ranges)
    answer.state[BLEND] = share
    if not (case.equal_compliance and case.warm_start and is_enabled(case, ACTIVE_SET)):
        return SearchResult(NO_STRATEGY, NEEDS_SWEEPS, 0)
    # active set from the modes of the forces before
    reached, systems = try_active_set(rows, polygon, search)
    answer.state[SYSTEMS_SOLVED] = systems
    # not converged: bodies at rest keep their forces, otherwise sweeps are next
    if not reached:
        if is_enabled(case, REUSE):
            stands, more = reuse_at_rest(case, answer, polygon, search)
            if stands:
                return SearchResult(REUSE, OTHER_FORCES, systems + more)
        return SearchResult(NO_STRATEGY, NEEDS_SWEEPS, systems)
    # converged to the forces before: reuse them
    if share == 0.0 and forces_unchanged(rows, polygon, search, case.z0, SAME_FORCES):
        store_dv_deps(case, answer, polygon, search, final_compliance(rows, search))
        return SearchResult(REUSE, outcome_at_end(rows, polygon, search), systems)
    # otherwise remove the compliance, and accept or reject the forces
    outcome, systems = select_rigid(case, answer, polygon, search, systems)
    answer.state[SYSTEMS_SOLVED] = systems
    found = accept_candidate(case, answer, polygon, search, ACTIVE_SET, outcome, systems, share)
    return found if found.attempt != NO_STRATEGY else SearchResult(NO_STRATEGY, NEEDS_SWEEPS, found.systems)


@kernel(short_loops=True)
def solve_from_sweeps(case: IslandProblem, answer: IslandSolution, wf: Floats, wi: Ints) -> SearchResult:
    """Continue after `solve_first` returned NEEDS_SWEEPS, with the same arguments and kind of result.

    If any forces are allowed, polish the previous ones. If the previous forces end the path, reduce their compliance in
    one step, or reuse them at rest. Otherwise run ACTIVE_SET from the modes of Gauss-Seidel sweeps, of sweeps at softer
    compliances, and of the largest compliance, until one gives acceptable forces.
    """
    case, search, polygon = open_state(case, wf, wi, False)
    if not case.equal_compliance:
        return polish_previous(case, answer, polygon, search)
    if not is_enabled(case, ACTIVE_SET):
        return SearchResult(NO_STRATEGY, NO_FORCES, 0)
    if answer.state[PATH_END] == PATH_END_REACHED:
        held, systems, selected = refine_in_one_step(case, answer, polygon, search)
        if systems > 0:
            outcome = EQUAL_COMPLIANCE if selected else OTHER_FORCES
            # Reused forces count as one system in all, as in `is_still_equal_compliance`.
            spent = 1 - int(answer.state[SYSTEMS_SOLVED])
            return SearchResult(REUSE, outcome, spent) if held else SearchResult(ACTIVE_SET, outcome, systems)
        if case.warm_start and is_enabled(case, REUSE):
            stands, systems = reuse_at_rest(case, answer, polygon, search)
            if stands:
                return SearchResult(REUSE, OTHER_FORCES, systems)
        return SearchResult(NO_STRATEGY, NO_FORCES, systems)
    systems, share = 0, answer.state[BLEND]
    # Starts: 0. sweeps from the previous forces; 1. sweeps at a soft compliance from these, 2. from zero; 3. the
    # largest compliance. Soft sweeps are for islands without joints that are small or have few contacts per body,
    # sweeps from zero for large ones. The largest compliance is for small islands and for islands with joints.
    rows = case.rows
    small, joined = rows.nc <= SMALL_ISLAND_CONTACTS, search.joined.lo.shape[0] > 0
    soft = not joined and (small or CONTACT_DIM * rows.nc <= MAX_ROWS_PER_VELOCITY * rows.v_free.shape[0])
    soft_again = soft and case.warm_start and not small
    for start in range(4):
        if start > 0 and answer.state[PATH_END] == PATH_END_REACHED:
            break
        if (start == 1 and not soft) or (start == 2 and not soft_again) or (start == 3 and not (small or joined)):
            continue
        reached, more = try_sweeps(case, polygon, search, start)
        if not reached:
            systems += more
            continue
        if share == 0.0 and forces_unchanged(case.rows, polygon, search, case.z0, SAME_FORCES):
            return SearchResult(REUSE, outcome_at_end(rows, polygon, search), systems + more)
        outcome, more = select_rigid(case, answer, polygon, search, more)
        found = accept_candidate(case, answer, polygon, search, ACTIVE_SET, outcome, more, share)
        systems += found.systems
        if found.attempt != NO_STRATEGY:
            return SearchResult(ACTIVE_SET, found.outcome, systems)
    return SearchResult(NO_STRATEGY, NO_FORCES, systems)


@kernel(inner=True)
def select_from_modes(
    case: IslandProblem,
    answer: IslandSolution,
    polygon: FrictionCone,
    search: SolverState,
    strategy: int,
    systems: int,
) -> SearchResult:
    """Look for equal-compliance forces from the modes of accepted forces, which are in z and in the state.

    If they are found, they replace the accepted forces in ``answer``, otherwise these are restored. In both cases the
    result has ``strategy``.
    """
    # keep the accepted forces
    copy_array(answer.z, answer.best_z)
    answer.state[BEST_RESIDUAL] = 0.0
    # look for the modes of equal compliance from them
    reached, more = try_active_set(case.rows, polygon, search)
    systems += more
    if reached:
        outcome, more = select_rigid(case, answer, polygon, search, 0)
        found = accept_candidate(case, answer, polygon, search, strategy, outcome, more, 1.0)
        systems += found.systems
        if found.outcome == EQUAL_COMPLIANCE:
            return SearchResult(strategy, EQUAL_COMPLIANCE, systems)
    # not found: restore the accepted forces and their measures
    copy_array(answer.best_z, answer.z)
    accept_or_keep_best(case, answer, search.contacts.diagonal, search.loads)
    return SearchResult(strategy, OTHER_FORCES, systems)


@kernel(short_loops=True)
def solve_fallback(case: IslandProblem, answer: IslandSolution, wf: Floats, wi: Ints) -> SearchResult:
    """Run the strategies of `FALLBACK_STRATEGIES` in turn until one gives accepted forces, or the budget is spent.

    Arguments and results are as for `solve_first` and `solve_from_sweeps`, after which it runs.
    """
    # state, cone and budget of the island
    case, search, polygon = open_state(case, wf, wi, False)
    most, systems, turn, lines = system_budget(case.rows, search, FALLBACK_WORK), 0, 0, 0
    # count the turns of the strategies that occur more than once
    for strategy in FALLBACK_STRATEGIES:
        turn += 1 if strategy == INTERIOR_POINT else 0
        lines += 1 if strategy == PROXIMAL_POINT else 0
        # the budget is larger while the best forces are far from acceptable
        limit = most if answer.state[BEST_RESIDUAL] <= ACCEPTABLE_VIOLATION else FAR_BUDGET_FACTOR * most
        spare = strategy == INTERIOR_POINT and polygon.exact and turn > CONE_TURNS
        if systems >= limit or not is_enabled(case, strategy) or spare:
            continue
        # proximal points start from the best forces, if any exist
        if strategy == PROXIMAL_POINT and not answer.state[BEST_RESIDUAL] < math.inf:
            continue
        # find forces by the strategy
        outcome = OTHER_FORCES
        if strategy == REUSE:
            if not case.warm_start or (answer.state[BLEND] == 0.0) != (turn == 0):
                continue
            more = polish_previous_forces(case, answer, polygon, search)
        elif strategy == PROXIMAL_POINT:
            more = try_proximal_point(case, answer, polygon, search, lines - 1)
        elif turn == 1:
            if answer.state[PATH_END] == PATH_END_REACHED or not is_enabled(case, ACTIVE_SET):
                continue
            reached, more = try_equal_compliance(case, polygon, search)
            outcome = NO_FORCES
            if reached:
                outcome, more = select_rigid(case, answer, polygon, search, more)
        else:
            more = try_interior_point(case, answer, polygon, search, turn - 2)
        # accept or reject them
        systems += more
        if outcome != NO_FORCES:
            found = accept_candidate(case, answer, polygon, search, strategy, outcome, 0, 1.0)
            systems += found.systems
            # from the second interior-point turn on, look for equal-compliance forces from the accepted ones
            if found.attempt > REUSE and found.outcome == OTHER_FORCES and turn > 1 and is_enabled(case, ACTIVE_SET):
                return select_from_modes(case, answer, polygon, search, strategy, systems)
            if found.attempt != NO_STRATEGY:
                return SearchResult(strategy, found.outcome, systems)
    return SearchResult(NO_STRATEGY, NO_FORCES, systems)


@kernel(short_loops=True)
def solve_rest(case: IslandProblem, answer: IslandSolution, wf: Floats, wi: Ints) -> SearchResult:
    """Replace the forces in z, which move an island that was at rest, by forces that hold it.

    If no forces hold it, restore z and return NO_STRATEGY.
    """
    case, search, polygon = open_state(case, wf, wi, False)
    rows, n = case.rows, answer.z.shape[0]
    order_elimination(search.trees, rows.column_ranges)
    memory = rest_views(rows.nc, rows.nc + rows.nr, n, search.memory)
    spent = 0
    copy_array(answer.z, memory.moving)
    if case.warm_start and is_enabled(case, REUSE):
        stands, spent = reuse_at_rest(case, answer, polygon, search)
        if stands:
            return SearchResult(REUSE, OTHER_FORCES, spent)
    rests, systems = try_rest(case, answer, polygon, search, memory)
    if rests:
        return SearchResult(REST, OTHER_FORCES, spent + systems)
    # The accepted forces, with their residuals.
    copy_array(memory.moving, answer.z)
    accept_or_keep_best(case, answer, search.contacts.diagonal, search.loads)
    return SearchResult(NO_STRATEGY, NO_FORCES, spent + systems)
