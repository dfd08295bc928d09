"""An answer to a step's contact problem without a complementarity solver, in the space of the island's velocities.

Either the forces *selected* (`selection`) or those next to the previous step's; from there proximal points lead to the
rigid problem (`proximal_points`). What is found counts only if it meets the LCP, well within the tolerance and by the
measures that judge every solver; otherwise there is no proposal, and a solver is asked.

The cones are those of the contacts' own sliding, without softness of F and lambda. Neither M nor any product of rows of
two contacts is formed.
"""

from __future__ import annotations

from typing import Final

from contactlab.formulation.kernels.block_gauss_seidel import sweep
from contactlab.formulation.kernels.central_path import lay_out_path, near_by_path, path_floats, select_by_path
from contactlab.formulation.kernels.cone_measures import judge_cones
from contactlab.formulation.kernels.contact_response import Polygon
from contactlab.formulation.kernels.elimination import order_elimination
from contactlab.formulation.kernels.proximal_newton import approach, approach_floats, lay_out_approach
from contactlab.formulation.kernels.proximal_points import harden
from contactlab.formulation.kernels.recover import recover
from contactlab.formulation.kernels.rows import Rows
from contactlab.formulation.kernels.search import (
    Search,
    as_before,
    fill_own,
    give_forces,
    lay_out,
    polygon_of,
    recover_velocity,
    search_floats,
    search_own,
    take_forces,
)
from contactlab.formulation.kernels.selection import end_of_branch, follow, select
from contactlab.formulation.kernels.spans import columns, dot_within
from contactlab.multibody.kernels.views import rows_at
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel
from lcp.kernels.residuals import is_solved, lcp_residuals, row_residuals

# Part of the tolerance that a proposal must meet: so far below it that what is left over adds up to nothing.
STRICTNESS: Final = 1e-5
# The same where contacts of one body contradict one another by the rounding of their gaps, so that no forces do better.
FLOOR: Final = 1e-2
# The same of forces selected: what a solver finds instead is nearer to the letter, and further from the physics.
SELECTED: Final = 0.3
# And of exact cones, whose solvers come no nearer.
ALL: Final = 1.0
# A compliance of more than this part of a contact's own response is none for proximal points to converge with.
SOFT: Final = 1e-4
# Forces that solve the problem, and are this part of the largest from those selected, are those.
KEPT: Final = 1e-5
# From the end of the branch to where it is followed closer.
CLOSER: Final = 1e-3
# Attempts: selected along the branch, and closer; by a central path; not selected, from a path of the rigid problem, or
# another one, and again after sweeps.
BRANCH: Final = 0
FOLLOW: Final = 1
PATH: Final = 2
RIGID: Final = 3
OTHER: Final = 8
ATTEMPTS: Final = 13
MANY_SWEEPS: Final = 300


@kernel
def proposal_floats(nc: int, nr: int, nj: int, nv: int) -> int:
    """Length of the float workspace; nj rows [L; B]."""
    return (
        search_floats(nc, nr, nj, nv) + path_floats(nc, nr) + approach_floats(nc, nv) + 3 * (nc + nr) + 2 * (2 * nr + 1)
    )


@kernel
def contact_forces(
    rows: Rows,
    starts: IntArray,
    selected: bool,
    warm: bool,
    attempt: int,
    keep: bool,
    exact: bool,
    z0: FloatArray,
    wf: FloatArray,
    wi: IntArray,
    z: FloatArray,
) -> int:
    """Look for forces, near z0 or selected, and write them as variables of the LCP; the systems solved, 0 without any.

    Less than 0, and as many, where forces selected were asked for and these are others.

    Parameters
    ----------
    rows
        The problem, [N; F; L; B].
    starts
        (nt + 1,) first velocity of each tree, ascending; one tree where rows have all columns.
    selected, warm
        Whether the forces selected are asked for; whether z0 (n,) may be read.
    attempt
        To select forces: 0 for the first; in the next one the workspaces hold forces selected that do not solve the
        rigid problem: their contacts contradict one another by more than they give way. The branch is followed further,
        to where the contradiction opens some. Later ones follow central paths.
    keep
        z0 solves the LCP, and is to be kept where it is the forces selected: 1 is returned then, and z not written.
    exact
        Whether friction has the exact cone over two tangents; z says its force as those of edges along them.
    wf, wi
        Workspaces, of length `proposal_floats` and `search_ints`; `search_own` of the first is filled.
    z
        (n,) output.
    """
    nc = rows.nc
    search = lay_out(rows, starts, wf, wi)
    at = wf.shape[0] - 2 * (2 * rows.nr + 1)
    polygon = polygon_of(rows, exact, rows_at(wf, at, 2 * rows.nr + 1, 2), wf)
    if polygon.r < 0:
        return 0
    for c in range(nc):
        friction = rows.gammaE[c]
        for i in range(nc + c * polygon.r, nc + (c + 1) * polygon.r):
            friction = max(friction, rows.gamma[i])
        if friction > 0.0 or not search.contacts.own[c] > 0.0:
            return 0
    if attempt == BRANCH:
        order_elimination(search.trees, rows.spans)
    solved = 0
    eps = 0.0
    if attempt == FOLLOW:
        eps = CLOSER * end_of_branch(search)
        solved = follow(rows, polygon, search, eps)
    elif attempt > FOLLOW:
        if polygon.r > 0 and not polygon.exact and search.joined.p.shape[0] == 0:
            solved = without_branch(rows, polygon, search, attempt, wf)
        if attempt >= RIGID:
            give_forces(rows, polygon, search, z)
            return -1 - solved if solved > 0 else 0
        eps = end_of_branch(search)
    else:
        if warm:
            take_forces(rows, polygon, search, z0)
        if selected:
            eps = end_of_branch(search)
            solved = select(rows, polygon, search, warm, z0)
    sign = 1
    if selected:
        if solved == 0:
            if not (exact and warm) or attempt != BRANCH:
                return 0
            # No branch to follow: the forces next to those before, which no solver of cones finds as fast.
            take_forces(rows, polygon, search, z0)
            keep = False
            eps = 0.0
            sign = -1
        if keep and as_before(rows, polygon, search, z0, KEPT):
            return 1
        for c in range(nc):
            if eps > SOFT * search.contacts.own[c]:
                eps = 0.0
    formed = harden(rows, polygon, search, eps)
    give_forces(rows, polygon, search, z)
    return sign * (1 + solved + formed)


