"""The forces selected among those of redundant contacts: of contacts that give way, all alike, in the limit of none.

Where contacts are redundant many forces solve the rigid problem, and all but one are an accident of the method. With a
compliance eps of every contact, in every direction, rates s are answered by P(-s / eps) (`contact_response`), and the
velocities solve an equation without redundancy. It is solved for ever smaller eps, or at once from the modes that given
forces show (`active_set`); where the modes of contacts alone do not settle, along a line that passes all changes of
modes one by one (`katzenelson`).
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from lcp.contacts.kernels.active_set import descend, keep_joints
from lcp.contacts.kernels.contact_response import THREE, Polygon, place_rates
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.katzenelson import Line, Shifted, follow_line
from lcp.contacts.kernels.line_beginnings import begin_near
from lcp.contacts.kernels.mode_system import row_speed
from lcp.contacts.kernels.proximal_points import JOINT_COMPLIANCE, choose
from lcp.contacts.kernels.search import UNKNOWN, Search, copy_rows, recover_velocity
from lcp.kernels import kernel

# Compliance of the end of the branch: this part of the least own response of a contact, at least that of the largest.
LEAST_COMPLIANCE: Final = 1e-7
SMALLEST_COMPLIANCE: Final = 1e-9
# From one compliance of the branch to the next; Newton's steps for each.
SHRINK: Final = 0.03
STEPS: Final = 8
# Contacts up to which the branch is followed where the modes of sweeps do not lead there.
SMALL: Final = 64
# Steps after which the next one is longer; the factor with which a branch of discs that resists is given up.
EASY: Final = 3
SHORTEST: Final = 0.9
# Newton's method having failed with a longer factor, polygons go on along a line.
LINE_FROM: Final = 0.5
# Systems with which that is given up.
MOST_SYSTEMS: Final = 150
# Pieces of a line from forces that are near, beside one for each contact.
PIECES: Final = 100
# Forces are those selected where the rigid ones differ from those at the branch's end by this part of the largest, at
# most: where gaps contradict one another, proximal points may go on to others.
SELECTED_WITHIN: Final = 1e-3
# Where a line is to be followed, and the kernel knows of none.
NEEDS_LINE: Final = -1.0


class Reached(NamedTuple):
    """How far the branch was followed: the compliance, 0 for nowhere, and systems solved; or NEEDS_LINE."""

    eps: float
    systems: int


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
def follow_branch(
    rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, end: float, lines: int | None
) -> Reached:
    """Follow the forces from contacts that give way much to ``end``; where it ends. Without ``lines``: to the first."""
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
    reached = along_branch(rows, polygon, search, shifted, largest, largest, end, SHRINK, lines)
    return with_rigid_joints(rows, polygon, search, end, reached)


@kernel(inner=True)
def with_rigid_joints(rows: ContactSystem, polygon: Polygon, search: Search, end: float, reached: Reached) -> Reached:
    """Make the rows of joints rigid at the branch's end, where it was reached."""
    if reached.eps != end:
        return reached
    more = keep_joints(rows, polygon, search, end)
    return Reached(end if more >= 0 else 0.0, reached.systems + max(more, 0))


@kernel(inner=True)
def cross(rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, last: float, eps: float) -> Line:
    """Get from the forces kept, of contacts that give way by ``last``, to those at eps along a line."""
    copy_rows(shifted.kept, search.contacts.p)
    for i in range(search.joined.p.shape[0]):
        search.joined.p[i] = search.joined.base[i]
    recover_velocity(rows, polygon, search)
    begin_near(rows, polygon, search, shifted, last, eps)
    line = follow_line(rows, polygon, search, shifted, eps, PIECES + rows.nc)
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
    lines: int | None,
) -> Reached:
    """Follow the forces in the search from ``last`` by eps to ``end``; at a larger ``last`` they are known.

    ``lines`` is None where the first line ends it.
    """
    contacts = search.contacts
    longest = shrink
    solved = 0
    known = eps < last
    keep_step(search, shifted)
    while True:
        more = descend(rows, polygon, search, eps, STEPS)
        if more < 0:
            solved += STEPS
            as_before_step(search)
            if known and not polygon.exact and shrink > LINE_FROM and solved <= MOST_SYSTEMS:
                if lines is None:
                    return Reached(NEEDS_LINE, solved)
                line = cross(rows, polygon, search, shifted, last, eps)
                solved += line.systems
                if line.arrived:
                    more = 1
        if more >= 0:
            solved += more
            keep_step(search, shifted)
            if eps == end:
                return Reached(eps, solved)
            last = eps
            known = True
            if more <= EASY:
                shrink = max(longest, shrink * shrink)
        else:
            # A shorter way from where the branch was left.
            shrink = math.sqrt(shrink)
            as_before_step(search)
            if shrink > SHORTEST or solved > MOST_SYSTEMS + (0 if polygon.exact else contacts.p.shape[0]):
                copy_rows(shifted.kept, contacts.p)
                return Reached(last if known else 0.0, solved)
        eps = max(end, shrink * last)


@kernel(inner=True)
def keep_step(search: Search, shifted: Shifted) -> None:
    """Note modes and forces as those from which the next step is made."""
    copy_rows(search.contacts.p, shifted.kept)
    for c in range(search.before.shape[0]):
        search.before[c] = search.contacts.mode[c]
    for i in range(search.joined.p.shape[0]):
        search.joined.base[i] = search.joined.p[i]


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
