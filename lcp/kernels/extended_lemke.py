"""Lemke's complementary pivoting in double-double numbers on a condensed, balanced tableau.

Lemke (1965); Cottle, Pang and Stone (1992), algorithm 4.4.5. The path is the one of `lcp.kernels.lemke`. Here every
entry has an error estimate, which decides on zeros and ties. If the pivot is uncertain, or no row blocks (a ray), the
dictionary is formed again from the data before a conclusion.

Two ratios tie if they can be equal within their errors (section 4.9). The artificial variable leaves first, then the
lexicographically smallest of (x, B^-1)_i / |T_ic|. The columns of B^-1 of basic slacks are unit vectors; the others
are, with the opposite sign, the columns of the nonbasic slacks.

The tableau is a dictionary x_B = x + sum_j T[:, j] y_j, one column per nonbasic variable and x as the last one. ``E``
has the uncertainty of every entry, from the rounding of the data and of the arithmetic; an entry within a multiple of
it is zero. Uncertainties are propagated by their largest term, not by their sum: after hundreds of exchanges a rigorous
bound would be useless, while the size of the error is not.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from lcp.kernels import ITERATION_LIMIT, NOT_FINITE, RAY, RUNNING, SINGULAR_BASIS, SOLVED, Floats, Ints, kernel
from lcp.kernels.double_double import (
    ROUNDING,
    dd_add,
    dd_divide,
    dd_multiply,
    dd_residual,
    halved_product,
    halves,
    two_sum,
)

CERTAIN: Final = 32.0  # uncertainties that a nonzero entry must exceed


class ExtendedTableau(NamedTuple):
    """Problem in scaled units, and a dictionary of it: w_i is variable i, z_i is n + i, the artificial one 2 n."""

    M: Floats
    q: Floats
    row: Floats
    column: Floats
    cover: Floats
    trust: float  # relative uncertainty of data with long digits
    T: Floats  # (n, n + 2)
    T_low: Floats
    E: Floats
    pivot: Floats  # (3, n + 2) scratch: a row of each of T, T_low and E
    values: Floats  # (3, n) scratch: quotients, in the same form
    basis: Ints
    nonbasis: Ints  # n + 1
    position: Ints  # (2 n + 1,) column of a nonbasic variable, -1 for a basic one
    wanted: Ints  # (2 n + 1,) scratch: the variables of a basis that is formed again
    rows: Ints  # n scratch


@kernel(inline=True)
def extended_tableau(
    M: Floats, q: Floats, row: Floats, column: Floats, cover: Floats, trust: float, wf: Floats, wi: Ints
) -> ExtendedTableau:
    """Return the views of the two workspaces."""
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
    """Add f times the pivot row to row i; set entries to zero that cancel to their uncertainty."""
    # Rows of the tableau, and the halves of f.
    p, p_low, p_error = t.pivot[0], t.pivot[1], t.pivot[2]
    y, y_low, error = t.T[i], t.T_low[i], t.E[i]
    f_head, f_tail = halves(f)
    f_size = abs(f)
    for j in range(y.shape[0]):
        # f b in double-double.
        b = p[j]
        m, m_low = halved_product(f, f_head, f_tail, b)
        m_low += f * p_low[j] + f_low * b
        # Add it.
        a = y[j]
        s, e = two_sum(a, m)
        e += y_low[j] + m_low
        h = s + e
        # The largest term of the error; an entry within it is zero.
        noise = max(max(error[j], f_size * p_error[j]), max(abs(b) * f_error, ROUNDING * max(abs(a), abs(m))))
        error[j] = noise
        known = 1.0 if abs(h) > CERTAIN * noise else 0.0
        y[j] = h * known
        y_low[j] = (e - (h - s)) * known


@kernel(inner=True)
def exchange_extended(t: ExtendedTableau, r: int, c: int) -> int:
    """Exchange the basic variable of row ``r`` and the nonbasic one of column ``c`` in place; return the former."""
    # The new pivot row.
    T, T_low, E = t.T, t.T_low, t.E
    row, row_low, row_error = t.pivot[0], t.pivot[1], t.pivot[2]
    n, width = T.shape
    inverse, inverse_low = dd_divide(1.0, 0.0, T[r, c], T_low[r, c])
    size = abs(inverse)
    loss = E[r, c] * size
    for j in range(width):
        row[j], row_low[j] = dd_multiply(-T[r, j], -T_low[r, j], inverse, inverse_low)
        row_error[j] = max(E[r, j] * size, abs(row[j]) * max(loss, ROUNDING))
    row[c], row_low[c], row_error[c] = inverse, inverse_low, size * max(loss, ROUNDING)
    # Update the other rows.
    for i in range(n):
        if i != r:
            f, f_low, f_error = T[i, c], T_low[i, c], E[i, c]
            T[i, c], T_low[i, c], E[i, c] = 0.0, 0.0, 0.0
            if f != 0.0 or f_error != 0.0:
                update_row(t, i, f, f_low, f_error)
    # Store the pivot row, and exchange the variables.
    for j in range(width):
        T[r, j], T_low[r, j], E[r, j] = row[j], row_low[j], row_error[j]
    t.basis[r], t.nonbasis[c] = t.nonbasis[c], t.basis[r]
    return t.nonbasis[c]


@kernel(inline=True)
def is_short(x: float) -> bool:
    """Return True if x has at most 26 significant bits: a whole number or simple fraction, not a rounded number."""
    return halves(x)[0] == x


@kernel(inner=True)
def first_dictionary_extended(t: ExtendedTableau) -> None:
    """Form w = q + M z + cover t in scaled units."""
    T, E = t.T, t.E
    n = t.q.shape[0]
    for i in range(n):
        # All w are basic.
        t.basis[i] = i
        t.nonbasis[i] = n + i
        # The scaled matrix, with the uncertainty of entries of many digits.
        for j in range(n):
            T[i, j] = t.M[i, j] * t.row[i] * t.column[j]
            E[i, j] = 0.0 if is_short(t.M[i, j]) else t.trust * abs(T[i, j])
        # Cover and right-hand side.
        T[i, n], E[i, n] = t.cover[i], 0.0
        T[i, n + 1] = t.q[i] * t.row[i]
        E[i, n + 1] = 0.0 if is_short(t.q[i]) else t.trust * abs(T[i, n + 1])
        t.T_low[i, : n + 2] = 0.0
    t.nonbasis[n] = 2 * n


@kernel(inner=True)
def rebuild_extended(t: ExtendedTableau) -> bool:
    """Form the dictionary of the basis again from the data, with complete pivoting; return False if it is singular."""
    # Mark the variables of the basis.
    T, basis, nonbasis, wanted = t.T, t.basis, t.nonbasis, t.wanted
    n = t.q.shape[0]
    wanted[: 2 * n + 1] = 0
    for i in range(n):
        wanted[basis[i]] = 1
    # Start from the data.
    first_dictionary_extended(t)
    exchanges = 0
    for j in range(n + 1):
        exchanges += wanted[nonbasis[j]]
    # Enter them by complete pivoting.
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


@kernel
def solve_extended(block: Floats, load: Floats, ones: Floats, wf: Floats, wi: Ints, x: Floats) -> bool:
    """Compute x = -block^-1 load in double-double numbers, refined once; return False if the block is singular.

    x is read from the dictionary with all z basic, formed from exact data. ``ones`` (k,) are units of 1, ``wf`` and
    ``wi`` workspaces.
    """
    # The dictionary.
    k = load.shape[0]
    t = extended_tableau(block, load, ones, ones, ones, 0.0, wf, wi)
    for i in range(k):
        t.basis[i] = k + i
    if not rebuild_extended(t):
        return False
    # Its constants.
    b, b_low, low = t.values[0], t.values[1], t.values[2]
    for i in range(k):
        x[t.basis[i] - k] = t.T[i, k + 1]
        low[t.basis[i] - k] = t.T_low[i, k + 1]
    # One refinement, by the columns of w, which are the inverse of the block.
    dd_residual(block, load, k, x, low, b, b_low)
    for i in range(k):
        step = 0.0
        for j in range(k + 1):
            if t.nonbasis[j] < k:
                step += t.T[i, j] * b[t.nonbasis[j]]
        at = t.basis[i] - k
        x[at], low[at] = dd_add(x[at], low[at], step, 0.0)
    return True


# Indices in the vector of information.
PIVOTS, STARTED, ENTERING, SINCE_REBUILD, INFO_SIZE = range(5)

# If the error of a pivot exceeds this fraction of it, the dictionary is formed again.
UNCERTAIN: Final = 1e-6


@kernel(inner=True)
def quotients(t: ExtendedTableau, c: int, k: int, slack: int, count: int) -> None:
    """Fill ``values`` with T[i, k] / T[i, c], high and low parts and errors, for the rows i in ``rows[:count]``.

    k = -1 means the unit column that a basic variable ``slack`` has in the basis inverse. The column of any other slack
    is one of the tableau with opposite sign, so quotients by -T[:, c] > 0 need no change of sign.
    """
    T, T_low, E = t.T, t.T_low, t.E
    for m in range(count):
        # The entry, or the one of a unit column.
        i = t.rows[m]
        if k >= 0:
            a, a_low, a_error = T[i, k], T_low[i, k], E[i, k]
        else:
            a, a_low, a_error = -1.0 if t.basis[i] == slack else 0.0, 0.0, 0.0
        # Its quotient, with the larger of both errors.
        h, low = dd_divide(a, a_low, T[i, c], T_low[i, c])
        t.values[0, m], t.values[1, m] = h, low
        t.values[2, m] = max(a_error / abs(T[i, c]), abs(h) * max(E[i, c] / abs(T[i, c]), ROUNDING))


@kernel(inner=True)
def keep_least(t: ExtendedTableau, count: int) -> int:
    """Shorten ``rows[:count]`` to the rows whose ``values`` equal the least one within their errors.

    Return the number of these rows.
    """
    # The least value.
    values, values_low, errors = t.values[0], t.values[1], t.values[2]
    best = 0
    for m in range(1, count):
        d, _ = dd_add(values[m], values_low[m], -values[best], -values_low[best])
        if d < 0.0:
            best = m
    # Keep all that may equal it.
    h, low, error = values[best], values_low[best], errors[best]
    kept = 0
    for m in range(count):
        d, _ = dd_add(values[m], values_low[m], -h, -low)
        if d <= CERTAIN * max(error, errors[m]):
            t.rows[kept] = t.rows[m]
            kept += 1
    return kept


@kernel(inner=True)
def leaving_row_extended(t: ExtendedTableau, c: int) -> int:
    """Return the row whose variable blocks the nonbasic variable of column ``c``, or -1 (a ray)."""
    # Rows whose entry is certainly negative.
    T, E, rows, values = t.T, t.E, t.rows, t.values
    n = T.shape[0]
    count = 0
    for i in range(n):
        if T[i, c] < -CERTAIN * E[i, c]:
            rows[count] = i
            count += 1
    if count == 0:
        return -1
    # Right-hand sides are not negative except for rounding; quotients by T_ic < 0 have the opposite sign.
    quotients(t, c, n + 1, 0, count)
    for m in range(count):
        values[0, m] = max(-values[0, m], 0.0)
        values[1, m] = -values[1, m] if values[0, m] > 0.0 else 0.0
    count = keep_least(t, count)
    for m in range(count):
        if t.basis[rows[m]] == 2 * n:
            return rows[m]
    # The lexicographic rule.
    for k in range(n):
        if count == 1:
            break
        quotients(t, c, t.position[k], k, count)
        count = keep_least(t, count)
    # Rows that remain after all columns are ties by rounding: take the most certain pivot.
    best = rows[0]
    for m in range(1, count):
        i = rows[m]
        if -T[i, c] * E[best, c] > -T[best, c] * E[i, c]:
            best = i
    return best


@kernel(inline=True)
def extended_float_size(n: int) -> int:
    """Return the length of the float workspace."""
    return 3 * n * (n + 2) + 3 * (n + 2) + 3 * n


@kernel(inline=True)
def extended_int_size(n: int) -> int:
    """Return the length of the integer workspace; it begins with the basis (n,)."""
    return 7 * n + 3


@kernel
def extended_drive(
    M: Floats,
    q: Floats,
    row: Floats,
    column: Floats,
    cover: Floats,
    trust: float,
    limit: int,
    wf: Floats,
    wi: Ints,
    ray: Floats,
    info: Ints,
    budget: int,
) -> int:
    """Make at most ``budget`` pivots of the path of ``cover``; on `RUNNING` call again with everything unchanged.

    At the first call ``info`` is zero, and q has a negative entry. ``trust`` is the relative uncertainty of the data, 0
    if every digit is exact. On `SOLVED` the basis is wi[:n] (w_i is i, z_i is n + i); on `RAY`, ``ray`` (2 n + 1,) has
    its direction (w, z, t) in scaled units.
    """
    # Views of the workspace.
    n = q.shape[0]
    t = extended_tableau(M, q, row, column, cover, trust, wf, wi)
    T, basis = t.T, t.basis
    # First call: the artificial variable enters.
    if info[STARTED] == 0:
        info[STARTED] = 1
        first_dictionary_extended(t)
        # Lexicographically smallest (q, I)_i / d_i: of equal ratios the last row. Covers are powers of two, so there is
        # no rounding.
        r = 0
        for i in range(1, n):
            if T[i, n + 1] / cover[i] <= T[r, n + 1] / cover[r]:
                r = i
        step(t, r, n, info)
        index_variables(t)
    # Pivots.
    for _ in range(budget):
        if info[ENTERING] < 0:
            return SOLVED
        if info[PIVOTS] >= limit:
            return ITERATION_LIMIT
        # The row that blocks the entering variable.
        c = t.position[info[ENTERING]]
        r = leaving_row_extended(t, c)
        # Form the dictionary again if the pivot is uncertain, or if no row blocks.
        if info[SINCE_REBUILD] > 0 and (r < 0 or not t.E[r, c] <= -UNCERTAIN * T[r, c]):
            info[SINCE_REBUILD] = 0
            if not rebuild_extended(t):
                return SINGULAR_BASIS
            index_variables(t)
            continue
        # A ray.
        if r < 0:
            ray[: 2 * n + 1] = 0.0
            ray[info[ENTERING]] = 1.0
            for i in range(n):
                ray[basis[i]] = T[i, c]
            return RAY
        # The pivot.
        if not np.isfinite(T[r, c]):
            return NOT_FINITE
        step(t, r, c, info)
        t.position[basis[r]] = -1
        t.position[t.nonbasis[c]] = c
    return RUNNING


@kernel(inner=True)
def index_variables(t: ExtendedTableau) -> None:
    """Set position[variable] to the column of a nonbasic variable, -1 for a basic one."""
    for i in range(t.basis.shape[0]):
        t.position[t.basis[i]] = -1
    for j in range(t.nonbasis.shape[0]):
        t.position[t.nonbasis[j]] = j


@kernel(inner=True)
def step(t: ExtendedTableau, r: int, c: int, info: Ints) -> None:
    """Exchange row r and column c; the complement of the leaving variable enters next (-1: the path ends)."""
    n = t.basis.shape[0]
    leaving = exchange_extended(t, r, c)
    info[PIVOTS] += 1
    info[SINCE_REBUILD] += 1
    if leaving == 2 * n:
        info[ENTERING] = -1
    else:
        info[ENTERING] = leaving - n if leaving >= n else leaving + n
