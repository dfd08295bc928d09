"""The stage NEXT_ISLAND: the constraint blocks of one island, in the layout of `problem_data.VelocityBlocks`.

Rows [N; F]: one normal row per contact, then the r friction directions contact by contact. J is the Jacobian on the
island's own velocities, tree by tree; Y has row i = M^-1 J[i].
"""

from __future__ import annotations

import math

from contactlab.collision.kernels.contact_rows import (
    add_contact_columns,
    add_turning_columns,
    planar_tangents,
    tangential,
    turn,
)
from contactlab.constraint_solver.kernels import unilateral_law
from contactlab.multibody.kernels.mass_matrix import (
    is_free_body,
    solve_three,
    solve_three_of_six,
    solve_vector_l,
    solve_vector_lt,
)
from contactlab.simulation.stepping.kernels.arrays import IslandWork, JointRows, PackedWorld, StepWork
from contactlab.simulation.stepping.kernels.kinematic import belt_velocity, kinematic_index, kinematic_point_velocity
from contactlab.simulation.stepping.kernels.layout import (
    BODY_A,
    BODY_B,
    BODY_DOF,
    BODY_ROOT,
    BODY_TREE,
    GAP,
    HALF_SPACE,
    MU,
    NORMAL,
    POINT,
    RESTITUTION,
    SHAPE_A,
    SHAPE_B,
    TANGENTS,
    TREE_BLOCK,
    TREE_DOF,
    VN_FREE,
    VN_MINUS,
    FloatArray,
    IntArray,
    Parameters,
    StepControl,
)
from lcp.compiler.kernels import copy_array, fill_array
from lcp.compiler.views import view_2d
from lcp.contacts.kernels.contact_system import ContactSystem, combine3_range, combine3_six, row_ranges, sparse_dot
from lcp.kernels import kernel

# Defaults relative to body size: the allowed depth, as a fraction of the smallest extent of the smaller body; the
# correction speed, in largest extents per second, for velocities and for positions; and the allowed depth of a stop
# [rad or m].
ALLOWED_DEPTH = 1e-4
PUSH_RATE = 2.0
PROJECTION_RATE = 10.0
# Correction speeds of stops [rad/s or m/s].
STOP_PUSH_RATE = 20.0
STOP_PROJECTION_RATE = 100.0
STOP_DEPTH = 1e-5
# Depths, by the smallest extent of the smaller body, above which a contact created by an impact takes part in the same
# step. While these depths are small, successive impacts of bouncing surfaces are resolved in successive steps.
SEEN_DEPTH = 0.005
SEEN_BOUNCING_DEPTH = 0.02


@kernel(inner=True)
def solve_tree(world: PackedWorld, work: StepWork, k: int, Y: FloatArray) -> None:
    """Replace the entries of tree ``k`` in a row of J by its entries of M^-1 J."""
    a = world.trees[k, TREE_DOF]
    n = world.trees[k + 1, TREE_DOF] - a
    branch = world.branch[a : a + n]
    L = view_2d(work.L, world.trees[k, TREE_BLOCK], n, n)
    solve_vector_lt(branch, L, Y)
    solve_vector_l(branch, L, Y)


@kernel(inner=True)
def solve_tree_frame(
    world: PackedWorld, work: StepWork, k: int, P: FloatArray, X: FloatArray, scratch: FloatArray
) -> None:
    """Solve M X' = P' for the columns of tree ``k`` in three rows P; ``scratch`` is (4 nv,)."""
    a = world.trees[k, TREE_DOF]
    n = world.trees[k + 1, TREE_DOF] - a
    branch = world.branch[a : a + n]
    L = view_2d(work.L, world.trees[k, TREE_BLOCK], n, n)
    inverses = work.inverse_pivots[a : a + n]
    first = work.tree_offset[k]
    if is_free_body(branch):
        solve_three_of_six(L, inverses, P, X, first)
        return
    solve_three(branch, L, inverses, P, X, first, scratch)


