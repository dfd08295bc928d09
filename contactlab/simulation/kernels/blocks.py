"""Stage 4: the constraint blocks of one island, in the layout of `problem_data.VelocityBlocks`.

Rows [N; F]: one normal row per contact, then the r friction directions contact by contact. J is the Jacobian on the
island's own velocities, those of its trees one after the other; Y has row i = M^-1 J[i].
"""

from __future__ import annotations

import math

from contactlab.contact.kernels.compliance import compliant_terms
from contactlab.contact.kernels.friction_pyramid import edge, planar_tangents
from contactlab.contact.kernels.restitution import normal_term
from contactlab.contact.kernels.rows import contact_row
from contactlab.multibody.kernels.ltl import solve_vector_l, solve_vector_lt
from contactlab.multibody.kernels.views import rows_at
from contactlab.simulation.kernels.kinematic import carried, motion_of
from contactlab.simulation.kernels.layout import (
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
    PREVIOUS,
    RESTITUTION,
    SHAPE_A,
    SHAPE_B,
    TREE_BLOCK,
    TREE_DOF,
    VN_MINUS,
    FloatArray,
    IntArray,
    Island,
    PackedWorld,
    Work,
)
from lcp.kernels import kernel


@kernel(inner=True)
def solve_tree(world: PackedWorld, work: Work, k: int, Y: FloatArray) -> None:
    """Replace the share of tree ``k`` in a row of J by that in M^-1 J."""
    a = world.trees[k, TREE_DOF]
    n = world.trees[k + 1, TREE_DOF] - a
    branch = world.branch[a : a + n]
    L = rows_at(work.L, world.trees[k, TREE_BLOCK], n, n)
    solve_vector_lt(branch, 0, L, Y)
    solve_vector_l(branch, 0, L, Y)


@kernel(inner=True)
def row_pair(
    world: PackedWorld, work: Work, a: int, b: int, x: FloatArray, direction: FloatArray, J: FloatArray, Y: FloatArray
) -> None:
    """Fill a row of J, zero so far, with direction . (velocity at x of body b less that of body a), and Y = M^-1 J.

    J and Y (n,) are on the island's velocities. Body b moves; body a may be the world (-1), or fixed to it.
    """
    k = world.bodies[b, BODY_TREE]
    first = world.trees[k, TREE_DOF]
    at = work.local[k]
    to = at + world.trees[k + 1, TREE_DOF] - first
    o = work.origins[world.bodies[b, BODY_ROOT]]
    contact_row(world.dof_parent, work.S, world.bodies[b, BODY_DOF], o, x, direction, first, J[at:to])
    other = world.bodies[a, BODY_TREE] if a >= 0 else -1
    if other == k:
        # Degrees of freedom below both bodies cancel. Y serves as scratch for the other body's share.
        for j in range(at, to):
            Y[j] = 0.0
        contact_row(world.dof_parent, work.S, world.bodies[a, BODY_DOF], o, x, direction, first, Y[at:to])
        for j in range(at, to):
            J[j] -= Y[j]
    for j in range(at, to):
        Y[j] = J[j]
    solve_tree(world, work, k, Y[at:to])
    if other >= 0 and other != k:
        first = world.trees[other, TREE_DOF]
        at = work.local[other]
        to = at + world.trees[other + 1, TREE_DOF] - first
        o = work.origins[world.bodies[a, BODY_ROOT]]
        contact_row(world.dof_parent, work.S, world.bodies[a, BODY_DOF], o, x, direction, first, J[at:to])
        for j in range(at, to):
            J[j] = -J[j]
            Y[j] = J[j]
        solve_tree(world, work, other, Y[at:to])


@kernel(inline=True)
def along(direction: FloatArray, velocity: FloatArray) -> float:
    """Speed along a direction."""
    return direction[0] * velocity[0] + direction[1] * velocity[1] + direction[2] * velocity[2]


@kernel(inline=True)
def compliance_of(world: PackedWorld, ints: IntArray) -> tuple[float, float]:
    """Stiffness and dissipation of a contact's pair of surfaces; infinite and 0 where it has no two surfaces."""
    a = ints[SHAPE_A]
    b = ints[SHAPE_B]
    if ints[HALF_SPACE] >= 0:
        # Half-spaces follow the shapes.
        a = world.material.shape[0] - world.offsets.shape[0] + ints[HALF_SPACE]
    if a < 0 or b < 0:
        return math.inf, 0.0
    return world.stiffness[world.material[a], world.material[b]], world.dissipation[
        world.material[a], world.material[b]
    ]


