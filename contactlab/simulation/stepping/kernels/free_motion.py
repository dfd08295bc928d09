"""The stage DETECT: motion without contacts: mass matrix and its factors, momentum, free velocity.

Bias forces come from `rnea`, the mass matrix from the composite-rigid-body algorithm, both in the multibody core; the
mass matrix is factored tree by tree. Gravity and velocity products are evaluated at the start of the step. Trees of one
freely turning link are an exception: their gyroscopic torque follows the midpoint rule (the core's `gyroscopic`), or is
left out. The energy that velocity products of fast chains would gain is removed (`velocity_products`).

Trees of several links on which no row acts move by the Runge-Kutta method (`move_free_trees`). Euler's rule evaluates
velocity products and the mass matrix at the start of the step; a whipping chain can then gain or lose as much energy as
it has. A tree on which only weights and applied forces can ever act is integrated with these forces, to the accuracy of
the method. Any other tree is kicked: weights, applied forces, drives and damping change its velocity at the start, as
in every step. From there it moves free of forces, at constant kinetic energy. For a single free body this equals the
step by Euler's rule, which suits its bounces (see `TimeStepping`, restitution_threshold).

The terms of the energy ledger of a recorded step are recomputed by the same functions (`recompute_energy_terms`).
"""

from __future__ import annotations

import math
from typing import Final

from contactlab.multibody.kernels import (
    CUSTOM_ROW,
    GOOD,
    NOTHING,
    PER_DOF,
    PER_LINK,
    POSES,
    SCRATCH,
    SINGULAR,
    VELOCITIES,
)
from contactlab.multibody.kernels.centroidal import energies
from contactlab.multibody.kernels.dynamics import joint_forces, link_forces
from contactlab.multibody.kernels.integration import integrate_configuration, runge_kutta
from contactlab.multibody.kernels.kinematics import fill_frames
from contactlab.multibody.kernels.layout import Tree, frames, tree
from contactlab.multibody.kernels.mass_matrix import (
    branch_times,
    composite_matrix,
    factor_ltl,
    solve_vector_l,
    solve_vector_lt,
    world_inertias,
)
from contactlab.multibody.kernels.velocity_products import (
    gyroscopic_impulse,
    is_free_rotor,
    limit_products,
    limiter_weight,
    previous_kinetic_energy,
)
from contactlab.simulation.stepping.kernels.arrays import JointRows, PackedWorld, StepWork
from contactlab.simulation.stepping.kernels.joint_rows import add_implicit
from contactlab.simulation.stepping.kernels.kinematic import relative_turning, relative_velocity
from contactlab.simulation.stepping.kernels.layout import (
    ASLEEP,
    FAILURE_NONE,
    FAILURE_NOT_FINITE,
    FAILURE_SINGULAR,
    FREE_ALONE,
    FREE_EULER,
    FREE_FLOAT,
    FREE_FLOAT_END,
    FREE_INT,
    FREE_INT_END,
    FREE_KICKED,
    FREE_KIND,
    FREE_Q,
    FREE_Q_END,
    GYROSCOPIC_EXPLICIT,
    GYROSCOPIC_IMPLICIT,
    TREE_BLOCK,
    TREE_DOF,
    TREE_LINK,
    FloatArray,
    IntArray,
    Parameters,
)
from lcp.compiler.kernels import copy_array
from lcp.compiler.views import view_1d, view_2d
from lcp.kernels import kernel


@kernel
def turns_fast(world: PackedWorld, W: FloatArray, h: float) -> bool:
    """Return True if the velocity products of any tree must be limited."""
    t = tree(world.ints, world.floats)
    f = frames(W, t.parent.shape[0], t.dof_parent.shape[0])
    for k in range(world.trees.shape[0] - 1):
        first, last = world.trees[k, TREE_LINK], world.trees[k + 1, TREE_LINK]
        if not is_free_rotor(t, first, last) and limiter_weight(t, f.V, first, last, h) > 0.0:
            return True
    return False