@kernel(inner=True)
def contact_jacobian(
    world: PackedWorld,
    work: StepWork,
    spans: IntArray,
    a: int,
    b: int,
    x: FloatArray | None,
    P: FloatArray,
    X: FloatArray,
    scratch: FloatArray,
) -> None:
    """Fill P and X = M^-1 P, (3, nv) each, within the contact's spans: the Jacobian of the relative velocity at x.

    Without x, it is the Jacobian of the relative angular velocity. The velocity is of body b relative to body a, in
    world axes. Columns are the island's velocities. Body b moves; body a may be the world (-1), or fixed to it.
    ``scratch`` (4 nv,).
    """
    # the Jacobian
    for i in range(3):
        fill_array(P[i, spans[0] : spans[1]], 0.0)
        fill_array(P[i, spans[2] : spans[3]], 0.0)
    add_body_columns(world, work, b, 1.0, x, P)
    if a >= 0:
        # If both are in one tree, the degrees of freedom below both bodies cancel.
        add_body_columns(world, work, a, -1.0, x, P)
    # the response of both trees
    k = world.bodies[b, BODY_TREE]
    other = world.bodies[a, BODY_TREE] if a >= 0 else -1
    solve_tree_frame(world, work, k, P, X, scratch)
    if other >= 0 and other != k:
        solve_tree_frame(world, work, other, P, X, scratch)


@kernel(inner=True)
def add_body_columns(
    world: PackedWorld, work: StepWork, body: int, sign: float, x: FloatArray | None, P: FloatArray
) -> None:
    """Add to P the columns of a body's velocity at x, or of its angular velocity; a fixed body has none."""
    tree = world.bodies[body, BODY_TREE]
    if tree < 0:
        return
    shift = work.tree_offset[tree] - world.trees[tree, TREE_DOF]
    dof = world.bodies[body, BODY_DOF]
    if x is None:
        add_turning_columns(world.dof_parent, work.S, dof, sign, shift, P)
    else:
        origin = work.origins[world.bodies[body, BODY_ROOT]]
        add_contact_columns(world.dof_parent, work.S, dof, origin, x, sign, shift, P)


@kernel(inner=True)
def fill_along(spans: IntArray, d: FloatArray, P: FloatArray, row: FloatArray) -> None:
    """Fill a row, within the spans, with the combination of the three rows of P along the direction d (3,)."""
    f, g, h = d[0], d[1], d[2]
    for i in range(0, 4, 2):
        first, last = spans[i], spans[i + 1]
        if last - first == 6:
            combine3_six(first, f, g, h, P[0], P[1], P[2], row)
        elif first < last:
            combine3_range(first, last, f, g, h, P[0], P[1], P[2], row)


@kernel(inline=True)
def dot3(direction: FloatArray, velocity: FloatArray) -> float:
    """Return direction . velocity, the speed along a unit direction, (3,) each."""
    return direction[0] * velocity[0] + direction[1] * velocity[1] + direction[2] * velocity[2]


@kernel(inline=True)
def materials_of(world: PackedWorld, ints: IntArray) -> tuple[int, int]:
    """Return the materials of a contact's two surfaces by number; (-1, -1) if it is external, without surfaces."""
    a = ints[SHAPE_A]
    b = ints[SHAPE_B]
    if ints[HALF_SPACE] >= 0:
        # Half-spaces follow the shapes.
        a = world.material.shape[0] - world.offsets.shape[0] + ints[HALF_SPACE]
    if a < 0 or b < 0:
        return -1, -1
    return world.material[a], world.material[b]


@kernel(inline=True)
def compliance_of(world: PackedWorld, ints: IntArray) -> tuple[float, float]:
    """Return stiffness and dissipation of a contact's pair of surfaces; infinite and 0 if it has no two surfaces."""
    a, b = materials_of(world, ints)
    if a < 0:
        return math.inf, 0.0
    return world.stiffness[a, b], world.dissipation[a, b]


