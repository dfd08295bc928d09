"""Forces of the step before that are held: whether they are those selected still, told without a system solved.

Contacts that give way by eps, all alike, have p = P(-(J v_eps + k) / eps), and rates s = J v+ + k where none does:
forces are those selected where they are P(J y - s / eps) for any motion y of the bodies, and they are as far from those
as p is from that at most. With the y of the step before, the ``spread``, that is known of bodies at rest, or that slide
along one edge of the friction polygon, at the cost of a few products.
"""

from __future__ import annotations

import math
from typing import Final

from lcp.contacts.kernels.active_set import STEPS_AT_ONCE, settle
from lcp.contacts.kernels.boxed_rows import first_limit
from lcp.contacts.kernels.contact_modes import ALONG
from lcp.contacts.kernels.contact_response import THREE, Polygon, force_of, mode_of, rates_of
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.elimination import solve_panels
from lcp.contacts.kernels.judging import OF_CHANGE, Answer, Case, count_rows, judge
from lcp.contacts.kernels.mode_system import push
from lcp.contacts.kernels.proximal_points import choose, harden
from lcp.contacts.kernels.rigid_forces import MANY_POINTS
from lcp.contacts.kernels.search import (
    Search,
    as_before,
    copy_rows,
    forces_of,
    give_forces,
    recover_velocity,
    search_own,
    stay_near,
    take_forces,
)
from lcp.contacts.kernels.selection import SELECTED_WITHIN, end_of_branch, lay_out_kept
from lcp.contacts.kernels.spans import dot_of_row
from lcp.contacts.kernels.ways import beyond_search, loads_at
from lcp.kernels import Floats, kernel
from lcp.kernels.residuals import is_solved

# Forces that solve the problem, and are this part of the largest from those selected, are those.
KEPT: Final = 1e-5
# Part of that within which they are without a look at what the contacts' compliance makes of it.
SURELY: Final = 0.1
# Where they have drifted off that by this much at most, the part of the way to forces found anew that they go.
DRIFT: Final = 8.0
TAKEN_BACK: Final = 0.25
# The compliance of `closest_at_once`, in the branch's end.
CLOSEST: Final = 1e-4
# A slip is one along an edge where it is so much faster than contacts give way, and turned by this either way.
FAST: Final = 1e3
TURNED: Final = 1e-3
# Newton's steps to the spread of the forces of z0.
CORRECTIONS: Final = 2


@kernel(inner=True)
def with_own(case: Case, own: Floats) -> Case:
    """The case with J_i Y_i of its rows, which all that follows asks for, in ``own``."""
    r = case.rows
    for i in range(own.shape[0]):
        own[i] = dot_of_row(r, i, r.J[i], r.Y[i])
    rows = ContactSystem(
        r.h, r.nc, r.nr, r.nl, r.nb, r.r, r.mu, r.cone_contacts, r.J, r.Y, r.k, r.gamma, r.gammaE, r.lo, r.hi,
        r.v_free, r.Mv, r.spans, own, r.J_entries, r.Y_entries, r.offsets,
    )  # fmt: skip
    return Case(
        rows, case.starts, case.selected, case.warm, case.exact, case.allowed, case.z0, case.tolerance, case.posed
    )


@kernel(inner=True)
def note_spread(case: Case, answer: Answer, polygon: Polygon, search: Search, eps: float) -> None:
    """Keep y of `still_selected`: (v+ - v_eps) / eps, and what that lacks of the forces in z0.

    The matrix of the modes is 1 + h Y' J / eps, and factored: near enough for corrections.
    """
    rows, y, contacts, x = case.rows, answer.spread, search.contacts, search.trial
    nv = y.shape[0]
    if nv == 0 or case.exact or rows.r.shape[0] != rows.nc or rows.nl + rows.lo.shape[0] > 0:
        return
    for p in range(nv):
        y[p] = (answer.v_plus[p] - search.v[p]) / eps
    for _ in range(CORRECTIONS):
        for p in range(nv):
            x[p] = 0.0
        for c in range(rows.nc):
            rates_of(rows, polygon, c, y, 0.0, contacts.s[c])
            forces_of(rows, polygon, c, case.z0, contacts.p[c])
            for i in range(THREE):
                contacts.p[c, i] = (contacts.p[c, i] - contacts.s[c, i]) / eps
            p0, p1, p2 = contacts.p[c, 0], contacts.p[c, 1], contacts.p[c, 2]
            force_of(polygon, rows.mu[c], contacts.mode[c], p0, p1, p2, contacts.p[c])
            push(rows, polygon, c, contacts.p[c], x)
        solve_panels(search.trees, search.K, x)
        for p in range(nv):
            y[p] += x[p]


