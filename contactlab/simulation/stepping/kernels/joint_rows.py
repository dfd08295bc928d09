"""Rows of joints in a step and in an island, the equations among them; drives and dampers in the mass matrix.

A drive or a damper without bounds has no row. Its force -K (q + h v+ - target) - D (v+ - speed) at the end of the step
is linear in v+. So M + h D + h^2 K replaces M, and the constant part is added to the impulses of the step.
"""

from __future__ import annotations

import math

from contactlab.constraint_solver.kernels import (
    LIMIT,
    LOOP,
    MIMIC,
    SPRING,
    bounded_law,
    equality_law,
    unilateral_law,
)
from contactlab.constraint_solver.kernels.bilateral import (
    add_bilateral_impulses,
    bilateral_work_size,
    factor_bilateral,
    fill_posed,
    lock_terms,
    project_rows,
)
from contactlab.multibody.constraints.kernels import JACOBIAN, POSITION_ERROR
from contactlab.multibody.constraints.kernels.factorizations import largest_entry
from contactlab.multibody.constraints.kernels.rows import constraint_rows
from contactlab.simulation.stepping.kernels.arrays import Chunk, IslandWork, JointRows, PackedWorld, StepWork
from contactlab.simulation.stepping.kernels.blocks import STOP_DEPTH, STOP_PUSH_RATE, fastest_of_stops, solve_tree
from contactlab.simulation.stepping.kernels.layout import (
    BOXED,
    COMPLIANT_EQUATION,
    TREE_DOF,
    FloatArray,
    IntArray,
    Parameters,
    StepControl,
)
from lcp.compiler.kernels import copy_array, fill_array
from lcp.compiler.views import view_2d
from lcp.contacts.kernels.boxed_rows import add_impulses, boxed_variables, first_limit
from lcp.contacts.kernels.contact_system import ContactSystem, row_ranges
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
    # parts of drives without bounds: stiffness and damping, implicit in the velocity
    for s in range(joints.springs.shape[0]):
        spring = joints.springs[s]
        j = spring.dof
        if first <= j < last:
            stiffness = spring.stiffness
            damping = spring.damping
            M[j - first, j - first] += h * damping + h * h * stiffness
            error = q[spring.place] - joints.target[spring.drive] - spring.offset
            Mv[j] += h * (damping * spring.speed - stiffness * error)


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
    ints, floats, scratch = joints.loop_ints, joints.loop_floats, joints.loop_work
    error, scale = joints.loop_error, joints.loop_scale
    constraint_rows(ints, floats, W, 0.0, JACOBIAN | POSITION_ERROR, scratch, G, nothing, error, nothing, scale)
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
            # the target velocity of the drive at the stop
            if d >= 0:
                wanted = joints.target[d]
                if joints.needs_position[d] != 0:
                    wanted = (wanted - work.q[row.place]) / h + row.speed
                least = min(least, sign * wanted)
            # near enough to be reached in the step
            joints.error[i] = gap
            margin = parameters.angle_margin if row.angular != 0 else parameters.margin
            joints.active[i] = 1 if joints.missed[i] != 0 or gap <= margin + h * max(0.0, -least) else 0
        elif kind == MIMIC:
            joints.error[i] = work.q[row.place] - (row.factor * work.q[row.other_place] + row.offset)
        elif kind in (LOOP, SPRING):
            joints.error[i] = joints.loop_error[row.loop_row]
        elif d >= 0 and (row.stiffness > 0.0 or row.dissipation > 0.0):
            joints.error[i] = work.q[row.place] - joints.target[d] - row.offset


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
    h, cfm = parameters.h, parameters.cfm
    row = joints.rows[number]
    own = row.erp if row.erp >= 0.0 else parameters.erp
    error = joints.error[number]
    # stops have the unilateral law
    if row.kind == LIMIT:
        before, free = row.sign * work.v[row.dof], row.sign * work.v_free[row.dof]
        fastest = fastest_of_stops(parameters, STOP_PUSH_RATE)
        restitution_threshold = (
            parameters.angle_restitution_threshold if row.angular != 0 else parameters.restitution_threshold
        )
        stiffness, damping = row.stiffness, row.dissipation
        k, gamma = unilateral_law(
            error, before, free, h, row.factor, restitution_threshold, own, cfm, stiffness, damping, fastest
        )
        return k, gamma, 0.0, 0.0
    # equations of mimics and loops
    if row.kind == MIMIC:
        return equality_law(error, h, own), cfm, -math.inf, math.inf
    if row.kind == LOOP:
        return joints.loop_rate[row.loop_row] + equality_law(error, h, own), cfm, -math.inf, math.inf
    # rows with bounded force: dry friction, drives, springs
    target = joints.target[row.drive] if row.drive >= 0 else 0.0
    return bounded_law(error, target, row.low, row.bound, h, row.stiffness, row.dissipation, row.speed)


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


