"""Of `detect`: motion without contacts: mass matrix and its factors, momentum, free velocity.

Everything comes from the multibody core: bias forces by `rnea`, the mass matrix by the composite-rigid-body algorithm
and its factors tree by tree. Gravity and velocity products are taken at the start of the step, but for trees that are
one freely turning link: their gyroscopic torque is that of the midpoint rule (see the core's `gyroscopic`), or left
out; and what velocity products of fast chains would gain in energy is taken out (`velocity_products`).
"""

from __future__ import annotations

import math

from contactlab.multibody.kernels.codes import GOOD, SINGULAR
from contactlab.multibody.kernels.crba import composite_matrix
from contactlab.multibody.kernels.gyroscopic import is_free_rotor, turning_impulse
from contactlab.multibody.kernels.inertias import world_inertias
from contactlab.multibody.kernels.layout import tree
from contactlab.multibody.kernels.ltl import branch_times, factor_ltl, solve_vector_l, solve_vector_lt
from contactlab.multibody.kernels.newton_euler import joint_forces, link_forces
from contactlab.multibody.kernels.sizes import PER_DOF, PER_LINK, SCRATCH
from contactlab.multibody.kernels.velocity_products import limit_products, limiter_weight, previous_kinetic_energy
from contactlab.multibody.kernels.workspace import frames, rows_at
from contactlab.spatial.arrays import FloatArray
from contactlab.stepping.kernels.free_trees import weights
from contactlab.stepping.kernels.joint_layout import Joints
from contactlab.stepping.kernels.joint_rows import add_implicit
from contactlab.stepping.kernels.layout import (
    FAILURE_NONE,
    FAILURE_NOT_FINITE,
    FAILURE_SINGULAR,
    FREE_KICKED,
    FREE_KIND,
    GYROSCOPIC_EXPLICIT,
    GYROSCOPIC_IMPLICIT,
    TREE_BLOCK,
    TREE_DOF,
    TREE_LINK,
    Control,
    PackedWorld,
    Work,
)
from lcp.kernels import kernel


@kernel
def turns_fast(world: PackedWorld, W: FloatArray, h: float) -> bool:
    """Whether velocity products of any tree are to be limited."""
    t = tree(world.ints, world.floats)
    f = frames(W, t.parent.shape[0], t.dof_parent.shape[0])
    for k in range(world.trees.shape[0] - 1):
        first, last = world.trees[k, TREE_LINK], world.trees[k + 1, TREE_LINK]
        if not is_free_rotor(t, first, last) and limiter_weight(t, f.V, first, last, h) > 0.0:
            return True
    return False


@kernel
def free_motion(world: PackedWorld, work: Work, joints: Joints | None, h: float, control: Control) -> int:
    """Fill momentum, L, Mv and v_free; FAILURE_NONE, or why there is no such motion.

    The head of W holds the kinematics at (q, v). Mv = M v + h (tau - bias), v_free = M^-1 Mv; v_plus starts as v_free.
    Damping and drives that ``joints`` has within the mass matrix are in M and Mv from there on.
    ``control`` hears of a singular place.
    """
    W = work.W
    fast = control.gyroscopic != GYROSCOPIC_EXPLICIT and turns_fast(world, W, h)
    if fast:
        previous_kinetic_energy(world.ints, world.floats, work.q, work.v, h, work.q_plus, W, work.v_plus)
    link_forces(world.ints, world.floats, W[0:0], rows_at(W, 0, 0, 6), W)
    if joint_forces(world.ints, W, work.bias) != GOOD:
        return FAILURE_NOT_FINITE
    t = tree(world.ints, world.floats)
    nl = t.parent.shape[0]
    nv = t.dof_parent.shape[0]
    f = frames(W, nl, nv)
    start = SCRATCH + PER_LINK * nl + PER_DOF * nv
    B = rows_at(W, start, nl, 10)
    six = work.scratch[0:6]
    regular = True
    world_inertias(t, f.R, f.p, B)
    for k in range(world.trees.shape[0] - 1):
        first = world.trees[k, TREE_LINK]
        last = world.trees[k + 1, TREE_LINK]
        a = world.trees[k, TREE_DOF]
        b = world.trees[k + 1, TREE_DOF]
        L = rows_at(work.L, world.trees[k, TREE_BLOCK], b - a, b - a)
        branch = world.branch[a:b]
        if composite_matrix(t, work.S[a:b], branch, B, first, last, L) != GOOD:
            return FAILURE_NOT_FINITE
        branch_times(branch, L, work.v[a:b], work.momentum[a:b])
        for j in range(a, b):
            work.Mv[j] = work.momentum[j] + h * (work.tau[j] - work.bias[j])
        several = control.accurate != 0 and world.free.shape[0] > 0 and world.free[k, FREE_KIND] == FREE_KICKED
        if several:
            weights(t, work.S[a:b], B, first, last, work.products[a:b])
            for j in range(a, b):
                work.products[j] = work.Mv[j] + h * (work.bias[j] - work.products[j])
        if control.gyroscopic != GYROSCOPIC_EXPLICIT and is_free_rotor(t, first, last):
            spins = control.gyroscopic == GYROSCOPIC_IMPLICIT
            turning_impulse(t, f.R, f.S, first, work.v, work.tau, h, spins, six, work.Mv)
        elif fast:
            share = limiter_weight(t, f.V, first, last, h)
            if share > 0.0:
                state, unused = (work.bias[a:b], work.momentum[a:b]), (work.v_free[a:b], work.q_plus[a:b])
                behind, links = work.v_plus[a:b], (first, last)
                limit_products(t, work.S[a:b], B, branch, links, h, behind, share, L, state, unused, work.Mv[a:b])
        if several:
            for j in range(a, b):
                work.products[j] -= work.Mv[j]
        if joints is not None:
            add_implicit(joints, work.q, h, a, b, L, work.Mv)
        # The bias of this tree has had its use.
        code = factor_ltl(branch, 0, work.bias[a:b], L)
        if code != GOOD:
            # The momenta of the other trees are asked for all the same, by the energy ledger.
            if regular:
                control.singular_dof = a + (SINGULAR - code)
            regular = False
            continue
        for j in range(a, b):
            work.v_free[j] = work.Mv[j]
        solve_vector_lt(branch, 0, L, work.v_free[a:b])
        solve_vector_l(branch, 0, L, work.v_free[a:b])
    if not regular:
        return FAILURE_SINGULAR
    for j in range(nv):
        if not math.isfinite(work.v_free[j]):
            return FAILURE_NOT_FINITE
        work.v_plus[j] = work.v_free[j]
    return FAILURE_NONE
