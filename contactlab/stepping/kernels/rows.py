"""The stage VERIFY: rows of the record of a solved island, LCP variables by contact, residuals and certificate."""

from __future__ import annotations

import math

from contactlab.stepping.kernels.kinematic import relative_velocity
from contactlab.stepping.kernels.layout import (
    BODY_A,
    BODY_B,
    BODY_ROOT,
    CONTACT_ID,
    GAP,
    GAP_CORRECTION,
    HALF_SPACE,
    MU,
    NORMAL,
    OPEN,
    POINT,
    RESTITUTION,
    SHAPE_A,
    SHAPE_B,
    SLIDE,
    STICK,
    STICK_FRACTION,
    TANGENTS,
    VN_FREE,
    Chunk,
    FloatArray,
    IslandWork,
    PackedWorld,
    Parameters,
    StepControl,
    StepWork,
)
from lcp.compiler.kernels import copy_array, fill_array
from lcp.kernels import kernel

# Factor by which a value must be below the minimum of the free speeds, to exclude rounding.
SURELY = 1.0 - 1e-6


@kernel(inner=True)
def write_rows(
    world: PackedWorld, work: StepWork, island: IslandWork, chunk: Chunk, control: StepControl, parameters: Parameters
) -> None:
    """Write the contact rows of the current island in the chunk, and its z by contact in ``work.contact_z``."""
    progress = island.progress[0]
    i = control.island
    first = work.contact_start[i]
    nc = progress.nc
    r = parameters.edges // 2
    h = parameters.h
    nr = progress.nr
    moving = work.scratch[0:3]
    other = work.scratch[3:6]
    for c in range(nc):
        index = work.island_contacts[first + c]
        floats = work.contact_float[index]
        ints = work.contact_int[index]
        normal = floats[NORMAL : NORMAL + 3]
        t1 = floats[TANGENTS : TANGENTS + 3]
        t2 = floats[TANGENTS + 3 : TANGENTS + 6]

        # variables of the LCP, and friction impulses along the tangents
        by_contact = work.contact_z[index]
        by_contact[0] = island.z[c]
        by_contact[1 + 2 * r] = island.z[nc + 2 * nr + c]
        force = island.f[c]
        along1 = 0.0
        along2 = 0.0
        for e in range(r):
            by_contact[1 + e] = island.z[nc + c * r + e]
            by_contact[1 + r + e] = island.z[nc + nr + c * r + e]
            push = h * island.f[nc + c * r + e]
            along1 += push * island.edge_directions[e, 0]
            along2 += push * island.edge_directions[e, 1]

        # slip and mode
        a = ints[BODY_A]
        b = ints[BODY_B]
        point = floats[POINT : POINT + 3]
        relative_velocity(world, work, a, b, point, work.v_plus, other, moving)
        slip1 = moving[0] * t1[0] + moving[1] * t1[1] + moving[2] * t1[2]
        slip2 = moving[0] * t2[0] + moving[1] * t2[1] + moving[2] * t2[2]
        slip = math.sqrt(slip1 * slip1 + slip2 * slip2)
        mode = OPEN
        if force > 0.0:
            # The free speeds are at least the free normal speed.
            sticks = slip <= SURELY * STICK_FRACTION * abs(floats[VN_FREE])
            sticks = sticks or slip <= STICK_FRACTION * free_speeds(world, work, a, b, point)
            mode = STICK if sticks else SLIDE

        # the row of the record
        at = control.chunk_contacts + index
        row = chunk.contact[at]
        row.step = control.step
        row.island = i
        row.body_a = a
        row.body_b = b
        row.half_space = ints[HALF_SPACE]
        row.id = ints[CONTACT_ID]
        row.mode = mode
        row.shape_a = ints[SHAPE_A]
        row.shape_b = ints[SHAPE_B]
        for j in range(3):
            row.point[j] = point[j]
            row.normal[j] = normal[j]
            row.impulse[j] = h * force * normal[j] + along1 * t1[j] + along2 * t2[j]
            row.moment[j] = work.contact_moment[index, j]
        row.gap = floats[GAP]
        row.mu = floats[MU]
        row.impulse_normal = h * force
        row.impulse_tangential[0] = along1
        row.impulse_tangential[1] = along2
        row.slip = slip
        row.restitution = floats[RESTITUTION]
        row.projection_multiplier = 0.0
        row.projection_multiplier_tangential[0] = 0.0
        row.projection_multiplier_tangential[1] = 0.0
        row.gap_correction = floats[GAP_CORRECTION]
        copy_array(by_contact, chunk.contact_z[at])


@kernel(inner=True)
def free_speeds(world: PackedWorld, work: StepWork, a: int, b: int, point: FloatArray) -> float:
    """Return the scale of slips: the free speeds of the point on both bodies.

    The speeds of both trees count, because bodies that fall together move, although their relative velocity is zero.
    """
    unhindered = work.scratch[6:9]
    other = work.scratch[9:12]
    fill_array(other, 0.0)
    relative_velocity(world, work, a, b, point, work.v_free, other, unhindered)
    free = 0.0
    if not (a >= 0 and world.bodies[a, BODY_ROOT] == world.bodies[b, BODY_ROOT]):
        for j in range(3):
            unhindered[j] += other[j]
        free = math.sqrt(other[0] ** 2 + other[1] ** 2 + other[2] ** 2)
    return free + math.sqrt(unhindered[0] ** 2 + unhindered[1] ** 2 + unhindered[2] ** 2)


@kernel(inner=True)
def write_island(island: IslandWork, chunk: Chunk, control: StepControl, of_joints: int) -> None:
    """Write the row of the island in progress: solution, joint rows, residuals and certificate."""
    progress = island.progress[0]
    row = chunk.island[control.chunk_islands + control.island]
    row.step = control.step
    row.index = control.island
    row.contacts = progress.nc
    row.joints = of_joints
    row.pivots = progress.pivots
    row.warm = progress.warm_hit
    row.choice = progress.choice
    # Counted from 1: 0 means that no strategy found the forces, or the record does not have it.
    row.attempt = progress.attempt + 1
    row.systems = progress.systems
    copy_array(island.residuals, row.measures)
    copy_array(island.certificate, row.certificate)