@kernel(inner=True)
def without_branch(rows: Rows, polygon: Polygon, search: Search, attempt: int, wf: FloatArray) -> int:
    """Later attempts, on contacts alone; the systems solved, 0 where that failed."""
    nv = rows.v_free.shape[0]
    at = search_floats(rows.nc, rows.nr, 0, nv)
    end = at + path_floats(rows.nc, rows.nr)
    path = lay_out_path(polygon, search, wf[at:end])
    if attempt == PATH:
        return select_by_path(rows, polygon, search, path)
    memory = lay_out_approach(rows.nc, nv, wf[end : end + approach_floats(rows.nc, nv)])
    solved = 0
    if attempt == RIGID:
        solved = near_by_path(rows, polygon, search, path, 0.0, 1.0)
    elif attempt == OTHER:
        solved = near_by_path(rows, polygon, search, path, end_of_branch(search), 0.5)
    else:
        recover_velocity(rows, polygon, search)
        for _ in range(MANY_SWEEPS):
            sweep(rows, polygon, search, 0.0)
    more = approach(rows, polygon, search, memory)
    return solved + more if more > 0 else 0


@kernel(inner=True)
def fill_loads(rows: Rows, q: FloatArray, own: FloatArray, sizes: FloatArray) -> None:
    """Fill q of the LCP, and how large the entries of its rows are; ``own`` are the rows' own responses."""
    nc = rows.nc
    nr = rows.nr
    J = rows.J
    for i in range(nc + nr):
        a, b, c, d = columns(rows.spans, i, J.shape[1])
        rate = dot_within(a, b, c, d, J[i], rows.v_free) + rows.k[i]
        response = own[i]
        q[i] = rate
        if i < nc:
            sizes[i] = response
        else:
            q[i + nr] = -rate
            sizes[i] = max(1.0, response)
            sizes[i + nr] = sizes[i]
    for i in range(nc):
        cone = nc + 2 * nr + i
        q[cone] = 0.0
        sizes[cone] = max(rows.mu[i], rows.gammaE[i], 1.0 if rows.r[i] > 0 else 0.0)


@kernel(inner=True)
def evaluate(
    rows: Rows, own: FloatArray, z: FloatArray, f: FloatArray, v_plus: FloatArray, rate: FloatArray, w: FloatArray
) -> None:
    """Fill f, v+, the rates of the rows, lambda in z, and w from the forces in z."""
    recover(rows, z, f, v_plus)
    nc = rows.nc
    nr = rows.nr
    r = rows.r
    gamma = rows.gamma
    for i in range(nc + nr):
        a, b, c, d = columns(rows.spans, i, v_plus.shape[0])
        rate[i] = dot_within(a, b, c, d, rows.J[i], v_plus) + rows.k[i]
    first = nc
    for c in range(nc):
        w[c] = rate[c] + gamma[c] * z[c]
        last = first + r[c]
        spent = 0.0
        slack = 0.0
        for i in range(first, last):
            spent += z[i] + z[i + nr]
            slack = max(slack, -rate[i] - gamma[i] * z[i], rate[i] - gamma[i] * z[i + nr])
        left = rows.mu[c] * z[c] - spent
        cone = nc + 2 * nr + c
        # The slip speed belongs to a force on its bound; below it a slip is rounding, or no solution.
        speed = slack if r[c] == 0 or left * own[first] <= slack else 0.0
        z[cone] = speed
        w[cone] = left + rows.gammaE[c] * speed
        for i in range(first, last):
            w[i] = rate[i] + gamma[i] * z[i] + speed
            w[i + nr] = -rate[i] + gamma[i] * z[i + nr] + speed
        first = last


