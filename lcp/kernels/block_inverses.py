"""max over all principal blocks of |M_aa^-1 d_a|, component by component and with rounding bounded."""

from __future__ import annotations

import numpy as np

from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.accurate_residual import EPS, TINY
from lcp.kernels.basis_solve import lu_factor, lu_solve, members


@kernel
def inverse_image(
    M: Floats,
    d: Floats,
    radius: Floats,
    active: Ints,
    k: int,
    A: Floats,
    X: Floats,
    perm: Ints,
    work: Floats,
    out: Floats,
) -> bool:
    """Fill ``out[:k]`` with bounds of |M_aa^-1 e| over all |e - d_a| <= radius_a; False where none was proven.

    With X an approximate inverse and E = I - X M_aa, |E| <= c < 1 in the row-sum norm, any x~ has x - x~ =
    X (e - M_aa x~) + E (x - x~), and so |x - x~|_max <= |X (e - M_aa x~)|_max / (1 - c). S. M. Rump, Verification
    methods, Acta Numerica 19 (2010). ``A`` and ``X`` are n x n scratch, ``work`` has length 4 n.
    """
    n = M.shape[0]
    b = work[:n]
    x = work[n : 2 * n]
    gap = work[2 * n : 3 * n]
    off = work[3 * n :]
    for i in range(k):
        for j in range(k):
            A[i, j] = M[active[i], active[j]]
    if not lu_factor(A, k, perm):
        return False
    for j in range(k):
        for i in range(k):
            b[i] = 0.0
        b[j] = 1.0
        lu_solve(A, k, perm, b, x)
        for i in range(k):
            X[i, j] = x[i]
    slack = (2 * k + 8) * EPS
    # Rows of I - X M_aa.
    worst = 0.0
    for i in range(k):
        for j in range(k):
            b[j] = 0.0
            gap[j] = 0.0
        b[i] = 1.0
        gap[i] = 1.0
        for m in range(k):
            factor = X[i, m]
            source = M[active[m]]
            for j in range(k):
                term = factor * source[active[j]]
                b[j] -= term
                gap[j] += abs(term)
        total = 0.0
        for j in range(k):
            total += abs(b[j]) + slack * gap[j] + 4.0 * (k + 2) * TINY
        off[i] = total * (1.0 + slack)
        worst = max(worst, off[i])
        if not total < 0.5:
            return False
    for i in range(k):
        total = 0.0
        for j in range(k):
            total += X[i, j] * d[active[j]]
        x[i] = total
    for i in range(k):
        total = d[active[i]]
        size = abs(total)
        source = M[active[i]]
        for j in range(k):
            term = source[active[j]] * x[j]
            total -= term
            size += abs(term)
        gap[i] = (abs(total) + radius[active[i]] + slack * size + 4.0 * (k + 2) * TINY) * (1.0 + slack)
    largest = 0.0
    for i in range(k):
        total = 0.0
        for j in range(k):
            total += abs(X[i, j]) * gap[j]
        b[i] = total * (1.0 + slack) + 4.0 * (k + 2) * TINY
        largest = max(largest, b[i])
    largest = largest / (1.0 - worst) * (1.0 + 8.0 * EPS)
    for i in range(k):
        out[i] = (abs(x[i]) + b[i] + off[i] * largest) * (1.0 + 8.0 * EPS)
        if not np.isfinite(out[i]):
            return False
    return True


@kernel
def worst_images(
    M: Floats,
    d: Floats,
    radius: Floats,
    start: int,
    stop: int,
    A: Floats,
    X: Floats,
    index: Ints,
    work: Floats,
    worst: Floats,
) -> bool:
    """Raise ``worst`` to the bounds of the blocks ``start <= code < stop``; ``index`` is 2 n, ``work`` 5 n long."""
    n = M.shape[0]
    active = index[:n]
    perm = index[n:]
    out = work[:n]
    for code in range(start, stop):
        k = members(code, n, active)
        if not inverse_image(M, d, radius, active, k, A, X, perm, work[n:], out):
            return False
        for i in range(k):
            worst[active[i]] = max(worst[active[i]], out[i])
    return True
