"""The stages from `next_island` to `solve`: rows of one island, the start of its solution, attempts; else its LCP.

Rows of joints stand behind those of the contacts, [N; F; L; G; B], and the rows G are eliminated before the LCP is
assembled, by the kernels that the public path calls too.
"""

from __future__ import annotations

from contactlab.formulation.kernels.discretized_lcp import assemble_lcp
from contactlab.formulation.kernels.joint_spans import place_joint_spans
from contactlab.multibody.kernels.workspace import rows_at
from contactlab.spatial.arrays import IntArray
from contactlab.stepping.kernels.blocks import build_blocks, complete_rows, posed_rows, rows_left, warm_vector
from contactlab.stepping.kernels.joint_island import add_joint_rows, count_joint_rows, eliminate, warm_joints
from contactlab.stepping.kernels.layout import (
    ADD_JOINT_ROWS,
    ALL_TRIED,
    ANSWERED,
    CHOICE_ANY,
    CHOICE_NOT_SELECTED,
    CHOICE_SELECTED,
    CONES,
    FAILURE_LARGE,
    FIRST_STRATEGIES,
    FORM_LCP,
    INTEGRATE,
    MOST_UNKNOWNS,
    NEED_SPACE,
    PIVOT_BUDGET,
    REST_TRIED,
    REST_UNTRIED,
    REST_WANTED,
    SHORT_OF_ISLAND,
    SOLVE_LCP,
    SOLVER_EXTERNAL,
    SOLVER_LEMKE_FIRST,
    SWEEPS,
    UNSOLVED,
    VERIFY,
    Control,
    Island,
    Joints,
    Moments,
    PackedWorld,
    Parameters,
    Work,
)
from contactlab.stepping.kernels.moments import add_moments, count_moments, exchange_moments
from lcp.contacts.kernels.contact_system import ContactSystem
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
from lcp.kernels import kernel
from lcp.kernels.codes import RUNNING, SOLVED
from lcp.kernels.lemke import PIVOTS, lemke_drive, lemke_float_size, lemke_int_size
from lcp.kernels.lemke import STAGE as LEMKE_STAGE
from lcp.kernels.lemke import START as LEMKE_START
from lcp.kernels.portions import pivots_at_once


@kernel(inline=True)
def next_island(
    world: PackedWorld,
    work: Work,
    island: Island,
    joints: Joints | None,
    moments: Moments | None,
    control: Control,
    parameters: Parameters,
) -> int:
    """Form the next island's rows, for strategies or for ADD_JOINT_ROWS; after the last: INTEGRATE."""
    progress = island.progress[0]
    if control.island >= control.n_islands:
        return INTEGRATE
    if not fits(world, work, island, joints, moments, control, parameters):
        return NEED_SPACE
    nc = progress.nc
    nr = progress.nr
    n = nc + 2 * nr + progress.ncone
    build_blocks(world, work, island, control, parameters)
    progress.has_z0 = 0
    if parameters.warm_start != 0 and warm_vector(work, island, control, parameters.edges):
        progress.has_z0 = 1
    if moments is not None and progress.ncone > nc:
        add_moments(world, moments, work, island, control, parameters.edges)
        exchange_moments(world, moments, work, island, control, parameters.edges, True)
    progress.n = n
    progress.tried = 0
    progress.rest = REST_UNTRIED
    progress.attempt = NO_STRATEGY
    progress.systems = 0
    progress.choice = CHOICE_NOT_SELECTED if parameters.select != 0 and nc > 0 else CHOICE_ANY
    alone = progress.nl + progress.ng + progress.nbox == 0
    return FIRST_STRATEGIES if alone and nc > 0 and parameters.propose != 0 else ADD_JOINT_ROWS


@kernel(short_loops=True)
def attempt(work: Work, island: Island, joints: Joints | None, control: Control, parameters: Parameters) -> int:
    """Make the attempts that most islands need."""
    rows, trees = rows_tried(work.tree_start, island, joints, control, parameters.h)
    case = case_of(rows, island.starts[: trees + 1], island, joints, parameters)
    answer = answer_of(rows, island)
    found = solve_first(case, answer, island.proposal_floats, island.proposal_ints)
    return made(found, island, parameters)


@kernel(short_loops=True)
def attempt_nearer(work: Work, island: Island, joints: Joints | None, control: Control, parameters: Parameters) -> int:
    """Make those that few islands need."""
    rows, trees = rows_tried(work.tree_start, island, joints, control, parameters.h)
    case = case_of(rows, island.starts[: trees + 1], island, joints, parameters)
    answer = answer_of(rows, island)
    found = solve_from_sweeps(case, answer, island.proposal_floats, island.proposal_ints)
    return made(found, island, parameters)


