"""Derivatives of the last step, from the memory of its loop."""

from __future__ import annotations

import math
from typing import Any

from contactlab.derivatives.kernels import AXES, EPS, FORCE, PER_SPEED, SLIDE, DerivativeWork
from contactlab.derivatives.kernels.contact_frames import (
    at_start,
    at_velocity,
    axpy,
    contact_frames,
    read_contacts,
)
from contactlab.derivatives.kernels.contact_motion import contact_motions
from contactlab.derivatives.kernels.contact_rates import contact_rates, rolling_rates, speed_rates
from contactlab.derivatives.kernels.impulse_rates import free_rates
from contactlab.derivatives.kernels.kinks import contact_kinks, joint_kinks
from contactlab.derivatives.kernels.linear_piece import (
    contact_unknowns,
    fill_normal_laws,
    find_modes,
    find_row_modes,
    friction_direction,
    joint_row,
    joint_unknown,
    unknown_direction,
)
from contactlab.derivatives.kernels.piece_changes import MAX_TURNS, choose_gap_sides, cross_first
from contactlab.derivatives.kernels.system import apply_inverse, solve_island
from contactlab.multibody.constraints.kernels.row_rates import row_rates
from contactlab.multibody.kernels import CUSTOM_RATES, CUSTOM_ROW, FLOATING, GOOD, NOTHING, SPHERICAL
from contactlab.multibody.kernels.layout import tree
from contactlab.multibody.spatial.kernels import add, copy, cross, dot, times, vector_at
from contactlab.simulation.stepping.kernels.arrays import Chunk, Collision, JointRows, PackedWorld, StepWork
from contactlab.simulation.stepping.kernels.layout import ASLEEP, TREE_DOF, Parameters, StepControl
from lcp.compiler.bound_call import unpack_arguments
from lcp.compiler.views import view_2d
from lcp.contacts.kernels.contact_law import OPEN, STICK
from lcp.kernels import kernel


@kernel
def read_loops(work: StepWork, joints: JointRows, m: DerivativeWork, chunk: Chunk, control: StepControl) -> None:
    """Fill derivatives of the rows of loops and springs at v+, and add the wrenches of their forces to m.wrenches.

    m.loops has the four arrays by_q, by_v, speed and errors of `row_rates`, at a = 0, m.carried its last one. Custom
    rows have 0.
    """
    # Clear the outputs.
    m.loops[:] = 0.0
    m.carried[:] = 0.0
    m.loop_forces[:] = 0.0
    # Forces of these rows in the step.
    for record in range(control.chunk_joints):
        row = joints.rows[chunk.joint[record].row]
        if row.loop_row >= 0:
            m.loop_forces[row.loop_row] = chunk.joint[record].force
    # At v+ and zero accelerations.
    m.way[:] = 0.0
    none, rates = view_2d(m.W, 0, 0, CUSTOM_ROW), view_2d(m.W, 0, 0, CUSTOM_RATES)
    row_rates(
        joints.loop_ints,
        joints.loop_floats,
        m.q,
        m.v_plus,
        m.way[: m.v.shape[0]],
        m.loop_forces,
        none,
        rates,
        m.W,
        m.points,
        NOTHING,
        m.loops[0],
        m.loops[1],
        m.loops[2],
        m.loops[3],
        m.carried,
        m.wrenches,
    )


@kernel(inner=True)
def integration(world: PackedWorld, m: DerivativeWork, h: float) -> None:
    """Fill the upper half of A, dq+, from its lower half, by q+ = integrate(q, v+, h)."""
    t = tree(world.ints, world.floats)
    nv = m.v.shape[0]
    columns = m.A.shape[1]
    # Coordinates that are numbers: dq + h dv+.
    for j in range(nv):
        for k in range(columns):
            m.A[j, k] = h * m.A[nv + j, k]
        m.A[j, j] += 1.0
    # Rotations.
    for i in range(t.parent.shape[0]):
        if t.kind[i] not in (SPHERICAL, FLOATING):
            continue
        a = t.iv[i + 1] - 3
        w = times(h, vector_at(m.v_plus, a))
        angle2 = dot(w, w)
        angle = math.sqrt(angle2)
        # exp(-[w]) = 1 - s [w] + c [w]^2, right Jacobian 1 - c [w] + d [w]^2.
        s, c, d = 1.0 - angle2 / 6.0, 0.5 - angle2 / 24.0, 1.0 / 6.0 - angle2 / 120.0
        if angle > 1e-2:
            s, c = math.sin(angle) / angle, (1.0 - math.cos(angle)) / angle2
            d = (angle - math.sin(angle)) / (angle2 * angle)
        for k in range(columns):
            u = (h * m.A[nv + a, k], h * m.A[nv + a + 1, k], h * m.A[nv + a + 2, k])
            turn = cross(w, u)
            value = add(u, add(times(-c, turn), times(d, cross(w, turn))))
            if a <= k < a + 3:
                e = (1.0 if k == a else 0.0, 1.0 if k == a + 1 else 0.0, 1.0 if k == a + 2 else 0.0)
                turn = cross(w, e)
                value = add(value, add(e, add(times(-s, turn), times(c, cross(w, turn)))))
            m.A[a, k], m.A[a + 1, k], m.A[a + 2, k] = value


