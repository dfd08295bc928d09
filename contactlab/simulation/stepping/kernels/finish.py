"""The end of a step: `integrate_step`, and the rows of the record.

`integrate_step` finds the configuration, the energies, and the basis for the next step. VERIFY writes the rows of each
solved island, with its LCP variables by contact, residuals and certificate.
"""

from __future__ import annotations

import math

from contactlab.multibody.kernels import CUSTOM_ROW, GOOD, NOTHING, VELOCITIES
from contactlab.multibody.kernels.integration import integrate_configuration
from contactlab.multibody.kernels.kinematics import fill_frames
from contactlab.multibody.kernels.points import velocity_of
from contactlab.simulation.stepping.kernels.arrays import Chunk, Collision, IslandWork, JointRows, PackedWorld, StepWork
from contactlab.simulation.stepping.kernels.blocks import SEEN_DEPTH
from contactlab.simulation.stepping.kernels.detection import count_rest, keep_asleep
from contactlab.simulation.stepping.kernels.free_motion import compute_energies, move_free_trees
from contactlab.simulation.stepping.kernels.joint_rows import misses_stops, store_joint_warm_start
from contactlab.simulation.stepping.kernels.kinematic import relative_velocity
from contactlab.simulation.stepping.kernels.layout import (
    ASLEEP,
    BEGIN,
    BODY_A,
    BODY_B,
    BODY_DOF,
    BODY_ROOT,
    CONTACT_ID,
    DETECT,
    FAILURE_NOT_FINITE,
    GAP,
    GAP_CORRECTION,
    HALF_SPACE,
    LOOKS,
    MU,
    NORMAL,
    OPEN,
    POINT,
    RESTITUTION,
    SHAPE_A,
    SHAPE_B,
    SLIDE,
    STICK,
    STICK_FRACTION,
    TANGENTS,
    UNSOLVED,
    VN_FREE,
    FloatArray,
    Parameters,
    StepControl,
)
from contactlab.simulation.stepping.kernels.pairs import outruns
from lcp.compiler.kernels import copy_array, fill_array
from lcp.compiler.views import view_2d
from lcp.kernels import kernel

# Fraction of the margin: a change of velocity that moves a point less than this in a step is not an impact.
STRUCK = 0.05


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
    # moving bodies that have support points
    for b in range(world.bodies.shape[0]):
        j = world.bodies[b, BODY_DOF]
        if j < 0 or world.point_start[b] == world.point_start[b + 1]:
            continue
        origin = work.origins[world.bodies[b, BODY_ROOT]]
        before = work.scratch[0:3]
        after = work.scratch[3:6]
        # speed of each point under both velocities
        for i in range(world.point_start[b], world.point_start[b + 1]):
            point = work.centers[i]
            deep = -SEEN_DEPTH * world.extent[world.point_shape[i]]
            velocity_of(world.dof_parent, work.S, j, origin, point, old, before)
            velocity_of(world.dof_parent, work.S, j, origin, point, new, after)
            # gap of each half-space, and whether the old velocity stays clear but the new one reaches it
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
    if code != GOOD or not compute_energies(world, W, work.q_plus, work.v_plus, work.energy):
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


# Factor by which a value must be below the minimum of the free speeds, to exclude rounding.
SURELY = 1.0 - 1e-6


