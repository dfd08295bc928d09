"""The stage `integrate_step`: velocities of the islands, configuration, energies, and the basis for the next step."""

from __future__ import annotations

import math

from contactlab.multibody.kernels.centroidal import energies
from contactlab.multibody.kernels.codes import CUSTOM_ROW, GOOD, NOTHING, VELOCITIES
from contactlab.multibody.kernels.integration import integrate_configuration
from contactlab.multibody.kernels.kinematics import fill_frames
from contactlab.multibody.kernels.layout import frames, tree
from contactlab.multibody.kernels.points import velocity_of
from contactlab.stepping.kernels.blocks import SEEN_DEPTH
from contactlab.stepping.kernels.free_motion import move_free_trees
from contactlab.stepping.kernels.joint_island import store_joint_warm_start
from contactlab.stepping.kernels.joint_rows import misses_stops
from contactlab.stepping.kernels.layout import (
    ASLEEP,
    BEGIN,
    BODY_DOF,
    BODY_ROOT,
    CONTACT_ID,
    DETECT,
    FAILURE_NOT_FINITE,
    LOOKS,
    TREE_DOF,
    UNSOLVED,
    Chunk,
    Collision,
    FloatArray,
    IslandWork,
    JointRows,
    PackedWorld,
    Parameters,
    StepControl,
    StepWork,
)
from contactlab.stepping.kernels.pairs import outruns
from contactlab.stepping.kernels.sleeping import count_rest, keep_asleep
from lcp.compiler.kernels import copy_array, fill_array
from lcp.compiler.views import view_2d
from lcp.kernels import kernel

# Fraction of the margin: a change of velocity that moves a point less than this in a step is not an impact.
STRUCK = 0.05


@kernel(inline=True)
def scatter_velocity(world: PackedWorld, work: StepWork, island: IslandWork, i: int) -> None:
    """Copy the island's velocities after the step, and the data kept per velocity, to their trees."""
    for n in range(work.tree_start[i], work.tree_start[i + 1]):
        k = work.island_trees[n]
        a = world.trees[k, TREE_DOF]
        for j in range(world.trees[k + 1, TREE_DOF] - a):
            work.v_plus[a + j] = island.v_plus[work.tree_offset[k] + j]
            work.dv_deps[a + j] = island.dv_deps[work.tree_offset[k] + j]


@kernel
def compute_energies(
    world: PackedWorld, W: FloatArray, q: FloatArray, v: FloatArray, sums: FloatArray, energy: FloatArray
) -> bool:
    """Fill ``energy`` (2,), kinetic and potential [J], of the state (q, v) that the head of W is filled for.

    ``sums`` (11,) is scratch. Return False if state or energy are not finite; `commit` comes later, because it
    overwrites the last good state.
    """
    t = tree(world.ints, world.floats)
    f = frames(W, t.parent.shape[0], t.dof_parent.shape[0])
    energies(t, f.R, f.p, f.V, v, world.fixed, sums, energy)
    total = energy[0] + energy[1]
    for j in range(q.shape[0]):
        total += q[j]
    return math.isfinite(total)


@kernel(inline=True)
def commit(work: StepWork, n_contacts: int) -> None:
    """Make the step's result the state; keep contacts and z for the next step."""
    copy_array(work.v_plus, work.v)
    copy_array(work.q_plus, work.q)
    for i in range(n_contacts):
        work.previous_id[i] = work.contact_int[i, CONTACT_ID]
        copy_array(work.contact_z[i], work.previous_z[i])


@kernel(inline=True)
def write_state(work: StepWork, chunk: Chunk, row: int, time: float, h: float) -> None:
    """Record time, q, v, kinematic bodies and the energies of the state, and the step that led to it."""
    chunk.time[row] = time
    chunk.kinetic[row] = work.energy[0]
    chunk.potential[row] = work.energy[1]
    chunk.h[row] = h
    copy_array(work.q, chunk.q[row])
    copy_array(work.v, chunk.v[row])
    for i in range(work.motion_pose.shape[0]):
        copy_array(work.motion_next[i], chunk.motion_pose[row, i])
        copy_array(work.motion_twist[i], chunk.motion_twist[row, i])


@kernel(inner=True)
def looks_again(
    world: PackedWorld,
    work: StepWork,
    joints: JointRows | None,
    collision: Collision | None,
    control: StepControl,
    parameters: Parameters,
) -> bool:
    """Return True if the search for contacts must be repeated with v+, or if v+ passes stops that were left out.

    An impact can move a body towards shapes that the search at its earlier velocity left out. `detect` repeats the
    search, and ends the step as it is if nothing was left out.
    """
    # stops that were left out, and bodies that were struck
    missed = joints is not None and misses_stops(work, joints, parameters.h)
    moves = False
    if control.again < LOOKS:
        after = work.v_seen[control.again]
        before = work.v if control.again == 0 else work.v_seen[control.again - 1]
        change = 0.0
        for j in range(after.shape[0]):
            after[j] = work.v_plus[j]
            change = max(change, abs(after[j] - before[j]))
        # Bodies without an impact have moved where contacts were searched for.
        if parameters.reduce == 0 and parameters.h * change > STRUCK * parameters.margin:
            if collision is not None:
                moves = outruns(world, work, collision, before, after, parameters.h, parameters.margin)
            moves = moves or whips(world, work, before, after, parameters)
    # search again, or finish
    if control.again < LOOKS and (missed or moves):
        control.again += 1
        if missed:
            control.n_found = -1
        return True
    if joints is not None:
        fill_array(joints.missed, 0)
    return False


