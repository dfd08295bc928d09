"""Stage 3: the constraint blocks of one island, in the layout of `problem_data.VelocityBlocks`.

Rows [N; F]: one normal row per contact, then the r friction directions contact by contact. J is the Jacobian on the
island's own velocities, Y has row i = M^-1 J[i].
"""

from __future__ import annotations

from contactlab.contact.kernels.friction_pyramid import edge, tangents
from contactlab.contact.kernels.restitution import normal_term
from contactlab.contact.kernels.rows import contact_row
from contactlab.multibody.kernels.free_body import solve_inertia_row
from contactlab.simulation.kernels.contacts import dot6
from contactlab.simulation.kernels.layout import (
    BODY_B,
    GAP,
    MU,
    NORMAL,
    POINT,
    PREVIOUS,
    RESTITUTION,
    VN_MINUS,
    Island,
    Model,
    Work,
)
from lcp.kernels import kernel


@kernel
def build_blocks(
    model: Model, work: Work, island: Island, i: int, h: float, v_min: float, erp: float, edges: int
) -> None:
    """Fill r, mu, J, Y, k, gamma, gammaE, Mv and v_free of island ``i``."""
    first = work.contact_start[i]
    nc = work.contact_start[i + 1] - first
    first_body = work.body_start[i]
    bodies = work.body_start[i + 1] - first_body
    nv = 6 * bodies
    r = edges // 2
    m = nc * (1 + r)
    J = island.J[: m * nv].reshape((m, nv))
    Y = island.Y[: m * nv].reshape((m, nv))
    normal = work.scratch[0:3]
    t1 = work.scratch[3:6]
    t2 = work.scratch[6:9]
    direction = work.scratch[9:12]

    for a in range(bodies):
        b = work.island_bodies[first_body + a]
        for j in range(6):
            island.Mv[6 * a + j] = work.Mv[6 * b + j]
            island.v_free[6 * a + j] = work.v_free[6 * b + j]
    for row in range(m):
        island.k[row] = 0.0
        island.gamma[row] = 0.0
        for j in range(nv):
            J[row, j] = 0.0
            Y[row, j] = 0.0

    for c in range(nc):
        index = work.island_contacts[first + c]
        floats = work.contact_float[index]
        b = work.contact_int[index, BODY_B]
        at = 6 * work.local[b]
        R = work.R[b]
        x = work.q[7 * b : 7 * b + 3]
        point = floats[POINT : POINT + 3]
        for j in range(3):
            normal[j] = floats[NORMAL + j]
        tangents(normal, t1, t2)
        contact_row(R, x, point, normal, J[c, at : at + 6])
        solve_inertia_row(model.mass[b], model.com[b], model.inertia_inv[b], R, J[c, at : at + 6], Y[c, at : at + 6])
        for e in range(r):
            row = nc + c * r + e
            edge(e, edges, t1, t2, direction)
            contact_row(R, x, point, direction, J[row, at : at + 6])
            solve_inertia_row(
                model.mass[b], model.com[b], model.inertia_inv[b], R, J[row, at : at + 6], Y[row, at : at + 6]
            )
        vn_free = dot6(J[c, at : at + 6], work.v_free[6 * b : 6 * b + 6])
        island.k[c] = normal_term(floats[GAP], floats[VN_MINUS], vn_free, h, floats[RESTITUTION], v_min, erp)
        island.r[c] = r
        island.mu[c] = floats[MU]
        island.gammaE[c] = 0.0


@kernel
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
