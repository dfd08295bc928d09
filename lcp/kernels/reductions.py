"""Sums, maxima and minima of vectors by eight independent partial results.

A single running result would make every operation wait for the one before it; the compiler may not split it by itself,
because that changes the rounding of a sum. Not inlined before optimisation: they are called from so many places that
it costs two seconds of everybody's first run and gains a twentieth at small n.
"""

from __future__ import annotations

import numpy as np

from lcp.kernels import Floats, kernel


@kernel(inner=True)
def largest_size(x: Floats) -> float:
    """Largest magnitude in a vector, by eight independent maxima."""
    n = x.shape[0]
    a = 0.0
    b = 0.0
    c = 0.0
    d = 0.0
    e = 0.0
    f = 0.0
    g = 0.0
    h = 0.0
    j = 0
    while j + 8 <= n:
        a = max(a, abs(x[j]))
        b = max(b, abs(x[j + 1]))
        c = max(c, abs(x[j + 2]))
        d = max(d, abs(x[j + 3]))
        e = max(e, abs(x[j + 4]))
        f = max(f, abs(x[j + 5]))
        g = max(g, abs(x[j + 6]))
        h = max(h, abs(x[j + 7]))
        j += 8
    while j < n:
        a = max(a, abs(x[j]))
        j += 1
    return max(max(max(a, b), max(c, d)), max(max(e, f), max(g, h)))


@kernel(inner=True)
def least_of(x: Floats) -> float:
    """Smallest entry of a vector, by eight independent minima."""
    n = x.shape[0]
    a = np.inf
    b = np.inf
    c = np.inf
    d = np.inf
    e = np.inf
    f = np.inf
    g = np.inf
    h = np.inf
    j = 0
    while j + 8 <= n:
        a = min(a, x[j])
        b = min(b, x[j + 1])
        c = min(c, x[j + 2])
        d = min(d, x[j + 3])
        e = min(e, x[j + 4])
        f = min(f, x[j + 5])
        g = min(g, x[j + 6])
        h = min(h, x[j + 7])
        j += 8
    while j < n:
        a = min(a, x[j])
        j += 1
    return min(min(min(a, b), min(c, d)), min(min(e, f), min(g, h)))


@kernel(inner=True)
def dot(a: Floats, b: Floats, k: int) -> float:
    """Sum of a_j b_j over j < k."""
    s0 = 0.0
    s1 = 0.0
    s2 = 0.0
    s3 = 0.0
    s4 = 0.0
    s5 = 0.0
    s6 = 0.0
    s7 = 0.0
    j = 0
    while j + 8 <= k:
        s0 += a[j] * b[j]
        s1 += a[j + 1] * b[j + 1]
        s2 += a[j + 2] * b[j + 2]
        s3 += a[j + 3] * b[j + 3]
        s4 += a[j + 4] * b[j + 4]
        s5 += a[j + 5] * b[j + 5]
        s6 += a[j + 6] * b[j + 6]
        s7 += a[j + 7] * b[j + 7]
        j += 8
    if j + 4 <= k:
        s0 += a[j] * b[j]
        s1 += a[j + 1] * b[j + 1]
        s2 += a[j + 2] * b[j + 2]
        s3 += a[j + 3] * b[j + 3]
        j += 4
    # At most three are left; each waits for another sum.
    if j < k:
        s4 += a[j] * b[j]
    if j + 1 < k:
        s5 += a[j + 1] * b[j + 1]
    if j + 2 < k:
        s6 += a[j + 2] * b[j + 2]
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
