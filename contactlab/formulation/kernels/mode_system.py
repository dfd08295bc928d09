"""Velocities and forces of given contact modes, by the method of multipliers on the velocities of an island.

Every closed contact has up to three pairs of a row a, whose rate s = a v+ + known terms is to vanish, and a response c,
what the pair's force does to v. One step from forces f with rates s solves::

    (1 + h sum rho c a') dv = -h sum rho c s,     df = -rho (s + a dv)

and leaves s / rho-th of the rates (Hestenes 1969, Powell 1969; sliding makes it unsymmetric). Rows that depend on one
another are no difficulty, and forces change no more than they must. Its matrix is as sparse as the trees' contacts.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from contactlab.formulation.kernels.rows import Rows
from contactlab.formulation.kernels.spans import add_within, columns, dot_within
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel

# Most pairs of a contact.
PAIRS: Final = 3

# How stiff a multiplier is against its own pair; a step leaves about one part in so many of the rates.
STIFFNESS: Final = 1e7


class Pairs(NamedTuple):
    """The pairs of an island's contacts: pair i of contact c stands in place ``PAIRS c + i``."""

    number: IntArray  # (nc,) pairs of each contact
    A: FloatArray  # (PAIRS nc, nv) rows, within the spans of their contacts
    C: FloatArray  # (PAIRS nc, nv) responses
    softening: FloatArray  # what is added to a pair's own response
    own: FloatArray  # that response where the pair's own would be no positive number
    rho: FloatArray  # multipliers
    rates: FloatArray  # what each pair's row is to bring to zero
    change: FloatArray  # of each pair's force


@kernel(inner=True)
def form_modes(rows: Rows, pairs: Pairs, reach: IntArray, K: FloatArray) -> None:
    """Fill rho and K = 1 + h sum rho c a', of which row p has nothing right of ``reach[p]``."""
    nv = K.shape[0]
    left = 0
    for p in range(nv):
        while reach[left] <= p:
            left += 1
        for j in range(left, reach[p]):
            K[p, j] = 0.0
        K[p, p] = 1.0
    for contact in range(rows.nc):
        a, b, c, d = columns(rows.spans, contact, nv)
        for i in range(PAIRS * contact, PAIRS * contact + pairs.number[contact]):
            row = pairs.A[i]
            response = pairs.C[i]
            size = rows.h * dot_within(a, b, c, d, row, response) + pairs.softening[i]
            if not size > 0.0:
                size = pairs.own[i]
            stiff = STIFFNESS / size if size > 0.0 else 0.0
            stiff /= 1.0 + stiff * pairs.softening[i]
            pairs.rho[i] = stiff
            stiff *= rows.h
            for p in range(a, b):
                add_within(a, b, c, d, stiff * response[p], row, K[p])
            for p in range(c, d):
                add_within(a, b, c, d, stiff * response[p], row, K[p])


@kernel(inner=True)
def factor_modes(K: FloatArray, reach: IntArray) -> bool:
    """LU of K in place, within its envelope; False where a pivot vanishes."""
    nv = K.shape[0]
    for p in range(nv):
        pivot_row = K[p]
        if not abs(pivot_row[p]) > 1e-12:
            return False
        inverse = 1.0 / pivot_row[p]
        last = reach[p]
        source = pivot_row[p + 1 : last]
        for i in range(p + 1, last):
            factor = K[i, p] * inverse
            if factor != 0.0:
                target = K[i, p + 1 : last]
                for j in range(source.shape[0]):
                    target[j] -= factor * source[j]
            K[i, p] = factor
    return True


@kernel(inner=True)
def solve_modes(rows: Rows, pairs: Pairs, reach: IntArray, K: FloatArray, x: FloatArray) -> None:
    """Fill the changes of the forces for the rates of the pairs; ``x`` (nv,) is scratch."""
    nv = K.shape[0]
    for p in range(nv):
        x[p] = 0.0
    for contact in range(rows.nc):
        a, b, c, d = columns(rows.spans, contact, nv)
        for i in range(PAIRS * contact, PAIRS * contact + pairs.number[contact]):
            add_within(a, b, c, d, -rows.h * pairs.rho[i] * pairs.rates[i], pairs.C[i], x)
    for p in range(nv):
        value = x[p]
        if value != 0.0:
            for i in range(p + 1, reach[p]):
                x[i] -= K[i, p] * value
    for p in range(nv - 1, -1, -1):
        total = x[p]
        row = K[p]
        for j in range(p + 1, reach[p]):
            total -= row[j] * x[j]
        x[p] = total / row[p]
    for contact in range(rows.nc):
        a, b, c, d = columns(rows.spans, contact, nv)
        for i in range(PAIRS * contact, PAIRS * contact + pairs.number[contact]):
            pairs.change[i] = -pairs.rho[i] * (pairs.rates[i] + dot_within(a, b, c, d, pairs.A[i], x))
