"""An answer to a step's contact problem without a complementarity solver, in the space of the island's velocities.

Either the forces *selected* (`selection`) or those next to the previous step's; from there proximal points lead to the
rigid problem (`proximal_points`). What is found counts only if it meets the LCP, well within the tolerance and by the
measures that judge every solver; otherwise there is no proposal, and a solver is asked.

The cones are those of the contacts' own sliding, without softness of F and lambda. Neither M nor any product of rows of
two contacts is formed.
"""

from __future__ import annotations

from typing import Final

from contactlab.formulation.kernels.active_set import descend, keep_joints
from contactlab.formulation.kernels.boxed_rows import add_anchors, evaluate_boxed, fill_boxed_loads, first_limit
from contactlab.formulation.kernels.central_path import path_floats
from contactlab.formulation.kernels.cone_measures import judge_cones
from contactlab.formulation.kernels.contact_response import Polygon
from contactlab.formulation.kernels.elimination import order_elimination
from contactlab.formulation.kernels.katzenelson import Shifted, lay_out_shifted, shifted_floats
from contactlab.formulation.kernels.proximal_newton import approach_floats
from contactlab.formulation.kernels.proximal_points import choose, harden
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
from contactlab.formulation.kernels.selection import SHRINK, SMALL, STEPS, along_branch, end_of_branch, select
from contactlab.formulation.kernels.spans import columns, dot_within
from contactlab.multibody.kernels.views import rows_at
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel
from lcp.kernels.body_blocks import copy_rows
from lcp.kernels.residuals import is_solved, row_residuals

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
# Points at most; where there are many contacts, whose modes go on changing, Newton's method has more of a chance.
POINTS: Final = 20
FEW_POINTS: Final = 6
# Forces that solve the problem, and are this part of the largest from those selected, are those.
KEPT: Final = 1e-5
# Forces of contacts alone that solve the LCP, and miss the tolerance mechanically, are pivoted from in LCPs of at most
# so many variables: less than a second.
MOST_PIVOTED: Final = 1000
# From the end of the branch to where it is followed closer.
CLOSER: Final = 1e-3
# Attempts: along the branch, and closer where the forces at its end do not solve the rigid problem. The next ones are
# those of `later_attempts`, which most worlds never need: they are compiled when first asked for.
BRANCH: Final = 0
CLOSE: Final = 1
# What `contact_forces` says of problems that are not for it, and `propose` where a later attempt is to be made: this
# less its number.
REFUSED: Final = -1_000_000
LATER: Final = -2_000_000


@kernel
def proposal_floats(nc: int, nr: int, nj: int, nv: int) -> int:
    """Length of the float workspace; nj rows [L; B]."""
    later = path_floats(nc, nr) + approach_floats(nc, nv)
    return search_floats(nc, nr, nj, nv) + shifted_floats(nc, nv) + later + 3 * (nc + nr + nj) + 2 * (2 * nr + 1)


@kernel(inline=True)
def polygon_at(rows: Rows, exact: bool, wf: FloatArray) -> Polygon:
    """The cones' edges, at the end of the workspace."""
    at = wf.shape[0] - 2 * (2 * rows.nr + 1)
    return polygon_of(rows, exact, rows_at(wf, at, 2 * rows.nr + 1, 2), wf)


@kernel(inline=True)
def are_many(rows: Rows, polygon: Polygon, search: Search) -> bool:
    """Whether there are so many contacts, with edges and without joints, that modes go on changing."""
    return rows.nc > SMALL and polygon.r > 0 and not polygon.exact and search.joined.p.shape[0] == 0


