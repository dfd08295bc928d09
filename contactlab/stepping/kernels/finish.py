"""The stage `finish`: velocities of the islands, configuration, energies, and the basis for the next step."""

from __future__ import annotations

import math

from contactlab.multibody.kernels.centroidal import energies
from contactlab.multibody.kernels.codes import GOOD
from contactlab.multibody.kernels.configurations import integrate_configuration
from contactlab.multibody.kernels.layout import tree
from contactlab.multibody.kernels.sizes import CUSTOM_ROW, NOTHING, VELOCITIES
from contactlab.multibody.kernels.velocities import fill_frames
from contactlab.multibody.kernels.workspace import frames, rows_at
from contactlab.stepping.kernels.free_trees import move_free_trees
from contactlab.stepping.kernels.joint_island import keep_joints
from contactlab.stepping.kernels.joint_layout import Joints
from contactlab.stepping.kernels.layout import (
    ASLEEP,
    BEGIN,
    CONTACT_ID,
    FAILURE_NOT_FINITE,
    GO_ON,
    TAU_ZERO,
    TREE_DOF,
    Chunk,
    Control,
    FloatArray,
    Island,
    PackedWorld,
    Parameters,
    Work,
)
from contactlab.stepping.kernels.outcome import failed
from contactlab.stepping.kernels.sleeping import count_rest, keep_asleep
from lcp.kernels import kernel


@kernel(inline=True)
def scatter_velocity(world: PackedWorld, work: Work, island: Island, i: int) -> None:
    """Copy the island's velocities after the step to their trees, and what is kept by velocity."""
    for n in range(work.tree_start[i], work.tree_start[i + 1]):
        k = work.island_trees[n]
        a = world.trees[k, TREE_DOF]
        for j in range(world.trees[k + 1, TREE_DOF] - a):
            work.v_plus[a + j] = island.v_plus[work.local[k] + j]
            work.spread[a + j] = island.spread[work.local[k] + j]


@kernel
def measure(
    world: PackedWorld, W: FloatArray, q: FloatArray, v: FloatArray, sums: FloatArray, energy: FloatArray
) -> bool:
    """Fill ``energy`` (2,), kinetic and potential [J], of the state (q, v) that the head of W is filled for.

    ``sums`` (11,) is scratch. False when state or energy are no numbers; checked before `commit`, with which the last
    good state is gone.
    """
    t = tree(world.ints, world.floats)
    f = frames(W, t.parent.shape[0], t.dof_parent.shape[0])
    energies(t, f.R, f.p, f.V, v, world.fixed, sums, energy)
    total = energy[0] + energy[1]
    for j in range(q.shape[0]):
        total += q[j]
    return math.isfinite(total)


@kernel(inline=True)
def commit(work: Work, n_contacts: int) -> None:
    """Make the step's result the state; contacts and z are kept for the next."""
    for j in range(work.v.shape[0]):
        work.v[j] = work.v_plus[j]
    for j in range(work.q.shape[0]):
        work.q[j] = work.q_plus[j]
    for i in range(n_contacts):
        work.previous_id[i] = work.contact_int[i, CONTACT_ID]
        for j in range(work.previous_z.shape[1]):
            work.previous_z[i, j] = work.contact_z[i, j]


@kernel(inline=True)
def write_state(work: Work, chunk: Chunk, row: int, time: float, h: float) -> None:
    """Record time, q, v, kinematic bodies and the energies of the state, and the step that led to it."""
    chunk.time[row] = time
    chunk.kinetic[row] = work.energy[0]
    chunk.potential[row] = work.energy[1]
    chunk.h[row] = h
    for j in range(work.q.shape[0]):
        chunk.q[row, j] = work.q[j]
    for j in range(work.v.shape[0]):
        chunk.v[row, j] = work.v[j]
    for i in range(work.motion_pose.shape[0]):
        for j in range(12):
            chunk.motion_pose[row, i, j] = work.motion_next[i, j]
        for j in range(6):
            chunk.motion_twist[row, i, j] = work.motion_twist[i, j]


@kernel(inline=True)
def finish(
    world: PackedWorld, work: Work, joints: Joints | None, chunk: Chunk, control: Control, parameters: Parameters
) -> int:
    """Move q, measure what came of it, make it the state and record it."""
    h = parameters.h
    ints = world.ints
    floats = world.floats
    W = work.W
    motion = work.v_plus
    if control.projection != 0:
        # Nobody needs the bias any more.
        motion = work.bias
        for j in range(motion.shape[0]):
            motion[j] = work.v_plus[j] + work.shift[j] / h
    integrate_configuration(ints, floats, work.q, motion, h, work.q_plus)
    if control.accurate != 0 and world.free.shape[0] > 0:
        move_free_trees(world, work, control, h)
    if control.sleep != 0:
        keep_asleep(world, work)
    code = fill_frames(ints, floats, work.q_plus, work.v_plus, rows_at(W, 0, 0, CUSTOM_ROW), NOTHING, VELOCITIES, W)
    if code != GOOD or not measure(world, W, work.q_plus, work.v_plus, work.scratch[0:11], work.energy):
        return failed(control, FAILURE_NOT_FINITE)
    row = control.chunk_steps
    if control.tau_mode != TAU_ZERO:
        for j in range(work.tau.shape[0]):
            chunk.tau[row, j] = work.tau[j]
    if control.sleep != 0:
        count_rest(world, work, control.n_islands, parameters, h)
        for k in range(work.rest.shape[0]):
            chunk.asleep[row, k] = 1 if work.asleep[k] == ASLEEP else 0
            chunk.rest[row, k] = work.rest[k]
    commit(work, control.n_contacts)
    control.filled = 1
    if joints is not None:
        keep_joints(joints, chunk, control)
    control.n_previous = control.n_contacts
    parameters.time += h
    parameters.last_h = h
    write_state(work, chunk, row, parameters.time, h)
    control.chunk_steps = row + 1
    control.chunk_contacts += control.n_contacts
    control.chunk_islands += control.n_islands
    control.step += 1
    if control.adaptive != 0:
        parameters.h = min(parameters.h_max, parameters.grow * h)
    control.place = BEGIN
    return GO_ON
