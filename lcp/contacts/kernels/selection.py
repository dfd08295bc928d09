"""The forces selected among those of redundant contacts: of contacts that give way, all alike, in the limit of none.

Where contacts are redundant many forces solve the rigid problem, and all but one are an accident of the method. With a
compliance eps of every contact, in every direction, rates s are answered by P(-s / eps) (`contact_response`), and the
velocities solve an equation without redundancy. It is solved for ever smaller eps, or at once from the modes that given
forces show (`active_set`); where the modes of contacts alone do not settle, along a line that passes all changes of
modes one by one (`katzenelson`).
"""

from __future__ import annotations

import math
from typing import Final

from lcp.contacts.kernels.active_set import descend, keep_joints
from lcp.contacts.kernels.contact_response import THREE, Polygon, place_rates
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.elimination import factor_work
from lcp.contacts.kernels.katzenelson import Line, Shifted, begin_near, begin_open, follow_line
from lcp.contacts.kernels.mode_system import row_speed
from lcp.contacts.kernels.proximal_points import JOINT_COMPLIANCE, choose
from lcp.contacts.kernels.search import UNKNOWN, Search
from lcp.kernels import kernel

# Compliance of the end of the branch: this part of the least own response of a contact, at least that of the largest.
LEAST_COMPLIANCE: Final = 1e-7
SMALLEST_COMPLIANCE: Final = 1e-9
# From one compliance of the branch to the next; Newton's steps for each.
SHRINK: Final = 0.03
STEPS: Final = 8
# The same of lines.
SHORTER: Final = 0.1
# Contacts up to which the branch is followed where the modes of sweeps do not lead there.
SMALL: Final = 32
# Steps after which the next one is longer; the factor with which a branch of discs that resists is given up.
EASY: Final = 3
SHORTEST: Final = 0.9
# Systems with which that is given up.
MOST_SYSTEMS: Final = 150
# Pieces of a line: some, and so many for a contact, from forces that are near and from none.
PIECES: Final = 50
OF_NEAR: Final = 0.25
OF_OPEN: Final = 6.0


@kernel(inner=True)
def end_of_branch(search: Search) -> float:
    """The least compliance."""
    least = math.inf
    largest = 0.0
    for c in range(search.contacts.mode.shape[0]):
        least = min(least, search.contacts.own[c])
        largest = max(largest, search.contacts.own[c])
    return max(LEAST_COMPLIANCE * least, SMALLEST_COMPLIANCE * largest)


@kernel(inner=True)
def follow_branch(rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, end: float) -> int:
    """Follow the forces from contacts that give way much to ``end``; the systems solved, 0 where the branch ends."""
    contacts, joined = search.contacts, search.joined
    nv = search.v.shape[0]
    for p in range(nv):
        search.v[p] = rows.v_free[p]
    place_rates(rows, polygon, search.v, 1.0, contacts.s)
    largest = 0.0
    for c in range(rows.nc):
        largest = max(largest, contacts.own[c])
        contacts.mode[c] = UNKNOWN
        for i in range(THREE):
            contacts.p[c, i] = 0.0
    first = rows.nc + rows.nr
    for i in range(joined.p.shape[0]):
        joined.p[i] = min(max(0.0, joined.lo[i]), joined.hi[i])
        joined.s[i] = row_speed(rows, first + i, search.v) + rows.k[first + i]
    choose(rows, polygon, search, largest, 1.0)
    solved = along_branch(rows, polygon, search, shifted, largest, largest, end, SHRINK)
    more = keep_joints(rows, polygon, search, end) if solved > 0 else -1
    return 0 if more < 0 else solved + more