@kernel
def free_motion(world: PackedWorld, work: StepWork, joints: JointRows | None, h: float, parameters: Parameters) -> int:
    """Fill momentum, L, its inverse pivots, Mv and v_free; return FAILURE_NONE or a failure code.

    The head of W holds the kinematics at (q, v). Mv = M v + h (tau - bias), v_free = M^-1 Mv; v_plus starts as v_free.
    Implicit damping and drives of ``joints`` are then in M and Mv. L has the factors of M, tree by tree. Failure codes
    are FAILURE_NOT_FINITE, and FAILURE_SINGULAR + j if degree of freedom j moves no mass.
    """
    W = work.W
    fast = parameters.gyroscopic != GYROSCOPIC_EXPLICIT and turns_fast(world, W, h)
    if fast:
        previous_kinetic_energy(world.ints, world.floats, work.q, work.v, h, work.q_plus, W, work.v_plus)
    link_forces(world.ints, world.floats, W[0:0], view_2d(W, 0, 0, 6), W)
    if joint_forces(world.ints, W, work.bias) != GOOD:
        return FAILURE_NOT_FINITE
    # inertias of the composites
    t = tree(world.ints, world.floats)
    nl = t.parent.shape[0]
    nv = t.dof_parent.shape[0]
    f = frames(W, nl, nv)
    start = SCRATCH + PER_LINK * nl + PER_DOF * nv
    B = view_2d(W, start, nl, 10)
    six = work.scratch[0:6]
    singular = -1
    world_inertias(t, f.R, f.p, B)
    for k in range(world.trees.shape[0] - 1):
        # mass matrix, momentum and impulses of one tree
        first = world.trees[k, TREE_LINK]
        last = world.trees[k + 1, TREE_LINK]
        a = world.trees[k, TREE_DOF]
        b = world.trees[k + 1, TREE_DOF]
        L = view_2d(work.L, world.trees[k, TREE_BLOCK], b - a, b - a)
        branch = world.branch[a:b]
        if composite_matrix(t, work.S[a:b], branch, B, first, last, L) != GOOD:
            return FAILURE_NOT_FINITE
        branch_times(branch, L, work.v[a:b], work.momentum[a:b])
        for j in range(a, b):
            work.Mv[j] = work.momentum[j] + h * (work.tau[j] - work.bias[j])
        # velocity products: by the midpoint rule, or within their limits
        several = parameters.accurate != 0 and world.free.shape[0] > 0 and world.free[k, FREE_KIND] == FREE_KICKED
        if several:
            weights(t, work.S[a:b], B, first, last, work.products[a:b])
            for j in range(a, b):
                work.products[j] = work.Mv[j] + h * (work.bias[j] - work.products[j])
        if parameters.gyroscopic != GYROSCOPIC_EXPLICIT and is_free_rotor(t, first, last):
            spins = parameters.gyroscopic == GYROSCOPIC_IMPLICIT
            gyroscopic_impulse(t, f.R, f.S, first, work.v, work.tau, h, spins, six, work.Mv)
        elif fast:
            share = limiter_weight(t, f.V, first, last, h)
            if share > 0.0:
                state, unused = (work.bias[a:b], work.momentum[a:b]), (work.v_free[a:b], work.q_plus[a:b])
                behind, links = work.v_plus[a:b], (first, last)
                limit_products(t, work.S[a:b], B, branch, links, h, behind, share, L, state, unused, work.Mv[a:b])
        if several:
            for j in range(a, b):
                work.products[j] -= work.Mv[j]
        # implicit drives and dampers
        if joints is not None:
            add_implicit(joints, work.q, h, a, b, L, work.Mv)
        # The bias of this tree is not needed any more: its buffer is reused.
        code = factor_ltl(branch, work.bias[a:b], L)
        if code != GOOD:
            # Continue, because the energy ledger needs the momenta of the other trees.
            if singular < 0:
                singular = a + (SINGULAR - code)
            continue
        for j in range(b - a):
            work.inverse_pivots[a + j] = 1.0 / L[j, j]
        # the free velocity
        velocity = work.v_free[a:b]
        copy_array(work.Mv[a:b], velocity)
        solve_vector_lt(branch, L, velocity)
        solve_vector_l(branch, L, velocity)
    if singular >= 0:
        return FAILURE_SINGULAR + singular
    for j in range(nv):
        if not math.isfinite(work.v_free[j]):
            return FAILURE_NOT_FINITE
        work.v_plus[j] = work.v_free[j]
    return FAILURE_NONE


