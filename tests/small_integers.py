"""Small LCPs in whole numbers, rescaled exactly and judged in rationals."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def problems(seed: int, count: int) -> Iterator[tuple[Array, Array, Array, Array]]:
    """M, q of one to five unknowns, and powers of two for the units of rows and unknowns."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n, kind, most = int(rng.integers(1, 6)), int(rng.integers(0, 5)), int(rng.choice([1, 2, 5]))
        A = rng.integers(-most, most + 1, (n, n))
        if kind == 1:
            A = A @ A.T
        elif kind == 2:
            B, K = A[:, : max(1, n - 1)], np.triu(rng.integers(-most, most + 1, (n, n)), 1)
            A = B @ B.T + K - K.T
        elif kind == 3:
            A = A @ A.T + np.eye(n, dtype=int)
        elif kind == 4:
            A = A * (rng.random((n, n)) < 0.5)
        R, C = np.exp2(rng.integers(-40, 41, (2, n)).astype(np.float64))
        yield A.astype(np.float64), rng.integers(-3, 4, n).astype(np.float64), R, C if rng.random() < 0.7 else R


def solution(M: Array, q: Array) -> list[Fraction] | None:
    """A solution, or None where there is none: a solvable problem has one whose columns are independent."""
    n = len(q)
    for support in itertools.chain.from_iterable(itertools.combinations(range(n), k) for k in range(n + 1)):
        rest = [i for i in range(n) if i not in support]
        for more in itertools.chain.from_iterable(itertools.combinations(rest, k) for k in range(len(rest) + 1)):
            x = _only([*support, *more], list(support), M, q)
            if x is None or min(x, default=Fraction(0)) < 0:
                continue
            z = [Fraction(0)] * n
            for j, value in zip(support, x, strict=True):
                z[j] = value
            w = rows(M, q, z)
            if min(w) >= 0 and not any(w[i] for i in support):
                return z
    return None


def rows(M: Array, q: Array, z: list[Fraction]) -> list[Fraction]:
    """w = M z + q."""
    return [Fraction(q[i]) + sum(Fraction(M[i, j]) * z[j] for j in range(len(q)) if z[j]) for i in range(len(q))]


def worst(M: Array, q: Array, z: Array) -> float:
    """Natural map of z without rounding."""
    x = [Fraction(v) for v in z]
    return max(float(abs(min(a, b))) for a, b in zip(x, rows(M, q, x), strict=True))


def _only(equations: list[int], unknowns: list[int], M: Array, q: Array) -> list[Fraction] | None:
    """The one solution of these rows w = 0 in these unknowns; None where there is none or more than one."""
    table = [[Fraction(M[i, j]) for j in unknowns] + [-Fraction(q[i])] for i in equations]
    for c in range(len(unknowns)):
        p = next((i for i in range(c, len(table)) if table[i][c]), None)
        if p is None:
            return None
        table[c], table[p] = table[p], table[c]
        table[c] = [v / table[c][c] for v in table[c]]
        for i in range(len(table)):
            if i != c and table[i][c]:
                table[i] = [a - table[i][c] * b for a, b in zip(table[i], table[c], strict=True)]
    return None if any(row[-1] for row in table[len(unknowns) :]) else [row[-1] for row in table[: len(unknowns)]]
