"""Motions that normal forces of an island ask for, and friction that sticks forbids: the friction gives way.

A box that lies on its face has gaps at four corners that a tilt opens and closes, and rolling friction that would have
no tilt; a ball between a floor and a wall follows its gaps by slipping at one. Friction is bounded: the motion is what
normal forces make it, and friction jumps to its bound, moments before forces. What rows of friction want of motions
that rows before them determine is therefore taken from these.
"""

from __future__ import annotations

import math
from typing import Final

from contactlab.linearization.kernels.layout import Memory
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
def know(H: Floats, right: Floats, rows: Floats, rates: Floats, count: int, at: int) -> int:
    """Add what is new of row ``at`` to the ``count`` rows known; how many these are then."""
    if count == H.shape[1]:
        return count
    length = unknown_part(H, right, rows, rates, count, at, count)
    if not length > ROUNDING * math.sqrt(product(H[at], H[at])):
        return count
    add_to(rows[count], 1.0 / length - 1.0, rows[count])
    add_to(rates[count], 1.0 / length - 1.0, rates[count])
    return count + 1


@kernel(inner=True)
def let_friction_yield(m: Memory, H: Floats, right: Floats, rows: Floats, rates: Floats, u: int, end: int) -> bool:
    """Let rates wanted (size, columns) of friction be those of what comes before it; whether any was another.

    Of the unknowns u .. end with the rows H (size, n); ``rows`` and ``rates``, as large, are scratch. Normal forces
    come first, then friction, then moments.
    """
    count, scale, yielded = 0, 0.0, False
    for row in range(end - u):
        for k in range(right.shape[1]):
            scale = max(scale, abs(right[row, k]))
    for part in range(1 + m.mode.shape[1]):
        for at in range(end - u):
            c = m.owner[u + at, 0]
            # A force that gives way by itself asks for nothing.
            if c < 0 or m.first[c, part] != u + at or m.first[c, part + 1] == u + at or m.D[u + at] > 0.0:
                continue
            last = m.first[c, part + 1] - u
            if part > 0 and yield_to(H, right, rows, rates, count, at, last, scale):
                yielded = True
            if part < 2:
                for row in range(at, last):
                    count = know(H, right, rows, rates, count, row)
    return yielded


@kernel(inner=True)
def yield_to(
    H: Floats, right: Floats, rows: Floats, rates: Floats, count: int, first: int, last: int, scale: float
) -> bool:
    """Let the friction of one cone, of one row or two, agree with the ``count`` rows known; whether it did not."""
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
