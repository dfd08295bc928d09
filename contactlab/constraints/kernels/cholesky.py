"""A = L L^T of a dense positive definite matrix, four columns at a time, and the solves with L.

Four columns are factorised together, so that every entry to the right of them is loaded and stored once for four
products (a left-looking panel, a right-looking rest: Golub and Van Loan 2013, section 4.2). The diagonal of L is kept
inverted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lcp.kernels import kernel
from lcp.kernels.reductions import dot


@kernel
def factor(A: NDArray[np.float64], first: int, n: int, least: NDArray[np.float64], columns: NDArray[np.float64]) -> int:
    """The lower triangle of rows and columns ``first`` to n - 1 := L; -1, or the first k with a pivot <= least[k].

    ``columns`` (4 n,) is scratch.
    """
    start = first
    c0 = columns[0:n]
    c1 = columns[n : 2 * n]
    c2 = columns[2 * n : 3 * n]
    c3 = columns[3 * n : 4 * n]
    while start < n:
        end = min(start + 4, n)
        for k in range(start, end):
            row = A[k]
            for c in range(start, k):
                value = row[c]
                for s in range(start, c):
                    value -= row[s] * A[c, s]
                row[c] = value * A[c, c]
            pivot = row[k]
            for s in range(start, k):
                pivot -= row[s] * row[s]
            if not pivot > least[k]:
                return k
            row[k] = 1.0 / np.sqrt(pivot)
        if end - start < 4:
            return -1
        d0 = A[start]
        d1 = A[start + 1]
        d2 = A[start + 2]
        d3 = A[start + 3]
        i0 = d0[start]
        i1 = d1[start + 1]
        i2 = d2[start + 2]
        i3 = d3[start + 3]
        for i in range(end, n):
            row = A[i]
            p = row[start] * i0
            q = (row[start + 1] - p * d1[start]) * i1
            r = (row[start + 2] - p * d2[start] - q * d2[start + 1]) * i2
            s = (row[start + 3] - p * d3[start] - q * d3[start + 1] - r * d3[start + 2]) * i3
            row[start] = p
            row[start + 1] = q
            row[start + 2] = r
            row[start + 3] = s
            c0[i] = p
            c1[i] = q
            c2[i] = r
            c3[i] = s
        for i in range(end, n):
            p = c0[i]
            q = c1[i]
            r = c2[i]
            s = c3[i]
            row = A[i]
            target = row[end : i + 1]
            u0 = c0[end : i + 1]
            u1 = c1[end : i + 1]
            u2 = c2[end : i + 1]
            u3 = c3[end : i + 1]
            for j in range(target.shape[0]):
                target[j] = (((target[j] - p * u0[j]) - q * u1[j]) - r * u2[j]) - s * u3[j]
        start = end
    return -1


@kernel
def solve_lower(L: NDArray[np.float64], first: int, n: int, x: NDArray[np.float64]) -> None:
    """x := L^-1 x, in entries ``first`` to n - 1."""
    own = x[first:n]
    for i in range(n - first):
        row = L[first + i]
        tail = row[first:n]
        own[i] = (own[i] - dot(tail, own, i)) * tail[i]


@kernel
def solve_upper(L: NDArray[np.float64], first: int, n: int, x: NDArray[np.float64]) -> None:
    """x := L^-T x, in entries ``first`` to n - 1."""
    own = x[first:n]
    for i in range(n - first - 1, -1, -1):
        row = L[first + i]
        tail = row[first:n]
        value = own[i] * tail[i]
        own[i] = value
        for j in range(i):
            own[j] -= value * tail[j]
