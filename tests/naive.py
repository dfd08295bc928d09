"""Slow, obvious references the tests compare with."""

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


def solvable_bases(
    A: NDArray[np.float64],
    X1: NDArray[np.float64],
    X2: NDArray[np.float64],
    X3: NDArray[np.float64],
    a: NDArray[np.float64],
    x4: NDArray[np.float64],
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return one solution (u, y) of each basis that has any, by a linear program per basis, also for singular ones."""
    from scipy.optimize import linprog

    m, n = len(a), len(x4)
    K, k = np.block([[A, X1], [X2, X3]]), np.concatenate([a, x4])
    found = []
    for code in range(2**n):
        positive = [m + i for i in range(n) if code >> i & 1]
        zero = [m + i for i in range(n) if not code >> i & 1]
        equations = [*range(m), *positive]
        bounds = [(None, None)] * m + [(0, None) if m + i in positive else (0, 0) for i in range(n)]
        answer = linprog(
            np.zeros(m + n),
            A_ub=-K[zero] if zero else None,
            b_ub=k[zero] if zero else None,
            A_eq=K[equations] if equations else None,
            b_eq=-k[equations] if equations else None,
            bounds=bounds,
        )
        if answer.status == 0:
            found.append((answer.x[:m], answer.x[m:]))
    return found
