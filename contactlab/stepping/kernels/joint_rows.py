"""Rows of joints: which take part in a step, and what they say; damping and drives that act within the mass matrix.

A drive or a damper without bounds has no row. Its force -K (q + h v+ - target) - D (v+ - speed), taken at the end of
the step, is linear in v+: M + h D + h^2 K takes the place of M, and the rest joins the impulses of the step.
"""

from __future__ import annotations

import math

from contactlab.constraints.kernels.rows import constraint_rows
from contactlab.constraints.kernels.wanted import JACOBIAN, POSITION_ERROR
from contactlab.formulation.kernels.laws import equation, position_drive, unilateral
from contactlab.stepping.kernels.blocks import solve_tree
from contactlab.stepping.kernels.joint_layout import (
    BOUND,
    DISSIPATION,
    DOF,
    DRIVE,
    DRIVE_DAMPING,
    DRIVE_SPEED,
    DRIVE_STIFFNESS,
    FACTOR,
    FOLLOW,
    HOLD,
    KIND,
    LOOP,
    LOOP_ROW,
    OFFSET,
    OTHER,
    OTHER_PLACE,
    OWN_ERP,
    PLACE,
    SERVO,
    SIGN,
    SPEED,
    SPRING_DOF,
    SPRING_DRIVE,
    SPRING_PLACE,
    STIFFNESS,
    STOP,
    Joints,
)
from contactlab.stepping.kernels.layout import (
    TREE_DOF,
    FloatArray,
    PackedWorld,
    Parameters,
    Work,
)
from lcp.kernels import kernel

# A row of a loop below this share of the largest entry of all is rounding: nothing moves against it.
NO_MOTION = 1e-13


@kernel(inner=True)
def add_implicit(joints: Joints, q: FloatArray, h: float, first: int, last: int, M: FloatArray, Mv: FloatArray) -> None:
    """Add damping and unbounded position drives of the degrees of freedom first .. last to M of a tree and to Mv."""
    for j in range(first, last):
        M[j - first, j - first] += h * joints.damping[j]
    for s in range(joints.springs.shape[0]):
        j = joints.springs[s, SPRING_DOF]
        if first <= j < last:
            d = joints.springs[s, SPRING_DRIVE]
            stiffness = joints.drives[d, DRIVE_STIFFNESS]
            damping = joints.drives[d, DRIVE_DAMPING]
            M[j - first, j - first] += h * damping + h * h * stiffness
            error = q[joints.springs[s, SPRING_PLACE]] - joints.target[d]
            Mv[j] += h * (damping * joints.drives[d, DRIVE_SPEED] - stiffness * error)


@kernel(inner=True)
def evaluate_loops(joints: Joints, W: FloatArray) -> None:
    """Fill G and position errors of the loops from the kinematics in the head of W; rows that nothing moves become 0.

    Rows of the user's own are there already.
    """
    G = joints.loop_G
    n, nv = G.shape
    if n == 0:
        return
    nothing = joints.nothing
    # Rows of the user's own are in no block: they keep what they are.
    constraint_rows(
        joints.loop_ints,
        joints.loop_floats,
        W,
        0.0,
        JACOBIAN | POSITION_ERROR,
        joints.loop_work,
        G,
        nothing,
        joints.loop_error,
        nothing,
    )
    largest = 0.0
    for i in range(n):
        for j in range(nv):
            largest = max(largest, abs(G[i, j]))
    for i in range(n):
        own = 0.0
        for j in range(nv):
            own = max(own, abs(G[i, j]))
        if not own > NO_MOTION * largest:
            for j in range(nv):
                G[i, j] = 0.0
            joints.loop_error[i] = 0.0
            joints.loop_rate[i] = 0.0