@kernel(inner=True)
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

    Less than 0, and as many, where forces selected were asked for and these are others; `REFUSED` where the problem is
    none for this method.

    Parameters
    ----------
    rows
        The problem, [N; F; L; B].
    starts
        (nt + 1,) first velocity of each tree, ascending; one tree where rows have all columns.
    selected, warm
        Whether the forces selected are asked for; whether z0 (n,) may be read.
    attempt
        To select forces: 0 for the first. In the next the workspaces hold forces selected that do not solve the rigid
        problem: their contacts contradict one another by more than they give way. The branch is followed further, to
        where the contradiction opens some.
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
    polygon = polygon_at(rows, exact, wf)
    if polygon.r < 0:
        return REFUSED
    for c in range(nc):
        friction = rows.gammaE[c]
        for i in range(nc + c * polygon.r, nc + (c + 1) * polygon.r):
            friction = max(friction, rows.gamma[i])
        if friction > 0.0 or not search.contacts.own[c] > 0.0:
            return REFUSED
    nv = rows.v_free.shape[0]
    shifted = lay_out_shifted(nc, nv, wf[search_floats(nc, rows.nr, search.joined.p.shape[0], nv) :])
    many = selected and are_many(rows, polygon, search)
    eps = end_of_branch(search) if selected else 0.0
    solved = 0
    if attempt == BRANCH:
        order_elimination(search.trees, rows.spans)
        if warm:
            take_forces(rows, polygon, search, z0)
        if selected:
            solved = select(rows, polygon, search, shifted, warm, z0)
    else:
        solved = go_closer(rows, polygon, search, shifted, eps)
        eps *= CLOSER
    sign = 1
    if selected:
        for c in range(nc):
            search.before[c] = search.contacts.mode[c]
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
    formed = 0
    if many:
        formed = harden_or_keep(rows, polygon, search, shifted, eps, FEW_POINTS)
    else:
        formed = harden(rows, polygon, search, eps, POINTS)
    give_forces(rows, polygon, search, z)
    return sign * (1 + solved + formed)


@kernel(inner=True)
def harden_or_keep(rows: Rows, polygon: Polygon, search: Search, shifted: Shifted, eps: float, most: int) -> int:
    """Proximal points, or the forces of modes before where these solve the rigid problem better; systems formed."""
    contacts = search.contacts
    copy_rows(contacts.p, shifted.fixed)
    recover_velocity(rows, polygon, search)
    _, _, before = choose(rows, polygon, search, 0.0, 1.0)
    copy_rows(shifted.fixed, contacts.p)
    for c in range(rows.nc):
        contacts.mode[c] = search.before[c]
    formed = harden(rows, polygon, search, eps, most)
    copy_rows(contacts.p, shifted.moving)
    recover_velocity(rows, polygon, search)
    _, _, misfit = choose(rows, polygon, search, 0.0, 1.0)
    copy_rows(shifted.moving if misfit <= before else shifted.fixed, contacts.p)
    recover_velocity(rows, polygon, search)
    return formed


@kernel(inner=True)
def go_closer(rows: Rows, polygon: Polygon, search: Search, shifted: Shifted, end: float) -> int:
    """Follow the branch from its end, of modes before, to contacts that give way less; 0 where that failed."""
    joined = search.joined
    for c in range(0 if polygon.exact else rows.nc):
        search.contacts.mode[c] = search.before[c]
    for i in range(joined.p.shape[0]):
        joined.base[i] = joined.p[i]
    solved = descend(rows, polygon, search, end, STEPS)
    if solved < 0:
        return 0
    more = along_branch(rows, polygon, search, shifted, end, CLOSER * end, CLOSER * end, SHRINK)
    if more > 0:
        more = solved + more
        solved = keep_joints(rows, polygon, search, CLOSER * end)
    return solved + more if solved >= 0 and more > 0 else 0