@kernel(inner=True)
def count_joint_rows(joints: JointRows, island: IslandWork, i: int, cfm: float) -> None:
    """Store the numbers nl, ng and nbox of limit, bilateral and boxed joint rows of island ``i`` in its progress."""
    # boxed rows include position equations with compliance, without bounds on f
    least = COMPLIANT_EQUATION if cfm > 0.0 else BOXED
    nl = 0
    nbox = 0
    first = joints.row_start[i]
    last = joints.row_start[i + 1]
    for place in range(first, last):
        row = joints.rows[joints.island_rows[place]]
        if row.kind == LIMIT:
            nl += 1
        elif row.rank >= least:
            nbox += 1
    # the rest are bilateral
    progress = island.progress[0]
    progress.nl = nl
    progress.ng = last - first - nl - nbox
    progress.nbox = nbox


@kernel(inner=True)
def add_joint_rows(
    world: PackedWorld, work: StepWork, joints: JointRows, rows: ContactSystem, i: int, parameters: Parameters
) -> int:
    """Fill the rows [L; G; B] of island ``i``, and the bounds of B; return the number of variables of its LCP."""
    # places of the three kinds of rows
    first = joints.row_start[i]
    before = rows.nc + rows.nr
    first_equation = before + rows.nl
    boxed = first_equation + rows.nb
    # fill each row, and store what its kind needs
    for row in range(before, rows.k.shape[0]):
        number = joints.island_rows[first + row - before]
        k, gamma, low, high = fill_joint_row(world, work, joints, number, parameters, rows.J[row], rows.Y[row])
        rows.k[row] = k
        rows.gamma[row] = gamma
        if first_equation <= row < boxed:
            joints.G_scale[row - first_equation] = equation_scale(joints, number)
            joints.G_error[row - first_equation] = joints.error[number]
        if row >= boxed:
            rows.lo[row - boxed] = low
            rows.hi[row - boxed] = high
    # number of variables
    xs, ys = boxed_variables(rows.lo, rows.hi)
    return first_limit(rows) + rows.nl + xs + ys


@kernel(inner=True)
def eliminate_equalities(rows: ContactSystem, spans: IntArray, joints: JointRows) -> None:
    """Eliminate the equations G: fill J, Y = C J, k, gamma and v0 of the rows [N; F; L; B] in ``joints``.

    Also fill the pseudo-inverse P of G M^-1 G^T. Rows have entries only in their ``spans``. Rows that the equations
    lock become 0 in J, and their constant rate is in k.
    """
    # factors of the equations
    nv = rows.v_free.shape[0]
    ng = rows.nb
    nu = rows.nc + rows.nr + rows.nl
    own = rows.k.shape[0] - ng
    G = rows.J[nu : nu + ng]
    YG = rows.Y[nu : nu + ng]
    P = view_2d(joints.P, 0, ng, ng)
    factor_bilateral(G, YG, joints.G_scale[:ng], joints.G_error[:ng], P, joints.work[: bilateral_work_size(ng, nv)])
    left = view_2d(joints.J, 0, own, nv)
    responses = view_2d(joints.Y, 0, own, nv)
    # the remaining rows
    for row in range(own):
        place = row if row < nu else row + ng
        joints.k[row] = rows.k[place]
        joints.gamma[row] = rows.gamma[place]
        a, b, c, d = row_ranges(spans, row, nv)
        for p in range(a, b):
            left[row, p] = rows.J[place, p]
            responses[row, p] = rows.Y[place, p]
        for p in range(c, d):
            left[row, p] = rows.J[place, p]
            responses[row, p] = rows.Y[place, p]
    # their projection along the equations
    fill_posed(rows.J, rows.Y, rows.k, rows.v_free, spans, nu, ng, joints.posed[: 2 * own])
    locked = joints.locked[:own]
    project_rows(G, YG, P, left, responses, spans, locked, joints.work)
    # velocity that satisfies the equations
    v0 = joints.v0[:nv]
    copy_array(rows.v_free, v0)
    impulses = joints.f[:ng]
    add_bilateral_impulses(G, YG, P, rows.k[nu : nu + ng], v0, impulses, joints.work)
    lock_terms(locked, left, spans, v0, rows.v_free, joints.k[:own])
    for row in range(own):
        if locked[row] != 0:
            fill_array(left[row], 0.0)