@kernel(inline=True)
def extent_of(sizes: FloatArray, ints: IntArray) -> float:
    """Return the extent [m] of the smaller of a contact's two shapes, or of all shapes if neither is known."""
    last = sizes.shape[0] - 1
    a, b = ints[SHAPE_A], ints[SHAPE_B]
    size = math.inf
    if a >= 0:
        size = sizes[a]
    if b >= 0:
        size = min(size, sizes[b])
    return sizes[last] if size == math.inf else size


@kernel(inline=True)
def seen_depth(restitution: float) -> float:
    """Return the depth above which an impact's contact takes part, by the smallest extent of the smaller body."""
    return SEEN_BOUNCING_DEPTH if restitution > 0.0 else SEEN_DEPTH


@kernel(inline=True)
def allowance_of(world: PackedWorld, ints: IntArray, parameters: Parameters) -> float:
    """Return the allowed depth [m] of a contact, which is not corrected."""
    return parameters.allowance if parameters.allowance >= 0.0 else ALLOWED_DEPTH * extent_of(world.extent, ints)


@kernel(inline=True)
def fastest_of(world: PackedWorld, ints: IntArray, parameters: Parameters, rate: float) -> float:
    """Return the maximum correction speed [m/s] of a contact: by default ``rate`` times its length."""
    return parameters.fastest if parameters.fastest >= 0.0 else rate * extent_of(world.longest, ints)


@kernel(inline=True)
def fastest_of_stops(parameters: Parameters, rate: float) -> float:
    """Return the maximum correction speed of a joint's stop [rad/s or m/s]: ``rate``, or infinite without bound."""
    return parameters.fastest if parameters.fastest == math.inf else rate


@kernel(inner=True)
def fill_column_ranges(world: PackedWorld, work: StepWork, island: IslandWork, i: int, edges: int) -> None:
    """Fill the nonzero column ranges of the rows [N; F] of island ``i``, and the first columns of its trees."""
    # first columns of the island's trees
    first = work.contact_start[i]
    nc = work.contact_start[i + 1] - first
    r = edges // 2
    trees = work.tree_start[i + 1] - work.tree_start[i]
    for n in range(trees):
        island.tree_starts[n] = work.tree_offset[work.island_trees[work.tree_start[i] + n]]
    island.tree_starts[trees] = work.island_nv[i]
    # the trees of the two bodies, in order
    for c in range(nc):
        index = work.island_contacts[first + c]
        lower = world.bodies[work.contact_int[index, BODY_B], BODY_TREE]
        a = work.contact_int[index, BODY_A]
        upper = world.bodies[a, BODY_TREE] if a >= 0 else -1
        if upper < 0:
            upper = lower
        lower, upper = min(lower, upper), max(lower, upper)
        # their columns in the row
        span = island.column_ranges[c]
        span[0] = work.tree_offset[lower]
        span[1] = span[0] + world.trees[lower + 1, TREE_DOF] - world.trees[lower, TREE_DOF]
        span[2] = work.tree_offset[upper]
        span[3] = span[2] + world.trees[upper + 1, TREE_DOF] - world.trees[upper, TREE_DOF]
        # both bodies in one tree: the second range is empty
        if lower == upper:
            span[2] = span[1]
        # friction rows have the ranges of their normal row
        for row in range(nc + c * r, nc + (c + 1) * r):
            copy_array(span, island.column_ranges[row])


@kernel(inner=True)
def gather(world: PackedWorld, work: StepWork, i: int, values: FloatArray, out: FloatArray) -> None:
    """Copy values per velocity (nv,) of the trees of island ``i`` to the island's order."""
    for n in range(work.tree_start[i], work.tree_start[i + 1]):
        k = work.island_trees[n]
        own = values[world.trees[k, TREE_DOF] : world.trees[k + 1, TREE_DOF]]
        copy_array(own, out[work.tree_offset[k] : work.tree_offset[k] + own.shape[0]])


