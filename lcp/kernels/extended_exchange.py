"""One exchange of a condensed tableau in double-double numbers, every entry with an estimate of its error.

The tableau is a dictionary x_B = x + sum_j T[:, j] y_j, one column per nonbasic variable and x as the last one. ``E``
holds for every entry the size of its uncertainty, from the rounding of the data and of the arithmetic; an entry within
a multiple of it is zero. Uncertainties are propagated by their largest term, not by their sum: a bound on a bound of
hundreds of exchanges says nothing, the size of the error does.
"""

from __future__ import annotations

from typing import Final

from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.double_double import ROUNDING, SPLITTER, dd_divide, dd_multiply

CERTAIN: Final = 32.0  # uncertainties an entry must exceed to be told from zero


@kernel(inner=True)
def update_row(
    f: float,
    f_low: float,
    f_error: float,
    p: Floats,
    p_low: Floats,
    p_error: Floats,
    y: Floats,
    y_low: Floats,
    error: Floats,
) -> None:
    """y += f p, what cancels to its uncertainty being set to zero."""
    c = SPLITTER * f
    f_head = c - (c - f)
    f_tail = f - f_head
    f_size = abs(f)
    for j in range(y.shape[0]):
        b = p[j]
        c = SPLITTER * b
        b_head = c - (c - b)
        b_tail = b - b_head
        m = f * b
        m_low = ((f_head * b_head - m) + f_head * b_tail + f_tail * b_head) + f_tail * b_tail
        m_low += f * p_low[j] + f_low * b
        a = y[j]
        s = a + m
        t = s - a
        e = (a - (s - t)) + (m - t)
        e += y_low[j] + m_low
        h = s + e
        noise = max(max(error[j], f_size * p_error[j]), max(abs(b) * f_error, ROUNDING * max(abs(a), abs(m))))
        error[j] = noise
        known = 1.0 if abs(h) > CERTAIN * noise else 0.0
        y[j] = h * known
        y_low[j] = (e - (h - s)) * known


@kernel(inner=True)
def exchange_extended(
    T: Floats, T_low: Floats, E: Floats, r: int, c: int, row: Floats, row_low: Floats, row_error: Floats
) -> None:
    """Swap the basic variable of row ``r`` with the nonbasic variable of column ``c``, in place.

    The tableau is n x (n + 2); the three ``row`` vectors (n + 2,) are scratch.
    """
    n, width = T.shape
    inverse, inverse_low = dd_divide(1.0, 0.0, T[r, c], T_low[r, c])
    size = abs(inverse)
    loss = E[r, c] * size
    for j in range(width):
        h, low = dd_multiply(-T[r, j], -T_low[r, j], inverse, inverse_low)
        row[j] = h
        row_low[j] = low
        row_error[j] = max(E[r, j] * size, abs(h) * max(loss, ROUNDING))
    row[c] = inverse
    row_low[c] = inverse_low
    row_error[c] = size * max(loss, ROUNDING)
    for i in range(n):
        f = T[i, c]
        if i != r:
            f_low = T_low[i, c]
            f_error = E[i, c]
            T[i, c] = 0.0
            T_low[i, c] = 0.0
            E[i, c] = 0.0
            if f != 0.0 or f_error != 0.0:
                update_row(f, f_low, f_error, row, row_low, row_error, T[i], T_low[i], E[i])
    for j in range(width):
        T[r, j] = row[j]
        T_low[r, j] = row_low[j]
        E[r, j] = row_error[j]


@kernel(inline=True)
def is_short(x: float) -> bool:
    """Whether x has at most 26 significant bits: a whole number or a simple fraction, not the rounding of another."""
    c = SPLITTER * x
    return c - (c - x) == x


@kernel(inner=True)
def first_dictionary_extended(
    M: Floats,
    q: Floats,
    cover: Floats,
    row: Floats,
    column: Floats,
    trust: float,
    T: Floats,
    T_low: Floats,
    E: Floats,
    basis: Ints,
    nonbasis: Ints,
) -> None:
    """w = q + M z + cover t in scaled units; ``trust`` is the relative uncertainty of data with long digits."""
    n = q.shape[0]
    for i in range(n):
        basis[i] = i
        nonbasis[i] = n + i
        for j in range(n):
            T[i, j] = M[i, j] * row[i] * column[j]
            E[i, j] = 0.0 if is_short(M[i, j]) else trust * abs(T[i, j])
        T[i, n] = cover[i]
        E[i, n] = 0.0
        T[i, n + 1] = q[i] * row[i]
        E[i, n + 1] = 0.0 if is_short(q[i]) else trust * abs(T[i, n + 1])
        for j in range(n + 2):
            T_low[i, j] = 0.0
    nonbasis[n] = 2 * n


@kernel(inner=True)
def rebuild_extended(
    M: Floats,
    q: Floats,
    cover: Floats,
    row: Floats,
    column: Floats,
    trust: float,
    T: Floats,
    T_low: Floats,
    E: Floats,
    basis: Ints,
    nonbasis: Ints,
    wanted: Ints,
    pivot_row: Floats,
    pivot_low: Floats,
    pivot_error: Floats,
) -> bool:
    """Form the dictionary of a basis anew from the data, with complete pivoting; False where it is singular.

    Variables: w_i is i, z_i is n + i, the artificial variable is 2 n. ``wanted`` (2 n + 1,) marks the basic ones.
    """
    n = q.shape[0]
    first_dictionary_extended(M, q, cover, row, column, trust, T, T_low, E, basis, nonbasis)
    exchanges = 0
    for j in range(n + 1):
        exchanges += wanted[nonbasis[j]]
    for _ in range(exchanges):
        best = 0.0
        r = -1
        c = -1
        for i in range(n):
            if wanted[basis[i]] == 0:
                for j in range(n + 1):
                    if wanted[nonbasis[j]] != 0 and abs(T[i, j]) > best:
                        best = abs(T[i, j])
                        r = i
                        c = j
        if r < 0:
            return False
        exchange_extended(T, T_low, E, r, c, pivot_row, pivot_low, pivot_error)
        basis[r], nonbasis[c] = nonbasis[c], basis[r]
    return True