@kernel(inner=True)
def judge(
    rows: Rows,
    exact: bool,
    own: FloatArray,
    q: FloatArray,
    sizes: FloatArray,
    z: FloatArray,
    f: FloatArray,
    v_plus: FloatArray,
    rate: FloatArray,
    w: FloatArray,
    tolerance: float,
    measures: FloatArray,
) -> None:
    """Fill the measures of the forces in z, of contacts alone, with what `evaluate` fills."""
    if exact:
        judge_cones(rows, own, z, f, v_plus, tolerance, measures)
        return
    evaluate(rows, own, z, f, v_plus, rate, w)
    row_residuals(q, sizes, z, w, measures)


@kernel
def propose(
    rows: Rows,
    starts: IntArray,
    selected: bool,
    warm: bool,
    exact: bool,
    z0: FloatArray,
    tolerance: float,
    wf: FloatArray,
    wi: IntArray,
    q: FloatArray,
    z: FloatArray,
    w: FloatArray,
    f: FloatArray,
    v_plus: FloatArray,
    measures: FloatArray,
) -> int:
    """Look for a solution of a problem of contacts alone; 0 where none is found, 1 for z0 itself, else 1 and systems.

    With a minus where forces selected were asked for and these are others.

    Parameters
    ----------
    rows, starts, selected, warm, exact, z0, wf, wi
        As of `contact_forces`; z0 is the solution of the previous step, 0 for contacts that are new.
    tolerance
        Of the scaled residual.
    q, z, w, f, v_plus, measures
        Output: the vector of the LCP; its solution, M z + q, the forces of the rows, the velocity, and the measures
        of `lcp.kernels.residuals`. All but q are of no use where nothing is found.
    """
    nc = rows.nc
    m = nc + rows.nr
    n = 2 * m
    at = wf.shape[0] - 2 * (2 * rows.nr + 1) - 3 * m
    rate = wf[at : at + m]
    sizes = wf[at + m : at + m + n]
    own = search_own(rows, wf)
    fill_own(rows, own)
    fill_loads(rows, q, own, sizes)
    keep = False
    if warm:
        for i in range(n):
            z[i] = max(z0[i], 0.0)
        judge(rows, exact, own, q, sizes, z, f, v_plus, rate, w, tolerance, measures)
        keep = is_solved(measures, STRICTNESS * tolerance)
        # The forces of a single contact are unique: there is nothing to select.
        if keep and (nc == 1 or not selected):
            return 1
    if not (warm or selected):
        return 0
    share = (ALL if exact else SELECTED) if selected else FLOOR
    found = 0
    for attempt in range(ATTEMPTS if selected else 1):
        if attempt == FOLLOW and found == 0:
            continue
        keep = keep and attempt == BRANCH
        found = contact_forces(rows, starts, selected, warm, attempt, keep, exact, z0, wf, wi, z)
        if found == 0:
            continue
        if found == 1 and keep:
            return found
        judge(rows, exact, own, q, sizes, z, f, v_plus, rate, w, tolerance, measures)
        if is_solved(measures, share * tolerance):
            return found
    return 0


@kernel(inner=True)
def judge_joints(
    rows: Rows,
    exact: bool,
    M: FloatArray,
    q: FloatArray,
    z: FloatArray,
    w: FloatArray,
    f: FloatArray,
    v_plus: FloatArray,
    wf: FloatArray,
    tolerance: float,
    measures: FloatArray,
) -> None:
    """Fill the measures of the forces in z by the LCP, or by the rows where friction has the exact cone."""
    if exact:
        judge_cones(rows, search_own(rows, wf), z, f, v_plus, tolerance, measures)
    else:
        lcp_residuals(M, q, z, w, measures)


@kernel
def select_with_joints(
    rows: Rows,
    starts: IntArray,
    warm: bool,
    exact: bool,
    z0: FloatArray,
    tolerance: float,
    wf: FloatArray,
    wi: IntArray,
    M: FloatArray,
    q: FloatArray,
    z: FloatArray,
    w: FloatArray,
    f: FloatArray,
    v_plus: FloatArray,
    measures: FloatArray,
) -> int:
    """The forces selected of contacts and rows of joints, as `propose` does it.

    They are judged by the LCP's M and q, with exact cones by the rows. ``f`` (m,) and ``v_plus`` (nv,) are scratch.
    """
    keep = False
    fill_own(rows, search_own(rows, wf))
    if warm:
        for i in range(z.shape[0]):
            z[i] = z0[i]
        judge_joints(rows, exact, M, q, z, w, f, v_plus, wf, tolerance, measures)
        # The rates y of boxed rows, which cones are not judged by, are those of the step before.
        keep = is_solved(measures, STRICTNESS * tolerance) and not (exact and rows.lo.shape[0] > 0)
    for attempt in range(FOLLOW + 1):
        keep = keep and attempt == BRANCH
        found = contact_forces(rows, starts, True, warm, attempt, keep, exact, z0, wf, wi, z)
        if found == 0 or (found == 1 and keep):
            return found
        judge_joints(rows, exact, M, q, z, w, f, v_plus, wf, tolerance, measures)
        if is_solved(measures, (ALL if exact else SELECTED) * tolerance):
            return found
    return 0