@kernel(inner=True)
def scatter(world: PackedWorld, work: StepWork, i: int, values: FloatArray, out: FloatArray) -> None:
    """Copy values per velocity in the order of island ``i`` to its trees (nv,)."""
    for n in range(work.tree_start[i], work.tree_start[i + 1]):
        k = work.island_trees[n]
        copy_array(values[work.tree_offset[k] :], out[world.trees[k, TREE_DOF] : world.trees[k + 1, TREE_DOF]])


@kernel(inner=True)
def complete_rows(J: FloatArray, Y: FloatArray, spans: IntArray) -> None:
    """Fill the columns of J (m, nv) and Y outside the spans, for readers of whole rows."""
    m, nv = J.shape
    for row in range(m):
        a, b, c, d = row_ranges(spans, row, nv)
        for j in range(nv):
            if not (a <= j < b or c <= j < d):
                J[row, j] = 0.0
                Y[row, j] = 0.0


@kernel(inner=True)
def build_blocks(
    world: PackedWorld, work: StepWork, island: IslandWork, control: StepControl, parameters: Parameters
) -> None:
    """Fill r, mu, k, gamma, gammaE, Mv, v_free of the island in progress, starts and spans, J and Y within the spans.

    The velocity of a kinematic body is in k: N v+ - n . V + kN >= 0 with V the body's velocity. The slip is
    F v+ - d . V with V the velocity of its surface. The two velocities differ for belts.
    """
    progress = island.progress[0]
    h = parameters.h
    i = control.island
    edges = parameters.edges
    first = work.contact_start[i]
    nc = progress.nc
    nv = progress.nv
    r = edges // 2
    m = nc * (1 + r)
    J = view_2d(island.J, 0, m, nv)
    Y = view_2d(island.Y, 0, m, nv)
    direction = work.scratch[0:3]
    surface = work.scratch[3:6]

    # velocities of the trees
    gather(world, work, i, work.Mv, island.Mv)
    gather(world, work, i, work.v_free, island.v_free)
    gather(world, work, i, work.dv_deps, island.dv_deps)
    for row in range(m):
        island.k[row] = 0.0
        island.gamma[row] = 0.0
    fill_column_ranges(world, work, island, i, edges)
    P = view_2d(island.contact_jacobian_work, 0, 3, nv)
    X = view_2d(island.contact_jacobian_work, 3 * nv, 3, nv)
    turns = island.edge_directions
    # The friction directions of a run are constant: they are filled once into zeroed memory.
    if r > 0 and turns[0, 0] != 1.0:
        for e in range(r):
            turns[e, 0], turns[e, 1] = turn(e, edges)

    for c in range(nc):
        index = work.island_contacts[first + c]
        floats = work.contact_float[index]
        body_a = work.contact_int[index, BODY_A]
        body_b = work.contact_int[index, BODY_B]
        point = floats[POINT : POINT + 3]
        normal = floats[NORMAL : NORMAL + 3]
        t1 = floats[TANGENTS : TANGENTS + 3]
        t2 = floats[TANGENTS + 3 : TANGENTS + 6]
        # motion of the contact point, and the response to it
        planar_tangents(normal, world.plane, t1, t2)
        kinematic_row = kinematic_index(world, body_a)
        if kinematic_row >= 0:
            kinematic_point_velocity(work, kinematic_row, point, surface)
        spans = island.column_ranges[c]
        contact_jacobian(world, work, spans, body_a, body_b, point, P, X, island.contact_jacobian_work[6 * nv :])
        # X was just written, so it is read last.
        fill_along(spans, normal, P, J[c])
        for e in range(r):
            tangential(turns[e, 0], turns[e, 1], t1, t2, direction)
            fill_along(spans, direction, P, J[nc + c * r + e])
        fill_along(spans, normal, X, Y[c])
        for e in range(r):
            row = nc + c * r + e
            tangential(turns[e, 0], turns[e, 1], t1, t2, direction)
            fill_along(spans, direction, X, Y[row])
            if kinematic_row >= 0:
                island.k[row] = -dot3(direction, surface)
        # normal velocity without contact forces
        lower, middle, upper, end = row_ranges(island.column_ranges, c, nv)
        vn_free = sparse_dot(lower, middle, upper, end, J[c], island.v_free)
        drive = 0.0
        if kinematic_row >= 0:
            # the normal row uses the body's velocity, without the belt's
            drive = -dot3(normal, surface)
            belt_velocity(work, kinematic_row, point, surface)
            drive += dot3(normal, surface)
        vn_free += drive
        floats[VN_FREE] = vn_free
        # law of the normal row
        stiffness, dissipation = compliance_of(world, work.contact_int[index])
        k, island.gamma[c] = unilateral_law(
            floats[GAP],
            floats[VN_MINUS],
            vn_free,
            h,
            floats[RESTITUTION],
            parameters.restitution_threshold,
            parameters.erp,
            parameters.cfm,
            stiffness,
            dissipation,
            fastest_of(world, work.contact_int[index], parameters, PUSH_RATE),
        )
        island.k[c] = k + drive
        island.r[c] = r
        island.mu[c] = floats[MU]
        island.cone_contacts[c] = c
        island.gammaE[c] = 0.0


