"""Slow, obvious references the tests compare with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def enumerate_bases(
    M: NDArray[np.float64], q: NDArray[np.float64], tolerance: float = 1e-10
) -> list[NDArray[np.float64]]:
    """All solutions of LCP(M, q) at non-singular bases, by trying all 2^n of them."""
    M, q = np.asarray(M, dtype=float), np.asarray(q, dtype=float)
    n = q.shape[0]
    found: list[NDArray[np.float64]] = []
    for code in range(2**n):
        active = [i for i in range(n) if code >> i & 1]
        z = np.zeros(n)
        if active:
            block = M[np.ix_(active, active)]
            if np.linalg.matrix_rank(block) < len(active):
                continue
            z[active] = np.linalg.solve(block, -q[active])
        scale = max(1.0, float(np.abs(z).max(initial=0.0)))
        w = M @ z + q
        solves = (z >= -tolerance * scale).all() and (w >= -tolerance * scale).all()
        if solves and not any(np.allclose(z, other, rtol=1e-8, atol=1e-10) for other in found):
            found.append(z)
    return found
