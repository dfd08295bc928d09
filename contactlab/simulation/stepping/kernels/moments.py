"""Torsional and rolling friction in a step: further friction cones over the normal forces of an island's contacts.

With w the angular velocity of body B relative to body A, n the normal, and rho_t and rho_r the lengths of the pair of
surfaces::

    torsional   one row n . w,                                     |moment along n| <= rho_t fN
    rolling     the rows d . w of a pyramid of directions across n, sum |moments along d| <= rho_r fN

The first d is along the rolling at the start of the step, so that straight rolling meets its bound exactly in any
direction; without rolling it is the contact's first tangent. In a planar world d is the normal of the plane, and there
is no spin about n.

Rows and cones follow the ones of sliding friction, contact by contact, the torsional one first. The LCP's variables are
kept by contact as [fN | r of fF+ | r of fF- | lambda]. In a world with such friction, the variables of the torsional
cone (3) and of the rolling cone (2 r + 1) follow.
"""

from __future__ import annotations

import math

from contactlab.collision.kernels.contact_rows import planar_tangents, tangential
from contactlab.simulation.stepping.kernels.arrays import IslandWork, MomentFriction, PackedWorld, StepWork
from contactlab.simulation.stepping.kernels.blocks import contact_jacobian, dot3, fill_along, materials_of
from contactlab.simulation.stepping.kernels.kinematic import kinematic_index, relative_turning
from contactlab.simulation.stepping.kernels.layout import (
    BODY_A,
    BODY_B,
    NORMAL,
    PREVIOUS,
    FloatArray,
    IntArray,
    Parameters,
    StepControl,
)
from lcp.compiler.kernels import copy_array, fill_array
from lcp.compiler.views import view_2d
from lcp.kernels import kernel

# Below this speed [rad/s] rolling has no direction.
STILL = 1e-9


@kernel(inline=True)
def moment_friction_lengths(world: PackedWorld, moments: MomentFriction, ints: IntArray) -> tuple[float, float]:
    """Return the lengths of torsional and rolling friction of a contact's surfaces; 0 if it has no two surfaces."""
    a, b = materials_of(world, ints)
    if a < 0:
        return 0.0, 0.0
    return moments.torsional[a, b], moments.rolling[a, b]


@kernel(inner=True)
def count_moments(
    world: PackedWorld, moments: MomentFriction, work: StepWork, island: IslandWork, control: StepControl, edges: int
) -> None:
    """Add the numbers of cones and rows F of moments to ncone and nr of the island in progress."""
    progress = island.progress[0]
    r = edges // 2
    first = work.contact_start[control.island]
    for c in range(progress.nc):
        torsional, rolling = moment_friction_lengths(world, moments, work.contact_int[work.island_contacts[first + c]])
        if torsional > 0.0:
            progress.ncone += 1
            progress.nr += 1
        if rolling > 0.0:
            progress.ncone += 1
            progress.nr += r


@kernel(inner=True)
def add_moments(
    world: PackedWorld, moments: MomentFriction, work: StepWork, island: IslandWork, control: StepControl, edges: int
) -> None:
    """Fill the rows and cones of moments of the island in progress, J and Y within the spans of its contacts."""
    progress = island.progress[0]
    nc = progress.nc
    nv = progress.nv
    r = edges // 2
    first = work.contact_start[control.island]
    m = nc + progress.nr
    J = view_2d(island.J, 0, m, nv)
    Y = view_2d(island.Y, 0, m, nv)
    P = view_2d(island.contact_jacobian_work, 0, 3, nv)
    X = view_2d(island.contact_jacobian_work, 3 * nv, 3, nv)
    scratch = island.contact_jacobian_work[6 * nv :]
    turns = island.edge_directions
    normal = work.scratch[0:3]
    t1 = work.scratch[3:6]
    t2 = work.scratch[6:9]
    cone = nc
    begin = nc * (1 + r)
    row = begin
    for c in range(nc):
        index = work.island_contacts[first + c]
        ints = work.contact_int[index]
        torsional, rolling = moment_friction_lengths(world, moments, ints)
        if torsional == 0.0 and rolling == 0.0:
            continue
        # angular velocity of body B relative to body A
        contact_jacobian(world, work, island.column_ranges[c], ints[BODY_A], ints[BODY_B], None, P, X, scratch)
        copy_array(work.contact_float[index, NORMAL:], normal)
        # cones of spin and of rolling
        if torsional > 0.0:
            copy_array(normal, moments.axes[row - begin])
            add_cone(island, cone, c, 1, torsional)
            cone += 1
            row += 1
        if rolling > 0.0:
            rolling_axes(world, work, ints[BODY_A], ints[BODY_B], normal, t1, t2)
            for e in range(r):
                tangential(turns[e, 0], turns[e, 1], t1, t2, moments.axes[row - begin + e])
            add_cone(island, cone, c, r, rolling)
            cone += 1
            row += r
        # their rows
        kinematic_row = kinematic_index(world, ints[BODY_A])
        rows = (1 if torsional > 0.0 else 0) + (r if rolling > 0.0 else 0)
        for i in range(row - rows, row):
            axis = moments.axes[i - begin]
            copy_array(island.column_ranges[c], island.column_ranges[i])
            fill_along(island.column_ranges[c], axis, P, J[i])
            fill_along(island.column_ranges[c], axis, X, Y[i])
            island.k[i] = -dot3(axis, work.motion_twist[kinematic_row]) if kinematic_row >= 0 else 0.0
            island.gamma[i] = 0.0


