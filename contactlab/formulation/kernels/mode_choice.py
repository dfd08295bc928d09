"""From forces and rates to the modes of the contacts, to the equations of those modes, and back to forces.

Forces stand in z as in the LCP: fN, then the magnitudes along the edges. Of a sticking contact two directions carry the
equations, the first one and the one most across it.
"""

from __future__ import annotations

from contactlab.formulation.kernels.contact_modes import (
    ALONG,
    BETWEEN,
    OPEN,
    STICK,
    enclosing_edge,
    sliding_mode,
)
from contactlab.formulation.kernels.mode_system import PAIRS, Pairs
from contactlab.formulation.kernels.rows import Rows
from contactlab.formulation.kernels.spans import add_within, columns, dot_within
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


@kernel(inner=True)
def tangential_force(r: int, nr: int, first: int, turns: FloatArray, z: FloatArray) -> tuple[float, float]:
    """The force of the directions from ``first`` on, in the plane of the edges."""
    x = 0.0
    y = 0.0
    for e in range(r):
        signed = z[first + e] - z[first + nr + e]
        x += signed * turns[e, 0]
        y += signed * turns[e, 1]
    return x, y


@kernel(inner=True)
def put_force(r: int, nr: int, first: int, j: int, along: float, next_along: float, z: FloatArray) -> None:
    """Write a tangential force, ``along`` edge j and ``next_along`` the next one, into z."""
    for e in range(r):
        z[first + e] = 0.0
        z[first + nr + e] = 0.0
    z[first + j if j < r else first + nr + j - r] = along
    if r > 1:
        j = (j + 1) % (2 * r)
        z[first + j if j < r else first + nr + j - r] = next_along