@kernel(short_loops=True)
def attempt_later(
    tree_start: IntArray, island: Island, joints: Joints | None, control: Control, parameters: Parameters
) -> int:
    """Make those that hardly any island needs, called by Python where strategies were UNSOLVED; return what follows."""
    progress = island.progress[0]
    rows, trees = rows_tried(tree_start, island, joints, control, parameters.h)
    case = case_of(rows, island.starts[: trees + 1], island, joints, parameters)
    answer = answer_of(rows, island)
    if progress.rest == REST_WANTED:
        # Forces that move an island at rest are found: others are to hold it.
        progress.rest = REST_TRIED
        found = solve_rest(case, answer, island.proposal_floats, island.proposal_ints)
        progress.systems += found.systems
        if found.attempt != NO_STRATEGY:
            progress.attempt, progress.choice = found.attempt, CHOICE_NOT_SELECTED
        return VERIFY
    found = solve_fallback(case, answer, island.proposal_floats, island.proposal_ints)
    return made(found, island, parameters)


@kernel(inline=True)
def rows_tried(
    tree_start: IntArray, island: Island, joints: Joints | None, control: Control, h: float
) -> tuple[ContactSystem, int]:
    """The rows that attempts are made at, and the number of their trees."""
    progress = island.progress[0]
    rows = posed_rows(island, joints, h)
    trees = tree_start[control.island + 1] - tree_start[control.island]
    if joints is not None:
        # Rows of joints may have joined trees.
        trees = 1
        while island.starts[trees] < progress.nv:
            trees += 1
        if rows.nb > 0:
            rows = rows_left(rows, island, joints)
    return rows, trees


@kernel(inline=True)
def case_of(
    rows: ContactSystem,
    starts: IntArray,
    island: Island,
    joints: Joints | None,
    parameters: Parameters,
) -> IslandProblem:
    """What is asked of the attempts at the island in progress."""
    progress = island.progress[0]
    posed = island.k[:0]
    if joints is not None and progress.ng > 0:
        posed = joints.posed[: 2 * rows.k.shape[0]]
    return IslandProblem(
        rows,
        starts,
        parameters.select != 0,
        progress.has_z0 != 0,
        parameters.cone != 0,
        parameters.allowed,
        island.z0[: progress.n],
        parameters.tolerance,
        posed,
    )


@kernel(inline=True)
def answer_of(rows: ContactSystem, island: Island) -> IslandSolution:
    """Where they write what they find."""
    progress = island.progress[0]
    n = progress.n
    return IslandSolution(
        island.q[:n],
        island.z[:n],
        island.w[:n],
        island.f[: rows.k.shape[0]],
        island.v_plus[: progress.nv],
        island.measures,
        island.certificate,
        island.certificate_work[: progress.nv + 1],
        island.best[:n],
        island.state,
        island.spread[: progress.nv],
    )


@kernel(inline=True)
def made(found: SearchResult, island: Island, parameters: Parameters) -> int:
    """Note what was found: VERIFY follows, or where nothing was, the later attempts (UNSOLVED) or FORM_LCP."""
    progress = island.progress[0]
    progress.systems += found.systems
    if found.outcome == NEEDS_SWEEPS:
        return SWEEPS
    progress.attempt = found.attempt
    if found.attempt != NO_STRATEGY:
        progress.choice = CHOICE_ANY
        if parameters.select != 0:
            progress.choice = CHOICE_NOT_SELECTED if found.outcome == FOUND_OTHERS else CHOICE_SELECTED
        progress.answered = ANSWERED
        progress.pivots = 0
        return VERIFY
    # Forces near those of the step before, which a named solver is to better, are not gone on from.
    tried = parameters.select != 0 and island.state[BEST_RESIDUAL] >= 0.0
    later = tried and progress.tried == 0
    progress.tried = 1 if tried else 0
    return UNSOLVED if later else FORM_LCP


