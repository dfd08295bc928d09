"""The ways of the attempts at an island's forces, one function for each, and the workspace that they share.

Each begins with what is in the search (forces of the step before, the branch's end) and leaves forces there; `attempts`
says when which is made, and whether its forces solve the problem.
"""

from __future__ import annotations

from typing import Final

from lcp.compiler.views import rows_at
from lcp.contacts.kernels.active_set import STEPS_AT_ONCE, descend, keep_joints, settle
from lcp.contacts.kernels.block_gauss_seidel import sweep
from lcp.contacts.kernels.central_path import lay_out_path, path_floats, select_by_path
from lcp.contacts.kernels.contact_response import THREE, Polygon, tangential_response
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.convex_points import convex_floats, follow_shifts, lay_out_convex
from lcp.contacts.kernels.elimination import factor_work
from lcp.contacts.kernels.judging import (
    Case,
    count_rows,
)
from lcp.contacts.kernels.katzenelson import Shifted, lay_out_shifted, shifted_floats
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
from lcp.contacts.kernels.search import (
    UNKNOWN,
    Search,
    polygon_of,
    recover_velocity,
    search_floats,
    take_forces,
)
from lcp.contacts.kernels.selection import (
    SHRINK,
    SMALL,
    STEPS,
    along_branch,
    end_of_branch,
)
from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.body_blocks import copy_rows

# A compliance of more than this part of a contact's own response is none for proximal points to converge with.
SOFT: Final = 1e-4
# Points at most; where there are many contacts, whose modes go on changing, Newton's method has more of a chance.
POINTS: Final = 20
FEW_POINTS: Final = 6
# From the end of the branch to where it is followed closer.
NEARER: Final = 1e-3
# Sweeps to forces near those selected, and Newton's steps from the modes that they show.
MANY_SWEEPS: Final = 20
# Systems of the proximal points behind CLOSER, and compliances of paths in that of the branch's end.
SYSTEMS: Final = 80
SOFTER: Final = (10.0, 1e4)
# Weights of the proximal points of SHIFTS, one after the other, and the misfit that ends them.
WEIGHTS: Final = (1e3, 1e4)
ENOUGH: Final = 1e-12
# Work of SHIFTS on an island, in products: about a second. A system costs what its factors do, and so many products for
# a contact. Systems at most, where there are few contacts.
WORK: Final = 6e9
WORK_OF_CONTACT: Final = 3e3
MOST_SYSTEMS: Final = 8000


@kernel
def attempt_floats(nc: int, ncone: int, nr: int, nj: int, nv: int) -> int:
    """Length of the float workspace, of ncone cones of contacts and of moments; nj rows [L; B]."""
    first = search_floats(ncone, nc + nr, nj, nv) + shifted_floats(ncone, nv)
    later = path_floats(nc, ncone, nr) + approach_floats(ncone, nj, nv) + convex_floats(ncone, nj)
    return first + later + 4 * (nc + nr + nj) + ncone - nc + 2 * (2 * nr + 1)


@kernel(inline=True)
def polygon_at(rows: ContactSystem, exact: bool, wf: Floats, wi: Ints) -> Polygon:
    """The cones' edges, at the end of the workspace."""
    at = wf.shape[0] - 2 * (2 * rows.nr + 1)
    return polygon_of(rows, exact, rows_at(wf, at, 2 * rows.nr + 1, 2), wf, wi)


@kernel(inline=True)
def loads_at(rows: ContactSystem, wf: Floats) -> Floats:
    """Where the workspace has rates of the rows, their rounding and sizes."""
    size = 4 * count_rows(rows) + rows.r.shape[0] - rows.nc
    at = wf.shape[0] - 2 * (2 * rows.nr + 1) - size
    return wf[at : at + size]


@kernel(inline=True)
def beyond_search(rows: ContactSystem, search: Search, wf: Floats) -> Floats:
    """The workspace behind that of the search."""
    ncone, nj = rows.r.shape[0], search.joined.p.shape[0]
    return wf[search_floats(ncone, rows.nc + rows.nr, nj, rows.v_free.shape[0]) :]


@kernel(inline=True)
def are_many(rows: ContactSystem, polygon: Polygon, search: Search) -> bool:
    """Whether there are so many contacts, with edges and without joints, that modes go on changing."""
    return rows.nc > SMALL and polygon.r > 0 and not polygon.exact and search.joined.p.shape[0] == 0


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
def try_modes(case: Case, polygon: Polygon, search: Search) -> int:
    """MODES: the branch's end by the modes of the forces before, those in the search; systems, 0 where not there."""
    rows = case.rows
    recover_velocity(rows, polygon, search)
    choose(rows, polygon, search, 0.0, 1.0)
    return settle(rows, polygon, search, end_of_branch(rows, search), STEPS_AT_ONCE)


@kernel(inner=True)
def try_sweeps(case: Case, polygon: Polygon, search: Search) -> int:
    """SWEEPS: the branch's end by the modes that sweeps show; systems, 0 where not there."""
    rows = case.rows
    end = end_of_branch(rows, search)
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
    return settle(rows, polygon, search, end, STEPS)


