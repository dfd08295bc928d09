"""Derivatives of impulse and momentum of a step without constraint forces, and of laws by parameters of the world.

These are the right-hand side of a step's derivative. With constraint forces and their wrenches held constant,

    r = M v + h (tau - bias) - M^ v+  + h J^T f      is 0,      M^ = M + h D + h^2 K.

Its derivatives by q and v are -h d(inverse dynamics) at a = (v+ - v) / h, which includes the bias. Derivatives of the
midpoint rule for gyroscopic impulses follow from the implicit function theorem. Limited velocity products of fast
chains are differentiated by differences.

The motion of free trees of several links (`free_motion` of the step) is also differentiated by differences, in
`derivatives.memory`. The number of substeps is the step's, so that the method makes the same decisions on both sides.

A parameter is differentiated by from two worlds with nearby values, which may differ only in numbers: masses,
materials, gains, bounds. State, velocity after the step and forces are constant; impulses and laws of rows are computed
for the other world, by the kernels of the step.
"""

from __future__ import annotations

import math
from typing import Final

from contactlab.collision.kernels.contact_rows import pair_restitution
from contactlab.constraint_solver.kernels import unilateral_law
from contactlab.derivatives.kernels import BOUND, FORCE, RATE, DerivativeWork
from contactlab.derivatives.kernels.contact_frames import at_start, at_velocity, contact_frames, dot, read_contacts
from contactlab.multibody.kernels import CUSTOM_RATES, CUSTOM_ROW, FLOATING, GOOD, NOTHING, VELOCITIES
from contactlab.multibody.kernels.derivatives import dynamics_derivatives
from contactlab.multibody.kernels.integration import integrate_configuration
from contactlab.multibody.kernels.kinematics import fill_frames
from contactlab.multibody.kernels.layout import model_and_workspace_views, tree
from contactlab.multibody.kernels.velocity_products import is_free_rotor, limiter_weight, midpoint_spin, rotation_load
from contactlab.multibody.spatial.kernels import (
    copy,
    cross,
    linear,
    opposite,
    put,
    rotate_inverse,
    subtract,
    symmetric_times,
    vector,
    vector_at,
)
from contactlab.multibody.spatial.kernels import dot as vector_dot
from contactlab.simulation.stepping.kernels.arrays import Chunk, Collision, JointRows, PackedWorld, StepWork
from contactlab.simulation.stepping.kernels.blocks import PUSH_RATE, compliance_of, fastest_of, materials_of
from contactlab.simulation.stepping.kernels.free_motion import free_motion, move_tree, turns_fast
from contactlab.simulation.stepping.kernels.joint_rows import joint_law
from contactlab.simulation.stepping.kernels.layout import (
    CONTACT_ID,
    GAP,
    GYROSCOPIC_EXPLICIT,
    GYROSCOPIC_IMPLICIT,
    HALF_SPACE,
    RESTITUTION,
    SHAPE_A,
    SHAPE_B,
    TREE_BLOCK,
    TREE_DOF,
    TREE_LINK,
    VN_MINUS,
    FloatArray,
    IntArray,
    Parameters,
    StepControl,
)
from lcp.compiler.views import view_1d, view_2d
from lcp.kernels import kernel

#: Stride [rad, m, rad/s, m/s] of the differences of fast chains.
STRIDE: Final = 1e-5
#: Stride of the differences of spin, relative to its speed.
LONG_STRIDE: Final = 1e-3


@kernel(inner=True)
def spin_rates(six: FloatArray, torque: FloatArray, w: FloatArray, h: float, B: FloatArray) -> None:
    """Fill B (3, 6) with the derivative of I (w+ - w) of `midpoint_spin` by w (3 columns), then by torque (3 columns).

    They are differences of fourth order. ``six`` has the entries of the inertia I. Entries of ``w`` and ``torque`` are
    displaced, and restored.
    """
    # Strides: a small part of the speed, and the torque that changes it by as much.
    speed = LONG_STRIDE * (1.0 + math.sqrt(dot(w, w)))
    load = LONG_STRIDE * (six[0] + six[1] + six[2]) / h
    for k in range(6):
        given, way = (w, speed) if k < 3 else (torque, load)
        own = given[k % 3]
        for side in range(4):
            sign = 1.0 if side % 2 == 0 else -1.0
            given[k % 3] = own + sign * way * (1.0 if side < 2 else 2.0)
            change = symmetric_times(six, midpoint_spin(six, torque[0], torque[1], torque[2], w[0], w[1], w[2], h))
            for i in range(3):
                B[i, k] += sign * (8.0 if side < 2 else -1.0) * change[i] / (12.0 * way)
        given[k % 3] = own