@kernel(short_loops=True)
def pose(
    world: PackedWorld, work: Work, island: Island, joints: Joints | None, control: Control, parameters: Parameters
) -> int:
    """Add rows of joints, where there are any."""
    progress = island.progress[0]
    i = control.island
    nc = progress.nc
    nr = progress.nr
    if joints is not None and progress.nl + progress.ng + progress.nbox > 0:
        rows = posed_rows(island, joints, parameters.h)
        progress.n = add_joint_rows(world, work, joints, rows, i, parameters)
        if parameters.warm_start != 0 and warm_joints(island, joints, rows, i, parameters.cfm):
            progress.has_z0 = 1
        trees = work.tree_start[i + 1] - work.tree_start[i]
        spans = island.spans[: rows.k.shape[0] - rows.nb]
        place_joint_spans(nc + nr, rows.nl, rows.nb, rows.J, rows.Y, island.starts[: trees + 1], spans)
        if rows.nb > 0:
            eliminate(rows, spans, joints)
        if parameters.propose != 0 and parameters.select != 0 and nc > 0:
            return FIRST_STRATEGIES
    return FORM_LCP


@kernel(short_loops=True)
def form(island: Island, joints: Joints | None, control: Control, parameters: Parameters) -> int:
    """Form the island's LCP for SOLVE_LCP, where nothing else is left to try."""
    progress = island.progress[0]
    posed = posed_rows(island, joints, parameters.h)
    # For who looks at the problem, too.
    complete_rows(posed.J, posed.Y, posed.column_ranges)
    if progress.tried != 0:
        progress.tried = ALL_TRIED
        return VERIFY
    if parameters.select != 0 and parameters.cone == 0 and progress.n > MOST_UNKNOWNS:
        control.failure = FAILURE_LARGE
        return UNSOLVED
    rows = posed
    if joints is not None and posed.nb > 0:
        rows = rows_left(posed, island, joints)
        complete_rows(rows.J, rows.Y, rows.column_ranges)
    assemble_lcp(rows, rows_at(island.M, 0, progress.n, progress.n), island.q[: progress.n])
    # A problem of cones, or of a friction backend, is none for the solver inside, but where there is no contact.
    if parameters.solver == SOLVER_EXTERNAL or ((parameters.cone != 0 or parameters.backend != 0) and progress.nc > 0):
        return UNSOLVED
    island.info[LEMKE_STAGE] = LEMKE_START
    progress.pivots = -1
    return SOLVE_LCP


@kernel(inline=True)
def pivot(island: Island, n: int, warm: bool) -> int:
    """Go on with the LCP of n variables in M and q, from z0 where ``warm``; RUNNING, or how it ended."""
    return lemke_drive(
        rows_at(island.M, 0, n, n),
        island.q[:n],
        island.z0[:n],
        warm,
        island.options,
        island.float_work[: lemke_float_size(n)],
        island.int_work[: lemke_int_size(n)],
        island.z[:n],
        island.info,
        pivots_at_once(n, PIVOT_BUDGET),
    )


@kernel(inline=True)
def solve(island: Island, parameters: Parameters) -> int:
    """Solve the island's problem, some pivots at a time; one that this leaves unsolved may go to solvers outside."""
    progress = island.progress[0]
    code = pivot(island, progress.n, progress.has_z0 != 0)
    if code == RUNNING:
        return UNSOLVED
    progress.pivots = island.info[PIVOTS]
    return UNSOLVED if code != SOLVED and parameters.solver == SOLVER_LEMKE_FIRST else VERIFY


@kernel(inline=True)
def fits(
    world: PackedWorld,
    work: Work,
    island: Island,
    joints: Joints | None,
    moments: Moments | None,
    control: Control,
    parameters: Parameters,
) -> bool:
    """Note the sizes of the island in progress; False where its buffers are too small."""
    progress = island.progress[0]
    i = control.island
    nc = work.contact_start[i + 1] - work.contact_start[i]
    nv = work.island_nv[i]
    progress.nc = nc
    progress.nv = nv
    progress.ncone = nc
    progress.nr = nc * (parameters.edges // 2)
    if moments is not None:
        count_moments(world, moments, work, island, control, parameters.edges)
    room = nc * (1 if moments is None else CONES) <= island.r.shape[0] and nv <= island.Mv.shape[0]
    if joints is not None:
        count_joint_rows(joints, island, i, parameters.cfm)
        m = nc + progress.nr + progress.nl + progress.ng + progress.nbox
        n = nc + 2 * progress.nr + progress.ncone + progress.nl + 2 * progress.nbox
        room = room and nv <= joints.v0.shape[0] and m <= min(island.k.shape[0], joints.k.shape[0])
        room = room and n <= island.q.shape[0] and progress.ng * progress.ng <= joints.P.shape[0]
    control.short = SHORT_OF_ISLAND
    return room
