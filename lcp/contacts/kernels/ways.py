"""The ways of the attempts at an island's forces, one function for each, and the workspace that they share.

Each begins with what is in the search (forces of the step before, the branch's end) and leaves forces there; `attempts`
says when which is made, and whether its forces solve the problem.
"""

from __future__ import annotations

import math
from typing import Final

from lcp.compiler.views import rows_at
from lcp.contacts.kernels.active_set import STEPS_AT_ONCE, keep_joints, settle
from lcp.contacts.kernels.block_gauss_seidel import sweep
from lcp.contacts.kernels.boxed_rows import boxed_variables, first_limit
from lcp.contacts.kernels.central_path import cones_by_path, lay_out_path, path_floats, select_by_path
from lcp.contacts.kernels.contact_response import THREE, Polygon
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.convex_points import convex_floats, follow_shifts, lay_out_convex
from lcp.contacts.kernels.elimination import factor_work
from lcp.contacts.kernels.judging import (
    LEFT,
    MISFIT,
    NEAREST,
    REACHED,
    Answer,
    Case,
    count_rows,
    loads_size,
)
from lcp.contacts.kernels.katzenelson import Shifted, follow_line, lay_out_shifted, shifted_floats
from lcp.contacts.kernels.line_beginnings import begin_at_forces
from lcp.contacts.kernels.proximal_lines import approach_along_lines
from lcp.contacts.kernels.proximal_newton import (
    Approach,
    approach,
    approach_floats,
    lay_out_approach,
    natural_misfit,
    note_forces,
    put_forces,
)
from lcp.contacts.kernels.proximal_points import choose, harden
from lcp.contacts.kernels.rigid_forces import DECADE, FEW_POINTS, to_rigid
from lcp.contacts.kernels.search import (
    UNKNOWN,
    Search,
    copy_rows,
    forces_of,
    polygon_of,
    recover_velocity,
    search_floats,
    take_forces,
)
from lcp.contacts.kernels.selection import (
    NEEDS_LINE,
    STEPS,
    Reached,
    along_branch,
    as_before_step,
    end_of_branch,
)
from lcp.kernels import Floats, Ints, kernel

# From the end of the branch it is followed closer, a decade at a time, in so many turns with Newton's behind them; the
# misfit, in parts of the speed, at which proximal points have arrived.
CLOSER_TURNS: Final = 5
CLOSE: Final = 1e-12
# Sweeps to forces near those selected, and Newton's steps from the modes that they show.
MANY_SWEEPS: Final = 20
# Systems of the proximal points behind CLOSER, and those after which no decade is begun, beside one for each contact;
# compliances of paths in that of the branch's end.
SYSTEMS: Final = 80
SOFTER: Final = (10.0, 1e4)
# Weights of the proximal points of SHIFTS, one after the other, and the misfit that ends them.
WEIGHTS: Final = (1e3, 1e4, 1e2)
ENOUGH: Final = 1e-12
# Work of one turn of SHIFTS or POINTS, or of PATH with cones, and of all later turns together, in products: a system
# costs what its factors do, and so many products for a contact. Systems of a turn, where they cost more or less.
WORK: Final = 6e8
ALL_WORK: Final = 8e9
WORK_OF_CONTACT: Final = 4e3
LEAST_SYSTEMS: Final = 300
MOST_SYSTEMS: Final = 3000
# Compliances of the proximal points of POINTS, in the least response of a contact, from forces that are near and from
# those that are not: off by this part of a condition's scale. Pieces of their lines, beside one for each contact, or
# for every other one where forces are near.
NEAR_COMPLIANCES: Final = (1e-4, 1e-3, 1e-5, 1e-2, 3e-4, 3e-5)
FAR_COMPLIANCES: Final = (1e-1, 1e-2, 1e-3, 1.0, 3e-2, 3e-3)
FAR: Final = 1e-4
NEAR_PIECES: Final = 100
FAR_PIECES: Final = 1000


@kernel
def attempt_floats(nc: int, ncone: int, nr: int, nj: int, nv: int) -> int:
    """Length of the float workspace, of ncone cones of contacts and of moments; nj rows [L; B]."""
    first = search_floats(ncone, nc + nr, nj, nv) + shifted_floats(ncone, nj, nv)
    later = path_floats(nc, ncone, nr) + approach_floats(ncone, nj, nv) + convex_floats(ncone, nj)
    m = nc + nr + nj
    return first + later + m + loads_size(m, nc + 2 * nr + ncone + 2 * nj) + 2 * (2 * nr + 1)


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


@kernel(inline=True)
def count_variables(rows: ContactSystem) -> int:
    """Number of the variables of the rows' LCP."""
    xs, ys = boxed_variables(rows.lo, rows.hi)
    return first_limit(rows) + rows.nl + xs + ys


@kernel(inline=True)
def beyond_search(rows: ContactSystem, search: Search, wf: Floats) -> Floats:
    """The workspace behind that of the search."""
    ncone, nj = rows.r.shape[0], search.joined.p.shape[0]
    return wf[search_floats(ncone, rows.nc + rows.nr, nj, rows.v_free.shape[0]) :]


