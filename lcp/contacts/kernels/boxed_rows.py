"""Boxed rows in the LCP: rows whose force has bounds on both sides.

With s = B v+ + kB + gammaB fB the law of one row is lo <= fB <= hi, s >= 0 at lo, s <= 0 at hi, s = 0 between. The
force is counted from a bound, its anchor, so that the LCP's variables start at 0::

    kind    bounds              force         0 <= x   _|_           0 <= y   _|_
    GIVEN   lo = hi             lo            -                      -
    BELOW   lo finite           lo + x        s >= 0                 -
    ABOVE   hi finite           hi - x        -s >= 0                -
    BOTH    both finite         lo + x        s + y >= 0             hi - lo - x >= 0
    FREE    none                x - y         s >= 0                 -s >= 0

y is the remaining rate at the upper bound, or the negative part of a force without bounds; a given force has no
variable and acts through q only. In the LCP all x follow fL, and all y follow the x, each in the order of the rows.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from lcp.compiler.kernels import copy_array
from lcp.contacts.kernels.condition_scales import MIN_RELATIVE_SCALE, RowScales, scale_variable
from lcp.contacts.kernels.contact_system import (
    ContactSystem,
    add_within,
    dot_of_row,
    response_of,
    row_ranges,
    size_unforced,
)
from lcp.kernels import Floats, Ints, kernel

_GIVEN: Final = 0
_BELOW: Final = 1
_ABOVE: Final = 2
_BOTH: Final = 3
_FREE: Final = 4

# lo + (hi - lo) can differ from hi by rounding.
_NEAR: Final = 4.0 * float(np.finfo(np.float64).eps)


@kernel(inline=True)
def first_limit(rows: ContactSystem) -> int:
    """Return the index of the first fL in the LCP's variables [fN | fF+ | fF- | lambda | fL | x | y]."""
    return rows.nc + 2 * rows.nr + rows.r.shape[0]


@kernel(inline=True)
def _kind(lo: float, hi: float) -> int:
    """Return the kind of a row with these bounds, from the module's table."""
    if lo == hi:
        return _GIVEN
    if lo > -float("inf"):
        return _BOTH if hi < float("inf") else _BELOW
    return _ABOVE if hi < float("inf") else _FREE


@kernel(inline=True)
def _reference_force(lo: float, hi: float) -> float:
    """Return the force of a row at x = y = 0, its anchor: lo, hi or 0."""
    if lo > -float("inf"):
        return lo
    return hi if hi < float("inf") else 0.0


@kernel(inline=True)
def _advance(kind: int, x: int, y: int) -> tuple[int, int]:
    """Return the indices of the variables x and y that follow the ones of a row of this kind."""
    return x + (1 if kind != _GIVEN else 0), y + (1 if kind in (_BOTH, _FREE) else 0)


@kernel(inline=True)
def row_variables(rows: ContactSystem, i: int, x: int, y: int) -> tuple[int, int, float, float]:
    """Return the indices of the variables of row i, the sign of the first one, and the force if they are zero.

    The second variable has a minus sign. An index of -1 means no variable. x and y are the next variables of a boxed
    row, see `next_variables`.
    """
    nf = rows.nc + rows.nr
    b = i - nf - rows.nl
    if b < 0:
        return i if i < nf else first_limit(rows) + i - nf, i + rows.nr if rows.nc <= i < nf else -1, 1.0, 0.0
    kind = _kind(rows.lo[b], rows.hi[b])
    force = _reference_force(rows.lo[b], rows.hi[b])
    return -1 if kind == _GIVEN else x, y if kind == _FREE else -1, -1.0 if kind == _ABOVE else 1.0, force


@kernel(inline=True)
def next_variables(rows: ContactSystem, i: int, x: int, y: int) -> tuple[int, int]:
    """Return the variables x and y of boxed rows after row i."""
    b = i - rows.nc - rows.nr - rows.nl
    return _advance(_kind(rows.lo[b], rows.hi[b]), x, y) if b >= 0 else (x, y)


@kernel
def boxed_variables(lo: Floats, hi: Floats) -> tuple[int, int]:
    """Count the variables x and y that the boxed rows add."""
    xs, ys = 0, 0
    for b in range(lo.shape[0]):
        xs, ys = _advance(_kind(lo[b], hi[b]), xs, ys)
    return xs, ys


@kernel(inline=True)
def _first_variables(first: int, lo: Floats, hi: Floats) -> tuple[int, int]:
    """Return the indices of the first x, which is given, and of the first y."""
    return first, first + boxed_variables(lo, hi)[0]


@kernel(inline=True)
def first_boxed(rows: ContactSystem) -> tuple[int, int]:
    """Return the indices of the first variables x and y of the boxed rows."""
    return _first_variables(first_limit(rows) + rows.nl, rows.lo, rows.hi)


