"""Position projection: after the velocities of a step are found, q is moved so that nothing is left in penetration.

With W = N M^-1 N^T and the gaps that the step would leave, linearised at its start, e = gap + h N v+:

    0 <= p  _|_  W p + e >= 0,      dq = M^-1 N^T p,

the smallest displacement in the metric of the masses, (1/2) dq M dq, that opens all contacts of the step. q is moved
along h v+ + dq; v+ stays what it is, so that no kinetic energy comes of it. p has the unit kg m.

Contacts with a stiffness take no part: their penetration is their force.

A body between two that leave it no room has no such p. W + 1e-8 diag W in place of W gives it one: what cannot be
undone is then shared out, and what can be is undone but for 1e-8 of itself.
"""

from __future__ import annotations

import math

from contactlab.multibody.kernels.configurations import integrate_configuration
from contactlab.multibody.kernels.sizes import CUSTOM_ROW, NOTHING, VELOCITIES
from contactlab.multibody.kernels.velocities import fill_frames
from contactlab.multibody.kernels.workspace import rows_at
from contactlab.stepping.kernels.blocks import along, complete_rows, compliance_of
from contactlab.stepping.kernels.finish import measure
from contactlab.stepping.kernels.kinematic import belt_velocity, carried, motion_of
from contactlab.stepping.kernels.layout import (
    BODY_A,
    FAILURE_PROJECTION,
    GAP,
    GO_ON,
    ISLANDS,
    NORMAL,
    PAUSED,
    POINT,
    TREE_DOF,
    Chunk,
    Control,
    FloatArray,
    Island,
    PackedWorld,
    Parameters,
    Work,
)
from contactlab.stepping.kernels.outcome import failed
from contactlab.stepping.kernels.solve import pivot
from lcp.contacts.kernels.spans import columns, dot_within
from lcp.kernels import kernel
from lcp.kernels.codes import RUNNING, SOLVED
from lcp.kernels.residuals import balanced_residuals, is_solved

SOFTENING = 1e-8  # of W's diagonal


@kernel(inner=True)
def pose_projection(world: PackedWorld, work: Work, island: Island, control: Control, h: float) -> bool:
    """Fill M and q of the projection of the island, whose rows and velocities after the step stand in its buffers.

    False where no gap is left negative: then p = 0. N is the first rows of J, as the step has formed them.
    """
    first = work.contact_start[control.island]
    nc = control.nc
    nv = control.nv
    M = rows_at(island.M, 0, nc, nc)
    J = rows_at(island.J, 0, nc, nv)
    Y = rows_at(island.Y, 0, nc, nv)
    least = 0.0
    for c in range(nc):
        index = work.island_contacts[first + c]
        rigid = compliance_of(world, work.contact_int[index])[0] == math.inf
        begin, middle, upper, end = columns(island.spans, c, nv)
        rate = dot_within(begin, middle, upper, end, J[c], island.v_plus)
        told = motion_of(world, work.contact_int[index, BODY_A])
        if told >= 0:
            floats, surface = work.contact_float[index], work.scratch[0:3]
            carried(work, told, floats[POINT : POINT + 3], surface)
            rate -= along(floats[NORMAL : NORMAL + 3], surface)
            belt_velocity(work, told, floats[POINT : POINT + 3], surface)
            rate += along(floats[NORMAL : NORMAL + 3], surface)
        # The flag of a row that is to be left alone: no gap is infinite.
        island.q[c] = work.contact_float[index, GAP] + h * rate if rigid else math.inf
        least = min(least, island.q[c])
    if least == 0.0:
        return False
    complete_rows(J, Y, island.spans)
    for c in range(nc):
        for d in range(c, nc):
            w = 0.0
            for j in range(nv):
                w += J[c, j] * Y[d, j]
            if island.q[c] == math.inf or island.q[d] == math.inf:
                w = 1.0 if c == d else 0.0
            M[c, d] = w
            M[d, c] = w
        M[c, c] *= 1.0 + SOFTENING
    for c in range(nc):
        if island.q[c] == math.inf:
            island.q[c] = 0.0
    return True


@kernel(inner=True)
def shift_island(world: PackedWorld, work: Work, island: Island, chunk: Chunk, control: Control) -> None:
    """Add M^-1 N^T p of the island to the displacement of its trees, and record p; it stands in the island's z."""
    i = control.island
    nc = control.nc
    row0 = control.chunk_contacts
    first = work.contact_start[i]
    Y = rows_at(island.Y, 0, nc, control.nv)
    for c in range(nc):
        chunk.contact[row0 + work.island_contacts[first + c]].push = island.z[c]
    for n in range(work.tree_start[i], work.tree_start[i + 1]):
        k = work.island_trees[n]
        a = world.trees[k, TREE_DOF]
        for j in range(world.trees[k + 1, TREE_DOF] - a):
            total = 0.0
            for c in range(nc):
                total += Y[c, work.local[k] + j] * island.z[c]
            work.shift[a + j] = total


@kernel(inline=True)
def project(
    world: PackedWorld, work: Work, island: Island, chunk: Chunk, control: Control, parameters: Parameters
) -> int:
    """Solve the island's projection, some pivots at a time, and move on to the next island."""
    n = control.nc
    code = pivot(island, n, False)
    if code == RUNNING:
        return PAUSED
    scratch = island.proposal_floats[: 3 * n]
    M = rows_at(island.M, 0, n, n)
    balanced_residuals(M, island.q[:n], island.z[:n], island.w[:n], scratch, island.measures)
    if code != SOLVED or not is_solved(island.measures, parameters.tolerance):
        return failed(control, FAILURE_PROJECTION)
    shift_island(world, work, island, chunk, control)
    control.island += 1
    control.place = ISLANDS
    return GO_ON


@kernel
def energies_unmoved(
    world: PackedWorld,
    work: Work,
    q: FloatArray,
    v_plus: FloatArray,
    way: FloatArray,
    h: FloatArray,
    out: FloatArray,
) -> None:
    """Fill ``out`` (n, 2): the energies with v+ (n, nv) at q (n, nq) moved along ``way`` (n, nv) for h (n,) alone."""
    W = work.W
    for i in range(h.shape[0]):
        integrate_configuration(world.ints, world.floats, q[i], way[i], h[i], work.q_plus)
        fill_frames(
            world.ints, world.floats, work.q_plus, v_plus[i], rows_at(W, 0, 0, CUSTOM_ROW), NOTHING, VELOCITIES, W
        )
        measure(world, W, work.q_plus, v_plus[i], work.scratch[0:11], out[i])