@kernel(inner=True)
def build_blocks(
    world: PackedWorld, work: Work, island: Island, i: int, h: float, v_min: float, erp: float, cfm: float, edges: int
) -> None:
    """Fill r, mu, J, Y, k, gamma, gammaE, Mv and v_free of island ``i``.

    The velocity of a kinematic body is in k: N v+ - n . V + kN >= 0, and F v+ - d . V is the slip.
    """
    first = work.contact_start[i]
    nc = work.contact_start[i + 1] - first
    nv = work.island_nv[i]
    r = edges // 2
    m = nc * (1 + r)
    J = rows_at(island.J, 0, m, nv)
    Y = rows_at(island.Y, 0, m, nv)
    normal = work.scratch[0:3]
    t1 = work.scratch[3:6]
    t2 = work.scratch[6:9]
    direction = work.scratch[9:12]
    surface = work.scratch[12:15]

    for n in range(work.tree_start[i], work.tree_start[i + 1]):
        k = work.island_trees[n]
        a = world.trees[k, TREE_DOF]
        for j in range(world.trees[k + 1, TREE_DOF] - a):
            island.Mv[work.local[k] + j] = work.Mv[a + j]
            island.v_free[work.local[k] + j] = work.v_free[a + j]
    for row in range(m):
        island.k[row] = 0.0
        island.gamma[row] = 0.0
        for j in range(nv):
            J[row, j] = 0.0
            Y[row, j] = 0.0

    for c in range(nc):
        index = work.island_contacts[first + c]
        floats = work.contact_float[index]
        body_a = work.contact_int[index, BODY_A]
        body_b = work.contact_int[index, BODY_B]
        point = floats[POINT : POINT + 3]
        for j in range(3):
            normal[j] = floats[NORMAL + j]
        planar_tangents(normal, world.plane, t1, t2)
        row_pair(world, work, body_a, body_b, point, normal, J[c], Y[c])
        told = motion_of(world, body_a)
        if told >= 0:
            carried(work, told, point, surface)
        for e in range(r):
            row = nc + c * r + e
            edge(e, edges, t1, t2, direction)
            row_pair(world, work, body_a, body_b, point, direction, J[row], Y[row])
            if told >= 0:
                island.k[row] = -along(direction, surface)
        vn_free = 0.0
        for j in range(nv):
            vn_free += J[c, j] * island.v_free[j]
        drive = -along(normal, surface) if told >= 0 else 0.0
        vn_free += drive
        stiffness, dissipation = compliance_of(world, work.contact_int[index])
        if stiffness < math.inf:
            island.k[c], island.gamma[c] = compliant_terms(floats[GAP], h, stiffness, dissipation)
        else:
            island.k[c] = normal_term(floats[GAP], floats[VN_MINUS], vn_free, h, floats[RESTITUTION], v_min, erp)
            island.gamma[c] = cfm
        island.k[c] += drive
        island.r[c] = r
        island.mu[c] = floats[MU]
        island.gammaE[c] = 0.0


@kernel(inner=True)
def warm_vector(work: Work, island: Island, i: int, edges: int) -> bool:
    """Fill z0 with the previous step's variables of the same contacts (0 for new ones); False when none matched."""
    first = work.contact_start[i]
    nc = work.contact_start[i + 1] - first
    r = edges // 2
    nr = nc * r
    matched = False
    for c in range(nc):
        old = work.contact_int[work.island_contacts[first + c], PREVIOUS]
        if old >= 0:
            matched = True
            island.z0[c] = work.previous_z[old, 0]
            for e in range(r):
                island.z0[nc + c * r + e] = work.previous_z[old, 1 + e]
                island.z0[nc + nr + c * r + e] = work.previous_z[old, 1 + r + e]
            island.z0[nc + 2 * nr + c] = work.previous_z[old, 1 + 2 * r]
        else:
            island.z0[c] = 0.0
            for e in range(r):
                island.z0[nc + c * r + e] = 0.0
                island.z0[nc + nr + c * r + e] = 0.0
            island.z0[nc + 2 * nr + c] = 0.0
    return matched
