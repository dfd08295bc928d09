"""Residuals of G x = gamma, row by row, in units of the terms of the row."""

from __future__ import annotations

from contactlab.constraints.kernels.kkt_codes import BROKEN, RESIDUAL_FLOOR
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel


@kernel
def constraint_residual(G: FloatArray, x: FloatArray, gamma: FloatArray, size: FloatArray, terms: FloatArray) -> float:
    """The largest |G_i x - gamma_i| / s_i over the rows; not a number where x is none.

    s_i = |gamma_i| + sum_j |G_ij| (|x_j| + size_j), but at least `RESIDUAL_FLOOR` times the largest of them. size (n,)
    says what cancels in x, which may be rounding itself (a robot at rest), and is used up; rows that hold nothing but
    rounding (those out of the plane of a planar mechanism) would read as contradictions without the floor. ``terms``
    (2 m,) is scratch.
    """
    m, n = G.shape
    for j in range(n):
        size[j] += abs(x[j])
    largest = rest = 0.0
    for i in range(m):
        row = G[i]
        a = b = c = d = 0.0
        p = q = r = s = 0.0
        j = 0
        while j + 4 <= n:
            a += row[j] * x[j]
            b += row[j + 1] * x[j + 1]
            c += row[j + 2] * x[j + 2]
            d += row[j + 3] * x[j + 3]
            p += abs(row[j]) * size[j]
            q += abs(row[j + 1]) * size[j + 1]
            r += abs(row[j + 2]) * size[j + 2]
            s += abs(row[j + 3]) * size[j + 3]
            j += 4
        while j < n:
            a += row[j] * x[j]
            p += abs(row[j]) * size[j]
            j += 1
        error = ((a + b) + (c + d)) - gamma[i]
        terms[i] = abs(error)
        terms[m + i] = ((p + q) + (r + s)) + abs(gamma[i])
        largest = max(largest, terms[m + i])
        rest += 0.0 * error
    worst = 0.0
    for i in range(m):
        if terms[i] > 0.0:
            worst = max(worst, terms[i] / max(terms[m + i], RESIDUAL_FLOOR * largest))
    return worst + rest


@kernel(inline=True)
def checked(G: FloatArray, gamma: FloatArray, a: FloatArray, alone: FloatArray, terms: FloatArray) -> float:
    """The residual of a solve that went through, `BROKEN` where it is not finite.

    alone (nv,): sizes of the accelerations that the load would give each degree of freedom by itself.
    """
    residual = constraint_residual(G, a, gamma, alone, terms)
    rest = 0.0 * residual
    for j in range(a.shape[0]):
        rest += 0.0 * a[j]
    return residual if rest == 0.0 else float(BROKEN)
