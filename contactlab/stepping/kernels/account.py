"""Terms of the energy ledger for every step, recomputed by the stages that the steps used."""

from __future__ import annotations

from contactlab.multibody.kernels.codes import CUSTOM_ROW, NOTHING, POSES, VELOCITIES
from contactlab.multibody.kernels.kinematics import fill_frames
from contactlab.stepping.kernels.finish import compute_energies
from contactlab.stepping.kernels.free_motion import free_motion, move_free_trees
from contactlab.stepping.kernels.kinematic import relative_turning, relative_velocity
from contactlab.stepping.kernels.layout import (
    TREE_DOF,
    FloatArray,
    IntArray,
    JointRows,
    PackedWorld,
    Parameters,
    StepWork,
)
from lcp.compiler.kernels import copy_array
from lcp.compiler.views import view_2d
from lcp.kernels import kernel


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
        compute_energies(world, work.W, work.q, v[i + 1], work.scratch[6:17], work.energy)
        kinetic[i] = work.energy[0]
