"""The compiled loop: many steps in one call, from the state (q, v) over h each, with the applied force tau.

A stage returns the one that follows; where it needs something it returns a reason (`layout`), and runs again when
Python has supplied that. Nothing of the state changes before INTEGRATE::

    BEGIN             stop at the target, or with a full chunk; read tau and targets from tables
      v
    DETECT            M, M^-1, v_free = M^-1 (M v + h (tau - bias)); contacts that may close within h
      v               (LOOPS in between, where there are any: rows of loops)
    FIND_ISLANDS      rows of joints that take part; islands of trees
      v
    RESERVE           all rows of the step in one chunk
      v
    NEXT_ISLAND       rows J = [N; F; L; G; B], Y = M^-1 J', k, gamma    --> INTEGRATE after the last one
      v               (ADD_JOINT_ROWS in between, where there are any)
    FIRST_STRATEGIES  forces that may be found without a solver          --> VERIFY where they are
      v               (SWEEPS in between, where these may help)
    FORM_LCP          the LCP (M, q)                                     --> VERIFY where strategies have failed
      v
    SOLVE_LCP         0 <= z _|_ M z + q >= 0 by Lemke's method
      v
    VERIFY            residuals of z; forces f and v+ = v_free + h Y f; their certificate; the rows of the record
      v               (VERIFY_OTHER of what strategies have not found, or equations are in)
    PROJECT           where anything is too deep: the displacement that ends penetrations
      v
    NEXT_ISLAND

    INTEGRATE         q+ along v+; energies; the state and the basis of the next step --> BEGIN; or --> DETECT, where v+
                      leads to contacts that were not looked for

Five stages may be UNSOLVED. FIRST_STRATEGIES and SWEEPS leave hard islands to `run_fallback_strategies`, and VERIFY
islands that were at rest and no longer are. FORM_LCP leaves a problem to a solver outside, SOLVE_LCP also one with
many pivots. All write the same z to the same place, and the same residual kernel is the judge of all.

A step that failed can be tried again at another h, from BEGIN on: contacts, kN, M and q are formed anew for it, and the
rows of islands solved already are overwritten. User code is asked about a step before the loop makes it (`Driver`).

The loop is compiled in parts, each when a run first reaches it, and calls them by their addresses. Most first steps
need little of it: a body that falls meets no contact, contacts of free bodies no row of joints, and strategies leave
few islands to a solver. So a part is a kernel of its own, and the loop itself knows addresses alone. A part that is not
there yet is a NEED_SPACE; Python has the part compiled, or finds it on disk. Each part holds the arguments that it
reads: worlds that differ in others share its code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from contactlab.stepping.kernels.detection import detect, find_islands
from contactlab.stepping.kernels.finish import integrate_step
from contactlab.stepping.kernels.joint_rows import evaluate_loops
from contactlab.stepping.kernels.layout import (
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
    Chunk,
    Collision,
    IslandWork,
    JointRows,
    MomentFriction,
    PackedWorld,
    Parameters,
    StepControl,
    StepWork,
)
from contactlab.stepping.kernels.next_island import (
    add_joint_rows_stage,
    form_lcp,
    next_island,
    run_first_strategies,
    run_sweeps,
    solve_lcp,
)
from contactlab.stepping.kernels.projection import project
from contactlab.stepping.kernels.verify_island import verify_island
from lcp.compiler.bound_call import call_address, unpack_arguments
from lcp.kernels import kernel


@kernel
def advance(held: Any, types: Any) -> int:
    """Go from stage to stage, until ``control.target_steps`` steps are made or Python is needed; return the reason.

    Steps that are alone have a chunk of one step, emptied before each, and end with one that is to be looked at.
    What is held: control, where each stage's part and its arguments lie, looks, the state, and where the one before
    the last step goes.
    """
    controls, parts, looks, q, v, q_before, v_before = unpack_arguments(held, types)
    control = controls[0]
    alone = looks[ALONE] != 0
    begins = control.stage == BEGIN
    looks[LOOK] = 0
    while True:
        stage = control.stage
        if alone and stage == BEGIN:
            # the step just made
            step = control.step
            if not begins and (step == 1 or step > looks[NEXT] or control.uncertified > looks[MORE_UNSOLVED]):
                looks[LOOK] = 1
                return OK
            if step >= control.target_steps:
                return OK
            # the step to come
            control.chunk_steps = 0
            control.chunk_contacts = 0
            control.chunk_islands = 0
            control.chunk_joints = 0
            for i in range(q.shape[0]):
                q_before[i] = q[i]
            for i in range(v.shape[0]):
                v_before[i] = v[i]
        if parts[stage, 0] == 0:
            control.short, control.wanted = SHORT_OF_CODE, stage
            return NEED_SPACE
        following: int = call_address(parts[stage, 0], parts[stage, 1])
        begins = False
        if following >= 0:
            control.stage = following
        elif not alone or control.stage != BEGIN:
            # after a step that is alone the chunk is full, or the target is reached
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
    """Run the stages of every step: from its begin to the islands, and its end."""
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
    """Run the stages of every island: its rows, and the verification of its forces."""
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
    """Evaluate the rows of loops and of custom constraints."""
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
    """Verify forces that strategies have not found, or not certified."""
    return verify_island(world, work, island, joints, moments, chunk, control, parameters, 1)


@kernel(inline=True)
def begin(work: StepWork, joints: JointRows | None, chunk: Chunk, control: StepControl, parameters: Parameters) -> int:
    """Stop where the run or the chunk ends; otherwise read what tables say about the step."""
    if control.step >= control.target_steps or parameters.time >= parameters.end:
        return OK
    if control.chunk_steps >= chunk.time.shape[0]:
        control.short = SHORT_OF_ROWS
        return NEED_SPACE
    control.again = 0
    if work.tau_table.shape[0] > 0:
        for i in range(work.tau.shape[0]):
            work.tau[i] = work.tau_table[control.step, i]
    if joints is not None and joints.target_table.shape[0] > 0:
        for i in range(joints.target.shape[0]):
            joints.target[i] = joints.target_table[control.step, i]
    return DETECT


@kernel(inline=True)
def reserve_rows(chunk: Chunk, joints: JointRows | None, control: StepControl) -> int:
    """Make sure that all rows of the step go into one chunk."""
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
    world, work, chunk, controls, numbers, collision, joints = unpack_arguments(held, types)
    return run_step_stages(world, work, chunk, controls[0], numbers[0], collision, joints)


@kernel(short_loops=True)
def enter_island_stages(held: Any, types: Any) -> int:
    """Run the stages of every island."""
    world, work, island, joints, moments, chunk, controls, numbers = unpack_arguments(held, types)
    return run_island_stages(world, work, island, joints, moments, chunk, controls[0], numbers[0])


@kernel(short_loops=True)
def enter_loops(held: Any, types: Any) -> int:
    """Evaluate the rows of loops and of custom constraints."""
    work, joints = unpack_arguments(held, types)
    return evaluate_loop_rows(work, joints)


@kernel(short_loops=True)
def enter_verify_other(held: Any, types: Any) -> int:
    """Verify forces that strategies have not found, or not certified whole."""
    world, work, island, joints, moments, chunk, controls, numbers = unpack_arguments(held, types)
    return verify_other_forces(world, work, island, joints, moments, chunk, controls[0], numbers[0])


@kernel(short_loops=True)
def enter_first_strategies(held: Any, types: Any) -> int:
    """Run the first strategies."""
    work, island, joints, controls, numbers = unpack_arguments(held, types)
    return run_first_strategies(work, island, joints, controls[0], numbers[0])


@kernel(short_loops=True)
def enter_sweeps(held: Any, types: Any) -> int:
    """Run strategies that few islands need."""
    work, island, joints, controls, numbers = unpack_arguments(held, types)
    return run_sweeps(work, island, joints, controls[0], numbers[0])


@kernel(short_loops=True)
def enter_joint_rows(held: Any, types: Any) -> int:
    """Add rows of joints."""
    world, work, island, joints, controls, numbers = unpack_arguments(held, types)
    return add_joint_rows_stage(world, work, island, joints, controls[0], numbers[0])


@kernel(short_loops=True)
def enter_form(held: Any, types: Any) -> int:
    """Form the LCP of an island that strategies do not solve."""
    island, joints, controls, numbers = unpack_arguments(held, types)
    return form_lcp(island, joints, controls[0], numbers[0])


@kernel(short_loops=True)
def enter_solve(held: Any, types: Any) -> int:
    """Solve that LCP."""
    island, numbers = unpack_arguments(held, types)
    return solve_lcp(island, numbers[0])


@kernel(short_loops=True)
def enter_project(held: Any, types: Any) -> int:
    """End the penetrations of an island."""
    world, work, island, joints, chunk, controls, numbers = unpack_arguments(held, types)
    return project(world, work, island, joints, chunk, controls[0], numbers[0])


class StageGroup(NamedTuple):
    """Stages that are compiled together."""

    entry: Callable[..., int]  # takes its arguments from a buffer
    stages: tuple[int, ...]
    arguments: tuple[str, ...]  # that it reads, by the names of `StepBuffers`


_STEP: Final = ("world", "work", "chunk", "control", "parameters", "collision", "joints")
_ISLAND: Final = ("world", "work", "island", "joints", "moments", "chunk", "control", "parameters")
_TRIED: Final = ("work", "island", "joints", "control", "parameters")
_PROJECT: Final = ("world", "work", "island", "joints", "chunk", "control", "parameters")
#: World, work, island, chunk, control and parameters as arrays of one record, collision, joints, moments. Collision is
#: None where no two shapes can meet: compiled for that, a part contains no collision detection. Moments are None where
#: no surface resists turning, joints where nothing acts on joints and strategies solve nearly every island: the parts
#: then know contacts alone.
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
