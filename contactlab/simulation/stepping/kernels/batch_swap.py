"""Exchange of runs in one memory: each run has a slot for its state, and threads claim runs from a shared queue.

An exchange stores one run to its slot and loads the next. Runs that need no Python are processed within one call.
A thread that finds the queue empty polls for a while before it returns, because waking a sleeping thread takes as long
as many runs.
"""

from __future__ import annotations

from typing import Any

from contactlab.simulation.stepping.kernels import layout
from contactlab.simulation.stepping.kernels.arrays import BatchState, Chunk, ChunkStart, JointWarmStart, StepWork
from contactlab.simulation.stepping.kernels.layout import (
    ACTIVE_THREADS,
    ALLOW_UNCERTIFIED,
    AT_WORK,
    BEGIN,
    BUFFER_CAPACITY_EXCEEDED,
    CLAIMED_RUN,
    DONE,
    FAILURE_NONE,
    IN_PYTHON,
    LOAD,
    LOADED,
    NEEDS_PYTHON,
    PAUSED,
    PUBLISH_COUNT,
    QUEUE_LENGTH,
    REASON,
    RUN_LIMIT,
    RUNS_DONE,
    SHUTDOWN,
    SPIN_LIMIT,
    STATE_CAPACITY_EXCEEDED,
    STEPS,
    STORE,
    UNSOLVED_BEFORE,
    WAIT_FOR_ALL,
    IntArray,
    Parameters,
    StepControl,
)
from lcp.compiler.bound_call import call_address, unpack_arguments
from lcp.compiler.kernels import atomic_add, atomic_load, atomic_store, copy_array
from lcp.kernels import Ints, kernel


@kernel
def swap_run(
    slots: BatchState,
    start: ChunkStart,
    order: IntArray,
    work: StepWork,
    joints: JointWarmStart | None,
    chunk: Chunk,
    control: StepControl,
    parameters: Parameters,
    smallest_h: float,
) -> int:
    """Store the run in memory to its slot and load another run; return DONE or an error code.

    ``order[STORE]`` and ``order[LOAD]`` are the numbers of the two runs, -1 for none. A loaded run begins a step.
    ``smallest_h``: minimum step of an adaptive stepper.
    """
    # store the run in memory
    i = order[STORE]
    if i >= 0:
        if control.n_previous > slots.contact_id.shape[1]:
            return STATE_CAPACITY_EXCEEDED
        store_run(slots, start, i, work, joints, chunk, control, parameters)
        order[STORE] = -1
    # load the other run
    i = order[LOAD]
    if i >= 0:
        if slots.contacts[i] > work.previous_id.shape[0]:
            return BUFFER_CAPACITY_EXCEEDED
        load_run(slots, start, i, work, joints, control, parameters)
        # step size with which it continues
        control.allow_uncertified = order[ALLOW_UNCERTIFIED]
        parameters.h = parameters.h_max
        if parameters.adaptive != 0 and parameters.last_h != 0.0:
            parameters.h = min(parameters.h_max, max(parameters.growth_factor * parameters.last_h, smallest_h))
    return DONE


@kernel(inline=True)
def copy_rows(given: Any, out: Any, n: int) -> None:
    """Copy the first n rows of an array."""
    for i in range(n):
        copy_array(given[i], out[i])


@kernel(inner=True)
def load_run(
    slots: BatchState,
    start: ChunkStart,
    i: int,
    work: StepWork,
    joints: JointWarmStart | None,
    control: StepControl,
    parameters: Parameters,
) -> None:
    """Load the state of run i and the inputs of its steps; the chunk is empty."""
    # motion
    copy_array(slots.q[i], work.q)
    copy_array(slots.q[i], start.q)
    copy_array(slots.v[i], work.v)
    copy_array(slots.v[i], start.v)
    copy_array(slots.tau[i], work.tau)
    # contacts, rows of joints, rest
    n_contacts = slots.contacts[i]
    copy_array(slots.contact_id[i], work.previous_id[:n_contacts])
    copy_rows(slots.contact_z[i], work.previous_z, n_contacts)
    if joints is not None:
        copy_array(slots.target[i], joints.target)
        copy_array(slots.was_active[i], joints.was_active)
        copy_rows(slots.row_z[i], joints.previous_z, joints.was_active.shape[0])
    if parameters.sleep != 0:
        copy_array(slots.rest[i], work.rest)
        copy_array(slots.previous_tau[i], work.previous_tau)
    # numbers
    start.time[0] = slots.time[i]
    parameters.time = slots.time[i]
    parameters.last_h = slots.last_h[i]
    control.n_previous = n_contacts
    control.chunk_steps = 0
    control.chunk_contacts = 0
    control.chunk_islands = 0
    control.chunk_joints = 0
    control.step = 0
    control.stage = BEGIN
    control.kinematics_valid = 0
    control.failure = FAILURE_NONE