@kernel(inner=True)
def recover_with_equations(
    rows: ContactSystem, joints: JointRows, forces: FloatArray, f: FloatArray, v_plus: FloatArray
) -> None:
    """Fill the forces f of all rows and v+ from the ``forces`` of the remaining rows, filled by `recover`.

    v+ is formed only from the forces and M^-1, so that the certificate checks the forces.
    """
    # forces of the remaining rows, and the motion they give
    ng = rows.nb
    nu = rows.nc + rows.nr + rows.nl
    m = rows.k.shape[0]
    copy_array(rows.v_free, v_plus)
    copy_array(forces, f[:nu])
    copy_array(forces[nu:], f[nu + ng : m])
    add_impulses(rows.h, f[:nu], rows.Y, rows.column_ranges, v_plus)
    add_impulses(rows.h, f[nu + ng : m], rows.Y[nu + ng : m], rows.column_ranges[nu + ng :], v_plus)
    # impulses of the equations, from the motion without them
    impulses = f[nu : nu + ng]
    G = rows.J[nu : nu + ng]
    P = view_2d(joints.P, 0, ng, ng)
    add_bilateral_impulses(G, rows.Y[nu : nu + ng], P, rows.k[nu : nu + ng], v_plus, impulses, joints.work)
    # impulses to forces
    for i in range(ng):
        impulses[i] /= rows.h


@kernel(inner=True)
def fill_joint_warm_start(island: IslandWork, joints: JointRows, rows: ContactSystem, i: int) -> bool:
    """Fill z0 after the contacts with the previous step's variables of the same rows; return False if none exist."""
    xs, _ = boxed_variables(rows.lo, rows.hi)
    matched = False
    x = first_limit(rows)
    first = joints.row_start[i]
    for place in range(joints.row_start[i + 1] - first):
        # equations, and boxed rows with a given force, have no variables
        box = place - rows.nl - rows.nb
        if box < 0 <= place - rows.nl or (box >= 0 and rows.lo[box] == rows.hi[box]):
            continue
        # limits have one variable, boxed rows two
        row = joints.island_rows[first + place]
        was = joints.was_active[row] != 0
        matched = matched or was
        island.z0[x] = joints.previous_z[row, 0] if was else 0.0
        if box >= 0:
            island.z0[x + xs] = joints.previous_z[row, 1] if was else 0.0
        x += 1
    return matched


@kernel(inner=True)
def write_joint_rows(
    rows: ContactSystem, island: IslandWork, joints: JointRows, chunk: Chunk, control: StepControl
) -> None:
    """Write the joint rows of the island in progress, and store their LCP variables by row."""
    # places of the rows and of their variables
    progress = island.progress[0]
    i = control.island
    before = rows.nc + rows.nr
    nu = before + rows.nl
    boxed = nu + rows.nb
    xs, _ = boxed_variables(rows.lo, rows.hi)
    limit = first_limit(rows)
    x = limit + rows.nl
    first = joints.row_start[i]
    # variables of the row
    for place in range(joints.row_start[i + 1] - first):
        number = joints.island_rows[first + place]
        row = before + place
        z = joints.z[number]
        z[0] = 0.0
        z[1] = 0.0
        if row < nu:
            z[0] = island.z[limit + place]
        elif row >= boxed and rows.lo[row - boxed] != rows.hi[row - boxed]:
            z[0] = island.z[x]
            z[1] = island.z[x + xs]
            x += 1
        # speed of the row after the step
        rate = 0.0
        for p in range(progress.nv):
            rate += rows.J[row, p] * island.v_plus[p]
        # its record
        record = chunk.joint[control.chunk_joints + first + place]
        record.step = control.step
        record.island = i
        record.row = number
        record.error = joints.error[number]
        record.force = island.f[row]
        record.rate = rate
        record.projection_multiplier = 0.0
        record.z[0] = z[0]
        record.z[1] = z[1]


@kernel(inner=True)
def store_joint_warm_start(joints: JointRows, chunk: Chunk, control: StepControl) -> None:
    """At the end of a step, store which joint rows are active and their z, as the warm start of the next step.

    Also record the drives' targets in the chunk, and count its joint rows.
    """
    for i in range(joints.active.shape[0]):
        joints.was_active[i] = joints.active[i]
        copy_array(joints.z[i], joints.previous_z[i])
    copy_array(joints.target, chunk.drive_target[control.chunk_steps])
    control.chunk_joints += joints.row_start[control.n_islands]
