"""The compiled loop: many steps in one call, resumable at every point where Python is needed.

One step is the program BEGIN -> DETECT -> ROOM -> (ISLANDS -> SOLVE -> JUDGE) per island -> FINISH, with PROJECT after
each JUDGE where positions are projected. The place in it,
the island in progress and every intermediate value live in the arrays of `layout`, so returning and entering again
continues in mid-step. A solver outside this loop (NEED_SOLVE) and the one inside write the same z to the same place,
and the same residual kernel judges both.

Nothing of the state changes before FINISH. A step that failed can therefore be tried again at another h from DETECT on:
contacts, kN, M and q are formed anew for it, and the rows of islands solved already are overwritten.
"""

from __future__ import annotations

from contactlab.multibody.kernels.codes import GOOD
from contactlab.multibody.kernels.configurations import integrate_configuration
from contactlab.multibody.kernels.fill_frames import fill_frames
from contactlab.multibody.kernels.sizes import CUSTOM_ROW, NOTHING, VELOCITIES
from contactlab.multibody.kernels.views import rows_at
from contactlab.stepping.kernels.collision import Collision
from contactlab.stepping.kernels.finish import commit, measure, write_state
from contactlab.stepping.kernels.joint_island import (
    judge_joint_island,
    keep_joints,
    pose_joint_island,
    write_joint_rows,
)
from contactlab.stepping.kernels.joint_layout import Joints
from contactlab.stepping.kernels.layout import (
    ASLEEP,
    BEGIN,
    CHUNK_FULL,
    DETECT,
    DONE,
    FAILURE_LCP,
    FAILURE_NONE,
    FAILURE_NOT_FINITE,
    FAILURE_PROJECTION,
    FINISH,
    ISLANDS,
    JUDGE,
    NEED_CALLBACK,
    NEED_SOLVE,
    PAUSED,
    PIVOT_BUDGET,
    PROJECT,
    ROOM,
    SOLVE,
    SOLVER_EXTERNAL,
    SOLVER_LEMKE_FIRST,
    TAU_CALLBACK,
    TAU_ZERO,
    Chunk,
    Control,
    Island,
    PackedWorld,
    Parameters,
    Work,
)
from contactlab.stepping.kernels.projection import pose_projection, shift_island
from contactlab.stepping.kernels.rows import write_island, write_rows
from contactlab.stepping.kernels.sleeping import count_rest, keep_asleep
from contactlab.stepping.kernels.stages import assemble_island, failed, find_contacts, judge_island, pose_island
from lcp.kernels import kernel
from lcp.kernels.codes import RUNNING, SOLVED
from lcp.kernels.lemke import PIVOTS as LEMKE_PIVOTS
from lcp.kernels.lemke import STAGE as LEMKE_STAGE
from lcp.kernels.lemke import START as LEMKE_START
from lcp.kernels.lemke import lemke_drive, lemke_float_size, lemke_int_size
from lcp.kernels.residuals import is_solved, lcp_residuals


