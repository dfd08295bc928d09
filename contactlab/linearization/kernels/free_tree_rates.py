"""Derivatives of the motion of free trees of several links, by differences (see the step's `free_trees`).

Of all such trees at once, a coordinate of each at a time, in as many parts as the step has taken: nothing that the
method decides differs from one side to the other.
"""

from __future__ import annotations

from typing import Final

from contactlab.linearization.kernels.layout import Memory
from contactlab.multibody.kernels.configurations import configuration_difference, integrate_configuration
from contactlab.multibody.kernels.sizes import CUSTOM_ROW, NOTHING, VELOCITIES
from contactlab.multibody.kernels.velocities import fill_frames
from contactlab.multibody.kernels.workspace import rows_at
from contactlab.stepping.kernels.free_motion import free_motion, move_tree
from contactlab.stepping.kernels.layout import (
    TREE_DOF,
    FloatArray,
    IntArray,
    JointRows,
    PackedWorld,
    Parameters,
    StepWork,
)
from lcp.kernels import kernel

#: Stride [rad, m, rad/s, m/s, N m, N] of the differences.
STRIDE: Final = 1e-5
#: Which of them a column is by.
BY_Q: Final = 0
BY_V: Final = 1
BY_TAU: Final = 2
KINDS: Final = 3


@kernel
def move_again(
    world: PackedWorld, work: StepWork, joints: JointRows | None, p: Parameters, h: float, parts: IntArray
) -> None:
    """Move the free trees of the step once more, from the state and forces in work, to q_plus and v_plus."""
    none = rows_at(work.W, 0, 0, CUSTOM_ROW)
    fill_frames(world.ints, world.floats, work.q, work.v, none, NOTHING, VELOCITIES, work.W)
    free_motion(world, work, joints, h, p)
    for j in range(work.q.shape[0]):
        work.q_plus[j] = work.q[j]
    for k in range(parts.shape[0]):
        if parts[k] > 0:
            move_tree(world, work, k, h, parts[k])


@kernel
def add_moved(
    world: PackedWorld,
    work: StepWork,
    m: Memory,
    parts: IntArray,
    q_base: FloatArray,
    column: int,
    each: int,
    weight: float,
) -> None:
    """Add ``weight`` times where the trees have moved, from q_base, to a column of A: of each tree that of its own.

    ``each`` >= 0: of a tree the column so many behind its first, and none where it has fewer.
    """
    nv = work.v.shape[0]
    way = m.way[:nv]
    configuration_difference(world.ints, world.floats, q_base, work.q_plus, way)
    for k in range(parts.shape[0]):
        a, b = world.trees[k, TREE_DOF], world.trees[k + 1, TREE_DOF]
        if parts[k] == 0 or each >= b - a:
            continue
        at = column + (a + each if each >= 0 else 0)
        for j in range(a, b):
            m.A[j, at] += weight * way[j]
            m.A[nv + j, at] += weight * work.v_plus[j]


@kernel
def perturb(
    world: PackedWorld, work: StepWork, m: Memory, parts: IntArray, tau: FloatArray, kind: int, each: int, way: float
) -> None:
    """Let work begin a little beside the start of the step, in one coordinate of every tree."""
    nv = work.v.shape[0]
    shift = m.way[:nv]
    for j in range(nv):
        work.v[j], work.tau[j], shift[j] = m.v[j], tau[j], 0.0
    for k in range(parts.shape[0]):
        a = world.trees[k, TREE_DOF]
        if parts[k] > 0 and each < world.trees[k + 1, TREE_DOF] - a:
            if kind == BY_Q:
                shift[a + each] = way
            elif kind == BY_V:
                work.v[a + each] += way
            else:
                work.tau[a + each] += way
    if kind == BY_Q:
        integrate_configuration(world.ints, world.floats, m.q, shift, 1.0, work.q)
    else:
        for j in range(m.q.shape[0]):
            work.q[j] = m.q[j]


@kernel
def free_tree_rates(
    world: PackedWorld,
    work: StepWork,
    joints: JointRows | None,
    p: Parameters,
    h: float,
    m: Memory,
    parts: IntArray,
    tau: FloatArray,
    q_base: FloatArray,
) -> None:
    """Replace the rows of A of the trees that the step has moved in ``parts`` (nt,) > 0, but for those by parameters.

    ``tau`` (nv,) and ``q_base`` (nq,) are filled with the force of the step and where it ends; work.tau is as it was.
    """
    nv = work.v.shape[0]
    largest = 0
    for k in range(parts.shape[0]):
        if parts[k] > 0:
            largest = max(largest, world.trees[k + 1, TREE_DOF] - world.trees[k, TREE_DOF])
            for j in range(world.trees[k, TREE_DOF], world.trees[k + 1, TREE_DOF]):
                for column in range(m.A.shape[1]):
                    m.A[j, column] = 0.0
                    m.A[nv + j, column] = 0.0
    for j in range(nv):
        tau[j] = work.tau[j]
    perturb(world, work, m, parts, tau, BY_V, 0, 0.0)
    move_again(world, work, joints, p, h, parts)
    for j in range(q_base.shape[0]):
        q_base[j] = work.q_plus[j]
    for kind in range(KINDS):
        for each in range(largest):
            for side in range(2):
                way = STRIDE if side == 0 else -STRIDE
                perturb(world, work, m, parts, tau, kind, each, way)
                move_again(world, work, joints, p, h, parts)
                add_moved(world, work, m, parts, q_base, kind * nv, each, 0.5 / way)
    perturb(world, work, m, parts, tau, BY_V, 0, 0.0)
    if joints is not None:
        for drive in range(joints.target.shape[0]):
            target = joints.target[drive]
            for side in range(2):
                way = STRIDE if side == 0 else -STRIDE
                joints.target[drive] = target + way
                move_again(world, work, joints, p, h, parts)
                add_moved(world, work, m, parts, q_base, 3 * nv + drive, -1, 0.5 / way)
            joints.target[drive] = target


@kernel
def add_free_parameter(
    world: PackedWorld,
    work: StepWork,
    joints: JointRows | None,
    p: Parameters,
    h: float,
    m: Memory,
    parts: IntArray,
    q_base: FloatArray,
    column: int,
    weight: float,
) -> None:
    """Add ``weight`` times where the trees go in a world of the same layout to the column of a parameter."""
    nv = work.v.shape[0]
    for j in range(nv):
        work.v[j] = m.v[j]
    for j in range(m.q.shape[0]):
        work.q[j] = m.q[j]
    move_again(world, work, joints, p, h, parts)
    add_moved(world, work, m, parts, q_base, column, -1, weight)
