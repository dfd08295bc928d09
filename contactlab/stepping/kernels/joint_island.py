"""Stages 4 and 5 of an island with rows of joints: [N; F; L; G; B] posed, the rows G eliminated, solved, certified.

What `stages.pose_island` and `stages.judge_island` do for contacts alone. The same kernels are called on the same
blocks as by the public path, so that both give the same bits.
"""

from __future__ import annotations

from contactlab.formulation.kernels.bilateral import (
    add_bilateral_impulses,
    bilateral_work_size,
    certify_bilateral,
    factor_bilateral,
    lock_terms,
    project_rows,
    project_velocity,
)
from contactlab.formulation.kernels.boxed_rows import boxed_variables
from contactlab.formulation.kernels.certify import CERT_SIZE, certify
from contactlab.formulation.kernels.certify_boxed import BOXED_CERT_SIZE, certify_boxed
from contactlab.formulation.kernels.certify_cone import certify_with_cones
from contactlab.formulation.kernels.discretized_lcp import assemble_boxed_lcp
from contactlab.formulation.kernels.recover import add_impulses, recover_boxed
from contactlab.stepping.kernels.blocks import build_blocks, complete_rows, warm_vector
from contactlab.stepping.kernels.finish import scatter_velocity
from contactlab.stepping.kernels.joint_layout import (
    FOLLOW,
    FRICTION,
    JOINT_ROW_ERROR,
    JOINT_ROW_FORCE,
    JOINT_ROW_ISLAND,
    JOINT_ROW_NUMBER,
    JOINT_ROW_RATE,
    JOINT_ROW_STEP,
    JOINT_ROW_Z,
    KIND,
    LOOP,
    STOP,
    Joints,
)
from contactlab.stepping.kernels.joint_rows import fill_joint_row
from contactlab.stepping.kernels.layout import (
    FAILURE_INCONSISTENT,
    FAILURE_LCP,
    FAILURE_NONE,
    NEED_SPACE,
    Control,
    FloatArray,
    Island,
    PackedWorld,
    Parameters,
    Work,
)
from contactlab.stepping.kernels.proposed_island import propose_island
from lcp.kernels import kernel
from lcp.kernels.residuals import is_solved, lcp_residuals

# Scaled residual of G v+ + kG above which the equations contradict one another, as `ConstraintSolver` has it.
CONSISTENT = 1e-9


@kernel(inline=True)
def is_boxed(kind: int, cfm: float) -> bool:
    """Whether a row is one of B: equations of positions that give way are, with no bounds on their forces."""
    return kind >= FRICTION or (cfm > 0.0 and kind in (FOLLOW, LOOP))


