"""The stages VERIFY and VERIFY_OTHER: whether z solves an island's LCP; forces, velocities and their certificate.

If an island has no solution, `accept_uncertified` accepts the best forces found under two conditions: they are nearly
right and create no energy. Nearly right means: every condition of their certificate, of contacts, limits and boxed
rows, is violated by at most UNCERTIFIED_TOLERANCE of its scale, and the residuals of the whole problem are at most
UNCERTIFIED_RESIDUAL. The residuals are needed because contact forces grow without bound if no forces exist. The scales
of their conditions then grow too, and the conditions seem satisfied. No energy means a bound on the power of all forces
at the rates of their rows,

    sum_i f_i (J_i v+ + k_i + gamma_i f_i) <= PASSIVITY_TOLERANCE sum_i |f_i| s_i,

with s_i the rate scale of row i (`condition_scales`). Exact forces dissipate: each product is 0, or negative for
friction, drives and compliant bounds. The sum on the right is the energy that forces and rates exchange before they
cancel. For a body supported against its weight m g over h it is 2 m g^2 h, so that it may gain speed by about
PASSIVITY_TOLERANCE g h. UNCERTIFIED_TOLERANCE without this bound would allow a hundred times as much. Ten thousand such
steps create less than a hundredth of the energy exchanged in one step.
"""

from __future__ import annotations

from contactlab.constraint_solver.kernels.bilateral import CONSISTENT, certify_bilateral, contradicted_row
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.simulation.stepping.kernels.arrays import (
    Chunk,
    IslandWork,
    JointRows,
    MomentFriction,
    PackedWorld,
    StepWork,
)
from contactlab.simulation.stepping.kernels.blocks import complete_rows, gather, posed_rows, rows_left, scatter
from contactlab.simulation.stepping.kernels.finish import write_island, write_rows
from contactlab.simulation.stepping.kernels.joint_rows import recover_with_equations, write_joint_rows
from contactlab.simulation.stepping.kernels.layout import (
    ALL_TRIED,
    ANSWERED,
    CERTIFICATE,
    CHOICE_UNCERTIFIED,
    FAILURE_INCONSISTENT,
    FAILURE_LCP,
    NEARLY,
    NEXT_ISLAND,
    PASSIVITY_TOLERANCE,
    PROJECT,
    REFUSED,
    REST_UNTRIED,
    REST_WANTED,
    SOLVER_EXTERNAL,
    UNCERTIFIED_RESIDUAL,
    UNCERTIFIED_TOLERANCE,
    UNSOLVED,
    VERIFY_OTHER,
    Parameters,
    StepControl,
)
from contactlab.simulation.stepping.kernels.moments import copy_variables, moment_impulses
from lcp.compiler.kernels import copy_array, fill_array
from lcp.contacts.kernels.boxed_rows import recover
from lcp.contacts.kernels.certify import BOXED_CERT_SIZE, CERT_SIZE, certify, certify_boxed
from lcp.contacts.kernels.condition_scales import row_rate
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.island_acceptance import BEST_RESIDUAL, IslandSolution, judge_posed, scales_float_size
from lcp.contacts.kernels.rest import STILL, is_still, may_rest
from lcp.contacts.kernels.strategy_loop import NO_STRATEGY, REST
from lcp.kernels import kernel
from lcp.kernels.residuals import NATURAL_MAP, SCALED, is_solved