@kernel(inner=True)
def choose_modes(
    rows: Rows, r: int, turns: FloatArray, own: FloatArray, rate: FloatArray, z: FloatArray, mode: IntArray
) -> bool:
    """Fill ``mode`` and bring the forces of contacts that slide or open to it; whether any mode has changed.

    A contact is taken by what its force would be if it alone answered its rates: open where that pulls, sliding where
    it leaves the cone.
    """
    nr = rows.nr
    mu = rows.mu
    changed = False
    for c in range(rows.nc):
        first = rows.nc + c * r
        trial = z[c] - (rate[c] + rows.gamma[c] * z[c]) / own[c]
        chosen = STICK
        j = 0
        if not trial > 0.0:
            chosen = OPEN
        elif r > 0 and mu[c] > 0.0:
            x, y = tangential_force(r, nr, first, turns, z)
            across = first + r // 2
            softness = max(own[first], own[across])
            u = rate[first]
            x -= u / softness
            if r > 1:
                y -= (rate[across] - turns[r // 2, 0] * u) / (turns[r // 2, 1] * softness)
            j, along, next_along = enclosing_edge(r, turns, x, y)
            bound = mu[c] * trial
            if along + next_along > bound:
                chosen = sliding_mode(r, turns, j, x, y, bound)
        if chosen != mode[c]:
            changed = True
            mode[c] = chosen
            if chosen == OPEN:
                z[c] = 0.0
            if r > 0 and chosen != STICK:
                bound = mu[c] * z[c]
                share = 0.0
                if chosen >= ALONG:
                    j = (chosen - ALONG) // 2
                    if (chosen - ALONG) % 2 == 1:
                        x, y = tangential_force(r, nr, first, turns, z)
                        ex = turns[j + 1, 0] - turns[j, 0]
                        ey = turns[j + 1, 1] - turns[j, 1]
                        share = (x - bound * turns[j, 0]) * ex + (y - bound * turns[j, 1]) * ey
                        share = min(max(share / (ex * ex + ey * ey), 0.0), bound)
                put_force(r, nr, first, j, bound - share, share, z)
    return changed


@kernel(inner=True)
def add_edge(
    r: int, first: int, j: int, factor: float, span: tuple[int, int, int, int], R: FloatArray, out: FloatArray
) -> None:
    """Add ``factor`` times edge j of the rows R of a contact to ``out``, within its span."""
    a, b, c, d = span
    if j < r:
        add_within(a, b, c, d, factor, R[first + j], out)
    else:
        add_within(a, b, c, d, -factor, R[first + j - r], out)


@kernel(inner=True)
def pair_rows(rows: Rows, r: int, own: FloatArray, mode: IntArray, pairs: Pairs) -> None:
    """Fill the pairs of every contact: rows A and responses C, within the spans, and what goes with them."""
    nc = rows.nc
    mu = rows.mu
    J = rows.J
    Y = rows.Y
    gamma = rows.gamma
    count = pairs.number
    A = pairs.A
    C = pairs.C
    softening = pairs.softening
    pair_own = pairs.own
    for contact in range(nc):
        chosen = mode[contact]
        count[contact] = 0
        if chosen == OPEN:
            continue
        span = columns(rows.spans, contact, J.shape[1])
        a, b, c, d = span
        first = nc + contact * r
        pair = PAIRS * contact
        copy_row(a, b, c, d, J[contact], A[pair])
        copy_row(a, b, c, d, Y[contact], C[pair])
        softening[pair] = gamma[contact]
        pair_own[pair] = own[contact]
        count[contact] = 1
        if r == 0 or mu[contact] == 0.0:
            continue
        if chosen == STICK:
            for i in range(2 if r > 1 else 1):
                row = first if i == 0 else first + r // 2
                copy_row(a, b, c, d, J[row], A[pair + 1 + i])
                copy_row(a, b, c, d, Y[row], C[pair + 1 + i])
                softening[pair + 1 + i] = gamma[row]
                pair_own[pair + 1 + i] = own[row]
                count[contact] += 1
            continue
        j = (chosen - ALONG) // 2
        add_edge(r, first, j, mu[contact], span, Y, C[pair])
        if (chosen - ALONG) % 2 == 1:
            following = (j + 1) % (2 * r)
            for p in range(a, b):
                A[pair + 1, p] = 0.0
                C[pair + 1, p] = 0.0
            for p in range(c, d):
                A[pair + 1, p] = 0.0
                C[pair + 1, p] = 0.0
            add_edge(r, first, following, 1.0, span, J, A[pair + 1])
            add_edge(r, first, j, -1.0, span, J, A[pair + 1])
            add_edge(r, first, following, 1.0, span, Y, C[pair + 1])
            add_edge(r, first, j, -1.0, span, Y, C[pair + 1])
            softening[pair + 1] = gamma[first] + gamma[first]
            pair_own[pair + 1] = own[first]
            count[contact] = 2


@kernel(inner=True)
def copy_row(a: int, b: int, c: int, d: int, x: FloatArray, y: FloatArray) -> None:
    """y_p = x_p over the ranges a .. b and c .. d."""
    for p in range(a, b):
        y[p] = x[p]
    for p in range(c, d):
        y[p] = x[p]


@kernel(inner=True)
def pair_rates(rows: Rows, r: int, mode: IntArray, pairs: Pairs, z: FloatArray, v_plus: FloatArray) -> None:
    """Fill what each pair's row is to bring to zero: its rate under v+, with known part and softening."""
    nc = rows.nc
    nr = rows.nr
    k = rows.k
    gamma = rows.gamma
    count = pairs.number
    rates = pairs.rates
    for contact in range(nc):
        a, b, c, d = columns(rows.spans, contact, v_plus.shape[0])
        first = nc + contact * r
        pair = PAIRS * contact
        for i in range(count[contact]):
            rates[pair + i] = dot_within(a, b, c, d, pairs.A[pair + i], v_plus)
        if count[contact] > 0:
            rates[pair] += k[contact] + gamma[contact] * z[contact]
        if mode[contact] == STICK:
            for i in range(1, count[contact]):
                row = first if i == 1 else first + r // 2
                rates[pair + i] += k[row] + gamma[row] * (z[row] - z[row + nr])
        elif count[contact] == 2:
            j = (mode[contact] - ALONG) // 2
            for i in range(2):
                edge = (j + 1 - i) % (2 * r)
                row = first + edge % r
                known = k[row] if edge < r else -k[row]
                force = z[row] if edge < r else z[row + nr]
                part = known + gamma[row] * force
                rates[pair + 1] += part if i == 0 else -part


@kernel(inner=True)
def take_changes(rows: Rows, r: int, turns: FloatArray, mode: IntArray, change: FloatArray, z: FloatArray) -> None:
    """Change the forces in z by those of the pairs."""
    nc = rows.nc
    nr = rows.nr
    mu = rows.mu
    for c in range(nc):
        chosen = mode[c]
        if chosen == OPEN:
            continue
        first = nc + c * r
        pair = PAIRS * c
        z[c] += change[pair]
        if r == 0 or mu[c] == 0.0:
            continue
        if chosen == STICK:
            x, y = tangential_force(r, nr, first, turns, z)
            x += change[pair + 1]
            if r > 1:
                x += change[pair + 2] * turns[r // 2, 0]
                y += change[pair + 2] * turns[r // 2, 1]
            j, along, next_along = enclosing_edge(r, turns, x, y)
            put_force(r, nr, first, j, along, next_along, z)
            continue
        j = (chosen - ALONG) // 2
        bound = mu[c] * z[c]
        share = 0.0
        if (chosen - BETWEEN) % 2 == 0:
            old = (j + 1) % (2 * r)
            share = change[pair + 1] + z[first + old if old < r else first + nr + old - r]
        put_force(r, nr, first, j, bound - share, share, z)
