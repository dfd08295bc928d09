"""A = L L^T of a dense positive definite matrix, four columns at a time, and the solves with L.

Four columns are factorised together, so that every entry to the right of them is loaded and stored once for four
products (a left-looking panel, a right-looking rest: Golub and Van Loan 2013, section 4.2). The diagonal of L is kept
inverted.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel
from lcp.kernels.reductions import dot

#: Up to so many rows `solve_small` is faster.
SMALL: Final = 20


@kernel
def factor(A: FloatArray, first: int, n: int, least: FloatArray, columns: FloatArray) -> int:
    """Return the lower triangle of rows and columns ``first`` to n - 1 := L.

    -1, or the first k with a pivot <= least[k].

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
def solve_lower(L: FloatArray, first: int, n: int, x: FloatArray) -> None:
    """x := L^-1 x, in entries ``first`` to n - 1."""
    part = x[first:n]
    for i in range(n - first):
        row = L[first + i]
        tail = row[first:n]
        part[i] = (part[i] - dot(tail, part, i)) * tail[i]


@kernel
def solve_upper(L: FloatArray, first: int, n: int, x: FloatArray) -> None:
    """x := L^-T x, in entries ``first`` to n - 1."""
    part = x[first:n]
    for i in range(n - first - 1, -1, -1):
        row = L[first + i]
        tail = row[first:n]
        value = part[i] * tail[i]
        part[i] = value
        for j in range(i):
            part[j] -= value * tail[j]


@kernel
def solve_small(A: FloatArray, least: FloatArray, inverse: FloatArray, x: FloatArray) -> int:
    """x := A^-1 x by A = L D L^T, in plain loops; -1, or the first k with a pivot <= least[k].

    Half the time of `factor` and its solves at four rows, two thirds at twelve: no roots, and short loops cost less
    than calls. The lower triangle of A and ``inverse`` (n,) are used up.
    """
    n = x.shape[0]
    for i in range(n):
        row = A[i]
        for j in range(i):
            other = A[j]
            value = row[j]
            for k in range(j):
                value -= row[k] * other[k]
            row[j] = value
        pivot = row[i]
        value = x[i]
        for j in range(i):
            part = row[j] * inverse[j]
            pivot -= part * row[j]
            value -= part * x[j]
            row[j] = part
        if not pivot > least[i]:
            return i
        inverse[i] = 1.0 / pivot
        x[i] = value
    for i in range(n - 1, -1, -1):
        value = x[i] * inverse[i]
        for k in range(i + 1, n):
            value -= A[k, i] * x[k]
        x[i] = value
    return -1