@kernel(inner=True)
def write_rows(
    world: PackedWorld, work: StepWork, island: IslandWork, chunk: Chunk, control: StepControl, parameters: Parameters
) -> None:
    """Write the contact rows of the current island in the chunk; `copy_variables` has filled ``work.contact_z``."""
    progress = island.progress[0]
    i = control.island
    first = work.contact_start[i]
    nc = progress.nc
    r = parameters.edges // 2
    h = parameters.h
    moving = work.scratch[0:3]
    other = work.scratch[3:6]
    for c in range(nc):
        index = work.island_contacts[first + c]
        floats = work.contact_float[index]
        ints = work.contact_int[index]
        normal = floats[NORMAL : NORMAL + 3]
        t1 = floats[TANGENTS : TANGENTS + 3]
        t2 = floats[TANGENTS + 3 : TANGENTS + 6]

        # friction impulses along the tangents
        force = island.f[c]
        along1 = 0.0
        along2 = 0.0
        for e in range(r):
            push = h * island.f[nc + c * r + e]
            along1 += push * island.edge_directions[e, 0]
            along2 += push * island.edge_directions[e, 1]

        # slip and mode
        a = ints[BODY_A]
        b = ints[BODY_B]
        point = floats[POINT : POINT + 3]
        relative_velocity(world, work, a, b, point, work.v_plus, other, moving)
        slip1 = moving[0] * t1[0] + moving[1] * t1[1] + moving[2] * t1[2]
        slip2 = moving[0] * t2[0] + moving[1] * t2[1] + moving[2] * t2[2]
        slip = math.sqrt(slip1 * slip1 + slip2 * slip2)
        mode = OPEN
        if force > 0.0:
            # The free speeds are at least the free normal speed.
            sticks = slip <= SURELY * STICK_FRACTION * abs(floats[VN_FREE])
            sticks = sticks or slip <= STICK_FRACTION * free_speeds(world, work, a, b, point)
            mode = STICK if sticks else SLIDE

        # the row of the record
        at = control.chunk_contacts + index
        row = chunk.contact[at]
        row.step = control.step
        row.island = i
        row.body_a = a
        row.body_b = b
        row.half_space = ints[HALF_SPACE]
        row.id = ints[CONTACT_ID]
        row.mode = mode
        row.shape_a = ints[SHAPE_A]
        row.shape_b = ints[SHAPE_B]
        for j in range(3):
            row.point[j] = point[j]
            row.normal[j] = normal[j]
            row.impulse[j] = h * force * normal[j] + along1 * t1[j] + along2 * t2[j]
            row.moment[j] = work.contact_moment[index, j]
        row.gap = floats[GAP]
        row.mu = floats[MU]
        row.impulse_normal = h * force
        row.impulse_tangential[0] = along1
        row.impulse_tangential[1] = along2
        row.slip = slip
        row.restitution = floats[RESTITUTION]
        row.projection_multiplier = 0.0
        row.projection_multiplier_tangential[0] = 0.0
        row.projection_multiplier_tangential[1] = 0.0
        row.gap_correction = floats[GAP_CORRECTION]
        copy_array(work.contact_z[index], chunk.contact_z[at])


@kernel(inner=True)
def free_speeds(world: PackedWorld, work: StepWork, a: int, b: int, point: FloatArray) -> float:
    """Return the scale of slips: the free speeds of the point on both bodies.

    The speeds of both trees count, because bodies that fall together move, although their relative velocity is zero.
    """
    unhindered = work.scratch[6:9]
    other = work.scratch[9:12]
    fill_array(other, 0.0)
    relative_velocity(world, work, a, b, point, work.v_free, other, unhindered)
    free = 0.0
    if not (a >= 0 and world.bodies[a, BODY_ROOT] == world.bodies[b, BODY_ROOT]):
        for j in range(3):
            unhindered[j] += other[j]
        free = math.sqrt(other[0] ** 2 + other[1] ** 2 + other[2] ** 2)
    return free + math.sqrt(unhindered[0] ** 2 + unhindered[1] ** 2 + unhindered[2] ** 2)


@kernel(inner=True)
def write_island(island: IslandWork, chunk: Chunk, control: StepControl, of_joints: int) -> None:
    """Write the row of the island in progress: solution, joint rows, residuals and certificate."""
    progress = island.progress[0]
    row = chunk.island[control.chunk_islands + control.island]
    row.step = control.step
    row.index = control.island
    row.contacts = progress.nc
    row.joints = of_joints
    row.pivots = progress.pivots
    row.warm = progress.warm_hit
    row.choice = progress.choice
    # Counted from 1: 0 means that no strategy found the forces, or the record does not have it.
    row.attempt = progress.attempt + 1
    row.systems = progress.systems
    copy_array(island.residuals, row.measures)
    copy_array(island.certificate, row.certificate)
