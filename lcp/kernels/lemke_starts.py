"""Starts of paths of Lemke's method: cold, again from a given basis, or at a predicted basis.

From a dictionary with negative basic values any positive column can serve for the artificial variable. In the rows of
the *present* basis, the path is Lemke's path on the principal pivot transform (Cottle, Pang and Stone 1992, section
2.3). The transform is P or positive semidefinite if M is.

A restart changes thresholds, the length of the path and the covering vector.
"""

from __future__ import annotations

import numpy as np

from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.lemke_exchanges import advance, pending_limit
from lcp.kernels.lemke_tableau import (
    MOST_PENDING,
    PENDING,
    SMALL,
    STORED,
    Tableau,
    base_tableau,
    copy_column,
    exchange,
    first_tableau,
    store_all,
    update_tableau,
)
from lcp.kernels.reductions import dot


@kernel(inner=True)
def cold_start(t: Tableau, M: Floats, q: Floats, restart: int, covered: bool, given: Floats) -> int:
    """Form the first dictionary, with the artificial variable's column as ``entry``.

    Return the row at which this variable enters, or -1 if no row is covered.
    """
    # The first dictionary.
    n = q.shape[0]
    cover_vector(restart, covered, given, t.row, t.cover)
    first_tableau(t, q)
    store_all(t, M)
    x = t.x
    # Lexicographically smallest (q, I)_i / d_i: of equal ratios the last row. Rows with d_i = 0 are satisfied anyway.
    r = -1
    for i in range(n):
        if t.cover[i] > 0.0 and (r < 0 or x[i] * t.cover[r] <= x[r] * t.cover[i]):
            r = i
    for i in range(n):
        t.entry[i] = t.cover[i]
        t.size[i] = abs(x[i])
    return r


@kernel
def form_basis(t: Tableau, M: Floats, q: Floats, wanted: Ints, floor: float) -> int:
    """Form the dictionary whose basic variables are marked in ``wanted`` (2 n + 1,) from the original data.

    There is one exchange per variable, with the row of the largest entry among rows whose variable must leave. Columns
    in which this entry is small wait for the others. If it stays below ``floor`` times the largest entry found, the
    column depends on the others and is left out. Returns the number of these.
    """
    # The first dictionary.
    n = q.shape[0]
    first_tableau(t, q)
    store_all(t, M)
    largest = 0.0
    missing = 0
    # Two sweeps: columns of small pivots wait for the second.
    for sweep in range(2):
        missing = 0
        for c in range(n + 1):
            if not wanted[t.nonbasis[c]]:
                continue
            # Bring the column up to date.
            if t.counts[PENDING] >= t.counts[MOST_PENDING]:
                update_tableau(t, M)
            copy_column(t, M, c, t.entry)
            advance(t.exchanges, t.entry, t.stamp[c], t.counts[PENDING])
            # The largest entry among rows whose variable must leave.
            r = -1
            best = 0.0
            whole = 0.0
            for i in range(n):
                size = abs(t.entry[i])
                whole = max(whole, size)
                if size > best and not wanted[t.basis[i]]:
                    best = size
                    r = i
            largest = max(largest, whole)
            if r < 0 or best <= (0.01 * whole if sweep == 0 else floor * largest):
                missing += 1
                continue
            # The exchange.
            step = -t.x[r] / t.entry[r]
            for i in range(n):
                t.x[i] += t.entry[i] * step
            t.x[r] = step
            exchange(t, r, t.nonbasis[c])
    return missing


@kernel(inner=True)
def rebuild(t: Tableau, M: Floats, q: Floats, wanted: Ints) -> bool:
    """Form the dictionary of the present basis again, from the original data; ``wanted`` (2 n + 1,) is overwritten.

    Return False if the basis is singular to working precision.
    """
    for j in range(wanted.shape[0]):
        wanted[j] = 0
    for i in range(t.basis.shape[0]):
        wanted[t.basis[i]] = 1
    if form_basis(t, M, q, wanted, 1e-14) > 0:
        return False
    for i in range(t.basis.shape[0]):
        t.size[i] = max(t.size[i], abs(t.x[i]))
    return True