@kernel(inner=True)
def slides_along(rows: ContactSystem, polygon: Polygon, c: int, eps: float, p: Floats, s: Floats) -> bool:
    """Whether contact c slides at rates s (3,) so that its force p (3,) is at a corner, wherever it gives way."""
    bound = rows.mu[c] * p[0]
    if math.sqrt(s[1] * s[1] + s[2] * s[2]) <= FAST * eps * bound:
        return False
    far = -1.0 / eps
    mode = mode_of(polygon, rows.mu[c], c, p[0], far * (s[1] - TURNED * s[2]), far * (s[2] + TURNED * s[1]))
    if mode != mode_of(polygon, rows.mu[c], c, p[0], far * (s[1] + TURNED * s[2]), far * (s[2] - TURNED * s[1])):
        return False
    if mode < ALONG or (mode - ALONG) % 2 == 1:
        return False
    corner = polygon.turns[(mode - ALONG) // 2]
    return max(abs(p[1] - bound * corner[0]), abs(p[2] - bound * corner[1])) <= SURELY * KEPT * bound


@kernel(inner=True)
def still_selected(case: Case, answer: Answer, polygon: Polygon, search: Search) -> bool:
    """Whether forces of z0 that solve the problem, of contacts alone, are surely those selected.

    Who finds so counts the one system that it stands for: records do not tell where a run was resumed.
    """
    rows, y = case.rows, answer.spread
    p, s, rates = search.shift, search.change, search.contacts.s[0]
    if y.shape[0] == 0 or case.exact or polygon.r < 1:
        return False
    if rows.r.shape[0] != rows.nc or rows.nl + rows.lo.shape[0] > 0:
        return False
    largest = 0.0
    for c in range(rows.nc):
        largest = max(largest, case.z0[c])
    eps = CLOSEST * end_of_branch(rows, search)
    off = 0.0
    for c in range(rows.nc):
        first = polygon.first[c]
        spent = 0.0
        for i in range(first, first + rows.r[c]):
            spent += max(case.z0[i], 0.0) + max(case.z0[i + rows.nr], 0.0)
        forces_of(rows, polygon, c, case.z0, p)
        if rows.gamma[c] > 0.0:
            return False
        rates_of(rows, polygon, c, y, 0.0, s)
        if min(p[0], rows.mu[c] * p[0] - spent) > KEPT * largest:
            for i in range(THREE):
                off += (p[i] - s[i]) * (p[i] - s[i])
            continue
        # What is open may come to a force that is no more than rounding; what slides has that of friction with it.
        shift = p[0] - s[0]
        rates_of(rows, polygon, c, answer.v_plus, 1.0, rates)
        if p[0] == 0.0:
            shift = max(0.0, s[0] - max(rates[0], 0.0) / eps)
        elif p[0] <= KEPT * largest or not slides_along(rows, polygon, c, eps, p, rates):
            return False
        off += (1.0 + rows.mu[c] * rows.mu[c]) * shift * shift
    return math.sqrt(off) <= SURELY * KEPT * largest


@kernel(inner=True)
def closest_at_once(case: Case, answer: Answer, polygon: Polygon, search: Search, wf: Floats) -> tuple[bool, int]:
    """In the modes of the forces before to a compliance four decades below the branch's end, in one step.

    Whether the forces of z0, which solve the problem, are those that it leads to; and systems, 0 where nothing came of
    it and the search is as it was. So it is of bodies whose gaps contradict one another by their rounding.
    """
    rows, contacts = case.rows, search.contacts
    if not case.warm or search.joined.p.shape[0] > 0:
        return False, 0
    kept = lay_out_kept(rows.r.shape[0], 0, beyond_search(rows, search, wf))
    copy_rows(contacts.p, kept.fixed)
    take_forces(rows, polygon, search, case.z0)
    recover_velocity(rows, polygon, search)
    choose(rows, polygon, search, 0.0, 1.0)
    eps = CLOSEST * end_of_branch(rows, search)
    systems = settle(rows, polygon, search, eps, STEPS_AT_ONCE)
    if systems > 0:
        copy_rows(contacts.p, kept.moving)
        held = answer.state[OF_CHANGE] == 0.0 and as_before(rows, polygon, search, case.z0, KEPT)
        if held:
            for i in range(answer.z.shape[0]):
                answer.z[i] = max(case.z0[i], 0.0)
        else:
            systems += harden(rows, polygon, search, eps, MANY_POINTS)
            give_forces(rows, polygon, search, answer.z)
        near = held or stay_near(search, kept.moving, SELECTED_WITHIN)
        if near and judge(case, answer, search_own(rows, wf), loads_at(rows, wf)):
            if held:
                note_spread(case, answer, polygon, search, eps)
            return held, systems
    copy_rows(kept.fixed, contacts.p)
    return False, 0


@kernel(inner=True)
def needs_no_force(rows: ContactSystem, q: Floats, loads: Floats) -> bool:
    """Whether nothing approaches by more than rounding: what that would press is none."""
    if rows.lo.shape[0] > 0:
        return False
    blurs = loads[count_rows(rows) :]
    limit = first_limit(rows)
    least = 0.0
    for c in range(rows.nc):
        least = min(least, q[c] + blurs[c])
    for i in range(rows.nl):
        least = min(least, q[limit + i] + blurs[rows.nc + rows.nr + i])
    return least >= 0.0


@kernel(inner=True)
def share_of_change(measures: Floats, limit: float) -> float:
    """How much of the change from z0, which has these measures, to forces found anew is to be made.

    0 where z0 solves the problem, within the strict limit, and 1 where it does not. Between the two are speeds of which
    rounding is all there is, that have grown while forces were held. Forces that stop them at once do the same again
    where they are held, and so turn them round: bodies at rest would be solved for in every other step.
    """
    if is_solved(measures, limit):
        return 0.0
    return TAKEN_BACK if is_solved(measures, DRIFT * limit) else 1.0


@kernel(inner=True)
def harden_before(case: Case, polygon: Polygon, search: Search) -> int:
    """Move the forces of z0 to those next to them that solve the problem, by proximal points; systems formed."""
    take_forces(case.rows, polygon, search, case.z0)
    return harden(case.rows, polygon, search, 0.0, MANY_POINTS)
