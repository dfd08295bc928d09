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

from lcp.contacts.kernels.column_ranges import add_within, dot_range, response_of, row_ranges, size_unforced, sparse_dot
from lcp.contacts.kernels.condition_scales import MIN_RELATIVE_SCALE
from lcp.contacts.kernels.contact_system import ContactSystem
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
def _variables(kind: int, x: int, y: int) -> tuple[int, int, float]:
    """Return the indices of a row's variables, the second one negated, -1 for none; and the sign of the first one."""
    return -1 if kind == _GIVEN else x, y if kind == _FREE else -1, -1.0 if kind == _ABOVE else 1.0


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


@kernel(inner=True)
def _add_coupling(M: Floats, a: int, a_less: int, a_sign: float, b: int, b_less: int, b_sign: float, w: float) -> None:
    """Write the coupling w of two forces to each other's rows, symmetrically.

    ``a`` and ``b`` are the indices of their variables with a plus sign; ``a_less`` and ``b_less`` of second variables
    with a minus sign. An index of -1 means no variable.
    """
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
def _shift(q: Floats, a: int, a_less: int, a_sign: float, rate: float) -> None:
    """Add ``rate`` to q in the rows of a force's variables, with their signs; indices are as in `_add_coupling`."""
    if a >= 0:
        q[a] += a_sign * rate
    if a_less >= 0:
        q[a_less] -= rate


@kernel
def fill_boxed_rows(rows: ContactSystem, M: Floats, q: Floats) -> None:
    """Fill M and q in the rows and columns of x and y, and add the effect of boxed forces at x = y = 0 to all of q.

    M (n, n) and q (n,) are zero in the rows and columns of x and y at entry.
    """
    # sizes, and the first variables x and y
    J, Y, lo, hi, nv = rows.J, rows.Y, rows.lo, rows.hi, rows.v_free.shape[0]
    nf = rows.nc + rows.nr
    nu = nf + rows.nl
    limit = first_limit(rows)
    x, y = _first_variables(limit + rows.nl, lo, hi)
    for b in range(lo.shape[0]):
        # free rate of the row in q
        i = nu + b
        kind = _kind(lo[b], hi[b])
        anchor = _reference_force(lo[b], hi[b])
        a, a_less, sign = _variables(kind, x, y)
        _shift(q, a, a_less, sign, dot_range(0, nv, J[i], rows.v_free, 0.0) + rows.k[i])
        # coupling with contacts, friction and limits, and the effect of the reference force on them
        for j in range(nu):
            w = rows.h * dot_range(0, nv, J[j], Y[i], 0.0)
            place = j if j < nf else limit + j - nf
            negated = place + rows.nr if rows.nc <= j < nf else -1
            _add_coupling(M, place, negated, 1.0, a, a_less, sign, w)
            if anchor != 0.0:
                _shift(q, place, negated, 1.0, w * anchor)
        # Boxed rows from this one on; their indices advance with the row.
        x_other, y_other = x, y
        for c in range(b, lo.shape[0]):
            w = rows.h * dot_range(0, nv, J[i], Y[nu + c], 0.0)
            if c == b:
                w += rows.gamma[i]
            other = _kind(lo[c], hi[c])
            other_anchor = _reference_force(lo[c], hi[c])
            d, d_less, other_sign = _variables(other, x_other, y_other)
            _add_coupling(M, a, a_less, sign, d, d_less, other_sign, w)
            if other_anchor != 0.0:
                _shift(q, a, a_less, sign, w * other_anchor)
            if c != b and anchor != 0.0:
                _shift(q, d, d_less, other_sign, w * anchor)
            x_other, y_other = _advance(other, x_other, y_other)
        # two finite bounds: x and y are coupled by the width
        if kind == _BOTH:
            M[x, y] = 1.0
            M[y, x] = 0.0 - 1.0
            q[y] = hi[b] - lo[b]
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
    """Return True if a boxed row has a nonzero force at x = y = 0."""
    found = False
    for b in range(lo.shape[0]):
        found = found or _reference_force(lo[b], hi[b]) != 0.0
    return found


@kernel(inner=True)
def fill_boxed_rhs(
    rows: ContactSystem, posed: Floats, v: Floats, q: Floats, amounts: Floats, sizes: Floats, units: Floats
) -> float:
    """Fill q of the variables x and y, and the scales of their rows.

    v (nv,) is the velocity at x = y = 0. ``amounts`` become the rates without any force, ``units`` the square roots of
    the responses R. Return the largest of rate / sqrt(R), and of a small fraction of the bounds times sqrt(R).
    """
    # places of the rows and of their variables
    lo, hi = rows.lo, rows.hi
    first = rows.nc + rows.nr + rows.nl + rows.nb
    x, y = _first_variables(first_limit(rows) + rows.nl, lo, hi)
    heaviest = 0.0
    for b in range(lo.shape[0]):
        i = first + b
        kind = _kind(lo[b], hi[b])
        # a given force has no variable
        if kind == _GIVEN:
            continue
        # response and rates of the row
        begin, middle, other, end = row_ranges(rows.column_ranges, i, v.shape[0])
        root = math.sqrt(response_of(rows, posed, units[:0], i))
        rate = sparse_dot(begin, middle, other, end, rows.J[i], v) + rows.k[i]
        rate += rows.gamma[i] * _reference_force(lo[b], hi[b])
        amount = size_unforced(rows, posed, i)
        # The rounding of a force is relative to its bounds; `MIN_RELATIVE_SCALE` times the larger bound counts.
        heaviest = max(
            heaviest, amount / root if root > 0.0 else 0.0, MIN_RELATIVE_SCALE * root * larger_bound(lo[b], hi[b])
        )
        # right side and scales of x
        q[x] = -rate if kind == _ABOVE else rate
        amounts[x] = amount
        sizes[x] = units[x] = root
        # y: the width of the bounds, or the negative rate of a free row
        if kind == _BOTH:
            q[y] = amounts[y] = hi[b] - lo[b]
            sizes[y] = units[y] = 1.0 / root if root > 0.0 else 0.0
        elif kind == _FREE:
            q[y] = -rate
            amounts[y] = amount
            sizes[y] = units[y] = root
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
    x, y = _first_variables(first_limit(rows) + rows.nl, lo, hi)
    for b in range(lo.shape[0]):
        i = first + b
        kind = _kind(lo[b], hi[b])
        # rate without softness
        begin, middle, other, end = row_ranges(rows.column_ranges, i, v_plus.shape[0])
        rates[i] = sparse_dot(begin, middle, other, end, rows.J[i], v_plus) + rows.k[i]
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
    for i in range(nc):
        f[i] = z[i]
    for i in range(nr):
        f[nc + i] = z[nc + i] - z[nc + nr + i]
    for i in range(nl):
        f[nc + nr + i] = z[limit + i]
    nu = nc + nr + nl
    recover_boxed_forces(limit + nl, rows.lo, rows.hi, z, f[nu : nu + rows.lo.shape[0]])

    for p in range(v_plus.shape[0]):
        v_plus[p] = rows.v_free[p]
    add_impulses(rows.h, f, rows.Y, rows.column_ranges, v_plus)