@kernel(inner=True)
def turning_rates(world: PackedWorld, work: StepWork, m: DerivativeWork, i: int, h: float, spins: bool) -> None:
    """Replace the derivatives of the explicit gyroscopic term in X, for a free body: a link i that is a whole tree.

    If ``spins`` is true, the new ones are of the midpoint rule, by q, v and tau (option gyroscopic="implicit").
    Otherwise there are no new ones, because the step has no gyroscopic term ("off").
    """
    t, f, _, nv = model_and_workspace_views(world.ints, world.floats, work.W)
    a, com = t.iv[i], vector(t.com[i])
    scratch = view_1d(m.V, 0, 160)
    six, B, torque = view_1d(scratch, 0, 6), view_2d(scratch, 6, 3, 6), view_1d(scratch, 24, 3)
    # Inertia, and torque about the centre of mass in body axes.
    first, force, load = rotation_load(t, f.R, f.S, i, work.tau, six)
    put(load, torque)
    # By angular velocity: d(w x I w)/dw = [w]x I - [I w]x, and the midpoint rule.
    B[:] = 0.0
    w = m.v[first : first + 3]
    if spins:
        spin_rates(six, torque, w, h, B)
    momentum = symmetric_times(six, vector(w))
    for l in range(3):
        e = (1.0 if l == 0 else 0.0, 1.0 if l == 1 else 0.0, 1.0 if l == 2 else 0.0)
        rate = subtract(cross(vector(w), symmetric_times(six, e)), cross(momentum, e))
        for k in range(3):
            m.X[first + k, nv + first + l] += h * rate[k] + B[k, l]
    if not spins:
        return
    # By q and tau, through the torque. A rotation e changes com x force by force (com . e) - e (com . force).
    for k in range(3):
        B[k, 3 + k] -= h
        gain = vector_at(B[k], 3)
        for l in range(3):
            m.X[first + k, first + l] += vector_dot(gain, force) * com[l] - vector_dot(com, force) * gain[l]
            m.X[first + k, 2 * nv + first + l] += gain[l]
            if t.kind[i] == FLOATING:
                # Com x the axis of the force, in body axes.
                arm = cross(com, rotate_inverse(f.R[i], opposite(linear(f.S[a + l]))))
                m.X[first + k, 2 * nv + a + l] += vector_dot(gain, arm)


@kernel
def limited_rates(
    world: PackedWorld, work: StepWork, joints: JointRows | None, m: DerivativeWork, h: float, p: Parameters
) -> None:
    """Add to X the derivatives of the limited velocity products minus the explicit ones, by differences in q and v.

    Only trees of which `turns_fast` limits the products count. The state in work is overwritten.
    """
    t, f, _, nv = model_and_workspace_views(world.ints, world.floats, work.W)
    none = view_2d(work.W, 0, 0, CUSTOM_ROW)
    rule = p.gyroscopic
    nt = world.trees.shape[0] - 1
    for tree_number in range(nt):
        # Only trees whose velocity products are limited.
        first, last = world.trees[tree_number, TREE_LINK], world.trees[tree_number + 1, TREE_LINK]
        a, b = world.trees[tree_number, TREE_DOF], world.trees[tree_number + 1, TREE_DOF]
        fill_frames(world.ints, world.floats, m.q, m.v, none, NOTHING, VELOCITIES, work.W)
        if is_free_rotor(t, first, last) or not limiter_weight(t, f.V, first, last, h) > 0.0:
            continue
        for column in range(2 * (b - a)):
            j = a + column % (b - a)
            for side in range(2):
                # Displace q or v.
                way = STRIDE if side == 0 else -STRIDE
                m.way[:] = 0.0
                copy(m.v, work.v)
                copy(m.q, work.q)
                if column < b - a:
                    m.way[j] = way
                    integrate_configuration(world.ints, world.floats, m.q, m.way, 1.0, work.q)
                else:
                    work.v[j] += way
                # Free motion with limited velocity products, minus the motion with explicit ones.
                for explicit in range(2):
                    p.gyroscopic = GYROSCOPIC_EXPLICIT if explicit else rule
                    fill_frames(world.ints, world.floats, work.q, work.v, none, NOTHING, VELOCITIES, work.W)
                    free_motion(world, work, joints, h, p)
                    sign = (1.0 if side == 0 else -1.0) * (-1.0 if explicit else 1.0)
                    for k in range(a, b):
                        m.X[k, j if column < b - a else nv + j] += sign * work.Mv[k] / (2.0 * STRIDE)
    p.gyroscopic = rule