@kernel(inner=True)
def to_rigid(case: Case, polygon: Polygon, search: Search, shifted: Shifted) -> int:
    """From the branch's end, whose matrix is factored, to the rigid problem by proximal points; systems formed."""
    rows = case.rows
    eps = end_of_branch(rows, search)
    for c in range(search.before.shape[0]):
        search.before[c] = search.contacts.mode[c]
    for c in range(rows.nc):
        if eps > SOFT * search.contacts.own[c]:
            eps = 0.0
    for c in range(rows.nc, rows.r.shape[0]):
        if eps > SOFT * tangential_response(rows, polygon, search.contacts, c):
            eps = 0.0
    if are_many(rows, polygon, search):
        return harden_or_keep(rows, polygon, search, shifted, eps, FEW_POINTS)
    return harden(rows, polygon, search, eps, POINTS)


@kernel(inner=True)
def harden_or_keep(
    rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, eps: float, most: int
) -> int:
    """Proximal points, or the forces of modes before where these solve the rigid problem better; systems formed."""
    contacts = search.contacts
    copy_rows(contacts.p, shifted.fixed)
    recover_velocity(rows, polygon, search)
    _, _, before = choose(rows, polygon, search, 0.0, 1.0)
    copy_rows(shifted.fixed, contacts.p)
    for c in range(search.before.shape[0]):
        contacts.mode[c] = search.before[c]
    formed = harden(rows, polygon, search, eps, most)
    copy_rows(contacts.p, shifted.moving)
    recover_velocity(rows, polygon, search)
    _, _, misfit = choose(rows, polygon, search, 0.0, 1.0)
    copy_rows(shifted.moving if misfit <= before else shifted.fixed, contacts.p)
    recover_velocity(rows, polygon, search)
    return formed


@kernel(inner=True)
def go_closer(rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted) -> int:
    """Follow the branch from its end, of modes before, to contacts that give way less; 0 where that failed."""
    joined, end = search.joined, end_of_branch(rows, search)
    for c in range(0 if polygon.exact else search.before.shape[0]):
        search.contacts.mode[c] = search.before[c]
    for i in range(joined.p.shape[0]):
        joined.base[i] = joined.p[i]
    solved = descend(rows, polygon, search, end, STEPS)
    if solved < 0:
        return 0
    more = along_branch(rows, polygon, search, shifted, end, NEARER * end, NEARER * end, SHRINK)
    if more > 0:
        more = solved + more
        solved = keep_joints(rows, polygon, search, NEARER * end)
    return solved + more if solved >= 0 and more > 0 else 0


@kernel(inner=True)
def try_closer(case: Case, polygon: Polygon, search: Search, wf: Floats) -> tuple[bool, int]:
    """CLOSER: where gaps contradict one another by more than contacts give way, to where that opens some of them.

    Returns whether the branch was followed there, and systems: from its end alone forces may have gone to others.
    """
    rows = case.rows
    ncone, nj, nv = rows.r.shape[0], search.joined.p.shape[0], rows.v_free.shape[0]
    memory = beyond_search(rows, search, wf)
    shifted = lay_out_shifted(ncone, nv, memory)
    near = lay_out_approach(ncone, nj, nv, memory[shifted_floats(ncone, nv) + path_floats(rows.nc, ncone, rows.nr) :])
    note_forces(search, near.best, near.joined[1])
    solved = go_closer(rows, polygon, search, shifted)
    if solved == 0:
        put_forces(search, near.best, near.joined[1])
    more, _ = approach(rows, polygon, search, near, SYSTEMS)
    more += last_digits(rows, polygon, search, near)
    return solved > 0, solved + more


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
def try_path(case: Case, polygon: Polygon, search: Search, turn: int, wf: Floats) -> int:
    """PATH: the branch's end by way of a softer one, which an interior point finds; systems, 0 where not there."""
    rows = case.rows
    memory = beyond_search(rows, search, wf)
    ncone, nv = rows.r.shape[0], rows.v_free.shape[0]
    shifted = lay_out_shifted(ncone, nv, memory)
    path = lay_out_path(polygon, search, memory[shifted_floats(ncone, nv) :])
    return select_by_path(rows, polygon, search, path, shifted, SOFTER[turn])


@kernel(inner=True)
def try_shifts(case: Case, polygon: Polygon, search: Search, turn: int, wf: Floats) -> int:
    """SHIFTS: any forces, from those before or from none, by proximal points of one of the weights; systems."""
    rows = case.rows
    ncone, nj, nv = rows.r.shape[0], search.joined.p.shape[0], rows.v_free.shape[0]
    at = shifted_floats(ncone, nv) + path_floats(rows.nc, ncone, rows.nr)
    memory = beyond_search(rows, search, wf)[at:]
    near = lay_out_approach(ncone, nj, nv, memory)
    convex = lay_out_convex(ncone, nj, memory[approach_floats(ncone, nj, nv) :])
    forget_forces(search)
    if case.warm:
        take_forces(rows, polygon, search, case.z0)
    most = min(MOST_SYSTEMS, WORK / (factor_work(search.trees) + WORK_OF_CONTACT * ncone))
    solved, _ = follow_shifts(rows, polygon, search, convex, near, int(most / len(WEIGHTS)), ENOUGH, WEIGHTS[turn])
    return solved + last_digits(rows, polygon, search, near)