#: Rotation in a step [rad] below which a kicked tree's velocity products may be evaluated at the start of the step.
SLOW: Final = 1e-3


@kernel(inner=True)
def weights(t: Tree, S: FloatArray, B: FloatArray, first: int, last: int, out: FloatArray) -> None:
    """Fill the generalised weights of a whole tree, links first ... last - 1, as terms of the bias: -J' m g.

    ``S`` (n, 6) are the motion columns of its velocities, ``B`` the inertias of the composites.
    """
    x, y, z = -t.gravity[0], -t.gravity[1], -t.gravity[2]
    begin = t.iv[first]
    for i in range(first, last):
        Bi = B[i]
        for j in range(t.iv[i] - begin, t.iv[i + 1] - begin):
            s = S[j]
            turn = s[0] * (Bi[2] * z - Bi[3] * y) + s[1] * (Bi[3] * x - Bi[1] * z) + s[2] * (Bi[1] * y - Bi[2] * x)
            out[j] = turn + Bi[0] * (s[3] * x + s[4] * y + s[5] * z)


@kernel(inner=True)
def is_slow(t: Tree, V: FloatArray, first: int, last: int, h: float) -> bool:
    """Return True if no heavy link among first ... last - 1 turns noticeably in a step."""
    fastest = 0.0
    for i in range(first, last):
        if t.mass[i] > 0.0:
            fastest = max(fastest, V[i, 0] * V[i, 0] + V[i, 1] * V[i, 1] + V[i, 2] * V[i, 2])
    return h * math.sqrt(fastest) <= SLOW


@kernel(inner=True)
def move_tree(world: PackedWorld, work: StepWork, k: int, h: float, wanted: int) -> int:
    """Write the end of the step of tree k to v_plus and q_plus; return the number of substeps, 0 to use Euler's rule.

    ``wanted``: number of substeps, 0 to choose it. `free_motion` has filled v_free, L and the products.
    """
    # constants and velocities of the tree
    row = world.free[k]
    ints = world.free_ints[row[FREE_INT] : row[FREE_INT_END]]
    floats = world.free_floats[row[FREE_FLOAT] : row[FREE_FLOAT_END]]
    a, b = world.trees[k, TREE_DOF], world.trees[k + 1, TREE_DOF]
    n = b - a
    own = view_2d(work.free, 0, 2, n)
    start, force = own[0], own[1]
    # start of a lone body: its velocity and applied force; of other trees: v_free + M^-1 products
    for j in range(n):
        if row[FREE_KIND] == FREE_ALONE:
            start[j] = work.v[a + j]
            force[j] = work.tau[a + j]
        else:
            start[j] = work.products[a + j]
            force[j] = 0.0
    if row[FREE_KIND] != FREE_ALONE:
        branch = world.branch[a:b]
        L = view_2d(work.L, world.trees[k, TREE_BLOCK], n, n)
        solve_vector_lt(branch, L, start)
        solve_vector_l(branch, L, start)
        for j in range(n):
            start[j] += work.v_free[a + j]
    # integrate from there
    memory = view_1d(work.free, 2 * n, work.free.shape[0] - 2 * n)
    q, q_plus = work.q[row[FREE_Q] : row[FREE_Q_END]], work.q_plus[row[FREE_Q] : row[FREE_Q_END]]
    return runge_kutta(ints, floats, q, start, force, h, memory, wanted, q_plus, work.v_plus[a:b])


