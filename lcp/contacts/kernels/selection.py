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
from lcp.contacts.kernels.katzenelson import Shifted, begin, follow_line
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
# Contacts up to which the branch is followed where the modes of sweeps do not lead there.
SMALL: Final = 32
# Steps after which the next one is longer; the factor with which a branch that resists is given up.
EASY: Final = 3
SHORTEST: Final = 0.9
# Systems with which it is given up, where lines pass its changes of modes and where they do not, and of a line.
MOST_SYSTEMS: Final = 1000
MOST_WITHOUT: Final = 150
MOST_OF_LINE: Final = 300


@kernel(inner=True)
def end_of_branch(rows: ContactSystem, search: Search) -> float:
    """The least compliance."""
    least = math.inf
    largest = 0.0
    for c in range(rows.nc):
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
    for c in range(contacts.mode.shape[0]):
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
    lines = joined.p.shape[0] == 0 and not polygon.exact
    longest = shrink
    solved = 0
    for c in range(contacts.mode.shape[0]):
        search.before[c] = contacts.mode[c]
    for i in range(joined.p.shape[0]):
        joined.base[i] = joined.p[i]
    while True:
        more = descend(rows, polygon, search, eps, STEPS)
        if more < 0:
            solved += STEPS
            as_before_step(search)
            if lines and eps < last and descend(rows, polygon, search, last, STEPS) >= 0:
                begin(rows, polygon, search, shifted, last, eps)
                more = follow_line(rows, polygon, search, shifted, eps, MOST_OF_LINE)
                solved += abs(more)
                if more > 0:
                    more = descend(rows, polygon, search, eps, STEPS)
        if more >= 0:
            solved += more
            for c in range(contacts.mode.shape[0]):
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
            if shrink > SHORTEST or solved > (MOST_SYSTEMS if lines else MOST_WITHOUT):
                return 0
            as_before_step(search)
        eps = max(end, shrink * last)


@kernel(inner=True)
def as_before_step(search: Search) -> None:
    """Take back the modes, and the forces of rows of joints."""
    joined = search.joined
    for c in range(search.before.shape[0]):
        search.contacts.mode[c] = search.before[c]
    for i in range(joined.p.shape[0]):
        joined.p[i] = joined.base[i]
        free = joined.own[i] > 0.0 and joined.lo[i] < joined.p[i] < joined.hi[i]
        joined.slope[i] = 1.0 / (joined.gamma[i] + JOINT_COMPLIANCE * joined.own[i]) if free else 0.0