@kernel(inner=True)
def write_forces(m: DerivativeWork, control: StepControl) -> None:
    """Fill ``m.forces`` (nc, 3, columns): derivatives of the contact forces in world axes."""
    nv = m.v.shape[0]
    # A force that is constant in its axes moves with q; unknown forces change along their directions.
    for c in range(control.n_contacts):
        own, u = m.contact[c], m.first[c, 0]
        for axis in range(3):
            copy(m.force_rates[c, axis], m.forces[c, axis, :nv])
            m.forces[c, axis, nv:] = 0.0
        for row in range(u, m.first[c, 2]):
            n, x, y = 1.0, own[SLIDE], own[SLIDE + 1]
            if row > u:
                n = 0.0
                x, y = unknown_direction(m, c, 0, row - u - 1)
            for axis in range(3):
                along = n * own[AXES + axis] + x * own[AXES + 3 + axis] + y * own[AXES + 6 + axis]
                axpy(m.forces[c, axis], along, m.solved[row])


@kernel(inner=True)
def add_parameters(joints: JointRows | None, m: DerivativeWork, chunk: Chunk, control: StepControl, h: float) -> None:
    """Add derivatives of impulses by parameters to X, with sliding friction and forces at their bounds."""
    nv = m.v.shape[0]
    begin = m.X.shape[1] - m.by_parameter.shape[1]
    # Impulses without constraint forces.
    for j in range(nv):
        copy(m.by_parameter[j], m.X[j, begin:])
    # Friction at its bound.
    for c in range(control.n_contacts):
        for cone in range(m.mode.shape[1]):
            if m.mode[c, cone] in (OPEN, STICK):
                continue
            x, y = friction_direction(m, c, cone)
            for j in range(nv):
                along = x * m.frame[c, 1 + 2 * cone, j] + y * m.frame[c, 2 + 2 * cone, j]
                axpy(m.X[j, begin:], h * m.contact[c, FORCE] * along, m.by_law[c, 1 + cone])
    # Joint rows at their bounds.
    if joints is not None:
        J = m.points[0, 0, 0]
        for record in range(control.chunk_joints):
            if m.row_mode[record] == 0:
                joint_row(J, joints, chunk.joint[record].row)
                for j in range(nv):
                    axpy(m.X[j, begin:], h * J[j], m.by_row[record, 1])


@kernel
def prepare_piece(
    world: PackedWorld,
    work: StepWork,
    chunk: Chunk,
    control: StepControl,
    p: Parameters,
    collision: Collision | None,
    joints: JointRows | None,
    m: DerivativeWork,
) -> int:
    """Fill the terms that do not depend on the linear piece, and find the piece; return the number of kinks, or -1."""
    nv, h = m.v.shape[0], p.last_h
    # Contact forces and their wrenches on bodies; rows of loops.
    m.wrenches[:] = 0.0
    moments = m.mode.shape[1] > 1
    if moments:
        at_start(world, work, m)
    read_contacts(world, work, m.lengths, m, control)
    loops = joints is not None and m.loops.shape[1] > 0
    if joints is not None and loops:
        read_loops(work, joints, m, chunk, control)
    # Derivatives without constraint forces, and of forces of loops.
    if free_rates(world, work, joints, m, h, p) != GOOD:
        return -1
    if loops:
        for i in range(nv):
            axpy(m.X[i, :nv], h, m.carried[i])
    # Derivatives of the contacts' points, normals, rates and forces.
    contact_motions(world, work, collision, m, control)
    if moments:
        at_velocity(world, m, m.v, NOTHING)
        rolling_rates(world, work, m, control)
    at_velocity(world, m, m.v_plus, NOTHING)
    contact_frames(world, work, m, control)
    kinks = contact_rates(world, work, m, control, h, 0)
    speed_rates(world, work, m, control, True, m.changes)
    # The piece: modes of the contacts, laws of normal rows, modes of joint rows.
    find_modes(m, control)
    fill_normal_laws(world, work, m, control, p, h)
    bounces = False
    for c in range(control.n_contacts):
        bounces = bounces or m.contact[c, PER_SPEED] != 0.0
    m.before[:] = 0.0
    if bounces:
        at_velocity(world, m, m.v, NOTHING)
        speed_rates(world, work, m, control, True, m.compliance_rates)
        for c in range(control.n_contacts):
            copy(m.compliance_rates[c, 0, :nv], m.before[c])
    if joints is not None:
        find_row_modes(work, m, joints, chunk, control, p, h)
    # Motion without unknown forces.
    add_parameters(joints, m, chunk, control, h)
    apply_inverse(world, work, m.X)
    return kinks


