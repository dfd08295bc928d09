"""Dense elimination: the solution of a complementary basis from the data, and the exchange of a dictionary.

The solution is z_a = -M_aa^-1 q_a, with all other z zero.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from lcp.compiler.views import view_1d, view_2d
from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.reductions import dot, largest_size

# Columns eliminated together: eight multiples of rows are then added to a row with one load and store.
PANEL: Final = 8


@kernel(inner=True, long_loops=True)
def subtract_rows(A: Floats, i: int, c: int, k: int) -> None:
    """Subtract multiples of the panel's rows c .. c + 7, in this order, from row i of A in columns c + 8 .. k - 1."""
    # The eight multiples.
    a, b, d, e = A[i, c], A[i, c + 1], A[i, c + 2], A[i, c + 3]
    f, g, h, p = A[i, c + 4], A[i, c + 5], A[i, c + 6], A[i, c + 7]
    # The rows of the panel.
    y = A[i, c + 8 : k]
    u0 = A[c, c + 8 : k]
    u1 = A[c + 1, c + 8 : k]
    u2 = A[c + 2, c + 8 : k]
    u3 = A[c + 3, c + 8 : k]
    u4 = A[c + 4, c + 8 : k]
    u5 = A[c + 5, c + 8 : k]
    u6 = A[c + 6, c + 8 : k]
    u7 = A[c + 7, c + 8 : k]
    # Subtract them in order.
    for j in range(y.shape[0]):
        s = (((y[j] - a * u0[j]) - b * u1[j]) - d * u2[j]) - e * u3[j]
        y[j] = (((s - f * u4[j]) - g * u5[j]) - h * u6[j]) - p * u7[j]


@kernel
def lu_factor(A: Floats, k: int, perm: Ints) -> bool:
    """Factor the leading k x k block by LU with row pivoting, in place; return False if a pivot vanishes."""
    # The largest entry bounds the pivots.
    largest = 0.0
    for i in range(k):
        perm[i] = i
        largest = max(largest, largest_size(A[i, :k]))
    floor = 1e-15 * largest
    # Panels of columns.
    start = 0
    while start < k:
        end = min(start + PANEL, k)
        for c in range(start, end):
            # The pivot of a column.
            p = c
            best = abs(A[c, c])
            for i in range(c + 1, k):
                if abs(A[i, c]) > best:
                    best = abs(A[i, c])
                    p = i
            if not best > floor:
                return False
            # Exchange rows.
            if p != c:
                upper = A[c, :k]
                lower = A[p, :k]
                for j in range(k):
                    upper[j], lower[j] = lower[j], upper[j]
                perm[c], perm[p] = perm[p], perm[c]
            # Eliminate within the panel.
            inverse = 1.0 / A[c, c]
            for i in range(c + 1, k):
                factor = A[i, c] * inverse
                A[i, c] = factor
                for j in range(c + 1, end):
                    A[i, j] -= factor * A[c, j]
        # Update the columns right of the panel.
        if end < k:
            # Every entry has the same operations in the same order as in an elimination column by column.
            for c in range(start, end):
                source = A[c, end:k]
                for i in range(c + 1, end):
                    target = A[i, end:k]
                    factor = A[i, c]
                    for j in range(target.shape[0]):
                        target[j] -= factor * source[j]
            for i in range(end, k):
                subtract_rows(A, i, start, k)
        start = end
    return True


@kernel
def lu_solve(A: Floats, k: int, perm: Ints, b: Floats, x: Floats) -> None:
    """Compute x = A^-1 b from `lu_factor`."""
    for i in range(k):
        x[i] = b[perm[i]] - dot(A[i], x, i)
    for i in range(k - 1, -1, -1):
        x[i] = (x[i] - dot(A[i, i + 1 : k], x[i + 1 : k], k - i - 1)) / A[i, i]


@kernel(inline=True)
def members(code: int, n: int, active: Ints) -> int:
    """Fill ``active`` with the bits of a code, ascending; return their number."""
    k = 0
    for i in range(n):
        if (code >> i) & 1:
            active[k] = i
            k += 1
    return k


