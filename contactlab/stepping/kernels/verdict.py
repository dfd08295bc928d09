"""The stage `verdict`: whether an island's z solves its LCP; then forces, velocities and their certificate."""

from __future__ import annotations

from contactlab.formulation.kernels.agreement import CONSISTENT, certify_bilateral, contradicted_row
from contactlab.stepping.kernels.blocks import complete_rows
from contactlab.stepping.kernels.finish import scatter_velocity
from contactlab.stepping.kernels.island_rows import posed_rows, rows_left
from contactlab.stepping.kernels.joint_island import recover_with_equations, write_joint_rows
from contactlab.stepping.kernels.joint_layout import Joints
from contactlab.stepping.kernels.layout import (
    ANSWERED,
    FAILED,
    FAILURE_INCONSISTENT,
    FAILURE_LCP,
    GO_ON,
    ISLANDS,
    JUDGE,
    LATER,
    PROJECT,
    REST_UNTRIED,
    REST_WANTED,
    SOLVER_EXTERNAL,
    TREE_DOF,
    UNSOLVED,
    Chunk,
    Control,
    Island,
    Moments,
    PackedWorld,
    Parameters,
    Work,
)
from contactlab.stepping.kernels.moments import exchange_moments, moment_impulses
from contactlab.stepping.kernels.rows import write_island, write_rows
from contactlab.stepping.kernels.unsolved import settle, will_do
from lcp.contacts.kernels.certify import CERT_SIZE, certify
from lcp.contacts.kernels.certify_boxed import BOXED_CERT_SIZE, certify_boxed
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.island_acceptance import IslandSolution, judge_posed, scales_float_size
from lcp.contacts.kernels.recover import recover
from lcp.contacts.kernels.rest import STILL, is_still, may_rest
from lcp.contacts.kernels.strategy_loop import NO_STRATEGY, REST
from lcp.kernels import kernel
from lcp.kernels.residuals import is_solved


@kernel(inline=True)
def verdict(
    world: PackedWorld,
    work: Work,
    island: Island,
    joints: Joints | None,
    moments: Moments | None,
    chunk: Chunk,
    control: Control,
    parameters: Parameters,
    others: int | None,
) -> int:
    """Decide on z by its residuals; recover forces and velocities, certify and record them.

    Where nothing solved the island, and the run is to go on, z may do if it is near: see `unsolved`. ``others`` is None
    for what attempts have found: all else is for JUDGE, and compiled there.
    """
    if others is None and (control.attempt == NO_STRATEGY or control.ng > 0):
        control.place = JUDGE
        return GO_ON
    if others is None and control.rest == REST_UNTRIED and stands(world, work, island, joints, control, parameters.h):
        control.rest = REST_WANTED
        control.place = LATER
        return UNSOLVED
    answers = is_answer(island, control, parameters.tolerance, others)
    i = control.island
    rows = posed_rows(island, joints, control, parameters.h)
    certified, consistent = False, True
    if others is not None:
        # What attempts found was recovered, judged and certified, but for equations.
        if answers and (control.attempt == NO_STRATEGY or rows.nb > 0):
            recover_island(rows, island, joints, control)
            certify_contacts(rows, island, control)
            if joints is not None:
                consistent = certify_joints(rows, island, joints)
                certified = True
            # A backend's answer was judged by the law that it states.
            if control.backend == 0 or control.nc == 0:
                answers = judge_island(rows, island, control, parameters.tolerance)
        if not answers:
            if control.go_on == 0:
                control.failure = FAILURE_LCP
                return FAILED
            settle(island, control)
            recover_island(rows, island, joints, control)
            certify_contacts(rows, island, control)
            certified = False
    of_joints = 0
    if joints is not None and not certified:
        consistent = certify_joints(rows, island, joints)
    if others is None:
        if not answers or not consistent:
            control.place = JUDGE
            return GO_ON
    else:
        if not answers and not (consistent and will_do(rows, island, control)):
            control.failure = FAILURE_LCP
            return FAILED
        if not consistent:
            # For who looks at the problem.
            complete_rows(rows.J, rows.Y, rows.column_ranges)
            control.failure = FAILURE_INCONSISTENT
            return FAILED
    if joints is not None:
        write_joint_rows(rows, island, joints, chunk, control)
        of_joints = joints.row_start[i + 1] - joints.row_start[i]
    scatter_velocity(world, work, island, i)
    if moments is not None:
        exchange_moments(world, moments, work, island, control, False)
        moment_impulses(moments, work, island, control, parameters.h)
    write_rows(world, work, island, chunk, control, parameters.h)
    write_island(island, chunk, control, of_joints)
    if control.deep != 0:
        control.place = PROJECT
        return GO_ON
    control.island = i + 1
    control.place = ISLANDS
    return GO_ON