@kernel
def solve_piece(
    world: PackedWorld,
    work: StepWork,
    chunk: Chunk,
    control: StepControl,
    p: Parameters,
    joints: JointRows | None,
    m: DerivativeWork,
    kinks: int,
) -> int:
    """Fill A and forces of the present piece, and record its kinks; return the number of kinks."""
    nv, h = m.v.shape[0], p.last_h
    columns = m.X.shape[1]
    parameters = columns - m.by_parameter.shape[1]
    # Start from the motion without unknown forces.
    m.compliance_velocity[:] = 0.0
    for j in range(nv):
        copy(m.X[j], m.moved[j])
    m.solved[:] = 0.0
    # Island by island: rows of contacts and joints, then their forces.
    u = 0
    for i in range(control.n_islands):
        begin = u
        for place in range(work.contact_start[i], work.contact_start[i + 1]):
            c = work.island_contacts[place]
            m.contact[c, EPS] = 0.0
            first = u
            u = contact_unknowns(m, c, u)
            if u > first:
                axpy(m.right[first, parameters:], -1.0, m.by_law[c, 0])
        if joints is not None:
            for record in range(joints.row_start[i], joints.row_start[i + 1]):
                first = u
                u = joint_unknown(work, m, joints, record, chunk, p, h, u)
                if u > first:
                    axpy(m.right[first, parameters:], -1.0, m.by_row[record, 0])
        if u > begin:
            solve_island(world, work, m, control, h, i, begin, u)
    # Kinks, and forces of joint rows.
    kinks = contact_kinks(world, work, m, chunk, control, p, h, kinks)
    if joints is not None:
        kinks = joint_kinks(work, joints, m, chunk, control, p, h, u, kinks)
        m.joint_forces[:] = 0.0
        for row in range(u):
            if m.owner[row, 1] >= 0:
                copy(m.solved[row], m.joint_forces[m.owner[row, 1]])
    write_forces(m, control)
    # Derivatives of v+ (sleeping trees do not move), then of q+.
    for j in range(nv):
        copy(m.moved[j], m.A[nv + j])
    for k in range(world.trees.shape[0] - 1):
        if p.sleep != 0 and work.asleep[k] == ASLEEP:
            m.A[nv + world.trees[k, TREE_DOF] : nv + world.trees[k + 1, TREE_DOF]] = 0.0
    integration(world, m, h)
    return kinks


@kernel
def differentiate_step(
    world: PackedWorld,
    work: StepWork,
    chunk: Chunk,
    control: StepControl,
    p: Parameters,
    collision: Collision | None,
    joints: JointRows | None,
    m: DerivativeWork,
    directed: int,
) -> int:
    """Fill A, forces and kinks of the last step, the only one of its chunk; return the number of kinks, or < 0.

    ``m`` has q, v and v_plus of the step. The state of the loop is not changed, except q and v. With ``directed`` the
    piece is the one along `m.direction`, by Murty's rule: the first kink that the direction crosses is crossed, until
    none is left. A result below -1 means that this did not end.
    """
    kinks = prepare_piece(world, work, chunk, control, p, collision, joints, m)
    if kinks < 0:
        return kinks
    # The piece, and along a direction the ones that follow.
    features = kinks
    turns = 0
    if directed != 0:
        choose_gap_sides(world, work, joints, m, chunk, control, p, p.last_h)
    while True:
        kinks = solve_piece(world, work, chunk, control, p, joints, m, features)
        if directed == 0 or not cross_first(m, features, kinks):
            return kinks
        turns += 1
        if turns > MAX_TURNS:
            return -2


@kernel
def enter(held: Any, types: Any) -> int:
    """Call `differentiate_step` with the arguments stored in a buffer: see `BoundCall`."""
    world, work, chunk, control, parameters, collision, joints, memory, directed = unpack_arguments(held, types)
    return differentiate_step(world, work, chunk, control[0], parameters[0], collision, joints, memory, directed[0])
