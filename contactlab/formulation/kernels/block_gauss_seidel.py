"""Forces near those of contacts that give way, contact by contact: block Gauss-Seidel (Jourdan, Alart and Jean 1998).

A sweep lets every force answer its row's rate alone, and moves the velocities along. What sweeps tell fast is which
contacts bear and which slide; an active set method starts from there.
"""

from __future__ import annotations

from contactlab.formulation.kernels.contact_modes import ALONG
from contactlab.formulation.kernels.contact_response import (
    THREE,
    Polygon,
    force_of,
    mode_of,
    slide_to,
    tangential_response,
)
from contactlab.formulation.kernels.mode_system import push
from contactlab.formulation.kernels.rows import Rows
from contactlab.formulation.kernels.search import Search
from contactlab.formulation.kernels.spans import add_within, columns, dot_within
from lcp.kernels import kernel


@kernel(inner=True)
def sweep(rows: Rows, polygon: Polygon, search: Search, eps: float) -> None:
    """Let every force answer once; contacts give way by eps, rows of joints do not."""
    contacts, joined, v = search.contacts, search.joined, search.v
    nv = v.shape[0]
    change = search.change
    for c in range(rows.nc):
        a, b, d, e = columns(rows.spans, c, nv)
        p = contacts.p[c]
        x = dot_within(a, b, d, e, rows.J[c], v) + rows.k[c]
        y = 0.0
        z = 0.0
        if polygon.r > 0:
            first = rows.nc + c * polygon.r
            y = dot_within(a, b, d, e, rows.J[first], v) + rows.k[first]
            if polygon.r > 1:
                across = first + polygon.across
                rate = dot_within(a, b, d, e, rows.J[across], v) + rows.k[across]
                z = polygon.skew * y + polygon.stretch * rate
        soft = tangential_response(rows, polygon, contacts, c) + eps
        x = p[0] - (x + (rows.gamma[c] + eps) * p[0]) / (contacts.own[c] + eps)
        y = p[1] - (y + eps * p[1]) / soft
        z = p[2] - (z + eps * p[2]) / soft
        mode = mode_of(polygon, rows.mu[c], c, x, y, z)
        if polygon.exact and mode >= ALONG:
            slide_to(polygon, rows.mu[c], c, False, soft, x, y, z, search.shift)
        else:
            force_of(polygon, rows.mu[c], mode, x, y, z, search.shift)
        for i in range(THREE):
            change[i] = search.shift[i] - p[i]
            p[i] = search.shift[i]
        push(rows, polygon, c, change, v)
    before = rows.nc + rows.nr
    for i in range(joined.p.shape[0]):
        if joined.own[i] > 0.0:
            rate = dot_within(0, nv, nv, nv, rows.J[before + i], v) + rows.k[before + i]
            force = joined.p[i] - (rate + joined.gamma[i] * joined.p[i]) / joined.own[i]
            force = min(max(force, joined.lo[i]), joined.hi[i])
            add_within(0, nv, nv, nv, rows.h * (force - joined.p[i]), rows.Y[before + i], v)
            joined.p[i] = force
