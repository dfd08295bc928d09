"""Stage 6: the new state: velocities of the islands, configuration, energies, and the basis for the next step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.multibody.kernels.free_body import body_energy, integrate_body
from contactlab.simulation.kernels.layout import (
    CONTACT_ID,
    SCALAR_H,
    SCALAR_KINETIC,
    SCALAR_POTENTIAL,
    SCALAR_TIME,
    Chunk,
    Island,
    Model,
    Work,
)
from lcp.kernels import kernel


@kernel
def scatter_velocity(work: Work, island: Island, i: int) -> None:
    """Copy the island's velocities after the step to their bodies."""
    first = work.body_start[i]
    for a in range(work.body_start[i + 1] - first):
        b = work.island_bodies[first + a]
        for j in range(6):
            work.v_plus[6 * b + j] = island.v_plus[6 * a + j]


@kernel
def total_energy(
    model: Model, q: NDArray[np.float64], v: NDArray[np.float64], body: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Fill ``out[:2]`` with kinetic and potential energy [J]; ``body`` (2,) is workspace."""
    out[0] = 0.0
    out[1] = 0.0
    for b in range(model.mass.shape[0]):
        body_energy(
            model.mass[b],
            model.com[b],
            model.inertia[b],
            model.gravity,
            q[7 * b : 7 * b + 7],
            v[6 * b : 6 * b + 6],
            body,
        )
        out[0] += body[0]
        out[1] += body[1]


@kernel
def next_state_finite(model: Model, work: Work, h: float) -> bool:
    """Whether the state after the step, and its energy, are numbers: once committed, the last good state is gone."""
    moved = work.scratch[0:7]
    energy = work.scratch[7:9]
    for b in range(model.mass.shape[0]):
        v6 = work.v_plus[6 * b : 6 * b + 6]
        integrate_body(work.q[7 * b : 7 * b + 7], v6, h, moved)
        body_energy(model.mass[b], model.com[b], model.inertia[b], model.gravity, moved, v6, energy)
        total = energy[0] + energy[1]
        for j in range(7):
            total += moved[j]
        if not np.isfinite(total):
            return False
    return True


@kernel
def commit(model: Model, work: Work, h: float, n_contacts: int) -> None:
    """Make the step's result the state: v = v_plus, q moved along v_plus for h, contacts and z kept for the next."""
    moved = work.scratch[0:7]
    for b in range(model.mass.shape[0]):
        v6 = work.v[6 * b : 6 * b + 6]
        q7 = work.q[7 * b : 7 * b + 7]
        for j in range(6):
            v6[j] = work.v_plus[6 * b + j]
        integrate_body(q7, v6, h, moved)
        for j in range(7):
            q7[j] = moved[j]
    for i in range(n_contacts):
        work.previous_id[i] = work.contact_int[i, CONTACT_ID]
        for j in range(work.previous_z.shape[1]):
            work.previous_z[i, j] = work.contact_z[i, j]


@kernel
def write_state(model: Model, work: Work, chunk: Chunk, row: int, time: float, h: float) -> None:
    """Record time, q, v and the energies of the state, and the step that led to it."""
    energy = work.scratch[0:2]
    total_energy(model, work.q, work.v, work.scratch[2:4], energy)
    chunk.scalars[row, SCALAR_TIME] = time
    chunk.scalars[row, SCALAR_KINETIC] = energy[0]
    chunk.scalars[row, SCALAR_POTENTIAL] = energy[1]
    chunk.scalars[row, SCALAR_H] = h
    for j in range(work.q.shape[0]):
        chunk.q[row, j] = work.q[j]
    for j in range(work.v.shape[0]):
        chunk.v[row, j] = work.v[j]