@kernel
def solve_active(
    M: Floats,
    q: Floats,
    row: Floats,
    column: Floats,
    active: Ints,
    k: int,
    A: Floats,
    perm: Ints,
    work: Floats,
    z: Floats,
) -> bool:
    """Fill z with z_a = -M_aa^-1 q_a for the indices a = ``active[:k]``, refined once, and 0 elsewhere.

    Negative entries of z are kept. ``row`` and ``column`` (n,) are the scales that equilibrate M. The factors stay in
    ``A`` (n, n) and ``perm``; ``work`` has length 3 n. Returns False, with z zero, for a singular block.
    """
    # Nothing is active: z = 0.
    n = q.shape[0]
    for i in range(n):
        z[i] = 0.0
    if k == 0:
        return True
    # Copy the block, equilibrated.
    b, x, scratch = view_1d(work, 0, n), view_1d(work, n, n), view_1d(work, 2 * n, n)
    F = view_2d(A, 0, k, k)
    for i in range(k):
        scratch[i] = column[active[i]]
    for i in range(k):
        origin = M[active[i]]
        scale = row[active[i]]
        target = F[i]
        for j in range(k):
            target[j] = origin[active[j]] * scale * scratch[j]
        b[i] = -q[active[i]] * scale
    # Factor and solve.
    if not lu_factor(F, k, perm):
        return False
    lu_solve(F, k, perm, b, x)
    for i in range(k):
        z[active[i]] = x[i] * column[active[i]]
    # One step of refinement with the residual of the original rows removes the growth of the elimination.
    for i in range(k):
        a = active[i]
        b[i] = -(q[a] + dot(M[a], z, n)) * row[a]
    lu_solve(F, k, perm, b, x)
    for i in range(k):
        z[active[i]] += x[i] * column[active[i]]
    # Infinite values mean a singular block.
    for i in range(n):
        if not np.isfinite(z[i]):
            for j in range(n):
                z[j] = 0.0
            return False
    return True


@kernel(inline=True)
def take_column(T: Floats, c: int, column: Floats) -> None:
    """Move column c of T to ``column``, leaving zeros: `exchange` builds the new column on them."""
    for i in range(column.shape[0]):
        column[i] = T[i, c]
        T[i, c] = 0.0


@kernel(inner=True)
def add_multiples(T: Floats, column: Floats, pivot_row: Floats, width: int) -> None:
    """Add ``column[i]`` times ``pivot_row[:width]`` to each row i of T."""
    n = column.shape[0]
    i = 0
    # Two rows at a time share the loads of the pivot row.
    while i + 2 <= n:
        first = column[i]
        second = column[i + 1]
        if first != 0.0 or second != 0.0:
            upper = T[i, :width]
            lower = T[i + 1, :width]
            for j in range(width):
                p = pivot_row[j]
                upper[j] += first * p
                lower[j] += second * p
        i += 2
    # The last row of an odd number.
    if i < n and column[i] != 0.0:
        last = T[i, :width]
        for j in range(width):
            last[j] += column[i] * pivot_row[j]


@kernel
def exchange(T: Floats, x: Floats, r: int, c: int, column: Floats, pivot_row: Floats) -> None:
    """Exchange the basic variable of row ``r`` and the nonbasic variable of column ``c``, in place.

    `take_column` has moved column c of T to ``column`` (n,), which is overwritten; ``pivot_row`` (n + 1,) is scratch.
    Both copies avoid aliasing, so that the update is vectorised.
    """
    # The new pivot row.
    n = x.shape[0]
    width = T.shape[1]
    inverse = 1.0 / column[r]
    source = T[r]
    for j in range(width):
        pivot_row[j] = -source[j] * inverse
    pivot_row[c] = inverse
    x_r = -x[r] * inverse
    # Update the other rows and values.
    column[r] = 0.0
    add_multiples(T, column, pivot_row, width)
    for i in range(n):
        x[i] += column[i] * x_r
    # The row of the entering variable.
    for j in range(width):
        source[j] = pivot_row[j]
    x[r] = x_r
