"""Sums, maxima and minima of vectors by eight independent partial results, and sums in twice the working precision.

With a single partial result every operation would wait for the previous one. The compiler may not split it, because
this changes the rounding of a sum. Indices are constant in views of eight numbers, which become two vectors. These
kernels are not inlined before optimisation: with so many callers inlining costs two seconds of every first run and
gains a twentieth at small n.

Accurate sums, with a bound on their error, follow T. Ogita, S. M. Rump, S. Oishi, Accurate sum and dot product, SIAM
Journal on Scientific Computing 26 (2005), algorithm 5.3 and proposition 5.5: products and sums without error, with
separate sums of their low parts.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from lcp.compiler.views import view_1d
from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.double_double import two_product, two_sum


@kernel(inner=True, vectors=True)
def largest_size(x: Floats) -> float:
    """Return the largest magnitude in a vector, by eight independent maxima."""
    # Eight running maxima.
    n = x.shape[0]
    a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    j = 0
    while j + 8 <= n:
        y = view_1d(x, j, 8)
        p, q, r, s = abs(y[0]), abs(y[1]), abs(y[2]), abs(y[3])
        t, u, v, w = abs(y[4]), abs(y[5]), abs(y[6]), abs(y[7])
        # Not max(), which the compiler does not vectorise.
        a = p if p > a else a
        b = q if q > b else b
        c = r if r > c else c
        d = s if s > d else d
        e = t if t > e else e
        f = u if u > f else f
        g = v if v > g else g
        h = w if w > h else h
        j += 8
    # Combine them, and the rest.
    most = max(max(max(a, b), max(c, d)), max(max(e, f), max(g, h)))
    while j < n:
        most = max(most, abs(x[j]))
        j += 1
    return most


@kernel(inner=True, vectors=True)
def least_of(x: Floats) -> float:
    """Return the smallest entry of a vector, by eight independent minima."""
    # Eight running minima.
    n = x.shape[0]
    a, b, c, d, e, f, g, h = np.inf, np.inf, np.inf, np.inf, np.inf, np.inf, np.inf, np.inf
    j = 0
    while j + 8 <= n:
        y = view_1d(x, j, 8)
        p, q, r, s, t, u, v, w = y[0], y[1], y[2], y[3], y[4], y[5], y[6], y[7]
        a = p if p < a else a
        b = q if q < b else b
        c = r if r < c else c
        d = s if s < d else d
        e = t if t < e else e
        f = u if u < f else f
        g = v if v < g else g
        h = w if w < h else h
        j += 8
    # Combine them, and the rest.
    least = min(min(min(a, b), min(c, d)), min(min(e, f), min(g, h)))
    while j < n:
        least = min(least, x[j])
        j += 1
    return least


@kernel(inner=True, vectors=True)
def dot(a: Floats, b: Floats, k: int) -> float:
    """Return the sum of a_j b_j over j < k."""
    # Eight running sums.
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    j = 0
    while j + 8 <= k:
        x, y = view_1d(a, j, 8), view_1d(b, j, 8)
        s0, s1, s2, s3 = s0 + x[0] * y[0], s1 + x[1] * y[1], s2 + x[2] * y[2], s3 + x[3] * y[3]
        s4, s5, s6, s7 = s4 + x[4] * y[4], s5 + x[5] * y[5], s6 + x[6] * y[6], s7 + x[7] * y[7]
        j += 8
    if j + 4 <= k:
        x, y = view_1d(a, j, 4), view_1d(b, j, 4)
        s0, s1, s2, s3 = s0 + x[0] * y[0], s1 + x[1] * y[1], s2 + x[2] * y[2], s3 + x[3] * y[3]
        j += 4
    # At most three remain; each is added to another sum.
    if j < k:
        s4 += a[j] * b[j]
    if j + 1 < k:
        s5 += a[j + 1] * b[j + 1]
    if j + 2 < k:
        s6 += a[j + 2] * b[j + 2]
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


# Twice the unit of rounding, and the smallest normal number: the error of one operation, doubled.
EPS: Final = 2.0**-52
TINY: Final = 2.0**-1022


@kernel(inline=True)
def dot_twice(a: Floats, columns: Ints, x: Floats, start: float) -> tuple[float, float]:
    """Return (s, e) with |start + sum_j a_j x_columns[j] - s| <= e; e is infinite if the splitting overflows."""
    # Sum, with a separate sum of the low parts.
    total = start
    low = 0.0
    size = abs(start)
    k = a.shape[0]
    for j in range(k):
        product, product_low = two_product(a[j], x[columns[j]])
        total, sum_low = two_sum(total, product)
        low += product_low + sum_low
        size += abs(product)
    # A bound of the error.
    value = total + low
    relative = (k + 4) * EPS
    error = 2.0 * EPS * abs(value) + 4.0 * relative * relative * size + 16.0 * (k + 2) * (k + 2) * TINY
    if not np.isfinite(error):
        error = np.inf
    if not np.isfinite(value):
        value = 0.0
        error = np.inf
    return value, error


@kernel
def sum_twice(a: Floats, x: Floats, start: float) -> float:
    """Return start + a . x as if summed in twice the working precision; not finite if the splitting overflows."""
    # Sum, with a separate sum of the low parts.
    total = start
    low = 0.0
    for j in range(a.shape[0]):
        product, product_low = two_product(a[j], x[j])
        total, sum_low = two_sum(total, product)
        low += product_low + sum_low
    return total + low


@kernel(inner=True, vectors=True)
def sum_and_terms(a: Floats, x: Floats, start: float) -> tuple[float, float]:
    """Return start + a . x, added up in the order of `dot`, and |start| + sum_j |a_j x_j|, the size of its terms.

    The rounding of the sum, and of x itself, is a multiple of this size.
    """
    # Running sums of both.
    n = a.shape[0]
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    t0, t1, t2, t3 = abs(start), 0.0, 0.0, 0.0
    j = 0
    while j + 8 <= n:
        # Constant indices: the compiler makes two vectors of eight numbers.
        b, y = view_1d(a, j, 8), view_1d(x, j, 8)
        p0, p1, p2, p3 = b[0] * y[0], b[1] * y[1], b[2] * y[2], b[3] * y[3]
        p4, p5, p6, p7 = b[4] * y[4], b[5] * y[5], b[6] * y[6], b[7] * y[7]
        s0, s1, s2, s3 = s0 + p0, s1 + p1, s2 + p2, s3 + p3
        s4, s5, s6, s7 = s4 + p4, s5 + p5, s6 + p6, s7 + p7
        t0, t1, t2, t3 = t0 + abs(p0), t1 + abs(p1), t2 + abs(p2), t3 + abs(p3)
        t0, t1, t2, t3 = t0 + abs(p4), t1 + abs(p5), t2 + abs(p6), t3 + abs(p7)
        j += 8
    # The rest.
    if j + 4 <= n:
        b, y = view_1d(a, j, 4), view_1d(x, j, 4)
        p0, p1, p2, p3 = b[0] * y[0], b[1] * y[1], b[2] * y[2], b[3] * y[3]
        s0, s1, s2, s3 = s0 + p0, s1 + p1, s2 + p2, s3 + p3
        t0, t1, t2, t3 = t0 + abs(p0), t1 + abs(p1), t2 + abs(p2), t3 + abs(p3)
        j += 4
    if j < n:
        p0 = a[j] * x[j]
        s4 += p0
        t0 += abs(p0)
    if j + 1 < n:
        p0 = a[j + 1] * x[j + 1]
        s5 += p0
        t0 += abs(p0)
    if j + 2 < n:
        p0 = a[j + 2] * x[j + 2]
        s6 += p0
        t0 += abs(p0)
    return start + (((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))), (t0 + t1) + (t2 + t3)


@kernel
def dense_residual(M: Floats, q: Floats, z: Floats, columns: Ints, w: Floats, error: Floats) -> None:
    """Fill w and its error bounds for dense M; ``columns`` is 0, 1, ..., n - 1."""
    for i in range(q.shape[0]):
        w[i], error[i] = dot_twice(M[i], columns, z, q[i])


@kernel
def sparse_residual(indptr: Ints, indices: Ints, data: Floats, q: Floats, z: Floats, w: Floats, error: Floats) -> None:
    """Fill w = M z + q and its error bounds for M in compressed sparse rows."""
    for i in range(q.shape[0]):
        row = slice(indptr[i], indptr[i + 1])
        w[i], error[i] = dot_twice(data[row], indices[row], z, q[i])
