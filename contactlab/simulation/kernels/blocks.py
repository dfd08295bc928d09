"""Stage 4: the constraint blocks of one island, in the layout of `problem_data.VelocityBlocks`.

Rows [N; F]: one normal row per contact, then the r friction directions contact by contact. J is the Jacobian on the
island's own velocities, those of its trees one after the other; Y has row i = M^-1 J[i].
"""

from __future__ import annotations

from contactlab.contact.kernels.friction_pyramid import edge, tangents
from contactlab.contact.kernels.restitution import normal_term
from contactlab.contact.kernels.rows import contact_row
from contactlab.multibody.kernels.ltl import solve_vector_l, solve_vector_lt
from contactlab.multibody.kernels.views import rows_at
from contactlab.simulation.kernels.layout import (
    BODY_B,
    BODY_DOF,
    BODY_ROOT,
    BODY_TREE,
    GAP,
    MU,
    NORMAL,
    POINT,
    PREVIOUS,
    RESTITUTION,
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
def row_pair(
    dof_parent: IntArray,
    branch: IntArray,
    L: FloatArray,
    S: FloatArray,
    last: int,
    o: FloatArray,
    x: FloatArray,
    direction: FloatArray,
    first: int,
    J: FloatArray,
    Y: FloatArray,
) -> None:
    """Fill the share (n,) that one tree has in a row of J, zero so far, and in that of Y = M^-1 J; see `contact_row`.

    ``branch`` (n,) and ``L`` (n, n) are the tree's factorised mass matrix.
    """
    contact_row(dof_parent, S, last, o, x, direction, first, J)
    for j in range(J.shape[0]):
        Y[j] = J[j]
    solve_vector_lt(branch, 0, L, Y)
    solve_vector_l(branch, 0, L, Y)


@kernel(inner=True)
def build_blocks(
    world: PackedWorld, work: Work, island: Island, i: int, h: float, v_min: float, erp: float, edges: int
) -> None:
    """Fill r, mu, J, Y, k, gamma, gammaE, Mv and v_free of island ``i``."""
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
        body = world.bodies[work.contact_int[index, BODY_B]]
        k = body[BODY_TREE]
        a = world.trees[k, TREE_DOF]
        b = world.trees[k + 1, TREE_DOF]
        branch = world.branch[a:b]
        L = rows_at(work.L, world.trees[k, TREE_BLOCK], b - a, b - a)
        o = work.origins[body[BODY_ROOT]]
        at = work.local[k]
        to = at + b - a
        point = floats[POINT : POINT + 3]
        for j in range(3):
            normal[j] = floats[NORMAL + j]
        tangents(normal, t1, t2)
        row_pair(world.dof_parent, branch, L, work.S, body[BODY_DOF], o, point, normal, a, J[c, at:to], Y[c, at:to])
        for e in range(r):
            row = nc + c * r + e
            edge(e, edges, t1, t2, direction)
            own_J, own_Y = J[row, at:to], Y[row, at:to]
            row_pair(world.dof_parent, branch, L, work.S, body[BODY_DOF], o, point, direction, a, own_J, own_Y)
        vn_free = 0.0
        for j in range(nv):
            vn_free += J[c, j] * island.v_free[j]
        island.k[c] = normal_term(floats[GAP], floats[VN_MINUS], vn_free, h, floats[RESTITUTION], v_min, erp)
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
