"""Solution of a complementary basis from the original data: z_a = -M_aa^-1 q_a, all other z zero."""

from __future__ import annotations

from typing import Final

import numpy as np

from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.reductions import dot, largest_size

# Columns eliminated together: eight multiples of rows are then added to a row that is loaded and stored once.
PANEL: Final = 8
# Rows up to which elimination column by column is faster.
FEW: Final = 64


@kernel(inner=True, long_loops=True)
def subtract_rows(A: Floats, i: int, c: int, k: int) -> None:
    """Row i of A right of the panel c .. c + 7, up to column k, less its multiples of the panel's rows, in order."""
    a, b, d, e = A[i, c], A[i, c + 1], A[i, c + 2], A[i, c + 3]
    f, g, h, p = A[i, c + 4], A[i, c + 5], A[i, c + 6], A[i, c + 7]
    y = A[i, c + 8 : k]
    u0 = A[c, c + 8 : k]
    u1 = A[c + 1, c + 8 : k]
    u2 = A[c + 2, c + 8 : k]
    u3 = A[c + 3, c + 8 : k]
    u4 = A[c + 4, c + 8 : k]
    u5 = A[c + 5, c + 8 : k]
    u6 = A[c + 6, c + 8 : k]
    u7 = A[c + 7, c + 8 : k]
    for j in range(y.shape[0]):
        s = (((y[j] - a * u0[j]) - b * u1[j]) - d * u2[j]) - e * u3[j]
        y[j] = (((s - f * u4[j]) - g * u5[j]) - h * u6[j]) - p * u7[j]


@kernel(inner=True)
def eliminate(A: Floats, k: int, perm: Ints, source: Floats) -> bool:
    """As `lu_factor`, for few rows, which are padded with zeros to a multiple of eight; the same digits, sooner.

    Rows are swept from the multiple of eight before the pivot on, ``source`` being the pivot row with zeros up to it:
    whole vectors, no remainders.
    """
    width = A.shape[1]
    largest = 0.0
    for i in range(k):
        perm[i] = i
        largest = max(largest, largest_size(A[i]))
    floor = 1e-15 * largest
    for c in range(k):
        p = c
        best = abs(A[c, c])
        for i in range(c + 1, k):
            if abs(A[i, c]) > best:
                best = abs(A[i, c])
                p = i
        if not best > floor:
            return False
        if p != c:
            above = A[c]
            below = A[p]
            for j in range(width):
                above[j], below[j] = below[j], above[j]
            perm[c], perm[p] = perm[p], perm[c]
        inverse = 1.0 / A[c, c]
        left = c // 8 * 8
        tail = source[: width - left]
        pivot_row = A[c, left:]
        for j in range(tail.shape[0]):
            tail[j] = pivot_row[j]
        for j in range(c - left + 1):
            tail[j] = 0.0
        i = c + 1
        # The factor is stored after the sweep over its row: a vector load just behind a scalar store would wait for it.
        while i + 2 <= k:
            first = A[i, c] * inverse
            second = A[i + 1, c] * inverse
            upper = A[i, left:]
            lower = A[i + 1, left:]
            for j in range(tail.shape[0]):
                p_j = tail[j]
                upper[j] -= first * p_j
                lower[j] -= second * p_j
            A[i, c] = first
            A[i + 1, c] = second
            i += 2
        if i < k:
            first = A[i, c] * inverse
            last = A[i, left:]
            for j in range(tail.shape[0]):
                last[j] -= first * tail[j]
            A[i, c] = first
    return True


@kernel
def lu_factor(A: Floats, k: int, perm: Ints) -> bool:
    """LU of the leading k x k block with row pivoting, in place; False where a pivot vanishes."""
    largest = 0.0
    for i in range(k):
        perm[i] = i
        largest = max(largest, largest_size(A[i, :k]))
    floor = 1e-15 * largest
    start = 0
    while start < k:
        end = min(start + PANEL, k)
        for c in range(start, end):
            p = c
            best = abs(A[c, c])
            for i in range(c + 1, k):
                if abs(A[i, c]) > best:
                    best = abs(A[i, c])
                    p = i
            if not best > floor:
                return False
            if p != c:
                upper = A[c, :k]
                lower = A[p, :k]
                for j in range(k):
                    upper[j], lower[j] = lower[j], upper[j]
                perm[c], perm[p] = perm[p], perm[c]
            inverse = 1.0 / A[c, c]
            for i in range(c + 1, k):
                factor = A[i, c] * inverse
                A[i, c] = factor
                for j in range(c + 1, end):
                    A[i, j] -= factor * A[c, j]
        if end < k:
            # Every entry meets the same operations in the same order as if columns were eliminated one by one.
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
    """x = A^-1 b from `lu_factor`."""
    for i in range(k):
        x[i] = b[perm[i]] - dot(A[i], x, i)
    for i in range(k - 1, -1, -1):
        x[i] = (x[i] - dot(A[i, i + 1 : k], x[i + 1 : k], k - i - 1)) / A[i, i]


@kernel(inline=True)
def members(code: int, n: int, active: Ints) -> int:
    """Fill ``active`` with the bits of a code, ascending; returns how many there are."""
    k = 0
    for i in range(n):
        if (code >> i) & 1:
            active[k] = i
            k += 1
    return k


@kernel(inline=True)
def is_few(k: int, n: int) -> bool:
    """Whether k of n rows are few enough for `eliminate`, and fit with their padding."""
    return k <= FEW and (k + 7) // 8 * 8 <= n


@kernel(inline=True)
def factored(A: Floats, k: int) -> Floats:
    """Where in A (n, n) `solve_active` leaves the factors of k rows: at its head, or, where few, packed and padded."""
    n = A.shape[0]
    width = (k + 7) // 8 * 8 if is_few(k, n) else n
    return A.reshape(n * n)[: k * width].reshape((k, width))


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
    """Fill z with the solution whose positive entries are ``active[:k]``, refined once; negatives are kept.

    ``row`` and ``column`` equilibrate the factored block; ``A`` is n x n scratch, ``work`` has length 3 n. Returns
    False, with z zero, for a singular block.
    """
    n = q.shape[0]
    for i in range(n):
        z[i] = 0.0
    if k == 0:
        return True
    b = work[:n]
    x = work[n : 2 * n]
    unit = work[2 * n : 3 * n]
    for j in range(k):
        unit[j] = column[active[j]]
    few = is_few(k, n)
    F = factored(A, k)
    width = F.shape[1]
    for i in range(k):
        origin = M[active[i]]
        target = F[i]
        scale = row[active[i]]
        for j in range(k):
            target[j] = origin[active[j]] * scale * unit[j]
        if few:
            for j in range(k, width):
                target[j] = 0.0
        b[i] = -q[active[i]] * scale
    if not (eliminate(F, k, perm, x) if few else lu_factor(A, k, perm)):
        return False
    lu_solve(F, k, perm, b, x)
    for i in range(k):
        z[active[i]] = x[i] * unit[i]
    # One step of refinement with the residual of the original rows takes out the growth of the elimination.
    for i in range(k):
        a = active[i]
        b[i] = -(q[a] + dot(M[a], z, n)) * row[a]
    lu_solve(F, k, perm, b, x)
    for i in range(k):
        z[active[i]] += x[i] * unit[i]
    for i in range(n):
        if not np.isfinite(z[i]):
            for j in range(n):
                z[j] = 0.0
            return False
    return True