@kernel(inner=True)
def fill_coupling(M: Floats, a: int, a_less: int, a_sign: float, b: int, b_less: int, b_sign: float, w: float) -> None:
    """Write the coupling w of two forces to each other's rows of M, symmetrically; indices as of `row_variables`."""
    negated = 0.0 - w  # not -w: a zero stays +0
    if a >= 0 and b >= 0:
        M[a, b] = M[b, a] = w if a_sign == b_sign else negated
    if a >= 0 and b_less >= 0:
        M[a, b_less] = M[b_less, a] = negated if a_sign > 0.0 else w
    if a_less >= 0 and b >= 0:
        M[a_less, b] = M[b, a_less] = negated if b_sign > 0.0 else w
    if a_less >= 0 and b_less >= 0:
        M[a_less, b_less] = M[b_less, a_less] = w


@kernel(inner=True)
def add_rate(q: Floats, a: int, a_less: int, a_sign: float, rate: float) -> None:
    """Add ``rate`` to q in the rows of a force's variables, with their signs; indices as of `row_variables`."""
    if a >= 0:
        q[a] += a_sign * rate
    if a_less >= 0:
        q[a_less] -= rate


@kernel(inner=True)
def fill_bounds(rows: ContactSystem, M: Floats, q: Floats) -> None:
    """Couple the variables x and y of rows with two finite bounds, by the distance of these, in M and q."""
    x, y = first_boxed(rows)
    for b in range(rows.lo.shape[0]):
        kind = _kind(rows.lo[b], rows.hi[b])
        if kind == _BOTH:
            M[x, y] = 1.0
            M[y, x] = -1.0
            q[y] = rows.hi[b] - rows.lo[b]
        x, y = _advance(kind, x, y)


@kernel(inner=True)
def add_reference_forces(rows: ContactSystem, v: Floats) -> None:
    """Add to the velocity v (nv,) the effect of the boxed rows' forces at x = y = 0."""
    first = rows.nc + rows.nr + rows.nl
    for i in range(rows.lo.shape[0]):
        anchor = _reference_force(rows.lo[i], rows.hi[i])
        if anchor != 0.0:
            a, b, c, d = row_ranges(rows.column_ranges, first + i, v.shape[0])
            add_within(a, b, c, d, rows.h * anchor, rows.Y[first + i], v)


@kernel(inline=True)
def larger_bound(lo: float, hi: float) -> float:
    """Return the larger magnitude of a force's finite bounds, or 0 if it has none."""
    return max(abs(lo) if lo > -float("inf") else 0.0, abs(hi) if hi < float("inf") else 0.0)


@kernel(inline=True)
def has_anchors(lo: Floats, hi: Floats) -> bool:
    """Return True if the reference force of a boxed row (lo or else hi if finite, else 0) is not zero."""
    found = False
    for b in range(lo.shape[0]):
        found = found or _reference_force(lo[b], hi[b]) != 0.0
    return found


@kernel(inner=True)
def fill_boxed_rhs(rows: ContactSystem, posed: Floats, v: Floats, q: Floats, scales: RowScales) -> float:
    """Fill q of the variables x and y, and the scales of their rows.

    v (nv,) is the velocity at x = y = 0. Return the largest of rate / sqrt(R), with R the response, and of a small
    fraction of the bounds times sqrt(R).
    """
    # places of the rows and of their variables
    lo, hi = rows.lo, rows.hi
    first = rows.nc + rows.nr + rows.nl + rows.nb
    x, y = first_boxed(rows)
    heaviest = 0.0
    for b in range(lo.shape[0]):
        i = first + b
        kind = _kind(lo[b], hi[b])
        # a given force has no variable
        if kind == _GIVEN:
            continue
        # response and rates of the row
        response = response_of(rows, posed, scales.units[:0], i)
        rate = dot_of_row(rows, i, rows.J[i], v) + rows.k[i]
        rate += rows.gamma[i] * _reference_force(lo[b], hi[b])
        amount = size_unforced(rows, posed, i)
        # right side and scales of x
        q[x] = -rate if kind == _ABOVE else rate
        # The rounding of a force is relative to its bounds; `MIN_RELATIVE_SCALE` times the larger bound counts.
        bound = MIN_RELATIVE_SCALE * math.sqrt(response) * larger_bound(lo[b], hi[b])
        heaviest = max(heaviest, scale_variable(scales, x, amount, response), bound)
        # y: the width of the bounds, or the negative rate of a free row
        if kind == _BOTH:
            q[y] = hi[b] - lo[b]
            scale_variable(scales, y, hi[b] - lo[b], 1.0 / response if response > 0.0 else 0.0)
        elif kind == _FREE:
            q[y] = -rate
            scale_variable(scales, y, amount, response)
        x, y = _advance(kind, x, y)
    return heaviest