@kernel
def free_rates(
    world: PackedWorld, work: StepWork, joints: JointRows | None, m: DerivativeWork, h: float, p: Parameters
) -> int:
    """Fill X (nv, columns) with r by q, v, tau and targets, and work with M^ and free motion; return `GOOD` or a code.

    ``m.wrenches`` hold the constraint forces; work.q and work.v become the state of the start.
    """
    nv = work.v.shape[0]
    none = view_2d(m.W, 0, 0, CUSTOM_ROW)
    rates = view_2d(m.W, 0, 0, CUSTOM_RATES)
    # Derivatives of inverse dynamics at a = (v+ - v) / h.
    m.X[:] = 0.0
    for j in range(nv):
        m.way[j] = (m.v_plus[j] - m.v[j]) / h
    code = dynamics_derivatives(
        world.ints, world.floats, m.q, m.v, m.way[:nv], m.wrenches, none, rates, m.W, NOTHING, 0, m.dynamics
    )
    if code != GOOD:
        return code
    # By q, v and tau.
    dq, dv, M = m.dynamics[0], m.dynamics[1], m.dynamics[2]
    for j in range(nv):
        for k in range(nv):
            m.X[j, k] = -h * dq[j, k]
            m.X[j, nv + k] = M[j, k] - h * dv[j, k]
        m.X[j, 2 * nv + j] = h
    # Gyroscopic terms of free bodies, and limited velocity products.
    at_start(world, work, m)
    if p.gyroscopic != GYROSCOPIC_EXPLICIT:
        t = tree(world.ints, world.floats)
        for k in range(world.trees.shape[0] - 1):
            first = world.trees[k, TREE_LINK]
            if is_free_rotor(t, first, world.trees[k + 1, TREE_LINK]):
                turning_rates(world, work, m, first, h, p.gyroscopic == GYROSCOPIC_IMPLICIT)
        if turns_fast(world, work.W, h):
            limited_rates(world, work, joints, m, h, p)
            at_start(world, work, m)
    # Springs of joints, by q and targets.
    if joints is not None:
        for s in range(joints.springs.shape[0]):
            spring = joints.springs[s]
            m.X[spring.dof, spring.dof] -= h * spring.stiffness
            m.X[spring.dof, 3 * nv + spring.drive] += h * spring.stiffness
    free_motion(world, work, joints, h, p)
    return GOOD


@kernel
def move_again(
    world: PackedWorld, work: StepWork, joints: JointRows | None, p: Parameters, h: float, parts: IntArray
) -> None:
    """Repeat the motion of the step's free trees, in ``parts`` (nt,) substeps, from state and forces in work.

    Fill q_plus and v_plus.
    """
    none = view_2d(work.W, 0, 0, CUSTOM_ROW)
    fill_frames(world.ints, world.floats, work.q, work.v, none, NOTHING, VELOCITIES, work.W)
    free_motion(world, work, joints, h, p)
    copy(work.q, work.q_plus)
    for k in range(parts.shape[0]):
        if parts[k] > 0:
            move_tree(world, work, k, h, parts[k])


#: A force within this fraction of a nearby world's bound counts as at the bound.
NEARLY: Final = 1e-3


@kernel(inner=True)
def factor_times(branch: IntArray, L: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray) -> None:
    """Fill out (n,) with L^T L x, for a factor along branches; y (n,) is scratch."""
    n = x.shape[0]
    # y = L x, then L^T y.
    for i in range(n):
        y[i] = L[i, i] * x[i]
        out[i] = 0.0
        j = branch[i]
        while j >= 0:
            y[i] += L[i, j] * x[j]
            j = branch[j]
    for i in range(n):
        out[i] += L[i, i] * y[i]
        j = branch[i]
        while j >= 0:
            out[j] += L[i, j] * y[i]
            j = branch[j]


