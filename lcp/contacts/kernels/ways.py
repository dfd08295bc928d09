"""Memory of the strategies for an island's forces, and how each is begun: see `attempts`."""

from __future__ import annotations

import math
from typing import Final

from lcp.compiler.views import rows_at
from lcp.contacts.kernels.active_set import STEPS_AT_ONCE, descend, keep_joints, settle
from lcp.contacts.kernels.block_gauss_seidel import sweep
from lcp.contacts.kernels.boxed_rows import boxed_variables, first_limit
from lcp.contacts.kernels.complementary_pairs import begin, interior_floats, lay_out_interior, push_inside
from lcp.contacts.kernels.contact_response import THREE, Polygon
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.elimination import factor_work
from lcp.contacts.kernels.interior_point import CURVES, descend_centrally, finish, follow_curve
from lcp.contacts.kernels.judging import NEAREST, Answer, Case, count_rows, judge, loads_size
from lcp.contacts.kernels.katzenelson import lay_out_shifted, shifted_floats
from lcp.contacts.kernels.packed_rows import packed_floats, packed_ints, packed_rows
from lcp.contacts.kernels.proximal_lines import approach_along_lines
from lcp.contacts.kernels.proximal_newton import approach_floats, lay_out_approach, natural_misfit, note_forces
from lcp.contacts.kernels.proximal_points import choose
from lcp.contacts.kernels.rest import rest_floats
from lcp.contacts.kernels.search import (
    UNKNOWN,
    Search,
    give_forces,
    polygon_of,
    recover_velocity,
    search_floats,
    search_own,
    take_forces,
)
from lcp.contacts.kernels.selection import STEPS, Kept, Reached, along_branch, end_of_branch, kept_floats, lay_out_kept
from lcp.kernels import Floats, Ints, kernel

# Gauss-Seidel sweeps to forces near the equal-compliance ones.
MANY_SWEEPS: Final = 20
# Sweeps at a soft compliance, and that compliance, in the largest response of a contact. Of 153 islands of spheres in
# impact 149 reach the branch's end from there, in 10 systems; at a tenth of it 102 do, at ten times it 151 in 15.
SOFT_SWEEPS: Final = 40
SOFT: Final = 1e-2
# Compliance of the first path of the interior point, in the branch's end; the fraction of its own response with which
# a rate shows a mode at the end of that path.
SOFTER: Final = 1e3
SHOWN: Final = 1e-5
# Work of one curve and of all strategies together, in products: a system costs its factors, and this for a contact.
WORK: Final = 6e8
ALL_WORK: Final = 8e9
WORK_OF_CONTACT: Final = 4e3
# Systems of one curve, at least and at most; of the rounds of its polish, each of which is judged. The rounds end
# when one leaves more than this fraction of the misfit.
LEAST_SYSTEMS: Final = 300
MOST_SYSTEMS: Final = 600
ROUNDS: Final = (0, 20, 40, 80, 160)
WORSE: Final = 0.9
# Compliances of the proximal points of POINTS, by the least response of a contact, from forces that are near and from
# those that are not: off by this part of a condition's scale. Pieces of their lines, beside one for each contact, or
# for every other one where forces are near.
NEAR_COMPLIANCES: Final = (1e-4, 1e-3, 1e-5)
FAR_COMPLIANCES: Final = (1e-1, 1e-2, 1e-3)
FAR: Final = 1e-4
NEAR_PIECES: Final = 100
FAR_PIECES: Final = 1000


