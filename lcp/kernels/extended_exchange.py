"""One exchange of a condensed tableau in double-double numbers, every entry with an estimate of its error.

The tableau is a dictionary x_B = x + sum_j T[:, j] y_j, one column per nonbasic variable and x as the last one. ``E``
holds for every entry the size of its uncertainty, from the rounding of the data and of the arithmetic; an entry within
a multiple of it is zero. Uncertainties are propagated by their largest term, not by their sum: a bound on a bound of
hundreds of exchanges says nothing, the size of the error does.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.double_double import ROUNDING, dd_divide, dd_multiply, halved_product, halves, two_sum

CERTAIN: Final = 32.0  # uncertainties an entry must exceed not to count as zero


class ExtendedTableau(NamedTuple):
    """A problem in scaled units, and a dictionary of it: w_i is variable i, z_i is n + i, the artificial one 2 n."""

    M: Floats
    q: Floats
    row: Floats
    column: Floats
    cover: Floats
    trust: float  # relative uncertainty of data with long digits
    T: Floats  # (n, n + 2)
    T_low: Floats
    E: Floats
    pivot: Floats  # (3, n + 2) scratch: a row of each of them
    values: Floats  # (3, n) scratch: quotients, likewise
    basis: Ints
    nonbasis: Ints  # n + 1
    position: Ints  # (2 n + 1,) column of a nonbasic variable, -1 for a basic one
    wanted: Ints  # (2 n + 1,) scratch: the variables of a basis that is formed anew
    rows: Ints  # n scratch


@kernel(inline=True)
def extended_tableau(
    M: Floats, q: Floats, row: Floats, column: Floats, cover: Floats, trust: float, wf: Floats, wi: Ints
) -> ExtendedTableau:
    """The views of the two workspaces."""
    n = q.shape[0]
    area = n * (n + 2)
    at = 3 * area
    return ExtendedTableau(
        M,
        q,
        row,
        column,
        cover,
        trust,
        wf[:area].reshape((n, n + 2)),
        wf[area : 2 * area].reshape((n, n + 2)),
        wf[2 * area : at].reshape((n, n + 2)),
        wf[at : at + 3 * n + 6].reshape((3, n + 2)),
        wf[at + 3 * n + 6 : at + 6 * n + 6].reshape((3, n)),
        wi[:n],
        wi[n : 2 * n + 1],
        wi[2 * n + 1 : 4 * n + 2],
        wi[4 * n + 2 : 6 * n + 3],
        wi[6 * n + 3 : 7 * n + 3],
    )


@kernel(inner=True)
def update_row(t: ExtendedTableau, i: int, f: float, f_low: float, f_error: float) -> None:
    """Row i += f times the pivot row; what cancels to its uncertainty is set to zero."""
    p, p_low, p_error = t.pivot[0], t.pivot[1], t.pivot[2]
    y, y_low, error = t.T[i], t.T_low[i], t.E[i]
    f_head, f_tail = halves(f)
    f_size = abs(f)
    for j in range(y.shape[0]):
        b = p[j]
        m, m_low = halved_product(f, f_head, f_tail, b)
        m_low += f * p_low[j] + f_low * b
        a = y[j]
        s, e = two_sum(a, m)
        e += y_low[j] + m_low
        h = s + e
        noise = max(max(error[j], f_size * p_error[j]), max(abs(b) * f_error, ROUNDING * max(abs(a), abs(m))))
        error[j] = noise
        known = 1.0 if abs(h) > CERTAIN * noise else 0.0
        y[j] = h * known
        y_low[j] = (e - (h - s)) * known


@kernel(inner=True)
def exchange_extended(t: ExtendedTableau, r: int, c: int) -> int:
    """Swap the basic variable of row ``r``, which is returned, with the nonbasic variable of column ``c``, in place."""
    T, T_low, E = t.T, t.T_low, t.E
    row, row_low, row_error = t.pivot[0], t.pivot[1], t.pivot[2]
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
                update_row(t, i, f, f_low, f_error)
    for j in range(width):
        T[r, j] = row[j]
        T_low[r, j] = row_low[j]
        E[r, j] = row_error[j]
    leaving = t.basis[r]
    t.basis[r] = t.nonbasis[c]
    t.nonbasis[c] = leaving
    return leaving


@kernel(inline=True)
def is_short(x: float) -> bool:
    """Whether x has at most 26 significant bits: a whole number or a simple fraction, not the rounding of another."""
    return halves(x)[0] == x


@kernel(inner=True)
def first_dictionary_extended(t: ExtendedTableau) -> None:
    """w = q + M z + cover t in scaled units."""
    T, E = t.T, t.E
    n = t.q.shape[0]
    for i in range(n):
        t.basis[i] = i
        t.nonbasis[i] = n + i
        for j in range(n):
            T[i, j] = t.M[i, j] * t.row[i] * t.column[j]
            E[i, j] = 0.0 if is_short(t.M[i, j]) else t.trust * abs(T[i, j])
        T[i, n] = t.cover[i]
        E[i, n] = 0.0
        T[i, n + 1] = t.q[i] * t.row[i]
        E[i, n + 1] = 0.0 if is_short(t.q[i]) else t.trust * abs(T[i, n + 1])
        for j in range(n + 2):
            t.T_low[i, j] = 0.0
    t.nonbasis[n] = 2 * n


@kernel(inner=True)
def rebuild_extended(t: ExtendedTableau) -> bool:
    """Form the dictionary of the basis anew from the data, with complete pivoting; False where it is singular."""
    T, basis, nonbasis, wanted = t.T, t.basis, t.nonbasis, t.wanted
    n = t.q.shape[0]
    for i in range(2 * n + 1):
        wanted[i] = 0
    for i in range(n):
        wanted[basis[i]] = 1
    first_dictionary_extended(t)
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
        exchange_extended(t, r, c)
    return True