@kernel(inner=True)
def pose_joint_island(
    world: PackedWorld,
    work: Work,
    island: Island,
    joints: Joints,
    control: Control,
    parameters: Parameters,
) -> int:
    """Stage 4: blocks, LCP and warm start of island control.island. Returns 0 or NEED_SPACE."""
    i = control.island
    nc = work.contact_start[i + 1] - work.contact_start[i]
    nr = nc * (control.edges // 2)
    nv = work.island_nv[i]
    first = joints.row_start[i]
    rows = joints.row_start[i + 1] - first
    nl = 0
    nbox = 0
    for place in range(first, first + rows):
        kind = joints.row_int[joints.island_rows[place], KIND]
        if kind == STOP:
            nl += 1
        elif is_boxed(kind, parameters.cfm):
            nbox += 1
    ng = rows - nl - nbox
    m = nc + nr + rows
    most = 2 * nc + 2 * nr + nl + 2 * nbox
    if (
        nc > island.r.shape[0]
        or nv > min(island.Mv.shape[0], joints.v0.shape[0])
        or m > min(island.k.shape[0], joints.k.shape[0])
        or most > island.q.shape[0]
        or ng * ng > joints.P.shape[0]
    ):
        control.want_island_contacts = nc
        control.want_island_nv = nv
        control.want_island_rows = m
        control.want_island_n = most
        control.want_island_g = ng
        return NEED_SPACE
    control.nc = nc
    control.nv = nv
    control.nl = nl
    control.ng = ng
    control.nbox = nbox

    h = parameters.h
    v_min, erp, cfm = parameters.v_min, parameters.erp, parameters.cfm
    build_blocks(world, work, island, i, h, v_min, erp, cfm, control.edges)
    complete_rows(island, nc + nr, nv)
    J = island.J[: m * nv].reshape((m, nv))
    Y = island.Y[: m * nv].reshape((m, nv))
    lo = joints.lo[:nbox]
    hi = joints.hi[:nbox]
    boxed = nc + nr + nl + ng
    for place in range(rows):
        row = nc + nr + place
        k, gamma, low, high = fill_joint_row(
            world,
            work,
            joints,
            joints.island_rows[first + place],
            h,
            v_min,
            erp,
            cfm,
            J[row],
            Y[row],
        )
        island.k[row] = k
        island.gamma[row] = gamma
        if row >= boxed:
            lo[row - boxed] = low
            hi[row - boxed] = high
    xs, ys = boxed_variables(lo, hi)
    n = 2 * nc + 2 * nr + nl + xs + ys
    control.n = n

    mu = nc + nr + nl + nbox
    v_free = island.v_free[:nv]
    if ng > 0:
        eliminate(island, joints, nc + nr + nl, ng, nbox, v_free)
        J = joints.J[: mu * nv].reshape((mu, nv))
        Y = joints.Y[: mu * nv].reshape((mu, nv))
        k_rows = joints.k[:mu]
        gamma_rows = joints.gamma[:mu]
        v_free = joints.v0[:nv]
    else:
        k_rows = island.k[:mu]
        gamma_rows = island.gamma[:mu]
    assemble_boxed_lcp(
        h,
        nc,
        nr,
        nl,
        island.r[:nc],
        island.mu[:nc],
        J,
        Y,
        k_rows,
        gamma_rows,
        island.gammaE[:nc],
        lo,
        hi,
        v_free,
        island.M[: n * n].reshape((n, n)),
        island.q[:n],
    )
    control.has_z0 = 0
    if control.warm_start != 0:
        matched = nc > 0 and warm_vector(work, island, i, control.edges)
        if warm_joints(island, joints, first, first + rows, 2 * nc + 2 * nr, xs, cfm) or matched:
            control.has_z0 = 1
    control.proposed = 0
    if rows == 0:
        propose_island(island, control, parameters)
    return 0


@kernel(inner=True)
def eliminate(island: Island, joints: Joints, nu: int, ng: int, nbox: int, v_free: FloatArray) -> None:
    """Fill J, Y, k, gamma and v0 of [N; F; L; B] and the pseudo-inverse P of the rows G that stand behind nu others."""
    nv = v_free.shape[0]
    m = nu + ng + nbox
    own = nu + nbox
    J = island.J[: m * nv].reshape((m, nv))
    Y = island.Y[: m * nv].reshape((m, nv))
    G = J[nu : nu + ng]
    YG = Y[nu : nu + ng]
    kG = island.k[nu : nu + ng]
    P = joints.P[: ng * ng].reshape((ng, ng))
    factor_bilateral(G, YG, P, joints.work[: bilateral_work_size(ng)])
    left = joints.J[: own * nv].reshape((own, nv))
    responses = joints.Y[: own * nv].reshape((own, nv))
    for row in range(own):
        place = row if row < nu else row + ng
        joints.k[row] = island.k[place]
        joints.gamma[row] = island.gamma[place]
        for p in range(nv):
            left[row, p] = J[place, p]
            responses[row, p] = Y[place, p]
    locked = joints.locked[:own]
    project_rows(G, YG, P, left, responses, locked, joints.work)
    v0 = joints.v0[:nv]
    for p in range(nv):
        v0[p] = v_free[p]
    project_velocity(G, YG, P, kG, v0, joints.work)
    lock_terms(locked, left, v0, v_free, joints.k[:own])
    for row in range(own):
        if locked[row] != 0:
            for p in range(nv):
                left[row, p] = 0.0


@kernel(inner=True)
def warm_joints(island: Island, joints: Joints, first: int, last: int, limit: int, xs: int, cfm: float) -> bool:
    """Fill z0 behind ``limit`` with the previous step's variables of the same rows; False when none took part."""
    matched = False
    x = limit
    b = 0
    for place in range(first, last):
        row = joints.island_rows[place]
        kind = joints.row_int[row, KIND]
        if kind == STOP:
            island.z0[x] = joints.previous_z[row, 0] if joints.was[row] != 0 else 0.0
            matched = matched or joints.was[row] != 0
            x += 1
        elif is_boxed(kind, cfm):
            if joints.lo[b] != joints.hi[b]:
                was = joints.was[row] != 0
                island.z0[x] = joints.previous_z[row, 0] if was else 0.0
                island.z0[x + xs] = joints.previous_z[row, 1] if was else 0.0
                matched = matched or was
                x += 1
            b += 1
    return matched


@kernel(inner=True)
def judge_joint_island(
    world: PackedWorld,
    work: Work,
    island: Island,
    joints: Joints,
    control: Control,
    parameters: Parameters,
) -> int:
    """Stage 5: decide on z; FAILURE_NONE where it is solved, forces and velocities recovered and certified."""
    nc = control.nc
    nv = control.nv
    nr = nc * (control.edges // 2)
    nl = control.nl
    ng = control.ng
    nbox = control.nbox
    n = control.n
    nu = nc + nr + nl
    m = nu + ng + nbox
    z = island.z[:n]
    q = island.q[:n]
    if control.cone != 0:
        if control.cone_solved == 0:
            return FAILURE_LCP
    else:
        if control.proposed == 0:
            lcp_residuals(island.M[: n * n].reshape((n, n)), q, z, island.w[:n], island.measures)
        if not is_solved(island.measures, parameters.tolerance):
            return FAILURE_LCP
    least = 0.0
    for i in range(n):
        least = min(least, q[i])
    control.warm_hit = 1 if control.has_z0 != 0 and control.pivots == 0 and least < 0.0 else 0

    h = parameters.h
    J = island.J[: m * nv].reshape((m, nv))
    Y = island.Y[: m * nv].reshape((m, nv))
    v_free = island.v_free[:nv]
    v_plus = island.v_plus[:nv]
    lo = joints.lo[:nbox]
    hi = joints.hi[:nbox]
    f = island.f[:m]
    dense = island.spans[:0]
    if ng == 0:
        recover_boxed(h, nc, nr, nl, lo, hi, z, Y, v_free, dense, f, v_plus)
    else:
        own = nu + nbox
        responses = joints.Y[: own * nv].reshape((own, nv))
        forces = joints.f[:own]
        recover_boxed(h, nc, nr, nl, lo, hi, z, responses, joints.v0[:nv], dense, forces, v_plus)
        # Formed from the forces and M^-1 alone, so that the certificate judges the forces.
        for p in range(nv):
            v_plus[p] = v_free[p]
        for i in range(own):
            place = i if i < nu else i + ng
            f[place] = forces[i]
        add_impulses(h, f[:nu], Y, dense, v_plus)
        add_impulses(h, f[nu + ng : m], Y[nu + ng : m], dense, v_plus)
        impulses = f[nu : nu + ng]
        P = joints.P[: ng * ng].reshape((ng, ng))
        add_bilateral_impulses(
            J[nu : nu + ng], Y[nu : nu + ng], P, island.k[nu : nu + ng], v_plus, impulses, joints.work
        )
        for i in range(ng):
            impulses[i] /= h
    certificate = island.certificate
    if control.cone != 0:
        certify_with_cones(
            h,
            nc,
            nr,
            nl,
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
            dense,
            island.proposal_ints,
            island.certificate_work[: nv + 1],
            certificate[:CERT_SIZE],
        )
    else:
        certify(
            h,
            nc,
            nr,
            nl,
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
            dense,
            island.certificate_work[: nv + 1],
            certificate[:CERT_SIZE],
        )
    u = island.certificate_work[: nv + 1]
    of_boxed = certificate[CERT_SIZE : CERT_SIZE + BOXED_CERT_SIZE]
    certify_boxed(h, nu + ng, J, Y, island.k[:m], island.gamma[:m], lo, hi, f, v_plus, u, dense, of_boxed)
    of_equations = certificate[CERT_SIZE + BOXED_CERT_SIZE : CERT_SIZE + BOXED_CERT_SIZE + 2]
    certify_bilateral(J[nu : nu + ng], Y[nu : nu + ng], island.k[nu : nu + ng], v_plus, u, of_equations)
    if of_equations[0] > CONSISTENT * of_equations[1]:
        return FAILURE_INCONSISTENT
    scatter_velocity(world, work, island, control.island)
    return FAILURE_NONE


@kernel(inner=True)
def write_joint_rows(island: Island, joints: Joints, control: Control) -> None:
    """Write the rows of joints of the island in progress, and keep their LCP variables by row."""
    i = control.island
    nc = control.nc
    nv = control.nv
    nr = nc * (control.edges // 2)
    nu = nc + nr + control.nl
    boxed = nu + control.ng
    nbox = control.nbox
    xs, _ = boxed_variables(joints.lo[:nbox], joints.hi[:nbox])
    limit = 2 * nc + 2 * nr
    x = limit + control.nl
    first = joints.row_start[i]
    for place in range(joints.row_start[i + 1] - first):
        number = joints.island_rows[first + place]
        row = nc + nr + place
        z = joints.z[number]
        z[0] = 0.0
        z[1] = 0.0
        if row < nu:
            z[0] = island.z[limit + place]
        elif row >= boxed and joints.lo[row - boxed] != joints.hi[row - boxed]:
            z[0] = island.z[x]
            z[1] = island.z[x + xs]
            x += 1
        rate = 0.0
        for p in range(nv):
            rate += island.J[row * nv + p] * island.v_plus[p]
        at = control.chunk_joints + first + place
        ints = joints.chunk_int[at]
        floats = joints.chunk_float[at]
        ints[JOINT_ROW_STEP] = control.step
        ints[JOINT_ROW_ISLAND] = i
        ints[JOINT_ROW_NUMBER] = number
        floats[JOINT_ROW_ERROR] = joints.error[number]
        floats[JOINT_ROW_FORCE] = island.f[row]
        floats[JOINT_ROW_RATE] = rate
        floats[JOINT_ROW_Z] = z[0]
        floats[JOINT_ROW_Z + 1] = z[1]


@kernel(inner=True)
def keep_joints(joints: Joints, control: Control, row: int, n_islands: int) -> None:
    """Keep what the next step starts from, and record the targets of the step in row ``row`` of the chunk."""
    for i in range(joints.active.shape[0]):
        joints.was[i] = joints.active[i]
        joints.previous_z[i, 0] = joints.z[i, 0]
        joints.previous_z[i, 1] = joints.z[i, 1]
    for d in range(joints.target.shape[0]):
        joints.chunk_target[row, d] = joints.target[d]
    control.chunk_joints += joints.row_start[n_islands]