@kernel(inline=True)
def verify_island(
    world: PackedWorld,
    work: StepWork,
    island: IslandWork,
    joints: JointRows | None,
    moments: MomentFriction | None,
    chunk: Chunk,
    control: StepControl,
    parameters: Parameters,
    others: int | None,
) -> int:
    """Accept or reject z by its residuals; recover forces and velocities, certify and record them.

    If the island has no solution and the run may continue, z is accepted if it is close: see `accept_uncertified`.
    ``others`` is None for forces of strategies; all other forces are for VERIFY_OTHER, which is compiled separately.
    """
    progress = island.progress[0]
    # forces for VERIFY_OTHER, or forces that move an island at rest
    if others is None and (progress.attempt == NO_STRATEGY or progress.ng > 0):
        return VERIFY_OTHER
    if (
        others is None
        and progress.rest == REST_UNTRIED
        and leaves_rest(world, work, island, joints, control, parameters)
    ):
        progress.rest = REST_WANTED
        return UNSOLVED
    # residuals, forces and certificate of a solution of a solver
    answers = can_be_solution(island, parameters, others)
    i = control.island
    rows = posed_rows(island, joints, parameters.h)
    certified, consistent = False, True
    if others is not None:
        # Forces of strategies are already recovered, verified and certified, except for equations.
        if answers and (progress.attempt == NO_STRATEGY or rows.nb > 0):
            recover_island(rows, island, joints)
            certify_contacts(rows, island, parameters)
            if joints is not None:
                consistent = certify_joints(rows, island, joints)
                certified = True
            # A backend's forces were checked by its own law.
            if parameters.backend == 0 or progress.nc == 0:
                answers = judge_island(rows, island, parameters)
        # without a solution: the best forces
        if not answers:
            if control.allow_uncertified == 0:
                control.failure = FAILURE_LCP
                return UNSOLVED
            use_best_forces(island)
            recover_island(rows, island, joints)
            certify_contacts(rows, island, parameters)
            certified = False
    # certificate of joint rows; a certified solution is accepted
    of_joints = 0
    if joints is not None and not certified:
        consistent = certify_joints(rows, island, joints)
    if others is None:
        if not answers or not consistent:
            return VERIFY_OTHER
    else:
        if not answers and not (consistent and accept_uncertified(rows, island, control, parameters)):
            control.failure = FAILURE_LCP
            return UNSOLVED
        if not consistent:
            # for inspection of the problem
            complete_rows(rows.J, rows.Y, rows.column_ranges)
            control.failure = FAILURE_INCONSISTENT
            return UNSOLVED
    # velocities, rows of the record, variables for the next step
    if joints is not None:
        write_joint_rows(rows, island, joints, chunk, control)
        of_joints = joints.row_start[i + 1] - joints.row_start[i]
    scatter(world, work, i, island.v_plus, work.v_plus)
    scatter(world, work, i, island.dv_deps, work.dv_deps)
    copy_variables(world, moments, work, island, control, parameters.edges, None)
    if moments is not None:
        moment_impulses(moments, work, island, control, parameters)
    write_rows(world, work, island, chunk, control, parameters)
    write_island(island, chunk, control, of_joints)
    if control.deep != 0:
        return PROJECT
    control.island = i + 1
    return NEXT_ISLAND


@kernel(inner=True)
def leaves_rest(
    world: PackedWorld,
    work: StepWork,
    island: IslandWork,
    joints: JointRows | None,
    control: StepControl,
    parameters: Parameters,
) -> bool:
    """Return True if the forces move an island that was at rest before the step and might stay at rest.

    It is False for islands with joint rows or moment friction, and if equal-compliance forces are not required or the
    strategy REST is disabled.
    """
    progress = island.progress[0]
    if (
        (parameters.enabled_strategies >> REST) & 1 == 0
        or parameters.require_equal_compliance == 0
        or progress.nl + progress.ng + progress.nbox > 0
        or progress.ncone > progress.nc
    ):
        return False
    # the velocity after the step, and the one before it
    nv = progress.nv
    if is_still(island.v_plus[:nv], island.v_free[:nv], STILL):
        return False
    before = island.contact_jacobian_work[:nv]
    gather(world, work, control.island, work.v, before)
    if not is_still(before, island.v_free[:nv], STILL):
        return False
    return may_rest(posed_rows(island, joints, parameters.h), before, island.v_plus[:nv])


