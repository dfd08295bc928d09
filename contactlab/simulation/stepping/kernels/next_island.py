"""The stages NEXT_ISLAND to SOLVE_LCP: rows of one island, its warm start, strategies, and otherwise its LCP.

Joint rows follow the contact rows, [N; F; L; G; B]. The rows G are eliminated before the LCP is assembled, by the
kernels that the public path also calls.
"""

from __future__ import annotations

from contactlab.constraint_solver.kernels.discretized_lcp import assemble_lcp, place_joint_spans
from contactlab.multibody.spatial.arrays import IntArray
from contactlab.simulation.stepping.kernels.arrays import IslandWork, JointRows, MomentFriction, PackedWorld, StepWork
from contactlab.simulation.stepping.kernels.blocks import build_blocks, complete_rows, posed_rows, rows_left
from contactlab.simulation.stepping.kernels.joint_rows import (
    add_joint_rows,
    count_joint_rows,
    eliminate_equalities,
    fill_joint_warm_start,
)
from contactlab.simulation.stepping.kernels.layout import (
    ADD_JOINT_ROWS,
    ALL_TRIED,
    ANSWERED,
    CHOICE_ANY,
    CHOICE_EQUAL_COMPLIANCE,
    CHOICE_OTHER_SOLUTION,
    CONES,
    FAILURE_LARGE,
    FIRST_STRATEGIES,
    FORM_LCP,
    INTEGRATE,
    MAX_UNKNOWNS,
    NEED_SPACE,
    PIVOT_BUDGET,
    REST_TRIED,
    REST_UNTRIED,
    SHORT_OF_ISLAND,
    SOLVE_LCP,
    SOLVER_EXTERNAL,
    SOLVER_LEMKE_FIRST,
    SWEEPS,
    UNSOLVED,
    VERIFY,
    Parameters,
    StepControl,
)
from contactlab.simulation.stepping.kernels.moments import add_moments, copy_variables, count_moments
from lcp.compiler.views import view_2d
from lcp.contacts.kernels.island_acceptance import BEST_RESIDUAL, IslandProblem, IslandSolution
from lcp.contacts.kernels.strategy_loop import (
    NEEDS_SWEEPS,
    NO_STRATEGY,
    SearchResult,
    solve_fallback,
    solve_first,
    solve_from_sweeps,
    solve_rest,
)
from lcp.contacts.kernels.strategy_loop import OTHER_FORCES as FOUND_OTHERS
from lcp.kernels import RUNNING, SOLVED, kernel
from lcp.kernels.lemke import PIVOTS, lemke_drive, lemke_float_size, lemke_int_size, pivots_at_once
from lcp.kernels.lemke import STAGE as LEMKE_STAGE
from lcp.kernels.lemke import START as LEMKE_START


@kernel(inline=True)
def next_island(
    world: PackedWorld,
    work: StepWork,
    island: IslandWork,
    joints: JointRows | None,
    moments: MomentFriction | None,
    control: StepControl,
    parameters: Parameters,
) -> int:
    """Form the rows of the next island, for strategies or for ADD_JOINT_ROWS; after the last one: INTEGRATE."""
    progress = island.progress[0]
    if control.island >= control.n_islands:
        return INTEGRATE
    if not check_capacity(world, work, island, joints, moments, control, parameters):
        return NEED_SPACE
    # contact rows
    nc = progress.nc
    build_blocks(world, work, island, control, parameters)
    # warm start, and rows of moments
    progress.has_z0 = 0
    if parameters.warm_start != 0 and copy_variables(world, moments, work, island, control, parameters.edges, 1):
        progress.has_z0 = 1
    if moments is not None and progress.ncone > nc:
        add_moments(world, moments, work, island, control, parameters.edges)
    # no forces yet
    progress.n = nc + 2 * progress.nr + progress.ncone
    progress.strategies_tried = 0
    progress.rest = REST_UNTRIED
    progress.attempt = NO_STRATEGY
    progress.systems = 0
    progress.choice = CHOICE_OTHER_SOLUTION if parameters.require_equal_compliance != 0 and nc > 0 else CHOICE_ANY
    alone = progress.nl + progress.ng + progress.nbox == 0
    return FIRST_STRATEGIES if alone and nc > 0 and parameters.use_strategies != 0 else ADD_JOINT_ROWS


