"""Sums, maxima and minima of vectors by eight independent partial results.

A single running result would make every operation wait for the one before it; the compiler may not split it by itself,
because that changes the rounding of a sum. Places are constant in views of eight numbers, which become two vectors. Not
inlined before optimisation: they are called from so many places that it costs two seconds of everybody's first run and
gains a twentieth at small n.
"""

from __future__ import annotations

import numpy as np

from lcp.compiler.views import view_1d
from lcp.kernels import Floats, kernel


@kernel(inner=True, vectors=True)
def largest_size(x: Floats) -> float:
    """Largest magnitude in a vector, by eight independent maxima."""
    n = x.shape[0]
    a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    j = 0
    while j + 8 <= n:
        y = view_1d(x, j, 8)
        p, q, r, s = abs(y[0]), abs(y[1]), abs(y[2]), abs(y[3])
        t, u, v, w = abs(y[4]), abs(y[5]), abs(y[6]), abs(y[7])
        # Not max(): of that the compiler makes no vectors.
        a = p if p > a else a
        b = q if q > b else b
        c = r if r > c else c
        d = s if s > d else d
        e = t if t > e else e
        f = u if u > f else f
        g = v if v > g else g
        h = w if w > h else h
        j += 8
    most = max(max(max(a, b), max(c, d)), max(max(e, f), max(g, h)))
    while j < n:
        most = max(most, abs(x[j]))
        j += 1
    return most


@kernel(inner=True, vectors=True)
def least_of(x: Floats) -> float:
    """Smallest entry of a vector, by eight independent minima."""
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
    least = min(min(min(a, b), min(c, d)), min(min(e, f), min(g, h)))
    while j < n:
        least = min(least, x[j])
        j += 1
    return least


@kernel(inner=True, vectors=True)
def dot(a: Floats, b: Floats, k: int) -> float:
    """Sum of a_j b_j over j < k."""
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
    # At most three are left; each waits for another sum.
    if j < k:
        s4 += a[j] * b[j]
    if j + 1 < k:
        s5 += a[j + 1] * b[j + 1]
    if j + 2 < k:
        s6 += a[j + 2] * b[j + 2]
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