@kernel
def move_free_trees(world: PackedWorld, work: StepWork, h: float, parameters: Parameters) -> None:
    """Move all trees that are free in the step, and for which Euler's rule is not accurate enough.

    The head of W holds the kinematics at the start. Trees that turn so fast that the method would need too many
    substeps keep Euler's rule, which adds no energy to them.
    """
    t = tree(world.ints, world.floats)
    f = frames(work.W, t.parent.shape[0], t.dof_parent.shape[0])
    for k in range(world.trees.shape[0] - 1):
        work.parts[k] = 0
        kind = world.free[k, FREE_KIND]
        if kind == FREE_EULER or work.island_of[k] >= 0 or (parameters.sleep != 0 and work.asleep[k] == ASLEEP):
            continue
        first, last = world.trees[k, TREE_LINK], world.trees[k + 1, TREE_LINK]
        if kind != FREE_ALONE and is_slow(t, f.V, first, last, h):
            continue
        work.parts[k] = move_tree(world, work, k, h, 0)


@kernel
def compute_energies(world: PackedWorld, W: FloatArray, q: FloatArray, v: FloatArray, energy: FloatArray) -> bool:
    """Fill ``energy`` (2,), kinetic and potential [J], of the state (q, v) that the head of W is filled for.

    Return False if state or energy are not finite.
    """
    t = tree(world.ints, world.floats)
    f = frames(W, t.parent.shape[0], t.dof_parent.shape[0])
    energies(t, f.R, f.p, f.V, v, world.fixed, energy)
    total = energy[0] + energy[1]
    for j in range(q.shape[0]):
        total += q[j]
    return math.isfinite(total)


@kernel(inner=True)
def account_free_trees(
    world: PackedWorld,
    work: StepWork,
    parameters: Parameters,
    joints: JointRows | None,
    targets: FloatArray,
    in_island: IntArray,
    h: float,
    bias: FloatArray,
    moved: IntArray,
) -> None:
    """Mark in ``moved`` the free trees that the Runge-Kutta method moves, and fill their rows of ``bias`` (nv,) [N s].

    Their bias impulse is M (v+ - v) less h tau; a tree in no island is free. ``work.v`` is overwritten.
    """
    none = view_2d(work.W, 0, 0, CUSTOM_ROW)
    for k in range(in_island.shape[0]):
        work.island_of[k] = 0 if in_island[k] != 0 else -1
    if joints is not None:
        copy_array(targets, joints.target)
        free_motion(world, work, joints, h, parameters)
    move_free_trees(world, work, h, parameters)
    for k in range(in_island.shape[0]):
        moved[k] = 1 if work.parts[k] > 0 else 0
        if moved[k] != 0:
            for j in range(world.trees[k, TREE_DOF], world.trees[k + 1, TREE_DOF]):
                bias[j] = -work.momentum[j] - h * work.tau[j]
                work.v[j] = work.v_plus[j]
    # M v+, for M.
    fill_frames(world.ints, world.floats, work.q, work.v, none, POSES, VELOCITIES, work.W)
    free_motion(world, work, None, h, parameters)
    for k in range(in_island.shape[0]):
        if moved[k] != 0:
            for j in range(world.trees[k, TREE_DOF], world.trees[k + 1, TREE_DOF]):
                bias[j] += work.momentum[j]


