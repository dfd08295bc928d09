"""Workspaces of the strategies for an island's forces, and the start of each strategy: see `strategy_loop`."""

from __future__ import annotations

import math
from typing import Final

from lcp.compiler.views import view_2d
from lcp.contacts.kernels.active_set import (
    MAX_ACTIVE_SET_STEPS,
    STEPS,
    continue_to_compliance,
    final_compliance,
    iterate_active_set,
    range_of_responses,
    solve_active_set,
    solve_rigid_joint_rows,
    sweep,
)
from lcp.contacts.kernels.complementary_pairs import (
    PairState,
    fill_start,
    pair_float_size,
    pair_state_views,
    warm_start,
)
from lcp.contacts.kernels.contact_law import CONTACT_DIM, FrictionCone
from lcp.contacts.kernels.contact_system import ContactSystem, packed_floats, packed_ints, packed_rows
from lcp.contacts.kernels.elimination import factor_work
from lcp.contacts.kernels.interior_point import (
    HOMOTOPY_STARTS,
    MAX_SHORT_STEPS,
    MAX_SHORT_WARM_STEPS,
    polish,
    solve_homotopy,
    solve_mehrotra,
)
from lcp.contacts.kernels.island_acceptance import (
    BEST_RESIDUAL,
    IslandProblem,
    IslandSolution,
    accept_or_keep_best,
    count_rows,
    scales_float_size,
    with_rows,
)
from lcp.contacts.kernels.proximal_newton import (
    ProximalState,
    proximal_state_float_size,
    proximal_state_views,
)
from lcp.contacts.kernels.proximal_points import natural_residual, update_modes
from lcp.contacts.kernels.proximal_pwl import solve_proximal_pwl
from lcp.contacts.kernels.pwl_path import pwl_path_float_size, pwl_path_views
from lcp.contacts.kernels.rest import rest_float_size
from lcp.contacts.kernels.solver_state import (
    UNKNOWN,
    SolverState,
    center_rows,
    copy_rows,
    load_forces,
    make_friction_cone,
    recover_velocity,
    solver_state_views,
    state_float_size,
    store_forces,
)
from lcp.kernels import Floats, Ints, kernel

# Starts of `try_sweeps`: sweeps at the path's end, at a soft compliance, at this from zero forces, and none at the
# largest response. Their numbers, and their compliances, relative to the largest response of a contact, at least the
# path's end. Of 153 islands of spheres in impact, 149 reach the path's end from the soft sweeps, in 10 systems. With a
# tenth of their compliance 102 reach it, with ten times 151, in 15 systems.
SWEEPS: Final = (20, 40, 40, 0)
SWEEP_COMPLIANCES: Final = (0.0, 1e-2, 1e-2, 1.0)
COLD_START: Final = 2
# Compliance of the first path of the interior point, relative to the path's end; fraction of the diagonal response at
# which a rate shows a mode at the end of that path.
START_COMPLIANCE_FACTOR: Final = 1e3
MODE_FRACTION: Final = 1e-5
# Work of one curve and of all strategies together, in products: a system costs its factors, and this number for each
# contact.
TURN_WORK: Final = 2.5e9
FALLBACK_WORK: Final = 8e9
WORK_OF_CONTACT: Final = 4e3
# Minimum and maximum of systems of one curve; systems of the rounds of its polish, each of which is judged. The rounds
# end if one leaves more than this fraction of the residual.
MIN_SYSTEMS: Final = 300
MAX_SYSTEMS: Final = 2500
POLISH_ROUNDS: Final = (0, 20, 40, 80, 160)
POLISH_PROGRESS: Final = 0.9
# Compliances of the proximal points, relative to the smallest response, from near forces and from far ones: off by this
# fraction of a condition's scale. Pieces of their paths, in addition to one for each contact, or one for every other
# contact if forces are near.
NEAR_COMPLIANCES: Final = (1e-4, 1e-3, 1e-5)
FAR_COMPLIANCES: Final = (1e-1, 1e-2, 1e-3)
FAR_VIOLATION: Final = 1e-4
NEAR_PIECES: Final = 100
FAR_PIECES: Final = 1000


