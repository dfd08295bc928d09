"""Lemke's method in exact arithmetic: the truth for small problems, slow."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray


def exact_residuals(
    M: NDArray[np.float64], q: NDArray[np.float64], z: NDArray[np.float64]
) -> tuple[Fraction, Fraction]:
    """Natural map and scaled residual of z, without rounding."""
    x = [Fraction(float(v)) for v in z]
    size = max((abs(v) for v in x), default=Fraction(0))
    natural, scaled = Fraction(0), Fraction(0)
    used = [j for j, v in enumerate(x) if v]
    for i, load in enumerate(q):
        w = Fraction(float(load)) + sum(Fraction(float(M[i, j])) * x[j] for j in used)
        unit = abs(Fraction(float(load))) + Fraction(float(np.abs(M[i]).max())) * size
        natural = max(natural, abs(min(x[i], w)))
        scaled = max(scaled, abs(min(x[i] / size if size else Fraction(0), w / unit if unit else Fraction(0))))
    return natural, scaled


def whole(values: list[Fraction]) -> list[int]:
    """Binary fractions times their common denominator."""
    bits = max(v.denominator for v in values)
    return [int(v * bits) for v in values]


def exact_lemke(
    M: NDArray[np.float64], q: NDArray[np.float64], max_pivots: int = 5000, cover: NDArray[np.float64] | None = None
) -> tuple[str, list[Fraction], int]:
    """Outcome ("solved", "ray" or "limit"), z and pivots; the lexicographic rule, the artificial variable first.

    The dictionary x_B = (x + T y_N) / d is kept in whole numbers by the pivoting of J. Edmonds (1967) and E. H.
    Bareiss, Sylvester's identity and multistep integer-preserving Gaussian elimination (1968).
    """
    n = len(q)
    if n == 0 or (np.asarray(q) >= 0.0).all():
        return "solved", [Fraction(0)] * n, 0
    d_cover = np.ones(n) if cover is None else cover
    entries = [Fraction(float(v)) for v in np.column_stack([M, d_cover, q]).ravel()]
    numbers, d = whole(entries), 1  # of w in other units
    T: Any = np.array(numbers, dtype=object).reshape(n, n + 2)
    basis, nonbasis = list(range(n)), [*range(n, 2 * n), 2 * n]
    r = 0
    for i in range(1, n):
        if T[i, n + 1] * T[r, n] <= T[r, n + 1] * T[i, n]:
            r = i
    c = n
    for pivots in range(1, max_pivots + 1):
        p = T[r, c]
        column, row = T[:, c].copy(), T[r].copy()
        # p y_c = d x_r - (the rest of row r); then d x_i = ... becomes p x_i = ..., the division by d being exact.
        for i in range(n):
            if i != r:
                T[i] = (T[i] * p - column[i] * row) // d
        T[:, c] = column
        T[r] = -row
        T[r, c] = d
        d = p
        if d < 0:
            T, d = -T, -d
        leaving, entering = basis[r], nonbasis[c]
        basis[r], nonbasis[c] = entering, leaving
        if leaving == 2 * n:
            z = [Fraction(0)] * n
            for i, b in enumerate(basis):
                if n <= b < 2 * n:
                    z[b - n] = Fraction(int(T[i, n + 1]), int(d))
            return "solved", z, pivots
        wanted = leaving + n if leaving < n else leaving - n
        c = nonbasis.index(wanted)
        found = leaving_row(T, basis, nonbasis, c, d)
        if found < 0:
            return "ray", [], pivots
        r = found
    return "limit", [], max_pivots


def leaving_row(T: Any, basis: list[int], nonbasis: list[int], c: int, d: int) -> int:
    """Lexicographic minimum ratio."""
    n = len(basis)
    rows = [i for i in range(n) if T[i, c] < 0]
    if not rows:
        return -1

    def kept(values: list[int]) -> list[int]:
        best = rows[0:1]
        value = values[0]
        for i, v in zip(rows[1:], values[1:], strict=True):
            left, right = v * -T[best[0], c], value * -T[i, c]
            if left < right:
                best, value = [i], v
            elif left == right:
                best.append(i)
        return best

    rows = kept([T[i, n + 1] for i in rows])
    for i in rows:
        if basis[i] == 2 * n:
            return i
    for k in range(n):
        if len(rows) == 1:
            break
        if k in basis:
            # A basic slack's column of the basis inverse is a unit vector.
            rows = kept([d if basis[i] == k else 0 for i in rows])
        else:
            j = nonbasis.index(k)
            rows = kept([-T[i, j] for i in rows])
    return rows[0]