@kernel(inline=True)
def add_cone(island: IslandWork, cone: int, contact: int, directions: int, length: float) -> None:
    """Fill cone ``cone`` of the island: torsional or rolling friction of a contact, at most ``length`` [m] times fN."""
    island.r[cone] = directions
    island.mu[cone] = length
    island.cone_contacts[cone] = contact
    island.gammaE[cone] = 0.0


@kernel(inner=True)
def rolling_axes(
    world: PackedWorld, work: StepWork, a: int, b: int, normal: FloatArray, t1: FloatArray, t2: FloatArray
) -> None:
    """Fill two axes across the normal, the first along the rolling of body b on body a at the start of the step."""
    # any two tangents; in a plane the first is the plane's normal
    planar_tangents(normal, world.plane, t1, t2)
    if world.plane[0] != 0.0 or world.plane[1] != 0.0 or world.plane[2] != 0.0:
        copy_array(world.plane, t1)
        return
    # angular velocity of B relative to A, without spin about the normal
    w = work.scratch[9:12]
    relative_turning(world, work, a, b, work.v, w)
    spin = dot3(normal, w)
    for j in range(3):
        w[j] -= spin * normal[j]
    # if the body rolls: the first axis along the rolling, the second perpendicular to it
    speed = math.sqrt(dot3(w, w))
    if speed > STILL:
        for j in range(3):
            t1[j] = w[j] / speed
        t2[0] = normal[1] * t1[2] - normal[2] * t1[1]
        t2[1] = normal[2] * t1[0] - normal[0] * t1[2]
        t2[2] = normal[0] * t1[1] - normal[1] * t1[0]


@kernel(inner=True)
def copy_variables(
    world: PackedWorld,
    moments: MomentFriction | None,
    work: StepWork,
    island: IslandWork,
    control: StepControl,
    edges: int,
    warm: int | None,
) -> bool:
    """Copy the LCP variables of contacts between the island's order and the contacts' rows.

    With ``warm`` fill z0 from ``previous_z`` of the same contacts; variables of new contacts are 0. Otherwise fill the
    rows of ``contact_z`` from z. ``edges``: number of edges of a friction cone. Return True if any contact is also one
    of the previous step.
    """
    progress = island.progress[0]
    nc, nr = progress.nc, progress.nr
    r = edges // 2
    first = work.contact_start[control.island]
    z = island.z0 if warm is not None else island.z
    # slip speeds, and first row and slip speed of the cones of moments
    slips = nc + 2 * nr
    row, slip = nc * (1 + r), slips + nc
    matched = False
    for c in range(nc):
        index = work.island_contacts[first + c]
        ints = work.contact_int[index]
        kept = work.contact_z[index]
        if warm is not None:
            if ints[PREVIOUS] >= 0:
                kept = work.previous_z[ints[PREVIOUS]]
                matched = True
            else:
                fill_array(kept, 0.0)
        # normal force, and the cone of sliding
        copy_variable(z, c, kept, 0, warm)
        copy_cone(z, nc + c * r, nr, slips + c, kept[1 : 2 + 2 * r], warm)
        # cones of spin and of rolling; variables of cones that a contact does not have are 0
        if moments is not None:
            torsional, rolling = moment_friction_lengths(world, moments, ints)
            if warm is None:
                fill_array(kept[2 + 2 * r :], 0.0)
            if torsional > 0.0:
                copy_cone(z, row, nr, slip, kept[2 + 2 * r : 5 + 2 * r], warm)
                row, slip = row + 1, slip + 1
            if rolling > 0.0:
                copy_cone(z, row, nr, slip, kept[5 + 2 * r :], warm)
                row, slip = row + r, slip + 1
    return matched


@kernel(inner=True)
def copy_cone(z: FloatArray, row: int, nr: int, slip: int, kept: FloatArray, warm: int | None) -> None:
    """Copy the variables of one cone: forces along its directions from ``row``, forces against them, slip speed."""
    directions = kept.shape[0] // 2
    for e in range(directions):
        copy_variable(z, row + e, kept, e, warm)
        copy_variable(z, row + nr + e, kept, directions + e, warm)
    copy_variable(z, slip, kept, 2 * directions, warm)


@kernel(inline=True)
def copy_variable(z: FloatArray, place: int, kept: FloatArray, at: int, warm: int | None) -> None:
    """Copy one variable, to z if ``warm``, otherwise from z."""
    if warm is not None:
        z[place] = kept[at]
    else:
        kept[at] = z[place]


@kernel(inner=True)
def moment_impulses(
    moments: MomentFriction, work: StepWork, island: IslandWork, control: StepControl, parameters: Parameters
) -> None:
    """Fill the impulse (3,) [N m s] of the moments of each contact of the island, on body B."""
    # sizes of the island's rows
    progress = island.progress[0]
    nc = progress.nc
    r = parameters.edges // 2
    first = work.contact_start[control.island]
    begin = nc * (1 + r)
    # contacts without moments have none
    for c in range(nc):
        moment = work.contact_moment[work.island_contacts[first + c]]
        fill_array(moment, 0.0)
    # sum of the moment rows of each cone, about their axes
    row = begin
    for cone in range(nc, progress.ncone):
        moment = work.contact_moment[work.island_contacts[first + island.cone_contacts[cone]]]
        for i in range(row, row + island.r[cone]):
            for j in range(3):
                moment[j] += parameters.h * island.f[i] * moments.axes[i - begin, j]
        row += island.r[cone]
