"""The principal transforms of an LCP: dictionaries in which every pair (z_i, w_i) keeps row i and column i.

b = x + T y with one of each pair basic (b_i) and the other nonbasic (y_i); ``inside[i]`` says that z_i is the basic
one. Unlike in Lemke's tableau nonbasic values need not be zero: z_i may rest at a bound. Data are equilibrated,
T = R M C at first, which keeps signs, complementarity and the classes P and sufficient. Cottle, Pang and Stone (1992),
section 2.3.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.basis_solve import solve_active
from lcp.kernels.exchange import exchange, take_column

# A pivot below this part of the largest entry of the tableau makes a basis singular to working precision.
SINGULAR: Final = 1e-14

# The vector of information of a method: its pivots come first.
PIVOTS: Final = 0
INFO_SIZE: Final = 8


class PrincipalTableau(NamedTuple):
    """A problem, its scales, and the tableau of one of its principal transforms."""

    M: Floats
    q: Floats
    row: Floats
    column: Floats
    T: Floats
    x: Floats
    b: Floats  # basic values
    y: Floats  # nonbasic values
    inside: Ints
    lo: Floats  # bounds of z, in the units of the tableau
    hi: Floats
    size: Floats  # largest magnitude that has gone into each b
    entry: Floats  # n scratch
    pivot_row: Floats  # n + 1 scratch


@kernel(inner=True)
def first_tableau(t: PrincipalTableau) -> None:
    """The tableau with all w basic."""
    n = t.q.shape[0]
    for i in range(n):
        target = t.T[i]
        source = t.M[i]
        scale = t.row[i]
        for j in range(n):
            target[j] = source[j] * scale * t.column[j]
        t.x[i] = t.q[i] * scale


@kernel(inner=True)
def change_places(t: PrincipalTableau, i: int) -> None:
    """The values of pair i where z_i and w_i have changed places."""
    t.b[i], t.y[i] = t.y[i], t.b[i]
    t.inside[i] = 1 - t.inside[i]


@kernel(inner=True)
def swap_one(t: PrincipalTableau, i: int) -> None:
    """Exchange the two of pair i; the pivot is T_ii."""
    take_column(t.T, i, t.entry)
    exchange(t.T, t.x, i, i, t.entry, t.pivot_row)
    change_places(t, i)


@kernel(inner=True)
def swap_two(t: PrincipalTableau, i: int, r: int) -> None:
    """Exchange the two of pair i and the two of pair r at once, where T_ii T_rr alone would not do.

    Two exchanges off the diagonal, after which rows and columns i and r change places.
    """
    T, x = t.T, t.x
    n = x.shape[0]
    take_column(T, r, t.entry)
    exchange(T, x, i, r, t.entry, t.pivot_row)
    take_column(T, i, t.entry)
    exchange(T, x, r, i, t.entry, t.pivot_row)
    upper = T[i]
    lower = T[r]
    for j in range(n):
        upper[j], lower[j] = lower[j], upper[j]
    for j in range(n):
        T[j, i], T[j, r] = T[j, r], T[j, i]
    x[i], x[r] = x[r], x[i]
    change_places(t, i)
    change_places(t, r)


@kernel(inner=True)
def advance(t: PrincipalTableau, r: int, step: float) -> None:
    """Move the nonbasic variable of pair r by ``step``, the basic ones following."""
    for i in range(t.b.shape[0]):
        t.b[i] += t.T[i, r] * step
    t.y[r] += step


@kernel
def enter_basis(t: PrincipalTableau, wanted: Ints, rest: Floats) -> bool:
    """Form the tableau with the ``wanted`` z basic anew from the original data, and the values that belong to it.

    Largest diagonal pivots first, pairs where the diagonal vanishes. False where that basis is singular to working
    precision: as many of it as could enter have done so. Nonbasic z take the values ``rest``.
    """
    T, inside = t.T, t.inside
    n = t.q.shape[0]
    first_tableau(t)
    largest = 0.0
    for i in range(n):
        inside[i] = 0
        for j in range(n):
            largest = max(largest, abs(T[i, j]))
    complete = True
    while True:
        best = SINGULAR * largest
        first = -1
        for i in range(n):
            if wanted[i] == 1 and inside[i] == 0 and abs(T[i, i]) > best:
                best = abs(T[i, i])
                first = i
        if first >= 0:
            swap_one(t, first)
            continue
        best = SINGULAR * largest
        second = -1
        for i in range(n):
            for j in range(i):
                if wanted[i] == 1 and wanted[j] == 1 and inside[i] == 0 and inside[j] == 0:
                    size = min(abs(T[i, j]), abs(T[j, i]))
                    if size > best:
                        best = size
                        first = i
                        second = j
        if second < 0:
            break
        swap_two(t, first, second)
    for i in range(n):
        if wanted[i] == 1 and inside[i] == 0:
            complete = False
        t.y[i] = 0.0 if inside[i] == 1 else rest[i]
    for i in range(n):
        source = T[i]
        total = t.x[i]
        for j in range(n):
            total += source[j] * t.y[j]
        t.b[i] = total
    return complete


@kernel
def resolve(
    t: PrincipalTableau, lo: Floats, hi: Floats, active: Ints, perm: Ints, A: Floats, load: Floats, work: Floats,
    z: Floats,
) -> bool:  # fmt: skip
    """z of the present basis from the original data, refined once and put between its bounds ``lo`` and ``hi``.

    False, with z as the tableau has it, where the basis is singular. ``load`` (n,) and ``work`` (3 n,) are scratch.
    """
    inside = t.inside
    n = t.q.shape[0]
    k = 0
    for i in range(n):
        load[i] = t.q[i]
        if inside[i] == 1:
            active[k] = i
            k += 1
    for j in range(n):
        if inside[j] == 0 and t.y[j] != 0.0:
            value = resting_value(lo[j], hi[j], t.y[j] * t.column[j])
            for i in range(n):
                load[i] += t.M[i, j] * value
    sound = solve_active(t.M, load, t.row, t.column, active, k, A, perm, work, z)
    for i in range(n):
        if inside[i] == 0:
            z[i] = resting_value(lo[i], hi[i], t.y[i] * t.column[i])
        elif not sound:
            z[i] = t.b[i] * t.column[i]
        if not np.isfinite(z[i]):
            z[i] = 0.0
        z[i] = min(max(z[i], lo[i]), hi[i])
    return sound


@kernel(inline=True)
def resting_value(lo: float, hi: float, value: float) -> float:
    """The value of a nonbasic z_i in the units of the problem: exactly a bound where it rests at one."""
    if np.isfinite(lo) and abs(value - lo) <= 1e-14 * abs(lo):
        return lo
    if np.isfinite(hi) and abs(value - hi) <= 1e-14 * abs(hi):
        return hi
    return value
