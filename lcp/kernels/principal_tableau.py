"""The principal transforms of an LCP: dictionaries in which every pair (z_i, w_i) keeps row i and column i.

b = x + T y with one of each pair basic (b_i) and the other nonbasic (y_i); ``inside[i]`` says that z_i is the basic
one. Unlike in Lemke's tableau nonbasic values need not be zero: z_i may rest at a bound. Data are equilibrated,
T = R M C at first, which keeps signs, complementarity and the classes P and sufficient. Cottle, Pang and Stone (1992),
section 2.3.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.basis_solve import solve_active
from lcp.kernels.exchange import exchange, take_column

# A pivot below this part of the largest entry of the tableau makes a basis singular to working precision.
SINGULAR: Final = 1e-14


@kernel
def first_tableau(M: Floats, q: Floats, row: Floats, column: Floats, T: Floats, x: Floats) -> None:
    """The tableau with all w basic."""
    n = q.shape[0]
    for i in range(n):
        target = T[i]
        source = M[i]
        scale = row[i]
        for j in range(n):
            target[j] = source[j] * scale * column[j]
        x[i] = q[i] * scale


@kernel(inner=True)
def swap_one(
    T: Floats, x: Floats, b: Floats, y: Floats, inside: Ints, i: int, entry: Floats, pivot_row: Floats
) -> None:
    """Exchange the two of pair i; the pivot is T_ii."""
    take_column(T, i, entry)
    exchange(T, x, i, i, entry, pivot_row)
    b[i], y[i] = y[i], b[i]
    inside[i] = 1 - inside[i]


@kernel(inner=True)
def swap_two(
    T: Floats, x: Floats, b: Floats, y: Floats, inside: Ints, i: int, r: int, entry: Floats, pivot_row: Floats
) -> None:
    """Exchange the two of pair i and the two of pair r at once, where T_ii T_rr alone would not do.

    Two exchanges off the diagonal, after which rows and columns i and r change places.
    """
    n = x.shape[0]
    take_column(T, r, entry)
    exchange(T, x, i, r, entry, pivot_row)
    take_column(T, i, entry)
    exchange(T, x, r, i, entry, pivot_row)
    upper = T[i]
    lower = T[r]
    for j in range(n):
        upper[j], lower[j] = lower[j], upper[j]
    for j in range(n):
        T[j, i], T[j, r] = T[j, r], T[j, i]
    x[i], x[r] = x[r], x[i]
    b[i], y[i] = y[i], b[i]
    b[r], y[r] = y[r], b[r]
    inside[i] = 1 - inside[i]
    inside[r] = 1 - inside[r]


@kernel
def advance(T: Floats, b: Floats, y: Floats, r: int, step: float) -> None:
    """Move the nonbasic variable of pair r by ``step``, the basic ones following."""
    for i in range(b.shape[0]):
        b[i] += T[i, r] * step
    y[r] += step


@kernel
def enter_basis(
    M: Floats,
    q: Floats,
    row: Floats,
    column: Floats,
    T: Floats,
    x: Floats,
    b: Floats,
    y: Floats,
    inside: Ints,
    wanted: Ints,
    rest: Floats,
    entry: Floats,
    pivot_row: Floats,
) -> bool:
    """Form the tableau with the ``wanted`` z basic anew from the original data, and the values that belong to it.

    Largest diagonal pivots first, pairs where the diagonal vanishes. False where that basis is singular to working
    precision: as many of it as could enter have done so. Nonbasic z take the values ``rest``.
    """
    n = q.shape[0]
    first_tableau(M, q, row, column, T, x)
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
            swap_one(T, x, b, y, inside, first, entry, pivot_row)
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
        swap_two(T, x, b, y, inside, first, second, entry, pivot_row)
    for i in range(n):
        if wanted[i] == 1 and inside[i] == 0:
            complete = False
        y[i] = 0.0 if inside[i] == 1 else rest[i]
    for i in range(n):
        source = T[i]
        total = x[i]
        for j in range(n):
            total += source[j] * y[j]
        b[i] = total
    return complete


@kernel
def resolve(
    M: Floats,
    q: Floats,
    lo: Floats,
    hi: Floats,
    row: Floats,
    column: Floats,
    b: Floats,
    y: Floats,
    inside: Ints,
    active: Ints,
    perm: Ints,
    A: Floats,
    load: Floats,
    work: Floats,
    z: Floats,
) -> bool:
    """z of the present basis from the original data, refined once and put between its bounds.

    False, with z as the tableau has it, where the basis is singular. ``load`` (n,) and ``work`` (3 n,) are scratch.
    """
    n = q.shape[0]
    k = 0
    for i in range(n):
        load[i] = q[i]
        if inside[i] == 1:
            active[k] = i
            k += 1
    for j in range(n):
        if inside[j] == 0 and y[j] != 0.0:
            value = resting_value(lo, hi, column, y, j)
            for i in range(n):
                load[i] += M[i, j] * value
    sound = solve_active(M, load, row, column, active, k, A, perm, work, z)
    for i in range(n):
        if inside[i] == 0:
            z[i] = resting_value(lo, hi, column, y, i)
        elif not sound:
            z[i] = b[i] * column[i]
        if not np.isfinite(z[i]):
            z[i] = 0.0
        z[i] = min(max(z[i], lo[i]), hi[i])
    return sound


@kernel(inline=True)
def resting_value(lo: Floats, hi: Floats, column: Floats, y: Floats, i: int) -> float:
    """The value of a nonbasic z_i in the units of the problem: exactly a bound where it rests at one."""
    value = y[i] * column[i]
    if np.isfinite(lo[i]) and abs(value - lo[i]) <= 1e-14 * abs(lo[i]):
        return lo[i]
    if np.isfinite(hi[i]) and abs(value - hi[i]) <= 1e-14 * abs(hi[i]):
        return hi[i]
    return value
