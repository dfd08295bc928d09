"""The stages of a step for all of it, or for one island, with what they say to the loop that strings them together.

Inlined into that loop: a level of calls less is compiled in less time.
"""

from __future__ import annotations

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
    FAILED,
    FAILURE_NONE,
    NEED_SPACE,
    SHRINK_H,
    Control,
    Island,
    PackedWorld,
    Parameters,
    Work,
)
from contactlab.stepping.kernels.pairs import pair_contacts
from contactlab.stepping.kernels.proposed_island import propose_island
from contactlab.stepping.kernels.sleeping import put_to_sleep
from lcp.kernels import kernel
from lcp.kernels.residuals import is_solved, lcp_residuals


@kernel(inline=True)
def failed(control: Control, failure: int) -> int:
    """Note why the step failed and return FAILED, or SHRINK_H where it may be tried again."""
    control.failure = failure
    return SHRINK_H if control.adaptive != 0 else FAILED


@kernel(inline=True)
def find_contacts(
    world: PackedWorld,
    work: Work,
    collision: Collision | None,
    joints: Joints | None,
    control: Control,
    parameters: Parameters,
) -> int:
    """Stages 1 to 3: free motion, contacts, their rows in the previous step, islands; 0, NEED_SPACE or as `failed`."""
    failure = free_motion(world, work, joints, parameters.h, control)
    if failure != FAILURE_NONE:
        return failed(control, failure)
    count = pair_contacts(world, work, collision, parameters.h, parameters.margin, control)
    if count < 0:
        return NEED_SPACE
    count = detect(world, work, parameters.h, parameters.margin, count)
    count = add_given(world, work, parameters.h, parameters.margin, count)
    if count > work.contact_int.shape[0]:
        control.want_contacts = count
        return NEED_SPACE
    control.n_contacts = count
    for j in range(work.shift.shape[0]):
        work.shift[j] = 0.0
    match_previous(work, count, control.n_previous)
    if joints is not None:
        find_joint_rows(work, joints, parameters.h, parameters.margin)
    control.n_islands = label_islands(world, work, joints, count)
    if control.sleep != 0:
        left = put_to_sleep(world, work, joints, count, control.n_islands, parameters)
        if left < count:
            control.n_contacts = left
            control.n_islands = label_islands(world, work, joints, left)
    control.island = 0
    return 0


@kernel(inline=True)
def pose_island(world: PackedWorld, work: Work, island: Island, control: Control, parameters: Parameters) -> int:
    """Stage 4: blocks, warm start and proposal of island control.island. Returns 0 or NEED_SPACE."""
    i = control.island
    nc = work.contact_start[i + 1] - work.contact_start[i]
    nv = work.island_nv[i]
    if nc > island.r.shape[0] or nv > island.Mv.shape[0]:
        control.want_island_contacts = nc
        control.want_island_nv = nv
        return NEED_SPACE
    control.nc = nc
    control.nv = nv
    h, v_min, erp, cfm = parameters.h, parameters.v_min, parameters.erp, parameters.cfm
    control.n = 2 * nc + 2 * nc * (control.edges // 2)
    build_blocks(world, work, island, i, h, v_min, erp, cfm, control.edges)
    control.has_z0 = 0
    if control.warm_start != 0 and warm_vector(work, island, i, control.edges):
        control.has_z0 = 1
    propose_island(island, control, parameters)
    return 0


@kernel(inline=True)
def assemble_island(island: Island, control: Control, parameters: Parameters) -> None:
    """The LCP of the island in progress, for a solver."""
    nc = control.nc
    nv = control.nv
    nr = nc * (control.edges // 2)
    m = nc + nr
    n = 2 * nc + 2 * nr
    complete_rows(island, m, nv)
    assemble_lcp(
        parameters.h,
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
def judge_island(world: PackedWorld, work: Work, island: Island, control: Control, parameters: Parameters) -> bool:
    """Stage 5: decide on z by its residuals; where it solves the LCP recover forces and velocities and certify them."""
    nc = control.nc
    nv = control.nv
    nr = nc * (control.edges // 2)
    m = nc + nr
    n = 2 * nc + 2 * nr
    z = island.z[:n]
    q = island.q[:n]
    if control.cone != 0:
        if control.cone_solved == 0:
            return False
    else:
        if control.proposed == 0:
            lcp_residuals(rows_at(island.M, 0, n, n), q, z, island.w[:n], island.measures)
        if not is_solved(island.measures, parameters.tolerance):
            return False
    # Solved without a pivot although z = 0 is no solution: the previous step's forces or basis did it.
    least = 0.0
    for i in range(n):
        least = min(least, q[i])
    control.warm_hit = 1 if control.has_z0 != 0 and control.pivots == 0 and least < 0.0 else 0

    h = parameters.h
    J = rows_at(island.J, 0, m, nv)
    Y = rows_at(island.Y, 0, m, nv)
    v_free = island.v_free[:nv]
    f = island.f[:m]
    v_plus = island.v_plus[:nv]
    spans = island.spans[:m]
    if control.proposed == 0:
        recover(h, nc, nr, 0, z, Y, v_free, spans, f, v_plus)
    if control.cone != 0:
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
    scatter_velocity(world, work, island, control.island)
    return True