@kernel(inner=True)
def evaluate_boxed(rows: ContactSystem, f: Floats, v_plus: Floats, rates: Floats, z: Floats, w: Floats) -> None:
    """Fill the rates and w of the boxed rows, for the forces f of all rows and their v+.

    ``rates`` are J v+ + k, without softness. ``z`` has the variables from which f was recovered. Only y of rows with
    two finite bounds is set in z: to the negative rate if the force is at its upper bound, otherwise to 0.
    """
    # places of the rows and of their variables
    lo, hi = rows.lo, rows.hi
    first = rows.nc + rows.nr + rows.nl + rows.nb
    x, y = first_boxed(rows)
    for b in range(lo.shape[0]):
        i = first + b
        kind = _kind(lo[b], hi[b])
        # rate without softness
        rates[i] = dot_of_row(rows, i, rows.J[i], v_plus) + rows.k[i]
        if kind == _GIVEN:
            continue
        # w of x, with the sign of its direction
        rate = rates[i] + rows.gamma[i] * f[i]
        w[x] = -rate if kind == _ABOVE else rate
        # w of y: the distance to the upper bound, or the negative rate
        if kind == _BOTH:
            z[y] = max(-rate, 0.0) if f[i] == hi[b] else 0.0
            w[x] = rate + z[y]
            w[y] = hi[b] - lo[b] - z[x]
        elif kind == _FREE:
            w[y] = -rate
        x, y = _advance(kind, x, y)


@kernel
def recover_boxed_forces(first: int, lo: Floats, hi: Floats, z: Floats, fB: Floats) -> None:
    """Fill the forces fB (nbox,) from an LCP solution z whose first x has the index ``first``."""
    # each force begins at its reference and moves by its variables
    x, y = _first_variables(first, lo, hi)
    for b in range(lo.shape[0]):
        kind = _kind(lo[b], hi[b])
        fB[b] = _reference_force(lo[b], hi[b])
        if kind == _ABOVE:
            fB[b] -= z[x]
        elif kind != _GIVEN:
            fB[b] += z[x]
        if kind == _FREE:
            fB[b] -= z[y]
        # a force near its upper bound is set to it
        if kind == _BOTH and abs(fB[b] - hi[b]) <= _NEAR * max(abs(lo[b]), abs(hi[b])):
            fB[b] = hi[b]
        x, y = _advance(kind, x, y)


@kernel
def store_boxed_forces(first: int, lo: Floats, hi: Floats, fB: Floats, rate: Floats, z: Floats) -> None:
    """Write forces fB (nbox,) within their bounds, and rates s of the rows, as variables x and y of z."""
    # variables of each row by its kind
    x, y = _first_variables(first, lo, hi)
    for b in range(lo.shape[0]):
        kind = _kind(lo[b], hi[b])
        anchor = _reference_force(lo[b], hi[b])
        if kind == _GIVEN:
            continue
        # free: positive and negative part of the force
        if kind == _FREE:
            z[x] = max(fB[b], 0.0)
            z[y] = max(-fB[b], 0.0)
        else:
            z[x] = anchor - fB[b] if kind == _ABOVE else fB[b] - anchor
            if kind == _BOTH:
                z[y] = max(-rate[b], 0.0) if fB[b] == hi[b] else 0.0
        x, y = _advance(kind, x, y)


@kernel(inline=True)
def add_impulses(h: float, f: Floats, Y: Floats, spans: Ints, v: Floats) -> None:
    """Add h sum_i f_i Y_i to v (nv,), over the forces f (m,), for Y (>= m, nv) with ``column_ranges``."""
    for i in range(f.shape[0]):
        impulse = h * f[i]
        if impulse != 0.0:
            a, b, c, d = row_ranges(spans, i, v.shape[0])
            add_within(a, b, c, d, impulse, Y[i], v)


@kernel
def recover(rows: ContactSystem, z: Floats, f: Floats, v_plus: Floats) -> None:
    """Fill f = [fN | fF+ - fF- | fL | fB] (nu + nbox,) and v+ = v_free + h sum_i f_i Y_i (nv,), G eliminated.

    z (n,) solves the LCP, in the order of `discretized_lcp`.
    """
    nc = rows.nc
    nr = rows.nr
    nl = rows.nl
    limit = first_limit(rows)
    copy_array(z, f[:nc])
    for i in range(nr):
        f[nc + i] = z[nc + i] - z[nc + nr + i]
    for i in range(nl):
        f[nc + nr + i] = z[limit + i]
    nu = nc + nr + nl
    recover_boxed_forces(limit + nl, rows.lo, rows.hi, z, f[nu : nu + rows.lo.shape[0]])

    copy_array(rows.v_free, v_plus)
    add_impulses(rows.h, f, rows.Y, rows.column_ranges, v_plus)