@kernel(inline=True)
def can_be_solution(island: IslandWork, parameters: Parameters, others: int | None) -> bool:
    """Return False if z is already known not to solve the island's problem; otherwise set warm_hit, return True.

    z is rejected if all strategies have failed, if the solver refused, or by the residuals of the LCP. With ``others``
    the residuals are computed later, from the recovered forces: `judge_island`.
    """
    progress = island.progress[0]
    n = progress.n
    q = island.q[:n]
    if progress.strategies_tried == ALL_TRIED:
        return False
    if parameters.backend != 0 and progress.nc > 0:
        if progress.answered != ANSWERED:
            return False
    elif parameters.exact_cone != 0 and (progress.nc > 0 or parameters.solver == SOLVER_EXTERNAL):
        if progress.answered == REFUSED:
            return False
    else:
        # Other forces are verified after they are recovered: `judge_island`.
        if others is None and not is_solved(island.residuals, parameters.tolerance):
            return False
    # Solved without a pivot although z = 0 is not a solution: the warm start was right.
    least = 0.0
    for i in range(n):
        least = min(least, q[i])
    progress.warm_hit = 1 if progress.has_z0 != 0 and progress.pivots == 0 and least < 0.0 else 0
    return True


@kernel(inner=True)
def judge_island(rows: ContactSystem, island: IslandWork, parameters: Parameters) -> bool:
    """Return True if z, f and v+ with their certificate solve the original problem; fill the residuals."""
    progress = island.progress[0]
    n = progress.n
    m = rows.k.shape[0]
    contacts = rows.nc + rows.nr
    floats = island.strategy_float_work
    z, at = floats[:n], n
    q, at = floats[at : at + n], at + n
    own, at = floats[at : at + contacts], at + contacts
    loads, at = floats[at : at + scales_float_size(m, n)], at + scales_float_size(m, n)
    # Forces of strategies keep the residuals by which they were accepted.
    measures = floats[at : at + island.residuals.shape[0]] if progress.attempt != NO_STRATEGY else island.residuals
    answer = IslandSolution(
        q,
        z,
        island.w[:n],
        island.f[:m],
        island.v_plus[: progress.nv],
        measures,
        island.certificate,
        island.certificate_work[: progress.nv + 1],
        z,
        island.state,
    )
    exact = parameters.exact_cone != 0 and progress.nc > 0
    return judge_posed(rows, exact, island.z[:n], answer, own, loads, parameters.tolerance)


@kernel(inline=True)
def recover_island(rows: ContactSystem, island: IslandWork, joints: JointRows | None) -> None:
    """Fill the island's f of all rows, bilateral ones included, and its v_plus from z."""
    progress = island.progress[0]
    z = island.z[: progress.n]
    f = island.f[: rows.k.shape[0]]
    v_plus = island.v_plus[: progress.nv]
    if joints is not None and rows.nb > 0:
        forces = joints.f[: rows.k.shape[0] - rows.nb]
        recover(rows_left(rows, island, joints), z, forces, v_plus)
        recover_with_equations(rows, joints, forces, f, v_plus)
    else:
        recover(rows, z, f, v_plus)


@kernel(inline=True)
def certify_contacts(rows: ContactSystem, island: IslandWork, parameters: Parameters) -> None:
    """Fill the certificate's conditions of contacts and limits."""
    progress = island.progress[0]
    cone = parameters.exact_cone != 0
    f = island.f[: rows.k.shape[0]]
    # Exact cones have no edges to certify.
    edges = f if cone else island.z[: progress.n]
    v_plus = island.v_plus[: progress.nv]
    u = island.certificate_work[: progress.nv + 1]
    certify(rows, rows.Y, cone, edges, f, v_plus, f[:0], u, island.certificate[:CERT_SIZE])