@kernel(inner=True)
def stands(world: PackedWorld, work: Work, island: Island, joints: Joints | None, control: Control, h: float) -> bool:
    """Whether the forces found move an island of contacts alone that was at rest before the step."""
    if (
        (control.allowed >> REST) & 1 == 0
        or control.select == 0
        or control.nl + control.ng + control.nbox > 0
        or control.ncone > control.nc
    ):
        return False
    nv = control.nv
    if is_still(island.v_plus[:nv], island.v_free[:nv], STILL):
        return False
    before = island.frame[:nv]
    for n in range(work.tree_start[control.island], work.tree_start[control.island + 1]):
        k = work.island_trees[n]
        a = world.trees[k, TREE_DOF]
        for j in range(world.trees[k + 1, TREE_DOF] - a):
            before[work.local[k] + j] = work.v[a + j]
    if not is_still(before, island.v_free[:nv], STILL):
        return False
    return may_rest(posed_rows(island, joints, control, h), before, island.v_plus[:nv])


@kernel(inline=True)
def is_answer(island: Island, control: Control, tolerance: float, others: int | None) -> bool:
    """Whether z may solve the island's problem: what attempts, exact cones and backends found was decided on before."""
    n = control.n
    q = island.q[:n]
    if control.exhausted != 0:
        return False
    if control.backend != 0 and control.nc > 0:
        if control.backend_verdict != ANSWERED:
            return False
    elif control.cone != 0 and (control.nc > 0 or control.solver == SOLVER_EXTERNAL):
        if control.cone_solved == 0:
            return False
    else:
        # What attempts have not found is judged when its forces are known: `judge_island`.
        if others is None and not is_solved(island.measures, tolerance):
            return False
    # Solved without a pivot although z = 0 is no solution, with the previous step's forces or basis at hand.
    least = 0.0
    for i in range(n):
        least = min(least, q[i])
    control.warm_hit = 1 if control.has_z0 != 0 and control.pivots == 0 and least < 0.0 else 0
    return True


@kernel(inner=True)
def judge_island(rows: ContactSystem, island: Island, control: Control, tolerance: float) -> bool:
    """Whether z, f and v+ as certified solve the problem as it was posed, with its measures."""
    n = control.n
    m = rows.k.shape[0]
    contacts = rows.nc + rows.nr
    floats = island.proposal_floats
    z, at = floats[:n], n
    q, at = floats[at : at + n], at + n
    own, at = floats[at : at + contacts], at + contacts
    loads, at = floats[at : at + scales_float_size(m, n)], at + scales_float_size(m, n)
    # Of what attempts found those measures are told that they were taken by.
    measures = floats[at : at + island.measures.shape[0]] if control.attempt != NO_STRATEGY else island.measures
    answer = IslandSolution(
        q,
        z,
        island.w[:n],
        island.f[:m],
        island.v_plus[: control.nv],
        measures,
        island.certificate,
        island.certificate_work[: control.nv + 1],
        z,
        island.state,
    )
    exact = control.cone != 0 and control.nc > 0
    return judge_posed(rows, exact, island.z[:n], answer, own, loads, tolerance)


@kernel(inline=True)
def recover_island(rows: ContactSystem, island: Island, joints: Joints | None, control: Control) -> None:
    """Fill forces and velocity of the island."""
    z = island.z[: control.n]
    f = island.f[: rows.k.shape[0]]
    v_plus = island.v_plus[: control.nv]
    if joints is not None and rows.nb > 0:
        forces = joints.f[: rows.k.shape[0] - rows.nb]
        recover(rows_left(rows, island, joints), z, forces, v_plus)
        recover_with_equations(rows, joints, forces, f, v_plus)
    else:
        recover(rows, z, f, v_plus)


@kernel(inline=True)
def certify_contacts(rows: ContactSystem, island: Island, control: Control) -> None:
    """Fill the certificate's conditions of contacts and limits."""
    cone = control.cone != 0
    f = island.f[: rows.k.shape[0]]
    # Of exact cones there are no edges to certify.
    edges = f if cone else island.z[: control.n]
    v_plus = island.v_plus[: control.nv]
    u = island.certificate_work[: control.nv + 1]
    certify(rows, rows.Y, cone, edges, f, v_plus, f[:0], u, island.certificate[:CERT_SIZE])


@kernel(inline=True)
def certify_joints(rows: ContactSystem, island: Island, joints: Joints) -> bool:
    """Fill the certificate's conditions of boxed rows and equations; False where these contradict one another.

    As `ConstraintSolver` has it: equations that nearly agree are met by least squares.
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