@kernel
def attempt_floats(nc: int, ncone: int, nr: int, nj: int, nv: int) -> int:
    """Length of the float workspace, of ncone cones of contacts and of moments; nj rows [L; B]."""
    first = search_floats(ncone, nc + nr, nj, nv) + kept_floats(ncone, nj)
    packed = packed_floats(nc + nr + nj)
    later = approach_floats(ncone, nj, nv)
    later += max(interior_floats(ncone, nj, 2 * -(-nr // max(nc, 1))), shifted_floats(ncone, nj, nv))
    later = max(later, rest_floats(nc, nc + nr, nc + 2 * nr + ncone))
    m = nc + nr + nj
    # `few_contacts` has a matrix of its own.
    few = THREE * nc * nv if THREE * nc <= nv else 0
    return first + packed + later + few + m + loads_size(m, nc + 2 * nr + ncone + 2 * nj) + 2 * (2 * nr + 1)


@kernel(inline=True)
def polygon_at(rows: ContactSystem, exact: bool, wf: Floats, wi: Ints) -> Polygon:
    """The cones' edges, at the end of the workspace."""
    at = wf.shape[0] - 2 * (2 * rows.nr + 1)
    return polygon_of(rows, exact, rows_at(wf, at, 2 * rows.nr + 1, 2), wf, wi)


@kernel(inline=True)
def loads_at(rows: ContactSystem, wf: Floats) -> Floats:
    """Where the workspace has rates of the rows, their rounding, and the scales of the LCP's rows."""
    size = loads_size(count_rows(rows), count_variables(rows))
    at = wf.shape[0] - 2 * (2 * rows.nr + 1) - size
    return wf[at : at + size]


@kernel(inline=True)
def own_at(rows: ContactSystem, wf: Floats) -> Floats:
    """Where the workspace has J_i Y_i of the rows."""
    m = count_rows(rows)
    at = wf.shape[0] - 2 * (2 * rows.nr + 1) - loads_size(m, count_variables(rows)) - m
    return wf[at : at + m]


@kernel(inner=True)
def packed_case(case: Case, wf: Floats, wi: Ints, fill: bool) -> Case:
    """Return the case with its rows packed; the workspaces are filled already if ``fill`` is False."""
    rows = case.rows
    m = count_rows(rows)
    at = wf.shape[0] - 2 * (2 * rows.nr + 1) - loads_size(m, count_variables(rows)) - m - packed_floats(m)
    rows = packed_rows(rows, wf[at : at + packed_floats(m)], wi[wi.shape[0] - packed_ints(m) :], fill)
    return Case(
        rows, case.starts, case.selected, case.warm, case.exact, case.allowed, case.z0, case.tolerance, case.posed
    )


@kernel(inline=True)
def count_variables(rows: ContactSystem) -> int:
    """Number of the variables of the rows' LCP."""
    xs, ys = boxed_variables(rows.lo, rows.hi)
    return first_limit(rows) + rows.nl + xs + ys


@kernel(inline=True)
def beyond_search(rows: ContactSystem, search: Search, wf: Floats) -> Floats:
    """The workspace after the search's."""
    ncone, nj = rows.r.shape[0], search.joined.p.shape[0]
    return wf[search_floats(ncone, rows.nc + rows.nr, nj, rows.v_free.shape[0]) :]


@kernel(inner=True)
def forget_forces(search: Search) -> None:
    """Begin with no force of contacts, and with those before of rows of joints."""
    for c in range(search.contacts.mode.shape[0]):
        search.contacts.mode[c] = UNKNOWN
        for i in range(THREE):
            search.contacts.p[c, i] = 0.0
    for i in range(search.joined.p.shape[0]):
        search.joined.p[i] = search.joined.base[i]


@kernel(inner=True)
def try_modes(rows: ContactSystem, polygon: Polygon, search: Search) -> Reached:
    """ACTIVE_SET: the branch's end from the modes of the forces before, those in the search."""
    end = end_of_branch(rows, search)
    recover_velocity(rows, polygon, search)
    choose(rows, polygon, search, 0.0, 1.0)
    solved = settle(rows, polygon, search, end, STEPS_AT_ONCE)
    return Reached(end if solved > 0 else 0.0, solved)


@kernel(inner=True)
def try_sweeps(case: Case, polygon: Polygon, search: Search) -> Reached:
    """ACTIVE_SET: the branch's end from the modes that Gauss-Seidel sweeps show."""
    rows, end = case.rows, end_of_branch(case.rows, search)
    if case.warm:
        take_forces(rows, polygon, search, case.z0)
    else:
        forget_forces(search)
    recover_velocity(rows, polygon, search)
    for _ in range(MANY_SWEEPS):
        sweep(rows, polygon, search, end)
    recover_velocity(rows, polygon, search)
    for i in range(search.joined.p.shape[0]):
        search.joined.base[i] = search.joined.p[i]
    choose(rows, polygon, search, end, 1.0)
    solved = settle(rows, polygon, search, end, STEPS)
    return Reached(end if solved > 0 else 0.0, solved)


@kernel(inner=True)
def to_end(rows: ContactSystem, polygon: Polygon, search: Search, kept: Kept, eps: float, end: float) -> Reached:
    """Reduce the compliance from eps, for which the search shows modes, to the branch's end."""
    steps = descend(rows, polygon, search, eps, STEPS)
    if steps < 0:
        return Reached(0.0, STEPS)
    reached = along_branch(rows, polygon, search, kept, eps, end)
    steps += reached.systems
    if reached.eps != end:
        return Reached(0.0, steps)
    more = keep_joints(rows, polygon, search, end)
    return Reached(end if more >= 0 else 0.0, steps + max(more, 0))


@kernel(inner=True)
def try_soft_sweeps(case: Case, polygon: Polygon, search: Search, wf: Floats) -> Reached:
    """ACTIVE_SET: the branch's end by ever smaller compliances, from the modes that sweeps show at a soft one."""
    rows, end = case.rows, end_of_branch(case.rows, search)
    ncone, nj = rows.r.shape[0], search.joined.p.shape[0]
    kept = lay_out_kept(ncone, nj, beyond_search(rows, search, wf))
    largest = 0.0
    for c in range(rows.nc):
        largest = max(largest, search.contacts.own[c])
    soft = SOFT * largest
    # Sweeps from the forces of the step before.
    if case.warm:
        take_forces(rows, polygon, search, case.z0)
    else:
        forget_forces(search)
    recover_velocity(rows, polygon, search)
    for _ in range(SOFT_SWEEPS):
        sweep(rows, polygon, search, soft)
    recover_velocity(rows, polygon, search)
    for i in range(nj):
        search.joined.base[i] = search.joined.p[i]
    # From their modes to the end.
    choose(rows, polygon, search, soft, 1.0)
    return to_end(rows, polygon, search, kept, soft, end)


@kernel(inner=True)
def try_softest(rows: ContactSystem, polygon: Polygon, search: Search, wf: Floats) -> Reached:
    """ACTIVE_SET: the branch's end by ever smaller compliances, from that of the largest response."""
    ncone, nj = rows.r.shape[0], search.joined.p.shape[0]
    kept = lay_out_kept(ncone, nj, beyond_search(rows, search, wf))
    end, largest = end_of_branch(rows, search), 0.0
    for c in range(rows.nc):
        largest = max(largest, search.contacts.own[c])
    for i in range(nj):
        search.joined.base[i] = min(max(0.0, search.joined.lo[i]), search.joined.hi[i])
    forget_forces(search)
    recover_velocity(rows, polygon, search)
    choose(rows, polygon, search, largest, 1.0)
    return to_end(rows, polygon, search, kept, largest, end)


@kernel(inner=True)
def systems_for(rows: ContactSystem, search: Search, work: float) -> int:
    """How many systems of an island are as much work."""
    return int(work / (factor_work(search.trees) + WORK_OF_CONTACT * rows.nc))


@kernel(inner=True)
def select_centrally(case: Case, polygon: Polygon, search: Search, wf: Floats) -> Reached:
    """INTERIOR_POINT, first turn: the branch's end by way of a softer one, whose modes Mehrotra's method shows."""
    rows = case.rows
    end = end_of_branch(rows, search)
    eps = SOFTER * end
    ncone, nj, nv = rows.r.shape[0], search.joined.p.shape[0], rows.v_free.shape[0]
    memory = beyond_search(rows, search, wf)
    kept = lay_out_kept(ncone, nj, memory)
    memory = memory[kept_floats(ncone, nj) :]
    near = lay_out_approach(ncone, nj, nv, memory)
    interior = lay_out_interior(polygon, search, False, memory[approach_floats(ncone, nj, nv) :])
    if case.warm:
        take_forces(rows, polygon, search, case.z0)
        recover_velocity(rows, polygon, search)
    unit = begin(rows, polygon, search, interior, 1.0, 1.0)
    if case.warm:
        push_inside(rows, search, interior)
    systems, _ = descend_centrally(rows, polygon, search, interior, near, eps, unit)
    for i in range(nj):
        search.joined.base[i] = search.joined.p[i]
    choose(rows, polygon, search, eps, SHOWN)
    reached = to_end(rows, polygon, search, kept, eps, end)
    return Reached(reached.eps, systems + reached.systems)


@kernel(inner=True)
def try_interior(case: Case, answer: Answer, polygon: Polygon, search: Search, turn: int, wf: Floats) -> int:
    """INTERIOR_POINT: any forces, by Mehrotra's method in turn 0, by the homotopy from other starts in later ones."""
    rows = case.rows
    ncone, nj, nv = rows.r.shape[0], search.joined.p.shape[0], rows.v_free.shape[0]
    memory = beyond_search(rows, search, wf)[kept_floats(ncone, nj) :]
    near = lay_out_approach(ncone, nj, nv, memory)
    interior = lay_out_interior(polygon, search, polygon.exact and turn > 0, memory[approach_floats(ncone, nj, nv) :])
    if turn == 0:
        unit = begin(rows, polygon, search, interior, 1.0, 1.0)
        systems, least = descend_centrally(rows, polygon, search, interior, near, 0.0, unit)
    else:
        forces, rates = CURVES[(turn - 1) % len(CURVES)]
        begin(rows, polygon, search, interior, forces, rates)
        most = min(MOST_SYSTEMS, max(LEAST_SYSTEMS, systems_for(rows, search, WORK)))
        systems, least = follow_curve(rows, polygon, search, interior, near, 0.0, most)
    # The polish, each round of which is judged.
    for most in ROUNDS:
        if least == math.inf:
            break
        more, misfit = finish(rows, polygon, search, near, least, most)
        systems += more
        give_forces(rows, polygon, search, answer.z)
        solved = judge(case, answer, search_own(rows, wf), loads_at(rows, wf))
        if solved or (most > 0 and misfit > WORSE * least):
            break
        least = min(misfit, least)
    return systems


@kernel(inner=True)
def try_points(case: Case, answer: Answer, polygon: Polygon, search: Search, turn: int, wf: Floats) -> int:
    """POINTS: any forces, from the best so far, by proximal points along lines; systems."""
    rows = case.rows
    ncone, nj, nv = rows.r.shape[0], search.joined.p.shape[0], rows.v_free.shape[0]
    memory = beyond_search(rows, search, wf)
    shifted = lay_out_shifted(ncone, nj, nv, memory)
    near = lay_out_approach(ncone, nj, nv, memory[shifted_floats(ncone, nj, nv) :])
    take_forces(rows, polygon, search, answer.best)
    least = math.inf
    for c in range(rows.nc):
        least = min(least, search.contacts.own[c])
    far = answer.state[NEAREST] > FAR
    eps = (FAR_COMPLIANCES if far else NEAR_COMPLIANCES)[turn % len(NEAR_COMPLIANCES)] * least
    pieces = FAR_PIECES + rows.nc if far else NEAR_PIECES + rows.nc // 2
    most = min(MOST_SYSTEMS, max(LEAST_SYSTEMS, systems_for(rows, search, WORK)))
    systems = approach_along_lines(rows, polygon, search, shifted, near, eps, min(pieces, most), most)
    note_forces(search, near.best, near.joined[1])
    more, _ = finish(rows, polygon, search, near, natural_misfit(rows, polygon, search), 0)
    return systems + more