@kernel(inline=True)
def certify_joints(rows: ContactSystem, island: IslandWork, joints: JointRows) -> bool:
    """Fill the certificate's conditions of boxed rows and equations; return False if the equations are inconsistent.

    As in `ConstraintSolver`, equations that nearly agree are satisfied in the least-squares sense.
    """
    nv = rows.v_free.shape[0]
    v_plus = island.v_plus[:nv]
    u = island.certificate_work[: nv + 1]
    end = CERT_SIZE + BOXED_CERT_SIZE
    f = island.f[: rows.k.shape[0]]
    certify_boxed(rows, f, v_plus, f[:0], u, island.certificate[CERT_SIZE:end])
    of_equations = island.certificate[end : end + 2]
    first = rows.nc + rows.nr + rows.nl
    last = first + rows.nb
    G = rows.J[first:last]
    k = rows.k[first:last]
    scale = joints.G_scale[: rows.nb]
    certify_bilateral(G, rows.Y[first:last], k, scale, v_plus, u, of_equations)
    if not of_equations[0] > CONSISTENT * of_equations[1]:
        return True
    if not of_equations[0] < float("inf"):
        return False
    return contradicted_row(G, k, scale, joints.G_error[: rows.nb], rows.h, v_plus, u, joints.work) < 0


@kernel(inline=True)
def use_best_forces(island: IslandWork) -> None:
    """Use the best forces of the strategies, or z as a solver left it; the caller recovers f and v+ from it."""
    progress = island.progress[0]
    if progress.strategies_tried != 0:
        copy_array(island.best_z, island.z[: progress.n])
        fill_array(island.residuals, 0.0)
        island.residuals[SCALED] = island.residuals[NATURAL_MAP] = island.state[BEST_RESIDUAL]
        progress.pivots = 0
    progress.choice = CHOICE_UNCERTIFIED
    progress.attempt = NO_STRATEGY
    progress.warm_hit = 0


@kernel(inner=True)
def accept_uncertified(rows: ContactSystem, island: IslandWork, control: StepControl, parameters: Parameters) -> bool:
    """Return True if the best forces of the island, which are not certified, are accepted; see the top of this file.

    If they are, the island is counted in ``control.uncertified``. With an adaptive stepper, the permission
    ``control.allow_uncertified`` is then withdrawn for the next islands.
    """
    progress = island.progress[0]
    if parameters.backend != 0 and progress.nc > 0:
        # The backend's own law counts; the certificate here may be one of another law.
        nv = rows.v_free.shape[0]
        f = island.f[: rows.k.shape[0]]
        if progress.answered != NEARLY or not is_passive(
            rows, f, island.v_plus[:nv], island.certificate_work[: nv + 1]
        ):
            return False
    elif not is_nearly_certified(rows, island) or (
        progress.strategies_tried != 0 and not island.state[BEST_RESIDUAL] <= UNCERTIFIED_RESIDUAL
    ):
        return False
    control.uncertified += 1
    if parameters.adaptive != 0:
        # This island allowed no smaller h; the next island may allow one.
        control.allow_uncertified = 0
    return True


@kernel(inner=True)
def is_nearly_certified(rows: ContactSystem, island: IslandWork) -> bool:
    """Return True if forces are nearly right and create no energy, by their certificate; False for NaN."""
    for c in range(CERTIFICATE // 2):
        if not island.certificate[2 * c] <= UNCERTIFIED_TOLERANCE * island.certificate[2 * c + 1]:
            return False
    nv = rows.v_free.shape[0]
    f = island.f[: rows.k.shape[0]]
    return is_passive(rows, f, island.v_plus[:nv], island.certificate_work[: nv + 1])


@kernel(inner=True)
def is_passive(rows: ContactSystem, f: FloatArray, v_plus: FloatArray, u: FloatArray) -> bool:
    """Return True if the power of the forces at their rates is not positive; ``certify`` has filled u."""
    power = 0.0
    exchanged = 0.0
    for i in range(f.shape[0]):
        rate, scale, _ = row_rate(rows, i, f, v_plus, f[:0], u)
        power += f[i] * (rate + rows.gamma[i] * f[i])
        exchanged += abs(f[i]) * scale
    return power <= PASSIVITY_TOLERANCE * exchanged
