"""Solution of a complementary basis from the original data: z_a = -M_aa^-1 q_a, all other z zero."""

from __future__ import annotations

from typing import Final

import numpy as np

from lcp.compiler.views import view_1d, view_2d
from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.reductions import dot, largest_size

# Columns eliminated together: eight multiples of rows are then added to a row with one load and store.
PANEL: Final = 8
# Rows up to which elimination column by column is faster.
FEW: Final = 64


@kernel(inner=True, long_loops=True)
def subtract_rows(A: Floats, i: int, c: int, k: int) -> None:
    """Subtract the multiples of the rows of panel c .. c + 7 from row i of A, right of it up to column k, in order."""
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


@kernel(inner=True, vectors=True)
def factor_few(F: Floats, k: int, perm: Ints, free: Floats) -> bool:
    """Factor k columns (rows of F, zero-padded) by LU with row pivoting; return False if a pivot vanishes.

    Rows are not moved: ``perm`` has them in the order of their columns. In its own row a column has one over the pivot,
    in earlier rows its part of U, in later ones its factors. Eight numbers at a time become two vectors; ``free`` is
    padded scratch.
    """
    # All rows are free; the largest entry bounds the pivots.
    width = F.shape[1]
    for i in range(width):
        free[i] = 1.0 if i < k else 0.0
    floor = 1e-15 * largest_size(view_1d(F, 0, k * width))
    for c in range(k):
        # The largest entry in a free row is the pivot.
        column = F[c]
        p = 0
        best = 0.0
        for i in range(k):
            size = abs(column[i]) * free[i]
            p = i if size > best else p
            best = max(best, size)
        if not best > floor:
            return False
        perm[c] = p
        free[p] = 0.0
        # Eliminate, eight rows at a time.
        inverse = 1.0 / column[p]
        for at in range(0, width, 8):
            y, f = view_1d(column, at, 8), view_1d(free, at, 8)
            # Zero in finished rows.
            a, b, d, e = y[0] * inverse * f[0], y[1] * inverse * f[1], y[2] * inverse * f[2], y[3] * inverse * f[3]
            g, h, m, n = y[4] * inverse * f[4], y[5] * inverse * f[5], y[6] * inverse * f[6], y[7] * inverse * f[7]
            for j in range(c + 1, k):
                x, v = view_1d(F[j], at, 8), F[j, p]
                q, r, s, t = x[0] - a * v, x[1] - b * v, x[2] - d * v, x[3] - e * v
                u, w, z, o = x[4] - g * v, x[5] - h * v, x[6] - m * v, x[7] - n * v
                x[0], x[1], x[2], x[3] = q, r, s, t
                x[4], x[5], x[6], x[7] = u, w, z, o
            q, r, s, t = y[0] - y[0] * f[0], y[1] - y[1] * f[1], y[2] - y[2] * f[2], y[3] - y[3] * f[3]
            u, w, z, o = y[4] - y[4] * f[4], y[5] - y[5] * f[5], y[6] - y[6] * f[6], y[7] - y[7] * f[7]
            y[0], y[1], y[2], y[3] = q + a, r + b, s + d, t + e
            y[4], y[5], y[6], y[7] = u + g, w + h, z + m, o + n
        column[p] = inverse
    return True


@kernel(inner=True, vectors=True)
def subtract_part(y: Floats, x: float, column: Floats, order: Floats, sign: float, least: float) -> None:
    """Subtract x times the column from y in rows with order times sign above ``least``; all arrays are padded."""
    for at in range(0, column.shape[0], 8):
        # Eight rows at a time.
        v, f, r = view_1d(y, at, 8), view_1d(column, at, 8), view_1d(order, at, 8)
        f0, f1, f2, f3, f4, f5, f6, f7 = f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]
        # Entries of other rows are zero.
        a = f0 if r[0] * sign > least else 0.0
        b = f1 if r[1] * sign > least else 0.0
        c = f2 if r[2] * sign > least else 0.0
        d = f3 if r[3] * sign > least else 0.0
        e = f4 if r[4] * sign > least else 0.0
        g = f5 if r[5] * sign > least else 0.0
        h = f6 if r[6] * sign > least else 0.0
        m = f7 if r[7] * sign > least else 0.0
        # Subtract.
        q, s, t, u = v[0] - a * x, v[1] - b * x, v[2] - c * x, v[3] - d * x
        w, z, o, n = v[4] - e * x, v[5] - g * x, v[6] - h * x, v[7] - m * x
        v[0], v[1], v[2], v[3] = q, s, t, u
        v[4], v[5], v[6], v[7] = w, z, o, n


