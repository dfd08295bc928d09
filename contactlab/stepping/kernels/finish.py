"""Stage 7: the new state: velocities of the islands, configuration, energies, and the basis for the next step."""

from __future__ import annotations

import math

from contactlab.multibody.kernels.centroidal import energies
from contactlab.multibody.kernels.layout import tree
from contactlab.multibody.kernels.workspace import frames
from contactlab.stepping.kernels.layout import (
    CONTACT_ID,
    SCALAR_H,
    SCALAR_KINETIC,
    SCALAR_POTENTIAL,
    SCALAR_TIME,
    TREE_DOF,
    Chunk,
    FloatArray,
    Island,
    PackedWorld,
    Work,
)
from lcp.kernels import kernel


@kernel(inline=True)
def scatter_velocity(world: PackedWorld, work: Work, island: Island, i: int) -> None:
    """Copy the island's velocities after the step to their trees."""
    for n in range(work.tree_start[i], work.tree_start[i + 1]):
        k = work.island_trees[n]
        a = world.trees[k, TREE_DOF]
        for j in range(world.trees[k + 1, TREE_DOF] - a):
            work.v_plus[a + j] = island.v_plus[work.local[k] + j]


@kernel
def measure(world: PackedWorld, W: FloatArray, q: FloatArray, sums: FloatArray, energy: FloatArray) -> bool:
    """Fill ``energy`` (2,), kinetic and potential [J], of the state q that the head of W is filled for.

    ``sums`` (11,) is scratch. False when state or energy are no numbers; checked before `commit`, with which the last
    good state is gone.
    """
    t = tree(world.ints, world.floats)
    f = frames(W, t.parent.shape[0], t.dof_parent.shape[0])
    energies(t, f.R, f.p, f.V, world.fixed, sums, energy)
    total = energy[0] + energy[1]
    for j in range(q.shape[0]):
        total += q[j]
    return math.isfinite(total)


@kernel(inline=True)
def commit(work: Work, n_contacts: int) -> None:
    """Make the step's result the state; contacts and z are kept for the next."""
    for j in range(work.v.shape[0]):
        work.v[j] = work.v_plus[j]
    for j in range(work.q.shape[0]):
        work.q[j] = work.q_plus[j]
    for i in range(n_contacts):
        work.previous_id[i] = work.contact_int[i, CONTACT_ID]
        for j in range(work.previous_z.shape[1]):
            work.previous_z[i, j] = work.contact_z[i, j]


@kernel(inline=True)
def write_state(work: Work, chunk: Chunk, row: int, time: float, h: float) -> None:
    """Record time, q, v, kinematic bodies and the energies of the state, and the step that led to it."""
    chunk.scalars[row, SCALAR_TIME] = time
    chunk.scalars[row, SCALAR_KINETIC] = work.energy[0]
    chunk.scalars[row, SCALAR_POTENTIAL] = work.energy[1]
    chunk.scalars[row, SCALAR_H] = h
    for j in range(work.q.shape[0]):
        chunk.q[row, j] = work.q[j]
    for j in range(work.v.shape[0]):
        chunk.v[row, j] = work.v[j]
    for i in range(work.motion_pose.shape[0]):
        for j in range(12):
            chunk.motion_pose[row, i, j] = work.motion_next[i, j]
        for j in range(6):
            chunk.motion_twist[row, i, j] = work.motion_twist[i, j]