@kernel(inner=True)
def friction_of(world: PackedWorld, c: Collision | None, ints: IntArray, mu: float) -> float:
    """Return the coefficient of friction of a contact in a world, or ``mu`` if its surfaces have none."""
    if ints[SHAPE_B] < 0:
        return mu
    # With a half-space whose shapes detection does not distinguish.
    if ints[SHAPE_A] < 0 and ints[HALF_SPACE] >= 0 and ints[CONTACT_ID] >= 0:
        return world.pair_mu[ints[SHAPE_B], ints[HALF_SPACE]]
    a, b = materials_of(world, ints)
    if c is not None and a >= 0:
        return c.pair_mu[a, b]
    return mu


@kernel
def add_parameter_difference(
    world: PackedWorld,
    work: StepWork,
    chunk: Chunk,
    control: StepControl,
    p: Parameters,
    collision: Collision | None,
    joints: JointRows | None,
    lengths: FloatArray,
    m: DerivativeWork,
    column: int,
    weight: float,
) -> None:
    """Add ``weight`` times impulses and laws of a step in a world of the same layout to the column of a parameter.

    Impulses Mv - M v+ go to m.by_parameter. k + gamma f and bounds of forces go to m.by_law for contacts, and to
    m.by_row for joint rows. The step is the last one of the loop, and v+ and f are its results. work.q and work.v
    become the state of its start.
    """
    nv, h = m.v.shape[0], p.last_h
    # Impulses without constraint forces.
    before = p.h
    p.h = h
    at_start(world, work, m)
    free_motion(world, work, joints, h, p)
    y, out = m.way[:nv], m.way[nv : 2 * nv]
    for k in range(world.trees.shape[0] - 1):
        a, b = world.trees[k, TREE_DOF], world.trees[k + 1, TREE_DOF]
        L = view_2d(work.L, world.trees[k, TREE_BLOCK], b - a, b - a)
        factor_times(world.branch[a:b], L, m.v_plus[a:b], y[a:b], out[a:b])
        for j in range(a, b):
            m.by_parameter[j, column] += weight * (work.Mv[j] - out[j])
    # Laws of the contacts: normal rows, and bounds of friction.
    read_contacts(world, work, lengths, m, control)
    at_velocity(world, m, m.v_plus, NOTHING)
    contact_frames(world, work, m, control)
    for c in range(control.n_contacts):
        own, floats, ints = m.contact[c], work.contact_float[c], work.contact_int[c]
        free = own[RATE] + dot(m.frame[c, 0], work.v_free) - dot(m.frame[c, 0], m.v_plus)
        a, b = materials_of(world, ints)
        e = 0.0
        if a >= 0:
            e = pair_restitution(world.restitution, a, b, -floats[VN_MINUS])
        stiffness, dissipation = compliance_of(world, ints)
        gap, approach, fastest = floats[GAP], floats[VN_MINUS], fastest_of(world, ints, p, PUSH_RATE)
        own_k, gamma = unilateral_law(
            gap, approach, free, h, e, p.restitution_threshold, p.erp, p.cfm, stiffness, dissipation, fastest
        )
        if e > 0.0 and floats[RESTITUTION] == 0.0 and gap > 0.0 and own_k == e * approach and fastest < math.inf:
            # Without restitution an impact closes its gap: k jumps. Only the effect of e beyond the jump is included.
            own_k += gap / h
        m.by_law[c, 0, column] += weight * (own_k + gamma * own[FORCE])
        m.by_law[c, 1, column] += weight * friction_of(world, collision, ints, 0.0)
        for cone in range(1, m.mode.shape[1]):
            m.by_law[c, 1 + cone, column] += weight * own[BOUND + cone]
    # Laws and bounds of joint rows.
    if joints is not None:
        for record in range(control.chunk_joints):
            entry = chunk.joint[record]
            wanted, softness, low, high = joint_law(work, joints, entry.row, p)
            m.by_row[record, 0, column] += weight * (wanted + softness * entry.force)
            bound = 0.0
            # The bound matters only if the force is at the bound in the world itself.
            if entry.force >= high * (1.0 - NEARLY) and high > 0.0:
                bound = high
            elif entry.force <= low * (1.0 - NEARLY) and low < 0.0:
                bound = low
            m.by_row[record, 1, column] += weight * bound
    p.h = before