@kernel(inner=True)
def solve_few(F: Floats, k: int, perm: Ints, b: Floats, x: Floats, order: Floats) -> None:
    """Compute x = A^-1 b from `factor_few`; b (padded) is overwritten; ``order`` is scratch of the same length."""
    for i in range(k, order.shape[0]):
        order[i] = -1.0
    for c in range(k):
        order[perm[c]] = c
    for c in range(k - 1):
        subtract_part(b, b[perm[c]], F[c], order, 1.0, c)
    for c in range(k - 1, -1, -1):
        x[c] = b[perm[c]] * F[c, perm[c]]
        if c > 0:
            subtract_part(b, x[c], F[c], order, -1.0, -c)


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


@kernel(inline=True)
def is_few(k: int, n: int) -> bool:
    """Return True if k of n rows are few enough for `factor_few`, and fit with their padding."""
    return k <= FEW and (k + 7) // 8 * 8 <= n


@kernel(inline=True)
def factors_of(A: Floats, k: int) -> Floats:
    """Return the view of the factors of k rows in A (n, n): for few rows a column in each row, packed and padded."""
    n = A.shape[0]
    return view_2d(A, 0, k, (k + 7) // 8 * 8 if is_few(k, n) else n)


@kernel(inner=True)
def solve_factored(A: Floats, k: int, perm: Ints, b: Floats, x: Floats, order: Floats) -> None:
    """Compute x = A^-1 b of the k rows factored by `solve_active`; b may be overwritten; ``order`` is scratch."""
    F = factors_of(A, k)
    if is_few(k, A.shape[0]):
        solve_few(F, k, perm, b, x, view_1d(order, 0, F.shape[1]))
    else:
        lu_solve(F, k, perm, b, x)


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
    # Copy the block, equilibrated; of few rows column by column.
    b, x, scratch = view_1d(work, 0, n), view_1d(work, n, n), view_1d(work, 2 * n, n)
    few = is_few(k, n)
    F = factors_of(A, k)
    for i in range(k):
        scratch[i] = column[active[i]]
    for i in range(k):
        origin = M[active[i]]
        scale = row[active[i]]
        if few:
            for j in range(k):
                F[j, i] = origin[active[j]] * scale * scratch[j]
        else:
            target = F[i]
            for j in range(k):
                target[j] = origin[active[j]] * scale * scratch[j]
        b[i] = -q[active[i]] * scale
    # Padding of the columns.
    if few:
        for i in range(k, F.shape[1]):
            b[i] = 0.0
            for j in range(k):
                F[j, i] = 0.0
    # Factor and solve.
    if not (factor_few(F, k, perm, view_1d(scratch, 0, F.shape[1])) if few else lu_factor(F, k, perm)):
        return False
    solve_factored(A, k, perm, b, x, scratch)
    for i in range(k):
        z[active[i]] = x[i] * column[active[i]]
    # One step of refinement with the residual of the original rows removes the growth of the elimination.
    for i in range(k):
        a = active[i]
        b[i] = -(q[a] + dot(M[a], z, n)) * row[a]
    solve_factored(A, k, perm, b, x, scratch)
    for i in range(k):
        z[active[i]] += x[i] * column[active[i]]
    # Infinite values mean a singular block.
    for i in range(n):
        if not np.isfinite(z[i]):
            for j in range(n):
                z[j] = 0.0
            return False
    return True