@kernel(inline=True)
def check_capacity(
    world: PackedWorld,
    work: StepWork,
    island: IslandWork,
    joints: JointRows | None,
    moments: MomentFriction | None,
    control: StepControl,
    parameters: Parameters,
) -> bool:
    """Store the sizes of the island in progress; return False if its buffers are too small."""
    progress = island.progress[0]
    # sizes
    i = control.island
    nc = work.contact_start[i + 1] - work.contact_start[i]
    nv = work.island_nv[i]
    progress.nc = nc
    progress.nv = nv
    progress.ncone = nc
    progress.nr = nc * (parameters.edges // 2)
    if moments is not None:
        count_moments(world, moments, work, island, control, parameters.edges)
    # buffers of the contacts
    room = nc * (1 if moments is None else CONES) <= island.r.shape[0] and nv <= island.Mv.shape[0]
    # buffers of all rows
    if joints is not None:
        count_joint_rows(joints, island, i, parameters.cfm)
        m = nc + progress.nr + progress.nl + progress.ng + progress.nbox
        n = nc + 2 * progress.nr + progress.ncone + progress.nl + 2 * progress.nbox
        room = room and nv <= joints.v0.shape[0] and m <= min(island.k.shape[0], joints.k.shape[0])
        room = room and n <= island.q.shape[0] and progress.ng * progress.ng <= joints.P.shape[0]
    control.short = SHORT_OF_ISLAND
    return room


@kernel(short_loops=True)
def add_joint_rows_stage(
    world: PackedWorld,
    work: StepWork,
    island: IslandWork,
    joints: JointRows | None,
    control: StepControl,
    parameters: Parameters,
) -> int:
    """Add the island's joint rows to its rows, with their warm start, and eliminate its bilateral rows.

    Return FIRST_STRATEGIES if strategies are in use, equal compliance is required, and the island has joint rows and
    contacts; otherwise FORM_LCP.
    """
    progress = island.progress[0]
    if joints is None or progress.nl + progress.ng + progress.nbox == 0:
        return FORM_LCP
    i = control.island
    # rows, and their warm start
    rows = posed_rows(island, joints, parameters.h)
    progress.n = add_joint_rows(world, work, joints, rows, i, parameters)
    if parameters.warm_start != 0 and fill_joint_warm_start(island, joints, rows, i):
        progress.has_z0 = 1
    # their column ranges, and the rows that remain after the elimination of equations
    trees = work.tree_start[i + 1] - work.tree_start[i]
    spans = island.column_ranges[: rows.k.shape[0] - rows.nb]
    place_joint_spans(rows.nc + rows.nr, rows.nl, rows.nb, rows.J, rows.Y, island.tree_starts[: trees + 1], spans)
    if rows.nb > 0:
        eliminate_equalities(rows, spans, joints)
    proposes = parameters.use_strategies != 0 and parameters.require_equal_compliance != 0 and rows.nc > 0
    return FIRST_STRATEGIES if proposes else FORM_LCP


@kernel(short_loops=True)
def run_first_strategies(
    work: StepWork, island: IslandWork, joints: JointRows | None, control: StepControl, parameters: Parameters
) -> int:
    """Run `solve_first`, the strategies that most islands need, and return the next stage."""
    problem, solution = island_problem(work.tree_start, island, joints, control, parameters)
    found = solve_first(problem, solution, island.strategy_float_work, island.strategy_int_work)
    return dispatch_result(found, island, parameters)


@kernel(short_loops=True)
def run_sweeps(
    work: StepWork, island: IslandWork, joints: JointRows | None, control: StepControl, parameters: Parameters
) -> int:
    """Run `solve_from_sweeps`, the strategies that few islands need, and return the next stage."""
    problem, solution = island_problem(work.tree_start, island, joints, control, parameters)
    found = solve_from_sweeps(problem, solution, island.strategy_float_work, island.strategy_int_work)
    return dispatch_result(found, island, parameters)


@kernel(short_loops=True)
def run_fallback_strategies(
    tree_start: IntArray, island: IslandWork, joints: JointRows | None, control: StepControl, parameters: Parameters
) -> int:
    """Run `solve_fallback`, called from Python if FIRST_STRATEGIES or SWEEPS is UNSOLVED; return the next stage."""
    problem, solution = island_problem(tree_start, island, joints, control, parameters)
    found = solve_fallback(problem, solution, island.strategy_float_work, island.strategy_int_work)
    return dispatch_result(found, island, parameters)


@kernel(short_loops=True)
def hold_at_rest(
    tree_start: IntArray, island: IslandWork, joints: JointRows | None, control: StepControl, parameters: Parameters
) -> int:
    """Run `solve_rest`, called from Python if the forces found move an island at rest; return VERIFY."""
    progress = island.progress[0]
    problem, solution = island_problem(tree_start, island, joints, control, parameters)
    progress.rest = REST_TRIED
    found = solve_rest(problem, solution, island.strategy_float_work, island.strategy_int_work)
    progress.systems += found.systems
    if found.attempt != NO_STRATEGY:
        progress.attempt, progress.choice = found.attempt, CHOICE_OTHER_SOLUTION
    return VERIFY


@kernel(inline=True)
def island_problem(
    tree_start: IntArray, island: IslandWork, joints: JointRows | None, control: StepControl, parameters: Parameters
) -> tuple[IslandProblem, IslandSolution]:
    """Return the problem of the island in progress, without its equations, and the arrays of its solution."""
    progress = island.progress[0]
    # rows, and trees, which joint rows may have connected
    rows = posed_rows(island, joints, parameters.h)
    trees = tree_start[control.island + 1] - tree_start[control.island]
    posed = island.k[:0]
    if joints is not None:
        trees = 1
        while island.tree_starts[trees] < progress.nv:
            trees += 1
        if rows.nb > 0:
            rows = rows_left(rows, island, joints)
        if progress.ng > 0:
            posed = joints.posed[: 2 * rows.k.shape[0]]
    # views of the buffers
    n = progress.n
    nv = progress.nv
    problem = IslandProblem(
        rows,
        island.tree_starts[: trees + 1],
        parameters.require_equal_compliance != 0,
        progress.has_z0 != 0,
        parameters.exact_cone != 0,
        parameters.enabled_strategies,
        island.z0[:n],
        parameters.tolerance,
        posed,
    )
    solution = IslandSolution(
        island.q[:n],
        island.z[:n],
        island.w[:n],
        island.f[: rows.k.shape[0]],
        island.v_plus[:nv],
        island.residuals,
        island.certificate,
        island.certificate_work[: nv + 1],
        island.best_z[:n],
        island.state,
        island.dv_deps[:nv],
    )
    return problem, solution


@kernel(inline=True)
def dispatch_result(found: SearchResult, island: IslandWork, parameters: Parameters) -> int:
    """Store the result of strategies; return the next stage, or UNSOLVED for the fallback strategies."""
    progress = island.progress[0]
    progress.systems += found.systems
    if found.outcome == NEEDS_SWEEPS:
        return SWEEPS
    progress.attempt = found.attempt
    # forces are found
    if found.attempt != NO_STRATEGY:
        progress.choice = CHOICE_ANY
        if parameters.require_equal_compliance != 0:
            progress.choice = CHOICE_OTHER_SOLUTION if found.outcome == FOUND_OTHERS else CHOICE_EQUAL_COMPLIANCE
        progress.answered = ANSWERED
        progress.pivots = 0
        return VERIFY
    # no forces are found: forces near the previous ones, which a named solver replaces, need no fallback strategies
    tried = parameters.require_equal_compliance != 0 and island.state[BEST_RESIDUAL] >= 0.0
    later = tried and progress.strategies_tried == 0
    progress.strategies_tried = 1 if tried else 0
    return UNSOLVED if later else FORM_LCP


@kernel(short_loops=True)
def form_lcp(island: IslandWork, joints: JointRows | None, control: StepControl, parameters: Parameters) -> int:
    """Form the LCP of the island for SOLVE_LCP, if all strategies have failed."""
    progress = island.progress[0]
    # all columns, also for inspection of the problem
    posed = posed_rows(island, joints, parameters.h)
    complete_rows(posed.J, posed.Y, posed.column_ranges)
    if progress.strategies_tried != 0:
        progress.strategies_tried = ALL_TRIED
        return VERIFY
    if parameters.require_equal_compliance != 0 and parameters.exact_cone == 0 and progress.n > MAX_UNKNOWNS:
        control.failure = FAILURE_LARGE
        return UNSOLVED
    # M and q
    rows = posed
    if joints is not None and posed.nb > 0:
        rows = rows_left(posed, island, joints)
        complete_rows(rows.J, rows.Y, rows.column_ranges)
    n = progress.n
    assemble_lcp(rows, view_2d(island.M, 0, n, n), island.q[:n])
    # Problems with contacts and exact cones, or for a friction backend, are solved externally.
    outside = (parameters.exact_cone != 0 or parameters.backend != 0) and progress.nc > 0
    if parameters.solver == SOLVER_EXTERNAL or outside:
        return UNSOLVED
    island.info[LEMKE_STAGE] = LEMKE_START
    progress.pivots = -1
    return SOLVE_LCP


@kernel(short_loops=True)
def solve_lcp(island: IslandWork, parameters: Parameters) -> int:
    """Run Lemke's method on the island's LCP, at most a budget of pivots per call; return VERIFY or UNSOLVED.

    UNSOLVED means that the method needs more pivots, or that it failed and external solvers follow. Without external
    solvers VERIFY finds that the LCP is unsolved.
    """
    progress = island.progress[0]
    n = progress.n
    code = lemke_drive(
        view_2d(island.M, 0, n, n),
        island.q[:n],
        island.z0[:n],
        progress.has_z0 != 0,
        island.options,
        island.float_work[: lemke_float_size(n)],
        island.int_work[: lemke_int_size(n)],
        island.z[:n],
        island.info,
        pivots_at_once(n, PIVOT_BUDGET),
    )
    if code == RUNNING:
        return UNSOLVED
    progress.pivots = island.info[PIVOTS]
    return UNSOLVED if code != SOLVED and parameters.solver == SOLVER_LEMKE_FIRST else VERIFY