@kernel
def warm_start(t: Tableau, M: Floats, q: Floats, z0: Floats, wanted: Ints, k: int, regular: bool) -> int:
    """Form the dictionary of the basis {z0 > 0}, its artificial column as ``entry``; return the row it enters in.

    The k indices are in ``active``; ``regular``: their block is factored in A. Otherwise columns that depend on others
    are left out. Returns -1 if a path is not worth following: no basic value is negative, or too many are.
    """
    # The dictionary of the basis: by its factors, if it is large and there is memory for exchanges besides its columns.
    n = q.shape[0]
    for i in range(n):
        t.cover[i] = 0.0
    if regular and n > SMALL and k + 32 <= pending_limit(n):
        base_tableau(t, M, q, k)
    else:
        for i in range(n):
            wanted[i] = 0 if z0[i] > 0.0 else 1
            wanted[n + i] = 1 - wanted[i]
        wanted[2 * n] = 0
        form_basis(t, M, q, wanted, 1e-9)
    # Decide whether a path is worth following.
    x = t.x
    r = 0
    negative = 0
    for i in range(n):
        if x[i] < x[r]:
            r = i
        if x[i] < 0.0:
            negative += 1
    if negative == 0 or negative > max(2, k):
        return -1
    # The artificial column.
    for i in range(n):
        t.entry[i] = 1.0
        t.T[n, i] = 1.0
        t.cover[i] = 0.0
        t.size[i] = abs(x[i])
    for i in range(n, t.T.shape[1]):
        t.T[n, i] = 0.0
    t.kind[n] = STORED
    t.stamp[n] = t.counts[PENDING]
    # The same column in the rows of the first dictionary, from which a rebuild would start.
    for i in range(n):
        if t.basis[i] < n:
            t.cover[t.basis[i]] += 1.0
        else:
            t.solution[t.basis[i] - n] = t.column[t.basis[i] - n]
    for i in range(n):
        if t.position[n + i] >= 0:
            t.solution[i] = 0.0
    for i in range(n):
        t.cover[i] -= t.row[i] * dot(M[i], t.solution, n)
    return r


@kernel(inline=True)
def pivot_threshold(tolerance: float, restart: int) -> float:
    """Return the smallest admissible pivot of a restart, relative to its column.

    Redundant contacts make exact zeros that rounding fills with noise, so the first tries require large pivots. Wide
    ranges of mass make small pivots that are real, so later ones do not.
    """
    if restart < 2:
        return tolerance
    return tolerance * (1e-4 if restart in (3, 6) else 1e-2)


@kernel(inline=True)
def tie_threshold(tolerance: float, restart: int) -> float:
    """Return the width of a tie of a restart.

    Wide ties allow for more rounding; the narrow one distinguishes forces a trillion times smaller than the largest.
    """
    if restart in (1, 4):
        return tolerance * 1e3
    return tolerance * (1e-2 if restart in (3, 6) else 1.0)


@kernel(inline=True)
def balanced(restart: int) -> bool:
    """Return True if a restart scales by geometric means, which separate rows of heavy bodies from rows of cones."""
    return restart in (6, 7)


@kernel(inline=True)
def path_limit(limit: float, restart: int, restarts: float, n: int, pivots: int) -> float:
    """Return the pivots at which a path is stopped (long paths often cycle); the last one has the whole limit."""
    return limit if restart >= restarts else min(limit, pivots + max(100, 8 * n))


@kernel(inner=True)
def cover_vector(restart: int, covered: bool, given: Floats, row: Floats, cover: Floats) -> None:
    """Return the covering vector of a restart, in equilibrated rows: the given one or ones, then irregular vectors.

    Another covering vector leads to another path, without the same errors by rounding.
    """
    for i in range(cover.shape[0]):
        if restart < 4 or restart in (6, 7):
            cover[i] = given[i] * row[i] if covered else 1.0
        else:
            # Fractional parts of multiples of the golden ratio: irregular, and the same on every machine.
            turn = (i + 1) * (0.6180339887498949 + 0.1 * restart)
            cover[i] = 0.5 + (turn - np.floor(turn))