@kernel
def recompute_energy_terms(
    world: PackedWorld,
    work: StepWork,
    parameters: Parameters,
    q: FloatArray,
    v: FloatArray,
    tau: FloatArray,
    h: FloatArray,
    joints: JointRows | None,
    targets: FloatArray,
    in_island: IntArray,
    contact_step: IntArray,
    contact_body: IntArray,
    contact_point: FloatArray,
    bias: FloatArray,
    kinetic: FloatArray,
    before: FloatArray,
    after: FloatArray,
    moved: IntArray,
) -> None:
    """Recompute the free motion of every step and fill the terms of the energy ledger.

    Parameters
    ----------
    world, work, parameters
        As for the loop; the last two are overwritten.
    q, v, h
        (n + 1, nq), (n + 1, nv), (n,): states and sizes of the steps.
    tau
        (n, nv) applied generalized forces, or (0, nv) for none.
    joints, targets
        The actions on joints, and (n, nd) the targets of the drives.
    in_island
        (n, nt) whether each tree is in an island of the step, or asleep.
    contact_step, contact_body, contact_point
        (k,), (k, 2), (k, 3): step of each contact, ascending; its bodies A and B; its point, world axes.
    bias
        (n, nv) filled with M v_free - M v - h tau: the impulses of gravity and velocity products. For free trees that
        the Runge-Kutta method moves, filled with M v+ - M v - h tau, which includes damping and drives.
    kinetic
        (n,) filled with the kinetic energy of v[i + 1] at q[i].
    before, after
        (k, 6) filled with the velocity of B at the contact's point relative to A, and the angular velocity of B
        relative to A, at q[i], under v[i] and under v[i + 1].
    moved
        (n, nt) filled with 1 for each tree that the Runge-Kutta method moves.
    """
    # go through the steps
    c = 0
    other = work.scratch[0:3]
    for i in range(h.shape[0]):
        # state and applied force of the step
        copy_array(q[i], work.q)
        for j in range(v.shape[1]):
            work.v[j] = v[i, j]
            work.tau[j] = tau[i, j] if tau.shape[0] > 0 else 0.0
        # free motion from this state
        fill_frames(
            world.ints, world.floats, work.q, work.v, view_2d(work.W, 0, 0, CUSTOM_ROW), NOTHING, VELOCITIES, work.W
        )
        free_motion(world, work, None, h[i], parameters)
        # impulses of gravity and velocity products
        for j in range(v.shape[1]):
            bias[i, j] = work.Mv[j] - work.momentum[j] - h[i] * work.tau[j]
        # free trees that the Runge-Kutta method moves
        if parameters.accurate != 0 and world.free.shape[0] > 0:
            account_free_trees(world, work, parameters, joints, targets[i], in_island[i], h[i], bias[i], moved[i])
        # relative velocity at each contact of the step, before and after
        while c < contact_step.shape[0] and contact_step[c] == i:
            a = contact_body[c, 0]
            b = contact_body[c, 1]
            for moment in range(2):
                velocity = before[c] if moment == 0 else after[c]
                relative_velocity(world, work, a, b, contact_point[c], v[i + moment], other, velocity[:3])
                relative_turning(world, work, a, b, v[i + moment], velocity[3:])
            c += 1
        # kinetic energy after the step, at the configuration before it
        fill_frames(
            world.ints, world.floats, work.q, v[i + 1], view_2d(work.W, 0, 0, CUSTOM_ROW), POSES, VELOCITIES, work.W
        )
        compute_energies(world, work.W, work.q, v[i + 1], work.energy)
        kinetic[i] = work.energy[0]


@kernel
def energies_unmoved(
    world: PackedWorld,
    work: StepWork,
    q: FloatArray,
    v_plus: FloatArray,
    way: FloatArray,
    h: FloatArray,
    out: FloatArray,
) -> None:
    """Fill ``out`` (n, 2) with the energies under v+ (n, nv) at q (n, nq) moved along ``way`` (n, nv) for h (n,)."""
    W = work.W
    for i in range(h.shape[0]):
        integrate_configuration(world.ints, world.floats, q[i], way[i], h[i], work.q_plus)
        fill_frames(
            world.ints, world.floats, work.q_plus, v_plus[i], view_2d(W, 0, 0, CUSTOM_ROW), NOTHING, VELOCITIES, W
        )
        compute_energies(world, W, work.q_plus, v_plus[i], out[i])
