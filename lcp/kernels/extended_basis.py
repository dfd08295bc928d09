"""Solution of a square block of equations in double-double numbers: LU with row pivoting and one refinement."""

from __future__ import annotations

from typing import Final

import numpy as np

from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.double_double import dd_add, dd_axpy, dd_divide, dd_dot, dd_multiply

# Pivots below this part of the largest entry of their scaled block are the rounding of this arithmetic.
SINGULAR: Final = 1e-29


@kernel(inner=True)
def dd_lu_factor(A: Floats, A_low: Floats, k: int, perm: Ints) -> bool:
    """LU of the leading k x k block in place; False where a pivot vanishes."""
    largest = 0.0
    for i in range(k):
        perm[i] = i
        for j in range(k):
            largest = max(largest, abs(A[i, j]))
    for c in range(k):
        p = c
        for i in range(c + 1, k):
            if abs(A[i, c]) > abs(A[p, c]):
                p = i
        if not abs(A[p, c]) > SINGULAR * largest:
            return False
        if p != c:
            for j in range(k):
                A[c, j], A[p, j] = A[p, j], A[c, j]
                A_low[c, j], A_low[p, j] = A_low[p, j], A_low[c, j]
            perm[c], perm[p] = perm[p], perm[c]
        for i in range(c + 1, k):
            if A[i, c] != 0.0:
                f, f_low = dd_divide(A[i, c], A_low[i, c], A[c, c], A_low[c, c])
                A[i, c] = f
                A_low[i, c] = f_low
                dd_axpy(-f, -f_low, A[c, c + 1 : k], A_low[c, c + 1 : k], A[i, c + 1 : k], A_low[i, c + 1 : k])
    return True


@kernel(inner=True)
def dd_lu_solve(
    A: Floats, A_low: Floats, k: int, perm: Ints, b: Floats, b_low: Floats, x: Floats, x_low: Floats
) -> None:
    """x = A^-1 b from `dd_lu_factor`."""
    for i in range(k):
        h = b[perm[i]]
        low = b_low[perm[i]]
        for j in range(i):
            p, p_low = dd_multiply(A[i, j], A_low[i, j], x[j], x_low[j])
            h, low = dd_add(h, low, -p, -p_low)
        x[i] = h
        x_low[i] = low
    for i in range(k - 1, -1, -1):
        h = x[i]
        low = x_low[i]
        for j in range(i + 1, k):
            p, p_low = dd_multiply(A[i, j], A_low[i, j], x[j], x_low[j])
            h, low = dd_add(h, low, -p, -p_low)
        h, low = dd_divide(h, low, A[i, i], A_low[i, i])
        x[i] = h
        x_low[i] = low


@kernel
def dd_residual(block: Floats, load: Floats, k: int, x: Floats, x_low: Floats, b: Floats, b_low: Floats) -> float:
    """b = -(load + block x), of the plain numbers given; returns the largest |b| beside the terms of its row."""
    worst = 0.0
    for i in range(k):
        h, low = dd_dot(block[i], x, x_low, k, load[i])
        b[i] = -h
        b_low[i] = -low
        size = abs(load[i])
        for j in range(k):
            size = max(size, abs(block[i, j] * x[j]))
        if size > 0.0:
            worst = max(worst, abs(h) / size)
    return worst


@kernel
def dd_block_solve(
    block: Floats, load: Floats, k: int, A: Floats, A_low: Floats, perm: Ints, x: Floats, x_low: Floats, work: Floats
) -> bool:
    """x = -block^-1 load in double-double numbers, refined once; ``work`` has length 4 k. False where singular."""
    for i in range(k):
        for j in range(k):
            A[i, j] = block[i, j]
            A_low[i, j] = 0.0
    if not dd_lu_factor(A, A_low, k, perm):
        return False
    b = work[:k]
    b_low = work[k : 2 * k]
    y = work[2 * k : 3 * k]
    y_low = work[3 * k : 4 * k]
    for i in range(k):
        x[i] = 0.0
        x_low[i] = 0.0
    for _ in range(2):
        dd_residual(block, load, k, x, x_low, b, b_low)
        dd_lu_solve(A, A_low, k, perm, b, b_low, y, y_low)
        for i in range(k):
            h, low = dd_add(x[i], x_low[i], y[i], y_low[i])
            x[i] = h
            x_low[i] = low
    finite = True
    for i in range(k):
        finite = finite and np.isfinite(x[i])
    return finite
