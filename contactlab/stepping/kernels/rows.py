"""Stage 6: what is kept of a solved island: contact rows, LCP variables by contact, residuals and certificate."""

from __future__ import annotations

import math

from contactlab.contact.kernels.friction_pyramid import planar_tangents, tangential
from contactlab.stepping.kernels.layout import (
    BODY_A,
    BODY_B,
    CERTIFICATE,
    CONTACT_ID,
    GAP,
    HALF_SPACE,
    ISLAND_ROW_CONTACTS,
    ISLAND_ROW_INDEX,
    ISLAND_ROW_JOINTS,
    ISLAND_ROW_PIVOTS,
    ISLAND_ROW_STEP,
    ISLAND_ROW_WARM,
    MEASURES,
    MU,
    NORMAL,
    OPEN,
    POINT,
    RESTITUTION,
    ROW_BODY_A,
    ROW_BODY_B,
    ROW_GAP,
    ROW_HALF_SPACE,
    ROW_ID,
    ROW_IMPULSE,
    ROW_IMPULSE_NORMAL,
    ROW_IMPULSE_TANGENTIAL,
    ROW_ISLAND,
    ROW_MODE,
    ROW_MU,
    ROW_NORMAL,
    ROW_POINT,
    ROW_PUSH,
    ROW_RESTITUTION,
    ROW_SHAPE_A,
    ROW_SHAPE_B,
    ROW_SLIP,
    ROW_STEP,
    SHAPE_A,
    SHAPE_B,
    SLIDE,
    STICK,
    STICK_FRACTION,
    Chunk,
    Control,
    Island,
    PackedWorld,
    Work,
)
from contactlab.stepping.kernels.relative import relative_velocity
from lcp.kernels import kernel


@kernel(inner=True)
def write_rows(world: PackedWorld, work: Work, island: Island, chunk: Chunk, control: Control, h: float) -> None:
    """Write the contact rows of the island in progress, and keep its z by contact."""
    i = control.island
    first = work.contact_start[i]
    nc = control.nc
    r = control.edges // 2
    nr = nc * r
    normal = work.scratch[0:3]
    t1 = work.scratch[3:6]
    t2 = work.scratch[6:9]
    direction = work.scratch[9:12]
    impulse = work.scratch[12:15]
    moving = work.scratch[15:18]
    unhindered = work.scratch[18:21]
    other = work.scratch[21:24]
    for c in range(nc):
        index = work.island_contacts[first + c]
        floats = work.contact_float[index]
        ints = work.contact_int[index]
        for j in range(3):
            normal[j] = floats[NORMAL + j]
        planar_tangents(normal, world.plane, t1, t2)

        by_contact = work.contact_z[index]
        by_contact[0] = island.z[c]
        by_contact[1 + 2 * r] = island.z[nc + 2 * nr + c]
        force = island.f[c]
        for j in range(3):
            impulse[j] = h * force * normal[j]
        along1 = 0.0
        along2 = 0.0
        for e in range(r):
            by_contact[1 + e] = island.z[nc + c * r + e]
            by_contact[1 + r + e] = island.z[nc + nr + c * r + e]
            tangential(island.turns[e, 0], island.turns[e, 1], t1, t2, direction)
            push = h * island.f[nc + c * r + e]
            for j in range(3):
                impulse[j] += push * direction[j]
                along1 += push * direction[j] * t1[j]
                along2 += push * direction[j] * t2[j]

        # Slip after the step, and the speed the point would have without contacts as its measure.
        a = ints[BODY_A]
        b = ints[BODY_B]
        point = floats[POINT : POINT + 3]
        relative_velocity(world, work, a, b, point, work.v_plus, other, moving)
        relative_velocity(world, work, a, b, point, work.v_free, other, unhindered)
        slip1 = moving[0] * t1[0] + moving[1] * t1[1] + moving[2] * t1[2]
        slip2 = moving[0] * t2[0] + moving[1] * t2[1] + moving[2] * t2[2]
        slip = math.sqrt(slip1 * slip1 + slip2 * slip2)
        free = math.sqrt(unhindered[0] ** 2 + unhindered[1] ** 2 + unhindered[2] ** 2)
        mode = OPEN
        if force > 0.0:
            mode = SLIDE if slip > STICK_FRACTION * free else STICK

        at = control.chunk_contacts + index
        row_int = chunk.contact_int[at]
        row = chunk.contact_float[at]
        row_int[ROW_STEP] = control.step
        row_int[ROW_ISLAND] = i
        row_int[ROW_BODY_A] = a
        row_int[ROW_BODY_B] = b
        row_int[ROW_HALF_SPACE] = ints[HALF_SPACE]
        row_int[ROW_ID] = ints[CONTACT_ID]
        row_int[ROW_MODE] = mode
        row_int[ROW_SHAPE_A] = ints[SHAPE_A]
        row_int[ROW_SHAPE_B] = ints[SHAPE_B]
        for j in range(3):
            row[ROW_POINT + j] = point[j]
            row[ROW_NORMAL + j] = normal[j]
            row[ROW_IMPULSE + j] = impulse[j]
        row[ROW_GAP] = floats[GAP]
        row[ROW_MU] = floats[MU]
        row[ROW_IMPULSE_NORMAL] = h * force
        row[ROW_IMPULSE_TANGENTIAL] = along1
        row[ROW_IMPULSE_TANGENTIAL + 1] = along2
        row[ROW_SLIP] = slip
        row[ROW_RESTITUTION] = floats[RESTITUTION]
        row[ROW_PUSH] = 0.0
        for j in range(by_contact.shape[0]):
            chunk.contact_z[at, j] = by_contact[j]


@kernel(inner=True)
def write_island(island: Island, chunk: Chunk, control: Control, of_joints: int) -> None:
    """Write the row of the island in progress: solution, rows of joints, residual measures and certificate."""
    row = control.chunk_islands + control.island
    chunk.island_int[row, ISLAND_ROW_STEP] = control.step
    chunk.island_int[row, ISLAND_ROW_INDEX] = control.island
    chunk.island_int[row, ISLAND_ROW_CONTACTS] = control.nc
    chunk.island_int[row, ISLAND_ROW_PIVOTS] = control.pivots
    chunk.island_int[row, ISLAND_ROW_WARM] = control.warm_hit
    chunk.island_int[row, ISLAND_ROW_JOINTS] = of_joints
    for j in range(MEASURES):
        chunk.island_measures[row, j] = island.measures[j]
    for j in range(CERTIFICATE):
        chunk.island_certificate[row, j] = island.certificate[j]
