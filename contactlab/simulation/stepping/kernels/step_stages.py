"""The compiled loop: many steps in one call, each from the state (q, v) over h with the applied force tau.

A stage returns the next stage. If it needs something, it returns a reason (`layout`), and runs again when Python has
supplied it. The state changes only in INTEGRATE::

    BEGIN             stop at the target, or with a full chunk; read tau and targets from tables
      v
    DETECT            M, M^-1, v_free = M^-1 (M v + h (tau - bias)); contacts that may close within h
      v               (LOOPS in between, if there are any: rows of loops)
    FIND_ISLANDS      joint rows that take part; islands of trees
      v
    RESERVE           all rows of the step in one chunk
      v
    NEXT_ISLAND       rows J = [N; F; L; G; B], Y = M^-1 J', k, gamma    --> INTEGRATE after the last one
      v               (ADD_JOINT_ROWS in between, if there are any)
    FIRST_STRATEGIES  forces without a solver                            --> VERIFY if they are found
      v               (SWEEPS in between, if they may help)
    FORM_LCP          the LCP (M, q)                                     --> VERIFY if strategies have failed
      v
    SOLVE_LCP         0 <= z _|_ M z + q >= 0 by Lemke's method
      v
    VERIFY            residuals of z; forces f and v+ = v_free + h Y f; their certificate; the rows of the record
      v               (VERIFY_OTHER for forces of solvers, or with equations)
    PROJECT           if a row is too deep: the displacement that ends penetrations
      v
    NEXT_ISLAND

    INTEGRATE         q+ along v+; energies; the state and the basis of the next step --> BEGIN; or --> DETECT, if v+
                      leads to contacts outside the search

Five stages may be UNSOLVED. FIRST_STRATEGIES and SWEEPS leave hard islands to `run_fallback_strategies`, and VERIFY
leaves islands that were at rest and are moved to `hold_at_rest`. FORM_LCP leaves a problem to an external solver,
SOLVE_LCP also a problem with many pivots. All write z to the same array, and the same residual kernel checks it.

A failed step can be tried again with another h, from BEGIN on: contacts, kN, M and q are formed again, and the rows of
islands already solved are overwritten. User code is called before the loop makes a step (`Driver`).

The loop is compiled in groups of stages, each when a run first reaches it, and calls them by their addresses. Most
first steps need few groups: a falling body has no contact, contacts of free bodies have no joint rows, and strategies
leave few islands to a solver. So each group is a separate kernel, and the loop itself has only addresses. A missing
group gives NEED_SPACE; Python then compiles it or loads it from disk. Each group holds only the arguments that it
reads: worlds that differ in other arguments share its code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from contactlab.simulation.stepping.kernels.arrays import (
    Chunk,
    Collision,
    IslandWork,
    JointRows,
    MomentFriction,
    PackedWorld,
    StepWork,
)
from contactlab.simulation.stepping.kernels.detection import detect, find_islands
from contactlab.simulation.stepping.kernels.finish import integrate_step
from contactlab.simulation.stepping.kernels.joint_rows import evaluate_loops
from contactlab.simulation.stepping.kernels.layout import (
    ADD_JOINT_ROWS,
    ALONE,
    BEGIN,
    DETECT,
    FIND_ISLANDS,
    FIRST_STRATEGIES,
    FORM_LCP,
    INTEGRATE,
    LOOK,
    LOOPS,
    MORE_UNSOLVED,
    NEED_SPACE,
    NEXT,
    NEXT_ISLAND,
    OK,
    PROJECT,
    RESERVE,
    SHORT_OF_CODE,
    SHORT_OF_ROWS,
    SOLVE_LCP,
    SWEEPS,
    VERIFY,
    VERIFY_OTHER,
    Parameters,
    StepControl,
)
from contactlab.simulation.stepping.kernels.next_island import (
    add_joint_rows_stage,
    form_lcp,
    next_island,
    run_first_strategies,
    run_sweeps,
    solve_lcp,
)
from contactlab.simulation.stepping.kernels.projection import project
from contactlab.simulation.stepping.kernels.verify_island import verify_island
from lcp.compiler.bound_call import call_address, unpack_arguments
from lcp.compiler.kernels import copy_array
from lcp.kernels import kernel


@kernel
def advance(held: Any, types: Any) -> int:
    """Run stage after stage, until ``control.target_steps`` steps are made or Python is needed; return the reason.

    If ``looks[ALONE]`` is set, the chunk has one step and is emptied before each step. The loop then returns after a
    step that must be inspected, with ``looks[LOOK]`` set. ``held`` has control, the addresses and arguments of the
    stages, looks, the state, and the arrays of the state before the last step.
    """
    controls, parts, looks, q, v, q_before, v_before = unpack_arguments(held, types)
    control = controls[0]
    alone = looks[ALONE] != 0
    begins = control.stage == BEGIN
    looks[LOOK] = 0
    while True:
        stage = control.stage
        if alone and stage == BEGIN:
            # the finished step
            step = control.step
            if not begins and (step == 1 or step > looks[NEXT] or control.uncertified > looks[MORE_UNSOLVED]):
                looks[LOOK] = 1
                return OK
            if step >= control.target_steps:
                return OK
            # the next step
            control.chunk_steps = 0
            control.chunk_contacts = 0
            control.chunk_islands = 0
            control.chunk_joints = 0
            copy_array(q, q_before)
            copy_array(v, v_before)
        if parts[stage, 0] == 0:
            control.short, control.wanted = SHORT_OF_CODE, stage
            return NEED_SPACE
        following: int = call_address(parts[stage, 0], parts[stage, 1])
        begins = False
        if following >= 0:
            control.stage = following
        elif not alone or control.stage != BEGIN:
            # after a step alone, the chunk is full or the target is reached
            return following


@kernel(short_loops=True)
def run_step_stages(
    world: PackedWorld,
    work: StepWork,
    chunk: Chunk,
    control: StepControl,
    parameters: Parameters,
    collision: Collision | None,
    joints: JointRows | None,
) -> int:
    """Run the stages of each step outside islands: from its begin to the islands, and its end."""
    while True:
        stage = control.stage
        if stage == BEGIN:
            following = begin(work, joints, chunk, control, parameters)
        elif stage == DETECT:
            following = detect(world, work, collision, joints, control, parameters)
        elif stage == FIND_ISLANDS:
            following = find_islands(world, work, joints, control, parameters)
        elif stage == RESERVE:
            following = reserve_rows(chunk, joints, control)
        elif stage == INTEGRATE:
            following = integrate_step(world, work, joints, collision, chunk, control, parameters)
        else:
            return stage
        if following < 0:
            return following
        control.stage = following


@kernel(short_loops=True)
def run_island_stages(
    world: PackedWorld,
    work: StepWork,
    island: IslandWork,
    joints: JointRows | None,
    moments: MomentFriction | None,
    chunk: Chunk,
    control: StepControl,
    parameters: Parameters,
) -> int:
    """Run the stages of each island: its rows, and the verification of its forces."""
    while True:
        stage = control.stage
        if stage == NEXT_ISLAND:
            following = next_island(world, work, island, joints, moments, control, parameters)
        elif stage == VERIFY:
            following = verify_island(world, work, island, joints, moments, chunk, control, parameters, None)
        else:
            return stage
        if following < 0:
            return following
        control.stage = following


@kernel(short_loops=True)
def evaluate_loop_rows(work: StepWork, joints: JointRows | None) -> int:
    """Evaluate the rows of loops and custom constraints, and return the next stage."""
    if joints is not None:
        evaluate_loops(joints, work.W)
    return FIND_ISLANDS


@kernel(short_loops=True)
def verify_other_forces(
    world: PackedWorld,
    work: StepWork,
    island: IslandWork,
    joints: JointRows | None,
    moments: MomentFriction | None,
    chunk: Chunk,
    control: StepControl,
    parameters: Parameters,
) -> int:
    """Verify forces that strategies have not found, or not certified completely."""
    return verify_island(world, work, island, joints, moments, chunk, control, parameters, 1)


@kernel(inline=True)
def begin(work: StepWork, joints: JointRows | None, chunk: Chunk, control: StepControl, parameters: Parameters) -> int:
    """Return OK if the run is complete, and NEED_SPACE if the chunk is full; otherwise DETECT.

    Before DETECT the step's tau and targets are read from the tables, if there are any.
    """
    if control.step >= control.target_steps or parameters.time >= parameters.end:
        return OK
    if control.chunk_steps >= chunk.time.shape[0]:
        control.short = SHORT_OF_ROWS
        return NEED_SPACE
    control.again = 0
    if work.tau_table.shape[0] > 0:
        copy_array(work.tau_table[control.step], work.tau)
    if joints is not None and joints.target_table.shape[0] > 0:
        copy_array(joints.target_table[control.step], joints.target)
    return DETECT


@kernel(inline=True)
def reserve_rows(chunk: Chunk, joints: JointRows | None, control: StepControl) -> int:
    """Return NEED_SPACE if the rows of the step do not fit the chunk, otherwise the next stage."""
    contacts = control.chunk_contacts + control.n_contacts
    islands = control.chunk_islands + control.n_islands
    full = contacts > chunk.contact.shape[0] or islands > chunk.island.shape[0]
    if joints is not None:
        of_joints = control.chunk_joints + joints.row_start[control.n_islands]
        full = full or of_joints > chunk.joint.shape[0]
    if full:
        control.short = SHORT_OF_ROWS
        return NEED_SPACE
    return NEXT_ISLAND if control.n_islands > 0 else INTEGRATE


@kernel(short_loops=True)
def enter_step_stages(held: Any, types: Any) -> int:
    """Run the stages of every step."""
    return run_step_stages(*unpack_arguments(held, types))


@kernel(short_loops=True)
def enter_island_stages(held: Any, types: Any) -> int:
    """Run the stages of every island."""
    return run_island_stages(*unpack_arguments(held, types))


@kernel(short_loops=True)
def enter_loops(held: Any, types: Any) -> int:
    """Evaluate the rows of loops and of custom constraints."""
    return evaluate_loop_rows(*unpack_arguments(held, types))


@kernel(short_loops=True)
def enter_verify_other(held: Any, types: Any) -> int:
    """Verify forces that strategies have not found, or not certified completely."""
    return verify_other_forces(*unpack_arguments(held, types))


@kernel(short_loops=True)
def enter_first_strategies(held: Any, types: Any) -> int:
    """Run the first strategies."""
    return run_first_strategies(*unpack_arguments(held, types))


@kernel(short_loops=True)
def enter_sweeps(held: Any, types: Any) -> int:
    """Run the strategies that few islands need."""
    return run_sweeps(*unpack_arguments(held, types))


@kernel(short_loops=True)
def enter_joint_rows(held: Any, types: Any) -> int:
    """Add joint rows."""
    return add_joint_rows_stage(*unpack_arguments(held, types))


@kernel(short_loops=True)
def enter_form(held: Any, types: Any) -> int:
    """Form the LCP of an island without forces from strategies."""
    return form_lcp(*unpack_arguments(held, types))


@kernel(short_loops=True)
def enter_solve(held: Any, types: Any) -> int:
    """Solve the LCP of an island."""
    return solve_lcp(*unpack_arguments(held, types))


@kernel(short_loops=True)
def enter_project(held: Any, types: Any) -> int:
    """Project the positions of an island out of penetrations."""
    return project(*unpack_arguments(held, types))


class StageGroup(NamedTuple):
    """Stages that are compiled together."""

    entry: Callable[..., int]  # takes its arguments from a buffer
    stages: tuple[int, ...]
    arguments: tuple[str, ...]  # names of its arguments in `StepBuffers`


_STEP: Final = ("world", "work", "chunk", "control", "parameters", "collision", "joints")
_ISLAND: Final = ("world", "work", "island", "joints", "moments", "chunk", "control", "parameters")
_TRIED: Final = ("work", "island", "joints", "control", "parameters")
_PROJECT: Final = ("world", "work", "island", "joints", "chunk", "control", "parameters")
#: World, work, island, chunk, control, parameters, collision, joints, moments, in the order of the stages. Collision is
#: None if no two shapes can meet; a group then contains no collision detection. Moments are None if no surface resists
#: turning. Joints are None if nothing acts on joints and strategies solve nearly every island; the groups then handle
#: only contacts.
STAGE_GROUPS: Final = (
    StageGroup(enter_step_stages, (BEGIN, DETECT, FIND_ISLANDS, RESERVE, INTEGRATE), _STEP),
    StageGroup(enter_island_stages, (NEXT_ISLAND, VERIFY), _ISLAND),
    StageGroup(enter_loops, (LOOPS,), ("work", "joints")),
    StageGroup(enter_verify_other, (VERIFY_OTHER,), _ISLAND),
    StageGroup(enter_first_strategies, (FIRST_STRATEGIES,), _TRIED),
    StageGroup(enter_sweeps, (SWEEPS,), _TRIED),
    StageGroup(enter_joint_rows, (ADD_JOINT_ROWS,), ("world", *_TRIED)),
    StageGroup(enter_form, (FORM_LCP,), ("island", "joints", "control", "parameters")),
    StageGroup(enter_solve, (SOLVE_LCP,), ("island", "parameters")),
    StageGroup(enter_project, (PROJECT,), _PROJECT),
)