@kernel(inline=True)
def posed_rows(island: IslandWork, joints: JointRows | None, h: float) -> ContactSystem:
    """Return all rows [N; F; L; G; B] of the island, before equations are eliminated.

    The island's column ranges belong to [N; F; L; B] after joint rows are added. If there are rows G, these and the
    rows after them have all columns.
    """
    # numbers of rows
    progress = island.progress[0]
    nc = progress.nc
    nv = progress.nv
    nr = progress.nr
    m = nc + nr + progress.nl + progress.ng + progress.nbox
    # bounds of the boxed rows
    lo = island.k[:0]
    hi = island.k[:0]
    if joints is not None:
        lo = joints.lo[: progress.nbox]
        hi = joints.hi[: progress.nbox]
    # views of the island's buffers
    return ContactSystem(
        h,
        nc,
        nr,
        progress.nl,
        progress.ng,
        island.r[: progress.ncone],
        island.mu[: progress.ncone],
        island.cone_contacts[: progress.ncone],
        view_2d(island.J, 0, m, nv),
        view_2d(island.Y, 0, m, nv),
        island.k[:m],
        island.gamma[:m],
        island.gammaE[: progress.ncone],
        lo,
        hi,
        island.v_free[:nv],
        island.Mv[:nv],
        island.column_ranges[: m if progress.ng == 0 else nc + nr + progress.nl],
        island.k[:0],
        island.k[:0],
        island.k[:0],
        island.column_ranges[:0],
    )


@kernel(inline=True)
def rows_left(rows: ContactSystem, island: IslandWork, joints: JointRows) -> ContactSystem:
    """Return the rows [N; F; L; B] that remain after `eliminate_equalities` has eliminated the rows G."""
    # the remaining rows, and velocities v0 that satisfy the equations
    nv = rows.v_free.shape[0]
    m = rows.k.shape[0] - rows.nb
    return ContactSystem(
        rows.h,
        rows.nc,
        rows.nr,
        rows.nl,
        0,
        rows.r,
        rows.mu,
        rows.cone_contacts,
        view_2d(joints.J, 0, m, nv),
        view_2d(joints.Y, 0, m, nv),
        joints.k[:m],
        joints.gamma[:m],
        rows.gammaE,
        rows.lo,
        rows.hi,
        joints.v0[:nv],
        rows.Mv,
        island.column_ranges[:m],
        joints.k[:0],
        joints.k[:0],
        joints.k[:0],
        island.column_ranges[:0],
    )