@kernel
def run(
    world: PackedWorld,
    work: Work,
    island: Island,
    chunk: Chunk,
    control: Control,
    parameters: Parameters,
    collision: Collision | None,
    joints: Joints | None,
) -> int:
    """Step until control.target steps are finished or Python is needed; the reason (see `layout`) is returned.

    ``collision`` is None where no two shapes can meet: compiled for that, the loop contains no collision detection.
    ``joints`` is None where nothing acts on joints: the loop then knows contacts alone.
    """
    h = parameters.h
    while True:
        place = control.place
        if place == BEGIN:
            if control.step >= control.target or parameters.time >= parameters.end:
                return DONE
            if control.chunk_steps >= chunk.scalars.shape[0]:
                return CHUNK_FULL
            control.place = DETECT
            asked = control.tau_mode == TAU_CALLBACK or control.ask_contacts + control.ask_joints > 0
            if asked or work.motion_pose.shape[0] > 0:
                return NEED_CALLBACK

        elif place == DETECT:
            W = work.W
            code = fill_frames(
                world.ints, world.floats, work.q, work.v, rows_at(W, 0, 0, CUSTOM_ROW), NOTHING, VELOCITIES, W
            )
            if code != GOOD:
                return failed(control, FAILURE_NOT_FINITE)
            reason = find_contacts(world, work, collision, joints, control, parameters)
            if reason != 0:
                return reason
            control.place = ROOM

        elif place == ROOM:
            # All rows of a step go into one chunk.
            contacts = control.chunk_contacts + control.n_contacts
            islands = control.chunk_islands + control.n_islands
            if contacts > chunk.contact_int.shape[0] or islands > chunk.island_int.shape[0]:
                return CHUNK_FULL
            if joints is not None:
                of_joints = control.chunk_joints + joints.row_start[control.n_islands]
                if of_joints > joints.chunk_int.shape[0]:
                    return CHUNK_FULL
            control.place = ISLANDS

        elif place == ISLANDS:
            if control.island >= control.n_islands:
                control.place = FINISH
                continue
            if joints is None:
                reason = pose_island(world, work, island, control, parameters)
            else:
                reason = pose_joint_island(world, work, island, joints, control, parameters)
            if reason != 0:
                return reason
            if control.proposed != 0:
                control.place = JUDGE
                continue
            if joints is None:
                assemble_island(island, control, parameters)
            if control.solver == SOLVER_EXTERNAL:
                control.place = JUDGE
                return NEED_SOLVE
            island.info[LEMKE_STAGE] = LEMKE_START
            control.place = SOLVE

        elif place == SOLVE:
            n = control.n
            code = lemke_drive(
                rows_at(island.M, 0, n, n),
                island.q[:n],
                island.z0[:n],
                control.has_z0 != 0,
                island.options,
                island.float_work[: lemke_float_size(n)],
                island.int_work[: lemke_int_size(n)],
                island.z[:n],
                island.info,
                PIVOT_BUDGET,
            )
            if code == RUNNING:
                return PAUSED
            control.pivots = island.info[LEMKE_PIVOTS]
            control.place = JUDGE
            if code != SOLVED and control.solver == SOLVER_LEMKE_FIRST:
                return NEED_SOLVE

        elif place == JUDGE:
            i = control.island
            of_joints = 0
            if joints is None:
                if not judge_island(world, work, island, control, parameters):
                    return failed(control, FAILURE_LCP)
            else:
                failure = judge_joint_island(world, work, island, joints, control, parameters)
                if failure != FAILURE_NONE:
                    return failed(control, failure)
                write_joint_rows(island, joints, control)
                of_joints = joints.row_start[i + 1] - joints.row_start[i]
            write_rows(world, work, island, chunk, i, control.step, h, control.edges, control.chunk_contacts)
            write_island(
                island,
                chunk,
                control.chunk_islands + i,
                control.step,
                i,
                control.nc,
                control.pivots,
                control.warm_hit,
                of_joints,
            )
            nc, nv = control.nc, control.nv
            if control.projection != 0 and pose_projection(world, work, island, i, nc, nv, h):
                island.info[LEMKE_STAGE] = LEMKE_START
                control.place = PROJECT
                continue
            control.island = i + 1
            control.place = ISLANDS

        elif place == PROJECT:
            n = control.nc
            M = rows_at(island.M, 0, n, n)
            code = lemke_drive(
                M,
                island.q[:n],
                island.z0[:n],
                False,
                island.options,
                island.float_work[: lemke_float_size(n)],
                island.int_work[: lemke_int_size(n)],
                island.z[:n],
                island.info,
                PIVOT_BUDGET,
            )
            if code == RUNNING:
                return PAUSED
            lcp_residuals(M, island.q[:n], island.z[:n], island.w[:n], island.measures)
            if code != SOLVED or not is_solved(island.measures, parameters.tolerance):
                return failed(control, FAILURE_PROJECTION)
            i = control.island
            shift_island(world, work, island, chunk, i, n, control.nv, control.chunk_contacts)
            control.island = i + 1
            control.place = ISLANDS

        else:  # FINISH
            ints, floats, W = world.ints, world.floats, work.W
            motion = work.v_plus
            if control.projection != 0:
                # Nobody needs the bias any more.
                motion = work.bias
                for j in range(motion.shape[0]):
                    motion[j] = work.v_plus[j] + work.shift[j] / h
            integrate_configuration(ints, floats, work.q, motion, h, work.q_plus)
            if control.sleep != 0:
                keep_asleep(world, work)
            code = fill_frames(
                ints, floats, work.q_plus, work.v_plus, rows_at(W, 0, 0, CUSTOM_ROW), NOTHING, VELOCITIES, W
            )
            if code != GOOD or not measure(world, W, work.q_plus, work.scratch[0:11], work.energy):
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
            if joints is not None:
                keep_joints(joints, control, row, control.n_islands)
            control.n_previous = control.n_contacts
            parameters.time += h
            parameters.last_h = h
            write_state(work, chunk, row, parameters.time, h)
            control.chunk_steps = row + 1
            control.chunk_contacts += control.n_contacts
            control.chunk_islands += control.n_islands
            control.step += 1
            if control.adaptive != 0:
                h = min(parameters.h_max, parameters.grow * h)
                parameters.h = h
            control.place = BEGIN