@kernel(inner=True)
def store_run(
    slots: BatchState,
    start: ChunkStart,
    i: int,
    work: StepWork,
    joints: JointWarmStart | None,
    chunk: Chunk,
    control: StepControl,
    parameters: Parameters,
) -> None:
    """Store the state in memory to run i, with the results of the chunk's last step, if it has any."""
    slots.steps[i] += control.step
    last = control.chunk_steps - 1
    if last < 0:
        return
    # motion, and the state before the last step
    copy_array(work.q, slots.q[i])
    copy_array(work.v, slots.v[i])
    copy_array(chunk.q[last - 1] if last > 0 else start.q, slots.q_before[i])
    copy_array(chunk.v[last - 1] if last > 0 else start.v, slots.v_before[i])
    slots.time[i] = parameters.time
    slots.time_before[i] = chunk.time[last - 1] if last > 0 else start.time[0]
    slots.last_h[i] = parameters.last_h
    slots.energy[i, 0] = chunk.kinetic[last]
    slots.energy[i, 1] = chunk.potential[last]
    # contacts
    n_contacts = control.n_previous
    first = control.chunk_contacts - n_contacts
    slots.contacts[i] = n_contacts
    slots.contact_rows[i] = n_contacts
    copy_array(work.previous_id, slots.contact_id[i, :n_contacts])
    for c in range(n_contacts):
        slots.contact[i, c] = chunk.contact[first + c]
    copy_rows(work.previous_z, slots.contact_z[i], n_contacts)
    # rows of joints
    if joints is not None:
        copy_array(joints.was_active, slots.was_active[i])
        copy_rows(joints.previous_z, slots.row_z[i], joints.was_active.shape[0])
        first = control.chunk_joints
        while first > 0 and chunk.joint[first - 1].step == control.step - 1:
            first -= 1
        slots.joint_rows[i] = control.chunk_joints - first
        for n in range(control.chunk_joints - first):
            slots.joint[i, n] = chunk.joint[first + n]
    # rest
    if parameters.sleep != 0:
        copy_array(work.rest, slots.rest[i])
        copy_array(chunk.asleep[last], slots.asleep[i])
        copy_array(work.previous_tau, slots.previous_tau[i])


@kernel
def mark_idle(words: Ints) -> int:
    """Count this thread as idle."""
    before: int = atomic_add(words, ACTIVE_THREADS, -1)
    return before


@kernel
def process_queue(held: Any, types: Any) -> int:
    """Step runs of the queue until it is empty, or the run in memory needs Python; return the reason.

    ``held`` has the words and runs of the queue, and the world of each run. For each world it has the two addresses of
    the call that steps it, with the margins and impact speeds in it; then the arguments of `swap_run`. A run is
    `NEEDS_PYTHON` if its loop requests something (``order[REASON]``), or it has more unsolved islands than
    ``order[UNSOLVED_BEFORE]``, the number before it began. So is a run whose steps Python makes: it is `LOADED`. After
    ``order[RUN_LIMIT]`` runs the kernel is `PAUSED`. ``order[CLAIMED_RUN]`` was claimed and is not loaded yet.
    """
    words, line, world_of, codes, limits, slots, start, order, work, joints, chunk, control, parameters, numbers = (
        unpack_arguments(held, types)
    )
    turns = 0
    order[RUNS_DONE] = 0
    if order[PUBLISH_COUNT] > 0:
        # Everything else that other threads read of these runs is written before.
        atomic_store(words, QUEUE_LENGTH, order[PUBLISH_COUNT])
        order[PUBLISH_COUNT] = 0
    while True:
        if order[AT_WORK] == 0:
            if atomic_load(words, QUEUE_LENGTH) > 0 or order[STORE] >= 0:
                # Set before any run is claimed: a thread that finds no run left knows which threads still work.
                atomic_add(words, ACTIVE_THREADS, 1)
                order[AT_WORK] = 1
                order[RUNS_DONE] = turns = 0
                continue
            over = turns >= order[SPIN_LIMIT] or atomic_load(words, SHUTDOWN) != 0
            if over or (order[WAIT_FOR_ALL] != 0 and atomic_load(words, ACTIVE_THREADS) == 0):
                return DONE
            turns += 1
            continue
        # take the claimed run, or claim the next one from the queue
        i = order[CLAIMED_RUN]
        if i < 0 and order[RUNS_DONE] < order[RUN_LIMIT]:
            place = atomic_add(words, QUEUE_LENGTH, -1) - 1
            i = line[place] if place >= 0 else -1
        order[CLAIMED_RUN] = i
        # exchange the run in memory for it
        order[LOAD] = i
        said = swap_run(slots, start, order, work, joints, chunk, control[0], parameters[0], numbers[0])
        if said != DONE:
            return said
        # no run left: pause at the limit, otherwise wait
        if i < 0:
            if order[RUNS_DONE] >= order[RUN_LIMIT]:
                return PAUSED
            order[AT_WORK] = 0
            atomic_add(words, ACTIVE_THREADS, -1)
            continue
        # prepare the step with the margins and thresholds of the run's world
        order[CLAIMED_RUN] = -1
        world = world_of[i]
        unsolved = control[0].uncertified
        control[0].target_steps = words[STEPS]
        parameters[0].margin = limits[world, 0]
        parameters[0].restitution_threshold = limits[world, 1]
        parameters[0].angle_margin = limits[world, 2]
        parameters[0].angle_restitution_threshold = limits[world, 3]
        # step the run's world, unless Python does
        reason = LOADED
        order[STORE] = i
        if words[IN_PYTHON] == 0 and slots.steps[i] > 0:
            reason = call_address(codes[world, 0], codes[world, 1])
            order[RUNS_DONE] += 1
        # stop if the run needs Python
        if reason != layout.OK or control[0].uncertified != unsolved:
            order[REASON], order[UNSOLVED_BEFORE] = reason, unsolved
            return NEEDS_PYTHON