@kernel(inner=True)
def find_joint_rows(work: Work, joints: Joints, h: float, margin: float) -> None:
    """Fill errors, and which rows take part.

    A stop does where gap <= margin + h max(0, approach) at v, at the free velocity or at what its coordinate's drive
    wants: a stop that is left out can be passed by what other joints do to this one alone.
    """
    evaluate_loops(joints, work.W)
    for i in range(joints.row_int.shape[0]):
        ints = joints.row_int[i]
        floats = joints.row_float[i]
        kind = ints[KIND]
        joints.active[i] = 1
        joints.error[i] = 0.0
        d = ints[DRIVE]
        if kind == STOP:
            sign = floats[SIGN]
            j = ints[DOF]
            gap = sign * (work.q[ints[PLACE]] - floats[BOUND])
            least = min(sign * work.v[j], sign * work.v_free[j])
            if d >= 0:
                wanted = joints.target[d]
                if joints.drives[d, DRIVE_STIFFNESS] > 0.0 or joints.drives[d, DRIVE_DAMPING] > 0.0:
                    wanted = (wanted - work.q[ints[PLACE]]) / h + joints.drives[d, DRIVE_SPEED]
                least = min(least, sign * wanted)
            joints.error[i] = gap
            joints.active[i] = 1 if gap <= margin + h * max(0.0, -least) else 0
        elif kind == FOLLOW:
            joints.error[i] = work.q[ints[PLACE]] - (floats[FACTOR] * work.q[ints[OTHER_PLACE]] + floats[OFFSET])
        elif kind == LOOP:
            joints.error[i] = joints.loop_error[ints[LOOP_ROW]]
        elif kind == SERVO:
            joints.error[i] = work.q[ints[PLACE]] - joints.target[d]


@kernel(inner=True)
def fill_joint_row(
    world: PackedWorld,
    work: Work,
    joints: Joints,
    row: int,
    parameters: Parameters,
    J: FloatArray,
    Y: FloatArray,
) -> tuple[float, float, float, float]:
    """Fill J and Y = M^-1 J (nv,) of a row on its island's velocities; return k, gamma, and the bounds of its force."""
    h = parameters.h
    cfm = parameters.cfm
    ints = joints.row_int[row]
    floats = joints.row_float[row]
    kind = ints[KIND]
    for j in range(J.shape[0]):
        J[j] = 0.0
        Y[j] = 0.0
    for n in range(joints.row_trees[row], joints.row_trees[row + 1]):
        tree = joints.trees[n]
        first = world.trees[tree, TREE_DOF]
        last = world.trees[tree + 1, TREE_DOF]
        at = work.local[tree]
        if kind == LOOP:
            for j in range(first, last):
                J[at + j - first] = joints.loop_G[ints[LOOP_ROW], j]
        else:
            if first <= ints[DOF] < last:
                J[at + ints[DOF] - first] = floats[SIGN] if kind == STOP else 1.0
            if kind == FOLLOW and first <= ints[OTHER] < last:
                J[at + ints[OTHER] - first] = -floats[FACTOR]
        for j in range(at, at + last - first):
            Y[j] = J[j]
        solve_tree(world, work, tree, Y[at : at + last - first])

    own = floats[OWN_ERP] if floats[OWN_ERP] >= 0.0 else parameters.erp
    error = joints.error[row]
    d = ints[DRIVE]
    if kind == STOP:
        sign = floats[SIGN]
        j = ints[DOF]
        before, free = sign * work.v[j], sign * work.v_free[j]
        stiffness, damping = floats[STIFFNESS], floats[DISSIPATION]
        k, gamma = unilateral(error, before, free, h, floats[FACTOR], parameters.v_min, own, cfm, stiffness, damping)
        return k, gamma, 0.0, 0.0
    if kind == HOLD:
        return -joints.target[d], 0.0, 0.0, 0.0
    if kind == FOLLOW:
        return equation(error, h, own), cfm, -math.inf, math.inf
    if kind == LOOP:
        return joints.loop_rate[ints[LOOP_ROW]] + equation(error, h, own), cfm, -math.inf, math.inf
    bound = floats[BOUND]
    if kind == SPEED:
        return -joints.target[d], 0.0, -bound, bound
    if kind == SERVO:
        k, gamma = position_drive(
            error, joints.drives[d, DRIVE_SPEED], h, joints.drives[d, DRIVE_STIFFNESS], joints.drives[d, DRIVE_DAMPING]
        )
        return k, gamma, -bound, bound
    return 0.0, 0.0, -bound, bound