@kernel(inline=True)
def loads_at(rows: Rows, wf: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Where the workspace has the rows' rates (m,), and how large the entries of the LCP's rows are (>= n,)."""
    m = rows.nc + rows.nr + rows.nl + rows.lo.shape[0]
    at = wf.shape[0] - 2 * (2 * rows.nr + 1) - 3 * m
    return wf[at : at + m], wf[at + m : at + 3 * m]


@kernel(inner=True)
def fill_loads(rows: Rows, v: FloatArray, q: FloatArray, own: FloatArray, sizes: FloatArray) -> None:
    """Fill q of the LCP, and how large the entries of its rows are.

    ``v`` (nv,) is the velocity at z = 0, ``own`` are the own responses of the rows [N; F].
    """
    nc = rows.nc
    nr = rows.nr
    J = rows.J
    for i in range(nc + nr):
        a, b, c, d = columns(rows.spans, i, J.shape[1])
        rate = dot_within(a, b, c, d, J[i], v) + rows.k[i]
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
    limit = first_limit(rows)
    for i in range(nc + nr, nc + nr + rows.nl):
        a, b, c, d = columns(rows.spans, i, J.shape[1])
        place = limit + i - nc - nr
        q[place] = dot_within(a, b, c, d, J[i], v) + rows.k[i]
        sizes[place] = rows.h * dot_within(a, b, c, d, J[i], rows.Y[i]) + rows.gamma[i]
    fill_boxed_loads(rows, v, q, sizes)


@kernel(inner=True)
def evaluate(
    rows: Rows, own: FloatArray, z: FloatArray, f: FloatArray, v_plus: FloatArray, rate: FloatArray, w: FloatArray
) -> None:
    """Fill f, v+, the rates of the rows, lambda and the rates of boxed rows in z, and w from the forces in z."""
    recover(rows, z, f, v_plus)
    nc = rows.nc
    nr = rows.nr
    r = rows.r
    gamma = rows.gamma
    for i in range(nc + nr + rows.nl):
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
    limit = first_limit(rows)
    for i in range(rows.nl):
        w[limit + i] = rate[first + i] + gamma[first + i] * z[limit + i]
    evaluate_boxed(rows, f, v_plus, z, w)


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
    """Fill the measures of the forces in z, with what `evaluate` fills."""
    if exact:
        judge_cones(rows, own, z, f, v_plus, tolerance, measures)
        return
    evaluate(rows, own, z, f, v_plus, rate, w)
    row_residuals(q, sizes, z, w, measures)


@kernel(short_loops=True)
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

    With a minus where forces selected were asked for and these are others. `LATER` less the number of an attempt where
    none is found yet: `later_attempts` go on from what is in the workspaces and in q.

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
    n = 2 * (nc + rows.nr)
    rate, sizes = loads_at(rows, wf)
    own = search_own(rows, wf)
    fill_own(rows, own)
    fill_loads(rows, rows.v_free, q, own, sizes)
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
    for attempt in range(CLOSE + 1 if selected else 1):
        keep = keep and attempt == BRANCH
        found = contact_forces(rows, starts, selected, warm, attempt, keep, exact, z0, wf, wi, z)
        if found in (0, REFUSED):
            break
        if found == 1 and keep:
            return found
        judge(rows, exact, own, q, sizes, z, f, v_plus, rate, w, tolerance, measures)
        if is_solved(measures, share * tolerance):
            return found
        if selected and not exact and nc > SMALL and rows.nr > 0:
            # Many: from the end of the branch Newton's method is next, which is one of the others.
            return LATER - CLOSE
    if found == REFUSED or exact or not selected or rows.nr == 0:
        return 0
    return LATER - CLOSE - 1


@kernel(short_loops=True)
def select_with_joints(
    rows: Rows,
    starts: IntArray,
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
    """The forces selected of contacts and rows of joints, with what `propose` is given and fills, and as it does it."""
    rate, sizes = loads_at(rows, wf)
    own = search_own(rows, wf)
    fill_own(rows, own)
    for p in range(v_plus.shape[0]):
        v_plus[p] = rows.v_free[p]
    add_anchors(rows, v_plus)
    fill_loads(rows, v_plus, q, own, sizes)
    keep = False
    if warm:
        for i in range(z.shape[0]):
            z[i] = z0[i]
        judge(rows, exact, own, q, sizes, z, f, v_plus, rate, w, tolerance, measures)
        # The rates y of boxed rows, which cones are not judged by, are those of the step before.
        keep = is_solved(measures, STRICTNESS * tolerance) and not (exact and rows.lo.shape[0] > 0)
    for attempt in range(CLOSE + 1):
        keep = keep and attempt == BRANCH
        found = contact_forces(rows, starts, True, warm, attempt, keep, exact, z0, wf, wi, z)
        if found in (0, REFUSED):
            return 0
        if found == 1 and keep:
            return found
        judge(rows, exact, own, q, sizes, z, f, v_plus, rate, w, tolerance, measures)
        if is_solved(measures, (ALL if exact else SELECTED) * tolerance):
            return found
    return 0
