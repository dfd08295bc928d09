"""Beginnings of lines: the shift that makes forces at hand an answer, from which `katzenelson` takes it back."""

from __future__ import annotations

from typing import Final

from lcp.contacts.kernels.contact_response import (
    THREE,
    Polygon,
    force_of,
    mode_of,
    tangential_response,
    width_of,
)
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.katzenelson import Shifted
from lcp.contacts.kernels.proximal_points import JOINT_COMPLIANCE
from lcp.contacts.kernels.search import Search, recover_velocity
from lcp.kernels import kernel

# From forces of which few modes are wrong: how far their points lie ahead of them, in what each would answer by itself;
# how many are few; and pieces for each.
AHEAD: Final = 1e-3
FEW_CHANGES: Final = 6
PIECES_OF_CHANGE: Final = 4


@kernel(inner=True)
def begin_near(
    rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, before: float, eps: float
) -> None:
    """Fill the shift that makes forces of contacts that give way by ``before``, with rates there, those at eps."""
    contacts = search.contacts
    shifted.center[:] = 0.0
    for c in range(contacts.p.shape[0]):
        s, x = contacts.s[c], shifted.shift[c]
        x[0] = -s[0] / (rows.gamma[rows.cone_contacts[c]] + before)
        x[1] = -s[1] / before
        x[2] = -s[2] / before
        if c >= rows.nc:
            x[0] = shifted.shift[rows.cone_contacts[c], 0]
        contacts.mode[c] = mode_of(polygon, width_of(rows, c), c, x[0], x[1], x[2])
        force_of(polygon, width_of(rows, c), contacts.mode[c], x[0], x[1], x[2], contacts.p[c])
    recover_velocity(rows, polygon, search)
    for c in range(contacts.p.shape[0]):
        s, x = contacts.s[c], shifted.shift[c]
        x[0] += s[0] / (rows.gamma[rows.cone_contacts[c]] + eps)
        x[1] += s[1] / eps
        x[2] += s[2] / eps
    shifted.joined[0, :] = 0.0


@kernel(inner=True)
def take_points(rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, ahead: float) -> None:
    """Fill the points that forces in the search are at by themselves, and modes: so far ``ahead`` as rates lead."""
    contacts, joined = search.contacts, search.joined
    for c in range(contacts.p.shape[0]):
        s, x, p = contacts.s[c], shifted.fixed[c], contacts.p[c]
        normal = rows.cone_contacts[c]
        soft = tangential_response(rows, polygon, contacts, c)
        x[0] = p[0] - ahead * (s[0] + rows.gamma[normal] * p[0]) / contacts.own[normal]
        x[1] = p[1] - ahead * s[1] / soft
        x[2] = p[2] - ahead * s[2] / soft
        contacts.mode[c] = mode_of(polygon, width_of(rows, c), c, x[0], x[1], x[2])
    for i in range(joined.p.shape[0]):
        joined.slope[i] = 0.0
        shifted.joined[1, i] = joined.p[i]
        if joined.own[i] > 0.0:
            point = joined.p[i] - ahead * (joined.s[i] + joined.gamma[i] * joined.p[i]) / joined.own[i]
            shifted.joined[1, i] = point
            joined.p[i] = min(max(point, joined.lo[i]), joined.hi[i])
            if joined.lo[i] < point < joined.hi[i]:
                joined.slope[i] = 1.0 / (joined.gamma[i] + JOINT_COMPLIANCE * joined.own[i])


@kernel(inner=True)
def begin_at_points(rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, eps: float) -> None:
    """Fill the shift that makes the forces in the search, those of the line's points, an answer for its centre."""
    contacts, joined = search.contacts, search.joined
    for i in range(joined.p.shape[0]):
        if joined.slope[i] > 0.0:
            joined.p[i] = shifted.joined[1, i]
        joined.base[i] = joined.p[i]
    recover_velocity(rows, polygon, search)
    for c in range(contacts.p.shape[0]):
        s, x, b, p = contacts.s[c], shifted.fixed[c], shifted.shift[c], shifted.center[c]
        b[0] = x[0] + (s[0] - eps * p[0]) / (rows.gamma[rows.cone_contacts[c]] + eps)
        b[1] = x[1] + s[1] / eps - p[1]
        b[2] = x[2] + s[2] / eps - p[2]
        if c >= rows.nc:
            b[0] = shifted.shift[rows.cone_contacts[c], 0]
    for i in range(joined.p.shape[0]):
        shifted.joined[0, i] = 0.0
        if joined.own[i] > 0.0:
            soft = JOINT_COMPLIANCE * joined.own[i]
            rate = joined.s[i] - soft * joined.base[i]
            shifted.joined[0, i] = shifted.joined[1, i] + rate / (joined.gamma[i] + soft)


@kernel(inner=True)
def begin_at_forces(rows: ContactSystem, polygon: Polygon, search: Search, shifted: Shifted, eps: float) -> int:
    """Begin a line to eps with the forces in the search; how many pieces it may have, none where modes differ in many.

    Those in the search are what has been tried from there: where few differ the line is short.
    """
    contacts = search.contacts
    for c in range(search.before.shape[0]):
        search.before[c] = contacts.mode[c]
    take_points(rows, polygon, search, shifted, AHEAD)
    changed = 0
    for c in range(contacts.p.shape[0]):
        x = shifted.fixed[c]
        changed += 1 if search.before[c] != contacts.mode[c] else 0
        force_of(polygon, width_of(rows, c), contacts.mode[c], x[0], x[1], x[2], contacts.p[c])
        for i in range(THREE):
            shifted.center[c, i] = 0.0
    begin_at_points(rows, polygon, search, shifted, eps)
    return PIECES_OF_CHANGE * (changed + 1) if changed <= FEW_CHANGES else 0
