"""Turns that the forces of an island ask for, and moments that stick forbid: the moments give way.

A box that lies on its face has gaps at four corners that a tilt opens and closes, and rolling friction that would have
no tilt; a ball in a groove follows its gaps by rolling on one side. Moments are bounded, by little: a turn is what
normal forces make it, and friction that sticks, and the moments jump to their bounds. What rows of moments that stick
want of turns that rows of forces determine is therefore taken from these.
"""

from __future__ import annotations

import math
from typing import Final

from contactlab.linearization.kernels.layout import Memory
from lcp.contacts.kernels.contact_modes import STICK
from lcp.kernels import Floats, kernel

#: Share of a row, or of a rate, that is rounding.
ROUNDING: Final = 1e-6


@kernel(inline=True)
def product(a: Floats, b: Floats) -> float:
    """a . b."""
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@kernel(inner=True)
def add_to(own: Floats, times: float, other: Floats) -> None:
    """own += times other."""
    for j in range(own.shape[0]):
        own[j] += times * other[j]


@kernel(inner=True)
def unknown_part(H: Floats, right: Floats, rows: Floats, rates: Floats, count: int, at: int, place: int) -> float:
    """Fill ``place`` of rows and rates with row ``at``, less what the first ``count`` make of it; its length.

    The first are orthonormal. Where the length is 0, the row's rates are off by what is left of them.
    """
    row, rate = rows[place], rates[place]
    for j in range(row.shape[0]):
        row[j] = H[at, j]
    for j in range(rate.shape[0]):
        rate[j] = right[at, j]
    # Twice, for what rounding leaves the first time.
    for k in range(2 * count):
        share = product(row, rows[k % count])
        add_to(row, -share, rows[k % count])
        add_to(rate, -share, rates[k % count])
    return math.sqrt(product(row, row))


@kernel(inner=True)
def let_moments_yield(m: Memory, H: Floats, right: Floats, rows: Floats, rates: Floats, u: int, end: int) -> bool:
    """Let rates wanted (size, columns) of moments that stick be those of the forces; whether any was another.

    Of the unknowns u .. end with the rows H (size, n); ``rows`` and ``rates``, as large, are scratch.
    """
    count, scale = 0, 0.0
    # Normal forces first.
    for place in range(2 * (end - u)):
        at = place % (end - u)
        c = m.owner[u + at, 0]
        # A force that gives way by itself asks for nothing.
        if c < 0 or m.D[u + at] > 0.0 or count == H.shape[1]:
            continue
        if (place == at) != (m.first[c, 0] == u + at) or u + at >= m.first[c, 2]:
            continue
        length = unknown_part(H, right, rows, rates, count, at, count)
        for k in range(right.shape[1]):
            scale = max(scale, abs(right[at, k]))
        if length > ROUNDING * math.sqrt(product(H[at], H[at])):
            add_to(rows[count], 1.0 / length - 1.0, rows[count])
            add_to(rates[count], 1.0 / length - 1.0, rates[count])
            count += 1
    yielded = False
    for at in range(end - u):
        c = m.owner[u + at, 0]
        if count == 0 or c < 0 or m.first[c, 0] != u + at:
            continue
        for cone in range(1, m.mode.shape[1]):
            first, last = m.first[c, 1 + cone] - u, m.first[c, 2 + cone] - u
            if m.mode[c, cone] == STICK and yield_to(H, right, rows, rates, count, first, last, scale):
                yielded = True
    return yielded


@kernel(inner=True)
def yield_to(
    H: Floats, right: Floats, rows: Floats, rates: Floats, count: int, first: int, last: int, scale: float
) -> bool:
    """Let one moment, of one row or two, agree with the ``count`` rows known; whether it did not."""
    own = product(H[first], H[first])
    a, b, off = unknown_part(H, right, rows, rates, count, first, count) ** 2, 0.0, 0.0
    if last - first > 1:
        own += product(H[first + 1], H[first + 1])
        b = unknown_part(H, right, rows, rates, count, first + 1, count + 1) ** 2
        off = product(rows[count], rows[count + 1])
    # Along the principal directions (x, y) of what is left of the rows.
    angle = 0.5 * math.atan2(2.0 * off, a - b) if last - first > 1 else 0.0
    yielded = False
    for i in range(last - first):
        x, y = (math.cos(angle), math.sin(angle)) if i == 0 else (-math.sin(angle), math.cos(angle))
        if x * x * a + 2.0 * x * y * off + y * y * b > ROUNDING * ROUNDING * own:
            continue
        for k in range(right.shape[1]):
            more = x * rates[count, k]
            if last - first > 1:
                more += y * rates[count + 1, k]
                right[first + 1, k] -= y * more
            right[first, k] -= x * more
            yielded = yielded or abs(more) > ROUNDING * scale
    return yielded
