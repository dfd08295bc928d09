"""Solution of a complementary basis from the original data: z_a = -M_aa^-1 q_a, all other z zero."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lcp.kernels import kernel
from lcp.kernels.reductions import dot


@kernel
def lu_factor(A: NDArray[np.float64], k: int, perm: NDArray[np.int64]) -> bool:
    """LU of the leading k x k block with row pivoting, in place; False where a pivot vanishes."""
    largest = 0.0
    for i in range(k):
        perm[i] = i
        for j in range(k):
            largest = max(largest, abs(A[i, j]))
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
            for j in range(k):
                A[c, j], A[p, j] = A[p, j], A[c, j]
            perm[c], perm[p] = perm[p], perm[c]
        inverse = 1.0 / A[c, c]
        source = A[c, c + 1 : k]
        for i in range(c + 1, k):
            A[i, c] *= inverse
        i = c + 1
        # Two rows at a time share the loads of the pivot row.
        while i + 2 <= k:
            first = A[i, c]
            second = A[i + 1, c]
            if first != 0.0 or second != 0.0:
                upper = A[i, c + 1 : k]
                lower = A[i + 1, c + 1 : k]
                for j in range(k - c - 1):
                    p = source[j]
                    upper[j] -= first * p
                    lower[j] -= second * p
            i += 2
        if i < k and A[i, c] != 0.0:
            last = A[i, c + 1 : k]
            factor = A[i, c]
            for j in range(k - c - 1):
                last[j] -= factor * source[j]
    return True


@kernel
def lu_solve(
    A: NDArray[np.float64], k: int, perm: NDArray[np.int64], b: NDArray[np.float64], x: NDArray[np.float64]
) -> None:
    """x = A^-1 b from `lu_factor`."""
    for i in range(k):
        x[i] = b[perm[i]] - dot(A[i], x, i)
    for i in range(k - 1, -1, -1):
        x[i] = (x[i] - dot(A[i, i + 1 : k], x[i + 1 : k], k - i - 1)) / A[i, i]


@kernel
def solve_active(
    M: NDArray[np.float64],
    q: NDArray[np.float64],
    row: NDArray[np.float64],
    column: NDArray[np.float64],
    active: NDArray[np.int64],
    k: int,
    A: NDArray[np.float64],
    perm: NDArray[np.int64],
    work: NDArray[np.float64],
    z: NDArray[np.float64],
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
    for i in range(k):
        origin = M[active[i]]
        scale = row[active[i]]
        for j in range(k):
            A[i, j] = origin[active[j]] * scale * column[active[j]]
    if not lu_factor(A, k, perm):
        return False
    b = work[:n]
    x = work[n : 2 * n]
    for i in range(k):
        b[i] = -q[active[i]] * row[active[i]]
    lu_solve(A, k, perm, b, x)
    for i in range(k):
        z[active[i]] = x[i] * column[active[i]]
    # One step of refinement with the residual of the original rows takes out the growth of the elimination.
    gathered = work[2 * n : 3 * n]
    for i in range(k):
        x[i] = z[active[i]]
    for i in range(k):
        source = M[active[i]]
        for j in range(k):
            gathered[j] = source[active[j]]
        b[i] = -(q[active[i]] + dot(gathered, x, k)) * row[active[i]]
    lu_solve(A, k, perm, b, x)
    for i in range(k):
        z[active[i]] += x[i] * column[active[i]]
    for i in range(n):
        if not np.isfinite(z[i]):
            for j in range(n):
                z[j] = 0.0
            return False
    return True
