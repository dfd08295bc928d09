"""The stages of a step for all of it, or for one island, with what they say to the loop that strings them together.

Inlined into that loop: a level of calls less is compiled in less time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.formulation.kernels.certify import CERT_SIZE, certify
from contactlab.formulation.kernels.certify_cone import certify_with_cones
from contactlab.formulation.kernels.discretized_lcp import assemble_lcp
from contactlab.formulation.kernels.recover import recover
from contactlab.multibody.kernels.views import rows_at
from contactlab.stepping.kernels.blocks import build_blocks, complete_rows, warm_vector
from contactlab.stepping.kernels.collision import Collision
from contactlab.stepping.kernels.contacts import add_given, detect, match_previous
from contactlab.stepping.kernels.finish import scatter_velocity
from contactlab.stepping.kernels.free_motion import free_motion
from contactlab.stepping.kernels.islands import label_islands
from contactlab.stepping.kernels.joint_layout import Joints
from contactlab.stepping.kernels.joint_rows import find_joint_rows
from contactlab.stepping.kernels.layout import (
    ADAPTIVE,
    CFM,
    CONE,
    CONE_SOLVED,
    EDGES,
    ERP,
    FAILED,
    FAILURE,
    FAILURE_NONE,
    HAS_Z0,
    ISLAND,
    ISLAND_CONTACTS,
    ISLAND_N,
    ISLAND_NV,
    MARGIN,
    N_CONTACTS,
    N_ISLANDS,
    N_PREVIOUS,
    NEED_SPACE,
    PIVOTS,
    PROPOSED,
    SHRINK_H,
    SLEEP,
    TOLERANCE,
    V_MIN,
    WANT_CONTACTS,
    WANT_ISLAND_CONTACTS,
    WANT_ISLAND_NV,
    WARM_HIT,
    WARM_START,
    H,
    Island,
    PackedWorld,
    Work,
)
from contactlab.stepping.kernels.pairs import pair_contacts
from contactlab.stepping.kernels.proposed_island import propose_island
from contactlab.stepping.kernels.sleeping import put_to_sleep
from lcp.kernels import kernel
from lcp.kernels.residuals import is_solved, lcp_residuals


@kernel(inline=True)
def failed(control: NDArray[np.int64], failure: int) -> int:
    """Note why the step failed and return FAILED, or SHRINK_H where it may be tried again."""
    control[FAILURE] = failure
    return SHRINK_H if control[ADAPTIVE] != 0 else FAILED


@kernel(inline=True)
def find_contacts(
    world: PackedWorld,
    work: Work,
    collision: Collision | None,
    joints: Joints | None,
    control: NDArray[np.int64],
    parameters: NDArray[np.float64],
) -> int:
    """Stages 1 to 3: free motion, contacts, their rows in the previous step, islands; 0, NEED_SPACE or as `failed`."""
    failure = free_motion(world, work, joints, parameters[H], control)
    if failure != FAILURE_NONE:
        return failed(control, failure)
    count = pair_contacts(world, work, collision, parameters[H], parameters[MARGIN], control)
    if count < 0:
        return NEED_SPACE
    count = detect(world, work, parameters[H], parameters[MARGIN], count)
    count = add_given(world, work, parameters[H], parameters[MARGIN], count)
    if count > work.contact_int.shape[0]:
        control[WANT_CONTACTS] = count
        return NEED_SPACE
    control[N_CONTACTS] = count
    for j in range(work.shift.shape[0]):
        work.shift[j] = 0.0
    match_previous(work, count, control[N_PREVIOUS])
    if joints is not None:
        find_joint_rows(work, joints, parameters[H], parameters[MARGIN])
    control[N_ISLANDS] = label_islands(world, work, joints, count)
    if control[SLEEP] != 0:
        left = put_to_sleep(world, work, joints, count, control[N_ISLANDS], parameters)
        if left < count:
            control[N_CONTACTS] = left
            control[N_ISLANDS] = label_islands(world, work, joints, left)
    control[ISLAND] = 0
    return 0


@kernel(inline=True)
def pose_island(
    world: PackedWorld, work: Work, island: Island, control: NDArray[np.int64], parameters: NDArray[np.float64]
) -> int:
    """Stage 4: blocks, warm start and proposal of island control[ISLAND]. Returns 0 or NEED_SPACE."""
    i = control[ISLAND]
    nc = work.contact_start[i + 1] - work.contact_start[i]
    nv = work.island_nv[i]
    if nc > island.r.shape[0] or nv > island.Mv.shape[0]:
        control[WANT_ISLAND_CONTACTS] = nc
        control[WANT_ISLAND_NV] = nv
        return NEED_SPACE
    control[ISLAND_CONTACTS] = nc
    control[ISLAND_NV] = nv
    h, v_min, erp, cfm = parameters[H], parameters[V_MIN], parameters[ERP], parameters[CFM]
    control[ISLAND_N] = 2 * nc + 2 * nc * (control[EDGES] // 2)
    build_blocks(world, work, island, i, h, v_min, erp, cfm, control[EDGES])
    control[HAS_Z0] = 0
    if control[WARM_START] != 0 and warm_vector(work, island, i, control[EDGES]):
        control[HAS_Z0] = 1
    propose_island(island, control, parameters)
    return 0


@kernel(inline=True)
def assemble_island(island: Island, control: NDArray[np.int64], parameters: NDArray[np.float64]) -> None:
    """The LCP of the island in progress, for a solver."""
    nc = control[ISLAND_CONTACTS]
    nv = control[ISLAND_NV]
    nr = nc * (control[EDGES] // 2)
    m = nc + nr
    n = 2 * nc + 2 * nr
    complete_rows(island, m, nv)
    assemble_lcp(
        parameters[H],
        nc,
        nr,
        0,
        island.r[:nc],
        island.mu[:nc],
        rows_at(island.J, 0, m, nv),
        rows_at(island.Y, 0, m, nv),
        island.k[:m],
        island.gamma[:m],
        island.gammaE[:nc],
        island.v_free[:nv],
        rows_at(island.M, 0, n, n),
        island.q[:n],
    )


@kernel(inline=True)
def judge_island(
    world: PackedWorld, work: Work, island: Island, control: NDArray[np.int64], parameters: NDArray[np.float64]
) -> bool:
    """Stage 5: decide on z by its residuals; where it solves the LCP recover forces and velocities and certify them."""
    nc = control[ISLAND_CONTACTS]
    nv = control[ISLAND_NV]
    nr = nc * (control[EDGES] // 2)
    m = nc + nr
    n = 2 * nc + 2 * nr
    z = island.z[:n]
    q = island.q[:n]
    if control[CONE] != 0:
        if control[CONE_SOLVED] == 0:
            return False
    else:
        if control[PROPOSED] == 0:
            lcp_residuals(rows_at(island.M, 0, n, n), q, z, island.w[:n], island.measures)
        if not is_solved(island.measures, parameters[TOLERANCE]):
            return False
    # Solved without a pivot although z = 0 is no solution: the previous step's forces or basis did it.
    least = 0.0
    for i in range(n):
        least = min(least, q[i])
    control[WARM_HIT] = 1 if control[HAS_Z0] != 0 and control[PIVOTS] == 0 and least < 0.0 else 0

    h = parameters[H]
    J = rows_at(island.J, 0, m, nv)
    Y = rows_at(island.Y, 0, m, nv)
    v_free = island.v_free[:nv]
    f = island.f[:m]
    v_plus = island.v_plus[:nv]
    spans = island.spans[:m]
    if control[PROPOSED] == 0:
        recover(h, nc, nr, 0, z, Y, v_free, spans, f, v_plus)
    if control[CONE] != 0:
        certify_with_cones(
            h,
            nc,
            nr,
            0,
            island.r[:nc],
            island.mu[:nc],
            J,
            Y,
            island.k[:m],
            island.gamma[:m],
            island.gammaE[:nc],
            v_free,
            island.Mv[:nv],
            f,
            v_plus,
            spans,
            island.proposal_ints,
            island.certificate_work[: nv + 1],
            island.certificate[:CERT_SIZE],
        )
    else:
        certify(
            h,
            nc,
            nr,
            0,
            island.r[:nc],
            island.mu[:nc],
            J,
            Y,
            island.k[:m],
            island.gamma[:m],
            island.gammaE[:nc],
            v_free,
            island.Mv[:nv],
            z,
            f,
            v_plus,
            spans,
            island.certificate_work[: nv + 1],
            island.certificate[:CERT_SIZE],
        )
    scatter_velocity(world, work, island, control[ISLAND])
    return True