@kernel(inner=True)
def whips(world: PackedWorld, work: StepWork, old: FloatArray, new: FloatArray, parameters: Parameters) -> bool:
    """Return True if support points far from a half-space under velocities ``old`` reach it under ``new``."""
    for b in range(world.bodies.shape[0]):
        j = world.bodies[b, BODY_DOF]
        if j < 0 or world.point_start[b] == world.point_start[b + 1]:
            continue
        origin = work.origins[world.bodies[b, BODY_ROOT]]
        before = work.scratch[0:3]
        after = work.scratch[3:6]
        for i in range(world.point_start[b], world.point_start[b + 1]):
            point = work.centers[i]
            deep = -SEEN_DEPTH * world.extent[world.point_shape[i]]
            velocity_of(world.dof_parent, work.S, j, origin, point, old, before)
            velocity_of(world.dof_parent, work.S, j, origin, point, new, after)
            for s in range(world.offsets.shape[0]):
                n = world.normals[s]
                gap = n[0] * point[0] + n[1] * point[1] + n[2] * point[2] - world.offsets[s] - world.radii[i]
                was = n[0] * before[0] + n[1] * before[1] + n[2] * before[2]
                now = n[0] * after[0] + n[1] * after[1] + n[2] * after[2]
                near = gap <= parameters.margin + parameters.h * max(0.0, -was)
                if not near and gap + parameters.h * now < deep and world.pair_mu[world.point_shape[i], s] >= 0.0:
                    return True
    return False


@kernel(inline=True)
def integrate_step(
    world: PackedWorld,
    work: StepWork,
    joints: JointRows | None,
    collision: Collision | None,
    chunk: Chunk,
    control: StepControl,
    parameters: Parameters,
) -> int:
    """Integrate q, compute the energies, make the result the state and record it; return BEGIN.

    With position projection, return DETECT and leave the state unchanged if `looks_again`. If a result is not finite,
    set ``control.failure`` and return UNSOLVED.
    """
    h = parameters.h
    if parameters.projection != 0 and looks_again(world, work, joints, collision, control, parameters):
        return DETECT
    # the configuration after the step
    control.again = 0
    ints = world.ints
    floats = world.floats
    W = work.W
    motion = work.v_plus
    if control.deep != 0:
        # The bias is not needed any more: its buffer is reused.
        motion = work.bias
        for j in range(motion.shape[0]):
            motion[j] = work.v_plus[j] + work.projection_displacement[j] / h
    integrate_configuration(ints, floats, work.q, motion, h, work.q_plus)
    if parameters.accurate != 0 and world.free.shape[0] > 0:
        move_free_trees(world, work, h, parameters)
    if parameters.sleep != 0:
        keep_asleep(world, work)
    # its kinematics and energies
    code = fill_frames(ints, floats, work.q_plus, work.v_plus, view_2d(W, 0, 0, CUSTOM_ROW), NOTHING, VELOCITIES, W)
    if code != GOOD or not compute_energies(world, W, work.q_plus, work.v_plus, work.scratch[0:11], work.energy):
        control.failure = FAILURE_NOT_FINITE
        return UNSOLVED
    # rows of the record, and the state of the next step
    row = control.chunk_steps
    if chunk.tau.shape[0] > 0:
        copy_array(work.tau, chunk.tau[row])
    if parameters.sleep != 0:
        count_rest(world, work, control.n_islands, parameters, h)
        for k in range(work.rest.shape[0]):
            chunk.asleep[row, k] = 1 if work.asleep[k] == ASLEEP else 0
            chunk.rest[row, k] = work.rest[k]
    commit(work, control.n_contacts)
    control.kinematics_valid = 1
    if joints is not None:
        store_joint_warm_start(joints, chunk, control)
    # numbers of the run
    control.n_previous = control.n_contacts
    parameters.time += h
    parameters.last_h = h
    write_state(work, chunk, row, parameters.time, h)
    control.chunk_steps = row + 1
    control.chunk_contacts += control.n_contacts
    control.chunk_islands += control.n_islands
    control.step += 1
    if parameters.adaptive != 0:
        parameters.h = min(parameters.h_max, parameters.growth_factor * h)
    return BEGIN