@kernel
def workspace_float_size(nc: int, ncone: int, nr: int, nj: int, nv: int) -> int:
    """Return the length of the float workspace, for ncone contact and moment cones and nj rows [L; B]."""
    first = state_float_size(ncone, nc + nr, nj, nv)
    packed = packed_floats(nc + nr + nj)
    later = proximal_state_float_size(ncone + nj, nv)
    later += max(pair_float_size(ncone, nj, 2 * -(-nr // max(nc, 1))), pwl_path_float_size(ncone + nj, nv))
    later = max(later, rest_float_size(nc, nc + nr, nc + 2 * nr + ncone))
    m = nc + nr + nj
    # `small_island` has a separate matrix.
    few = CONTACT_DIM * nc * nv if CONTACT_DIM * nc <= nv else 0
    return first + packed + later + few + m + scales_float_size(m, nc + 2 * nr + ncone + 2 * nj) + 2 * (2 * nr + 1)


@kernel(inner=True)
def end_views(case: IslandProblem, wf: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the views at the end of ``wf``: packed rows, Delassus diagonal, row scales, and edges of the cones.

    The diagonal has J_i Y_i of all rows, eliminated rows G not counted. The scales have the rates of the rows, their
    rounding, and the scales of the LCP's rows.
    """
    m = count_rows(case.rows)
    edges = wf.shape[0] - 2 * (2 * case.rows.nr + 1)
    scales = edges - scales_float_size(m, case.z0.shape[0])
    packed = scales - m - packed_floats(m)
    return wf[packed : scales - m], wf[scales - m : scales], wf[scales:edges], wf[edges:]


@kernel(inner=True)
def open_state(
    case: IslandProblem, wf: Floats, wi: Ints, fill: bool
) -> tuple[IslandProblem, SolverState, FrictionCone]:
    """Return the problem with packed rows, the solver state, and the cones' polygon or disc, in the workspaces.

    If ``fill`` is False, the packed rows are already filled, by a kernel before.
    """
    packed, _, loads, edges = end_views(case, wf)
    rows = packed_rows(case.rows, packed, wi[wi.shape[0] - packed_ints(count_rows(case.rows)) :], fill)
    search = solver_state_views(rows, case.tree_starts, loads, wf, wi)
    polygon = make_friction_cone(rows, case.exact_cone, view_2d(edges, 0, 2 * rows.nr + 1, 2), wf, wi)
    return with_rows(case, rows), search, polygon


@kernel(inner=True)
def method_views(polygon: FrictionCone, search: SolverState) -> tuple[ProximalState, PairState]:
    """Return the memory of the interior point and its polish."""
    n, nv = search.contacts.p.shape[0], search.v.shape[0]
    rest = search.memory[proximal_state_float_size(n, nv) :]
    return proximal_state_views(n, nv, search.memory), pair_state_views(polygon, search, rest)


@kernel(inner=True)
def try_active_set(rows: ContactSystem, polygon: FrictionCone, search: SolverState) -> tuple[bool, int]:
    """Run ACTIVE_SET at the final compliance, from the modes of the state's forces."""
    end = final_compliance(rows, search)
    recover_velocity(rows, polygon, search)
    update_modes(rows, polygon, search, 0.0, 1.0)
    solved = solve_active_set(rows, polygon, search, end, MAX_ACTIVE_SET_STEPS)
    return solved > 0, solved


@kernel(inner=True)
def continue_to_end(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, eps: float, end: float
) -> tuple[bool, int]:
    """Reduce the compliance from eps, for which the state has modes, to the path's end."""
    steps = iterate_active_set(rows, polygon, search, eps, STEPS)
    if steps < 0:
        return False, -steps
    reached, more = continue_to_compliance(rows, polygon, search, eps, end)
    steps += more
    if not reached:
        return False, steps
    more = solve_rigid_joint_rows(rows, polygon, search, end)
    return more >= 0, steps + max(more, 0)


@kernel(inner=True)
def try_sweeps(case: IslandProblem, polygon: FrictionCone, search: SolverState, start: int) -> tuple[bool, int]:
    """Run ACTIVE_SET with decreasing compliance, from the modes after Gauss-Seidel sweeps of a start of `SWEEPS`."""
    rows, joined = case.rows, search.joined
    end = final_compliance(rows, search)
    _, largest = range_of_responses(rows, search)
    eps = max(end, SWEEP_COMPLIANCES[start] * largest)
    # forces at the start: the previous ones, or zero
    if case.warm_start and start < COLD_START:
        load_forces(rows, polygon, search, case.z0)
    else:
        search.contacts.mode[:] = UNKNOWN
        search.contacts.p[:] = 0.0
        for i in range(joined.lo.shape[0]):
            search.contacts.p[rows.r.shape[0] + i, 0] = min(max(0.0, joined.lo[i]), joined.hi[i])
    # sweeps at this compliance, and the modes of the forces that they reach
    recover_velocity(rows, polygon, search)
    for _ in range(SWEEPS[start]):
        sweep(rows, polygon, search, eps)
    recover_velocity(rows, polygon, search)
    center_rows(search)
    update_modes(rows, polygon, search, eps, 1.0)
    return continue_to_end(rows, polygon, search, eps, end)


@kernel(inner=True)
def system_budget(rows: ContactSystem, search: SolverState, work: float) -> int:
    """Return how many linear systems of this island cost as much as ``work`` products."""
    return int(work / (factor_work(search.trees) + WORK_OF_CONTACT * rows.nc))


@kernel(inner=True)
def try_equal_compliance(case: IslandProblem, polygon: FrictionCone, search: SolverState) -> tuple[bool, int]:
    """Run INTERIOR_POINT at a small compliance, then ACTIVE_SET from the modes of its forces, to the path's end."""
    # compliances at the start and at the end
    rows = case.rows
    end = final_compliance(rows, search)
    eps = START_COMPLIANCE_FACTOR * end
    near, interior = method_views(polygon, search)
    # interior point method, from the forces before and then from its own start
    systems = 0
    for start in range(0 if case.warm_start else 1, 2):
        if start == 0:
            load_forces(rows, polygon, search, case.z0)
            recover_velocity(rows, polygon, search)
        unit = fill_start(rows, polygon, search, interior, 1.0, 1.0)
        if start == 0:
            warm_start(rows, search, interior)
        most_short = MAX_SHORT_WARM_STEPS if start == 0 else MAX_SHORT_STEPS
        more, _, converged = solve_mehrotra(rows, polygon, search, interior, near, eps, unit, most_short)
        systems += more
        if converged:
            break
    # modes of its forces
    center_rows(search)
    update_modes(rows, polygon, search, eps, MODE_FRACTION)
    # active set from there to the path's end
    reached, more = continue_to_end(rows, polygon, search, eps, end)
    return reached, systems + more


@kernel(inner=True)
def try_interior_point(
    case: IslandProblem, answer: IslandSolution, polygon: FrictionCone, search: SolverState, turn: int
) -> int:
    """Run INTERIOR_POINT on the rigid problem: Mehrotra in turn 0, the homotopy from other starts later.

    Then polish the forces in rounds; after each round they are tested in ``answer.z``. Return the systems factored.
    """
    # first turn: Mehrotra's method; later turns: the homotopy from further starts
    rows = case.rows
    near, interior = method_views(polygon, search)
    if turn == 0:
        unit = fill_start(rows, polygon, search, interior, 1.0, 1.0)
        systems, least, _ = solve_mehrotra(rows, polygon, search, interior, near, 0.0, unit, MAX_SHORT_STEPS)
    else:
        forces, rates = HOMOTOPY_STARTS[(turn - 1) % len(HOMOTOPY_STARTS)]
        fill_start(rows, polygon, search, interior, forces, rates)
        most = min(MAX_SYSTEMS, max(MIN_SYSTEMS, system_budget(rows, search, TURN_WORK)))
        systems, least = solve_homotopy(rows, polygon, search, interior, near, 0.0, most)
    # The polish; each round is judged.
    for most in POLISH_ROUNDS:
        if least == math.inf:
            break
        more, misfit = polish(rows, polygon, search, near, least, most)
        systems += more
        store_forces(rows, polygon, search, answer.z)
        solved = accept_or_keep_best(case, answer, search.contacts.diagonal, search.loads)
        if solved or (most > 0 and misfit > POLISH_PROGRESS * least):
            break
        least = min(misfit, least)
    return systems


@kernel(inner=True)
def try_proximal_point(
    case: IslandProblem, answer: IslandSolution, polygon: FrictionCone, search: SolverState, turn: int
) -> int:
    """Run PROXIMAL_POINT from the best forces so far, and polish; return the number of systems solved.

    The state has the new forces. ``turn`` selects the compliance of the points.
    """
    # memory of the path, and the best forces
    rows = case.rows
    n, nv = search.contacts.p.shape[0], search.v.shape[0]
    shifted = pwl_path_views(n, nv, search.memory)
    near = proximal_state_views(n, nv, search.memory[pwl_path_float_size(n, nv) :])
    load_forces(rows, polygon, search, answer.best_z)
    # compliance and limits: larger if the best forces are far from a solution
    far = answer.state[BEST_RESIDUAL] > FAR_VIOLATION
    eps = (FAR_COMPLIANCES if far else NEAR_COMPLIANCES)[turn % len(NEAR_COMPLIANCES)] * range_of_responses(
        rows, search
    )[0]
    pieces = FAR_PIECES + rows.nc if far else NEAR_PIECES + rows.nc // 2
    most = min(MAX_SYSTEMS, max(MIN_SYSTEMS, system_budget(rows, search, TURN_WORK)))
    # proximal points along paths, and the polish
    systems = solve_proximal_pwl(rows, polygon, search, shifted, near, eps, min(pieces, most), most)
    copy_rows(search.contacts.p, near.best)
    more, _ = polish(rows, polygon, search, near, natural_residual(rows, polygon, search), 0)
    return systems + more
