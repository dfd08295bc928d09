"""Slow, obvious references the tests compare with."""

from __future__ import annotations

from fractions import Fraction

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


def exact_solutions(M: NDArray[np.float64], q: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """All solutions of LCP(M, q) at non-singular bases, of the doubles as they stand: every sign is a rational's.

    `enumerate_bases` admits entries of -1e-10 max |z|: beside an unknown of 1e11 that is -10, and wrong bases pass.
    """
    n = q.shape[0]
    A, b = ([[Fraction(v) for v in row] for row in np.atleast_2d(part).tolist()] for part in (M, q))
    solutions: list[list[Fraction]] = []
    for code in range(2**n):
        active = [i for i in range(n) if code >> i & 1]
        inner = _rational_solve([[A[i][j] for j in active] for i in active], [-b[0][i] for i in active])
        if inner is None or min(inner, default=0) < 0:
            continue
        z = [Fraction(0)] * n
        for i, value in zip(active, inner, strict=True):
            z[i] = value
        w = [b[0][i] + sum(A[i][j] * z[j] for j in range(n)) for i in range(n)]
        if min(w, default=0) >= 0 and z not in solutions:
            solutions.append(z)
    return [np.array([float(value) for value in z]) for z in solutions]


def _rational_solve(A: list[list[Fraction]], b: list[Fraction]) -> list[Fraction] | None:
    """A^-1 b by Gauss and Jordan's elimination, None for a singular A."""
    rows = [[*row, value] for row, value in zip(A, b, strict=True)]
    for k in range(len(rows)):
        at = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if at is None:
            return None
        rows[k], rows[at] = rows[at], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(len(rows)):
            if i != k and rows[i][k]:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


def solvable_bases(
    A: NDArray[np.float64],
    X1: NDArray[np.float64],
    X2: NDArray[np.float64],
    X3: NDArray[np.float64],
    a: NDArray[np.float64],
    x4: NDArray[np.float64],
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """One solution (u, y) of each basis that has any, by a linear program per basis: singular ones are no exception."""
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