@kernel(inline=True)
def shifted_at(rows: ContactSystem, search: Search, wf: Floats) -> Shifted:
    """Where the workspace has lines and points."""
    ncone, nj = rows.r.shape[0], search.joined.p.shape[0]
    return lay_out_shifted(ncone, nj, rows.v_free.shape[0], beyond_search(rows, search, wf))


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
def settle_along_line(rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, eps: float) -> int:
    """From the contacts' forces in the search, and those of joints before, to forces at eps along a short line.

    For modes of which a few go round in circles; systems solved, or 0.
    """
    if polygon.exact:
        return 0
    for i in range(search.joined.p.shape[0]):
        search.joined.p[i] = search.joined.base[i]
    recover_velocity(rows, polygon, search)
    line = follow_line(rows, polygon, search, shifted, eps, begin_at_forces(rows, polygon, search, shifted, eps))
    if not line.arrived:
        return 0
    more = settle(rows, polygon, search, eps, STEPS)
    return line.systems + more if more > 0 else 0


@kernel(inner=True)
def try_modes(case: Case, polygon: Polygon, search: Search, shifted: Shifted, lines: int | None) -> Reached:
    """MODES: the branch's end by the modes of the forces before, those in the search."""
    rows, end = case.rows, end_of_branch(case.rows, search)
    recover_velocity(rows, polygon, search)
    choose(rows, polygon, search, 0.0, 1.0)
    solved = settle(rows, polygon, search, end, STEPS_AT_ONCE)
    if solved == 0:
        if lines is None:
            return Reached(NEEDS_LINE, 0)
        for c in range(rows.r.shape[0]):
            forces_of(rows, polygon, c, case.z0, search.contacts.p[c])
        solved = settle_along_line(rows, polygon, search, shifted, end)
    return Reached(end if solved > 0 else 0.0, solved)


@kernel(inner=True)
def try_sweeps(case: Case, polygon: Polygon, search: Search, shifted: Shifted) -> Reached:
    """SWEEPS: the branch's end by the modes that sweeps show."""
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
    copy_rows(search.contacts.p, shifted.kept)
    choose(rows, polygon, search, end, 1.0)
    solved = settle(rows, polygon, search, end, STEPS)
    if solved == 0:
        copy_rows(shifted.kept, search.contacts.p)
        solved = settle_along_line(rows, polygon, search, shifted, end)
    return Reached(end if solved > 0 else 0.0, solved)


@kernel(inner=True)
def try_closer(case: Case, answer: Answer, polygon: Polygon, search: Search, turn: int, wf: Floats) -> Reached:
    """CLOSER: where gaps contradict one another by more than contacts give way, to where that opens some of them.

    From the branch's end one decade a turn, and proximal points from there; in the last turn Newton's method from the
    forces that came nearest. The compliance that the branch was followed to is returned, 0 where it goes no further:
    from its end alone forces may have gone to others.
    """
    rows, state = case.rows, answer.state
    ncone, nj, nv = rows.r.shape[0], search.joined.p.shape[0], rows.v_free.shape[0]
    memory = beyond_search(rows, search, wf)
    shifted = lay_out_shifted(ncone, nj, nv, memory)
    at = shifted_floats(ncone, nj, nv) + path_floats(rows.nc, ncone, rows.nr)
    near = lay_out_approach(ncone, nj, nv, memory[at:])
    turn %= CLOSER_TURNS
    if turn == 0:
        state[REACHED], state[LEFT] = end_of_branch(rows, search), SYSTEMS + rows.nc
        state[MISFIT] = natural_misfit(rows, polygon, search)
        note_forces(search, near.best, near.joined[1])
    eps = state[REACHED]
    if turn == CLOSER_TURNS - 1:
        put_forces(search, near.best, near.joined[1])
        solved, _ = approach(rows, polygon, search, near, SYSTEMS)
        return Reached(eps, solved + last_digits(rows, polygon, search, near))
    if state[LEFT] < 0.0 or state[MISFIT] <= CLOSE * search.speed:
        return Reached(0.0, 0)
    copy_rows(shifted.kept, search.contacts.p)
    as_before_step(search)
    reached = along_branch(rows, polygon, search, shifted, eps, DECADE * eps, DECADE * eps, DECADE, 1)
    if reached.eps == eps:
        state[LEFT] = -1.0
        return Reached(0.0, reached.systems)
    solved = reached.systems + max(0, keep_joints(rows, polygon, search, reached.eps))
    solved += to_rigid(rows, polygon, search, shifted, reached.eps, case.tolerance, 1)
    misfit = natural_misfit(rows, polygon, search)
    if misfit < state[MISFIT]:
        state[MISFIT] = misfit
        note_forces(search, near.best, near.joined[1])
    state[REACHED], state[LEFT] = reached.eps, state[LEFT] - solved
    return Reached(reached.eps, solved)


