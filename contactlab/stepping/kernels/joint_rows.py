"""Joint rows that take part in a step, and their data; implicit damping and drives within the mass matrix.

A drive or a damper without bounds has no row. Its force -K (q + h v+ - target) - D (v+ - speed) at the end of the step
is linear in v+. So M + h D + h^2 K replaces M, and the constant part is added to the impulses of the step.
"""

from __future__ import annotations

import math

from contactlab.constraints.kernels.factorizations import largest_entry
from contactlab.constraints.kernels.kkt_codes import JACOBIAN, POSITION_ERROR
from contactlab.constraints.kernels.rows import constraint_rows
from contactlab.formulation.kernels.laws import (
    LIMIT,
    LOOP,
    MIMIC,
    POSITION_DRIVE,
    SPRING,
    bounded_law,
    equality_law,
    unilateral_law,
)
from contactlab.stepping.kernels.blocks import STOP_DEPTH, STOP_PUSH_RATE, fastest_of_stops, solve_tree
from contactlab.stepping.kernels.layout import (
    TREE_DOF,
    FloatArray,
    JointRows,
    PackedWorld,
    Parameters,
    StepWork,
)
from lcp.compiler.kernels import copy_array, fill_array
from lcp.kernels import kernel


@kernel(inner=True)
def add_implicit(
    joints: JointRows, q: FloatArray, h: float, first: int, last: int, M: FloatArray, Mv: FloatArray
) -> None:
    """Add damping and unbounded position drives to M of a tree and to Mv.

    The tree's degrees of freedom are ``first`` to ``last`` - 1.
    """
    # damping of the tree's coordinates
    for j in range(first, last):
        M[j - first, j - first] += h * joints.damping[j]
    # drives without bound: stiffness and damping, implicit in the velocity
    for s in range(joints.springs.shape[0]):
        spring = joints.springs[s]
        j = spring.dof
        if first <= j < last:
            drive = joints.drives[spring.drive]
            stiffness = drive.stiffness
            damping = drive.damping
            M[j - first, j - first] += h * damping + h * h * stiffness
            error = q[spring.place] - joints.target[spring.drive]
            Mv[j] += h * (damping * drive.target_velocity - stiffness * error)


@kernel(inner=True)
def evaluate_loops(joints: JointRows, W: FloatArray) -> None:
    """Fill G, scales and position errors of the loops from the kinematics in the head of W.

    The user's own rows are already filled and in no block: they stay unchanged.
    """
    # scales from the entries of G, where the user's own rows are filled
    G = joints.loop_G
    nothing = joints.empty_floats
    for i in range(G.shape[0]):
        joints.loop_scale[i] = largest_entry(G[i])
    # rows and errors of the loops
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
        joints.loop_scale,
    )
    # scale of each row: at least its largest entry, 1 for an empty row
    for i in range(G.shape[0]):
        own = max(joints.loop_scale[i], largest_entry(G[i]))
        joints.loop_scale[i] = own if own > 0.0 else 1.0


@kernel(inner=True)
def find_joint_rows(work: StepWork, joints: JointRows, parameters: Parameters) -> None:
    """Fill the errors of joint rows and mark the rows that take part; `evaluate_loops` has filled the errors of loops.

    A stop takes part if gap <= margin + h max(0, approach) at v, at the free velocity or at the velocity that its drive
    wants. A stop that is left out can be passed only because of other joints' forces.
    """
    # every row takes part, except distant stops
    h = parameters.h
    for i in range(joints.rows.shape[0]):
        row = joints.rows[i]
        kind = row.kind
        joints.active[i] = 1
        joints.error[i] = 0.0
        d = row.drive
        # stops: gap, and the fastest approach among the velocities
        if kind == LIMIT:
            sign = row.sign
            j = row.dof
            gap = sign * (work.q[row.place] - row.bound)
            least = min(sign * work.v[j], sign * work.v_free[j])
            # the velocity that the stop's drive wants
            if d >= 0:
                wanted = joints.target[d]
                if joints.drives[d].stiffness > 0.0 or joints.drives[d].damping > 0.0:
                    wanted = (wanted - work.q[row.place]) / h + joints.drives[d].target_velocity
                least = min(least, sign * wanted)
            # near enough to be reached in the step
            joints.error[i] = gap
            margin = parameters.angle_margin if row.angular != 0 else parameters.margin
            joints.active[i] = 1 if joints.missed[i] != 0 or gap <= margin + h * max(0.0, -least) else 0
        elif kind == MIMIC:
            joints.error[i] = work.q[row.place] - (row.factor * work.q[row.other_place] + row.offset)
        elif kind in (LOOP, SPRING):
            joints.error[i] = joints.loop_error[row.loop_row]
        elif kind == POSITION_DRIVE:
            joints.error[i] = work.q[row.place] - joints.target[d]


