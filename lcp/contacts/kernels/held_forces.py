"""Forces of the step before that are held: whether they are those selected still, told without a system solved.

Sticking contacts that give way by eps, all alike, have p = -(J v_eps + k) / eps, and J v+ + k = 0 where none does:
forces are those selected where they are J y for any motion y of the bodies, and they are as far from those as p - J y
is long at most. With the y of the step before, the ``spread``, that is known of bodies at rest at the cost of a few
products.
"""

from __future__ import annotations

import math
from typing import Final

from lcp.contacts.kernels.boxed_rows import first_limit
from lcp.contacts.kernels.contact_modes import STICK
from lcp.contacts.kernels.contact_response import THREE, Polygon, rates_of
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.elimination import solve_panels
from lcp.contacts.kernels.judging import Answer, Case, count_rows
from lcp.contacts.kernels.mode_system import push
from lcp.contacts.kernels.proximal_points import harden
from lcp.contacts.kernels.search import Search, forces_of, take_forces
from lcp.contacts.kernels.selection import end_of_branch
from lcp.contacts.kernels.spans import dot_of_row
from lcp.contacts.kernels.ways import MANY_POINTS
from lcp.kernels import Floats, kernel
from lcp.kernels.residuals import is_solved

# Forces that solve the problem, and are this part of the largest from those selected, are those.
KEPT: Final = 1e-5
# Part of that within which they are without a look at what the contacts' compliance makes of it.
SURELY: Final = 0.1
# Where they have drifted off that by this much at most, the part of the way to forces found anew that they go.
DRIFT: Final = 8.0
TAKEN_BACK: Final = 0.25
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
        r.v_free, r.Mv, r.spans, own,
    )  # fmt: skip
    return Case(rows, case.starts, case.selected, case.warm, case.exact, case.allowed, case.z0, case.tolerance)


@kernel(inner=True)
def note_spread(case: Case, answer: Answer, polygon: Polygon, search: Search) -> None:
    """Keep y of `still_selected` where all contacts stick: (v+ - v_eps) / eps, and what that lacks of the forces in z0.

    The matrix of the modes is 1 + h Y' J / eps, and factored: near enough for corrections.
    """
    rows, y, contacts, x = case.rows, answer.spread, search.contacts, search.trial
    nv = y.shape[0]
    if nv == 0 or rows.r.shape[0] != rows.nc or rows.nl + rows.lo.shape[0] > 0:
        return
    for c in range(rows.nc):
        if contacts.mode[c] != STICK:
            return
    eps = end_of_branch(rows, search)
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
            push(rows, polygon, c, contacts.p[c], x)
        solve_panels(search.trees, search.K, x)
        for p in range(nv):
            y[p] += x[p]


@kernel(inner=True)
def still_selected(case: Case, answer: Answer, polygon: Polygon, p: Floats, s: Floats) -> bool:
    """Whether forces of z0 that solve the problem, of sticking contacts alone, are surely those selected.

    Who finds so counts the one system that it stands for: records do not tell where a run was resumed. ``p`` and ``s``
    (3,) are scratch.
    """
    rows, y = case.rows, answer.spread
    if y.shape[0] == 0 or case.exact or polygon.r < 1:
        return False
    if rows.r.shape[0] != rows.nc or rows.nl + rows.lo.shape[0] > 0:
        return False
    largest = 0.0
    for c in range(rows.nc):
        largest = max(largest, case.z0[c])
    off = 0.0
    for c in range(rows.nc):
        first = polygon.first[c]
        spent = 0.0
        for i in range(first, first + rows.r[c]):
            spent += max(case.z0[i], 0.0) + max(case.z0[i + rows.nr], 0.0)
        forces_of(rows, polygon, c, case.z0, p)
        room = min(p[0], rows.mu[c] * p[0] - spent)
        if rows.gamma[c] > 0.0 or room <= KEPT * largest:
            return False
        rates_of(rows, polygon, c, y, 0.0, s)
        for i in range(THREE):
            off += (p[i] - s[i]) * (p[i] - s[i])
    return math.sqrt(off) <= SURELY * KEPT * largest


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