@kernel(inner=True)
def cross(
    rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, last: float, eps: float
) -> Line:
    """Get from the forces at ``last``, of modes in the search, to those at eps along a line."""
    if not (eps < last and descend(rows, polygon, search, last, STEPS) >= 0):
        return Line(False, STEPS)
    begin_near(rows, polygon, search, shifted, last, eps)
    line = follow_line(rows, polygon, search, shifted, eps, False, PIECES + int(OF_NEAR * rows.nc))
    return Line(line.arrived and descend(rows, polygon, search, eps, STEPS) >= 0, line.systems)


@kernel(inner=True)
def along_branch(
    rows: ContactSystem,
    polygon: Polygon,
    search: Search,
    shifted: Shifted,
    last: float,
    eps: float,
    end: float,
    shrink: float,
) -> int:
    """Follow the forces of modes in the search from ``last`` by eps to ``end``; systems solved, 0 where that failed."""
    contacts, joined = search.contacts, search.joined
    longest = shrink
    solved = 0
    for c in range(rows.nc):
        search.before[c] = contacts.mode[c]
    for i in range(joined.p.shape[0]):
        joined.base[i] = joined.p[i]
    while True:
        more = descend(rows, polygon, search, eps, STEPS)
        if more < 0:
            solved += STEPS
            as_before_step(rows, search)
            if not polygon.exact:
                line = cross(rows, polygon, search, shifted, last, eps)
                solved += line.systems
                if line.arrived:
                    more = 1
        if more >= 0:
            solved += more
            for c in range(rows.nc):
                search.before[c] = contacts.mode[c]
            for i in range(joined.p.shape[0]):
                joined.base[i] = joined.p[i]
            if eps == end:
                return solved
            last = eps
            if more <= EASY:
                shrink = max(longest, shrink * shrink)
        else:
            # A shorter way from where the branch was left.
            shrink = math.sqrt(shrink)
            if shrink > SHORTEST or solved > MOST_SYSTEMS + (0 if polygon.exact else rows.nc):
                return 0
            as_before_step(rows, search)
        eps = max(end, shrink * last)


@kernel(inner=True)
def as_before_step(rows: ContactSystem, search: Search) -> None:
    """Take back the modes, and the forces of rows of joints."""
    joined = search.joined
    for c in range(rows.nc):
        search.contacts.mode[c] = search.before[c]
    for i in range(joined.p.shape[0]):
        joined.p[i] = joined.base[i]
        free = joined.own[i] > 0.0 and joined.lo[i] < joined.p[i] < joined.hi[i]
        joined.slope[i] = 1.0 / (joined.gamma[i] + JOINT_COMPLIANCE * joined.own[i]) if free else 0.0


@kernel(inner=True)
def select_by_lines(
    rows: ContactSystem, polygon: Polygon, flat: Polygon, search: Search, shifted: Shifted, softer: float, turn: int
) -> Line:
    """Find the forces at `end_of_branch` along a line from none to contacts that give way ``softer`` times as much.

    Of discs the line is that of their polygons ``flat``, from whose end Newton's method goes to the discs. Every ``turn``
    has a line of its own.
    """
    contacts, joined, end = search.contacts, search.joined, end_of_branch(search)
    eps = softer * end
    for i in range(joined.p.shape[0]):
        joined.base[i] = min(max(0.0, joined.lo[i]), joined.hi[i])
    begin_open(rows, flat, search, shifted, eps, turn)
    line = follow_line(rows, flat, search, shifted, eps, True, PIECES + int(OF_OPEN * rows.nc))
    spent = line.systems
    if not (line.arrived and descend(rows, flat, search, eps, STEPS) >= 0):
        return Line(False, spent)
    if polygon.exact:
        for c in range(rows.nc):
            contacts.mode[c] = UNKNOWN
        choose(rows, polygon, search, eps, 1.0)
    if eps > end or polygon.exact:
        more = along_branch(rows, polygon, search, shifted, eps, eps, end, SHORTER)
        spent += more
        if more == 0:
            return Line(False, spent)
    more = keep_joints(rows, polygon, search, end)
    return Line(more >= 0, spent + max(more, 0))