@kernel(inner=True)
def misses_stops(work: StepWork, joints: JointRows, h: float) -> bool:
    """Return True if v+ passes rigid stops that took no part in the step; mark these stops, so that they take part."""
    missed = False
    # rigid stops that v+ would pass
    for i in range(joints.rows.shape[0]):
        row = joints.rows[i]
        if row.kind == LIMIT and joints.active[i] == 0:
            response = h * row.stiffness + row.dissipation
            soft = 0.0 < response < math.inf
            if not soft and joints.error[i] + h * row.sign * work.v_plus[row.dof] < -STOP_DEPTH:
                joints.missed[i] = 1
                missed = True
    return missed


@kernel(inner=True)
def exceeds_stops(joints: JointRows) -> bool:
    """Return True if any joint is beyond a rigid stop by more than the allowed depth."""
    for i in range(joints.rows.shape[0]):
        row = joints.rows[i]
        if row.kind == LIMIT and joints.active[i] != 0 and joints.error[i] < -STOP_DEPTH:
            return True
    return False


@kernel(inner=True)
def joint_law(
    work: StepWork, joints: JointRows, number: int, parameters: Parameters
) -> tuple[float, float, float, float]:
    """Return k, gamma and the bounds of a row's force, from the present errors."""
    # parameters and error of the row
    h = parameters.h
    cfm = parameters.cfm
    row = joints.rows[number]
    kind = row.kind
    own = row.erp if row.erp >= 0.0 else parameters.erp
    error = joints.error[number]
    d = row.drive
    # stops have the unilateral law
    if kind == LIMIT:
        sign = row.sign
        j = row.dof
        before, free = sign * work.v[j], sign * work.v_free[j]
        stiffness, damping = row.stiffness, row.dissipation
        fastest = fastest_of_stops(parameters, STOP_PUSH_RATE)
        restitution_threshold = (
            parameters.angle_restitution_threshold if row.angular != 0 else parameters.restitution_threshold
        )
        k, gamma = unilateral_law(
            error, before, free, h, row.factor, restitution_threshold, own, cfm, stiffness, damping, fastest
        )
        return k, gamma, 0.0, 0.0
    # equations of mimics and loops
    if kind == MIMIC:
        return equality_law(error, h, own), cfm, -math.inf, math.inf
    if kind == LOOP:
        return joints.loop_rate[row.loop_row] + equality_law(error, h, own), cfm, -math.inf, math.inf
    # bounded rows without a drive
    if d < 0:
        return bounded_law(kind, error, 0.0, row.bound, h, row.stiffness, row.dissipation, 0.0)
    # drives
    drive = joints.drives[d]
    return bounded_law(
        kind, error, joints.target[d], row.bound, h, drive.stiffness, drive.damping, drive.target_velocity
    )


@kernel(inline=True)
def equation_scale(joints: JointRows, number: int) -> float:
    """Return the size of the terms of a bilateral row's entries: its ``scaleG`` in the problem data."""
    row = joints.rows[number]
    if row.kind == LOOP:
        return joints.loop_scale[row.loop_row]
    return max(1.0, abs(row.factor)) if row.kind == MIMIC else 1.0


@kernel(inner=True)
def fill_joint_row(
    world: PackedWorld,
    work: StepWork,
    joints: JointRows,
    number: int,
    parameters: Parameters,
    J: FloatArray,
    Y: FloatArray,
) -> tuple[float, float, float, float]:
    """Fill J and Y = M^-1 J (nv,) of a row on its island's velocities; return k, gamma, and the bounds of its force."""
    # go through the row's trees
    row = joints.rows[number]
    kind = row.kind
    fill_array(J, 0.0)
    fill_array(Y, 0.0)
    for n in range(joints.row_trees[number], joints.row_trees[number + 1]):
        tree = joints.trees[n]
        first = world.trees[tree, TREE_DOF]
        last = world.trees[tree + 1, TREE_DOF]
        at = work.tree_offset[tree]
        # entries of the row: the loop's gradients, or a unit entry at its own coordinate
        if kind in (LOOP, SPRING):
            copy_array(joints.loop_G[row.loop_row, first:last], J[at : at + last - first])
        else:
            if first <= row.dof < last:
                J[at + row.dof - first] = row.sign if kind == LIMIT else 1.0
            if kind == MIMIC and first <= row.other < last:
                J[at + row.other - first] = -row.factor
        # response of the tree to the row
        end = at + last - first
        copy_array(J[at:end], Y[at:end])
        solve_tree(world, work, tree, Y[at:end])
    # constant rate, softness and bounds
    return joint_law(work, joints, number, parameters)