@kernel(inner=True)
def last_digits(rows: ContactSystem, polygon: Polygon, search: Search, near: Approach) -> int:
    """Proximal points of the modes that Newton's method has left, where these come closer; systems formed."""
    before = natural_misfit(rows, polygon, search)
    note_forces(search, near.before, near.joined[0])
    formed = harden(rows, polygon, search, 0.0, FEW_POINTS)
    if not natural_misfit(rows, polygon, search) < before:
        put_forces(search, near.before, near.joined[0])
        recover_velocity(rows, polygon, search)
    return formed


@kernel(inner=True)
def systems_for(rows: ContactSystem, search: Search, work: float) -> int:
    """How many systems of an island are as much work."""
    return int(work / (factor_work(search.trees) + WORK_OF_CONTACT * rows.nc))


@kernel(inner=True)
def systems_of_turn(rows: ContactSystem, search: Search) -> int:
    """How many systems a turn may solve."""
    return min(MOST_SYSTEMS, max(LEAST_SYSTEMS, systems_for(rows, search, WORK)))


@kernel(inline=True)
def finds_any(polygon: Polygon, turn: int) -> bool:
    """Whether a turn of PATH looks for any forces: of exact cones, and after those to the branch."""
    return polygon.exact or turn >= len(SOFTER)


@kernel(inner=True)
def try_path(case: Case, polygon: Polygon, search: Search, turn: int, wf: Floats) -> Reached:
    """PATH: the branch's end by way of a softer one, which an interior point finds; of cones any forces."""
    rows = case.rows
    ncone, nj, nv = rows.r.shape[0], search.joined.p.shape[0], rows.v_free.shape[0]
    memory = beyond_search(rows, search, wf)
    shifted = lay_out_shifted(ncone, nj, nv, memory)
    at = shifted_floats(ncone, nj, nv)
    last = at + path_floats(rows.nc, ncone, rows.nr)
    path = lay_out_path(polygon, search, memory[at:last])
    if finds_any(polygon, turn):
        near = lay_out_approach(ncone, 0, nv, memory[last:])
        solved = cones_by_path(rows, polygon, search, path, near, turn % len(SOFTER), systems_of_turn(rows, search))
        return Reached(0.0, solved + last_digits(rows, polygon, search, near))
    return select_by_path(rows, polygon, search, path, shifted, SOFTER[turn])


@kernel(inner=True)
def try_shifts(case: Case, answer: Answer, polygon: Polygon, search: Search, turn: int, wf: Floats) -> int:
    """SHIFTS: any forces, from the best so far, by convex problems of one of the weights; systems."""
    rows = case.rows
    ncone, nj, nv = rows.r.shape[0], search.joined.p.shape[0], rows.v_free.shape[0]
    at = shifted_floats(ncone, nj, nv) + path_floats(rows.nc, ncone, rows.nr)
    memory = beyond_search(rows, search, wf)[at:]
    near = lay_out_approach(ncone, nj, nv, memory)
    convex = lay_out_convex(ncone, nj, memory[approach_floats(ncone, nj, nv) :])
    forget_forces(search)
    if answer.state[NEAREST] < math.inf:
        take_forces(rows, polygon, search, answer.best)
    elif case.warm:
        take_forces(rows, polygon, search, case.z0)
    rho = WEIGHTS[turn % len(WEIGHTS)]
    solved, _ = follow_shifts(rows, polygon, search, convex, near, systems_of_turn(rows, search), ENOUGH, rho)
    return solved + last_digits(rows, polygon, search, near)


@kernel(inner=True)
def try_points(case: Case, answer: Answer, polygon: Polygon, search: Search, turn: int, wf: Floats) -> int:
    """POINTS: any forces, from the best so far, by proximal points along lines; systems."""
    rows = case.rows
    ncone, nj, nv = rows.r.shape[0], search.joined.p.shape[0], rows.v_free.shape[0]
    memory = beyond_search(rows, search, wf)
    shifted = lay_out_shifted(ncone, nj, nv, memory)
    at = shifted_floats(ncone, nj, nv) + path_floats(rows.nc, ncone, rows.nr)
    near = lay_out_approach(ncone, nj, nv, memory[at:])
    take_forces(rows, polygon, search, answer.best)
    least = math.inf
    for c in range(rows.nc):
        least = min(least, search.contacts.own[c])
    far = answer.state[NEAREST] > FAR
    # The first turn, which is short, is made once more behind PATH.
    eps = (FAR_COMPLIANCES if far else NEAR_COMPLIANCES)[max(turn - 1, 0) % len(NEAR_COMPLIANCES)] * least
    pieces = FAR_PIECES + rows.nc if far else NEAR_PIECES + rows.nc // 2
    most = systems_of_turn(rows, search) if turn > 0 else rows.nc
    solved = approach_along_lines(rows, polygon, search, shifted, near, eps, min(pieces, most), most)
    return solved + last_digits(rows, polygon, search, near)
