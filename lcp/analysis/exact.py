"""Exact linear algebra on double precision data: doubles are rationals, and in one common unit they are integers.

Elimination needs no fractions (E. H. Bareiss, Sylvester's identity and multistep integer-preserving Gaussian
elimination, Mathematics of Computation 22, 1968): every number is a minor of the matrix, and every division is exact.
Arrays of Python integers have the dtype ``object``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[Any]
_DIGITS = 53


def integers(values: NDArray[np.float64]) -> Integers:
    """Return integers proportional to the given finite doubles, by a common power of two."""
    fraction, exponent = np.frexp(values)
    whole = np.ldexp(fraction, _DIGITS).astype(np.int64)
    used = whole != 0
    if not used.any():
        return np.zeros(values.shape, dtype=object)
    shift = np.where(used, exponent - exponent[used].min(), 0)
    flat = [int(a) << int(s) for a, s in zip(whole.ravel(), shift.ravel(), strict=True)]
    bits = 0
    for a in flat:
        bits |= abs(a)
    common = (bits & -bits).bit_length() - 1
    out = np.empty(len(flat), dtype=object)
    out[:] = [a >> common for a in flat]
    return out.reshape(values.shape)


def doubles(values: Integers) -> NDArray[np.float64]:
    """Return the integers divided by their greatest common divisor, and by a power of two if huge, as float64 (n,).

    They are exact if 53 bits suffice.
    """
    divisor = math.gcd(*(int(a) for a in values))
    if divisor == 0:
        return np.zeros(values.shape[0])
    reduced = [int(a) // divisor for a in values]
    # Integers beyond the range of doubles lose their last bits first.
    excess = max(max(abs(a).bit_length() for a in reduced) - 900, 0)
    return np.array([float(a >> excess) if excess else float(a) for a in reduced])


def signs(values: Integers) -> NDArray[np.int64]:
    """Return -1, 0 or 1 for each integer."""
    return np.array([(a > 0) - (a < 0) for a in values.ravel()], dtype=np.int64).reshape(values.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Echelon:
    """Result of `gauss_jordan`: on ``pivots`` the first ``rank`` rows are ``scale`` times the identity.

    ``sign`` is the sign of the row exchanges: for a regular square matrix, sign * scale is the determinant.
    """

    rows: Integers
    rank: int
    pivots: tuple[int, ...]
    scale: int
    sign: int

    def solution(self) -> tuple[Integers, int]:
        """Return (x, d) with A x = d b, for a regular square system whose right-hand side was the last column."""
        return self.rows[: self.rank, -1], self.scale

    def null_vector(self, size: int) -> Integers:
        """Return one nonzero x (size,) with A x = 0, if the rank is below ``size``, the number of columns of A."""
        free = next(j for j in range(size) if j not in self.pivots)
        x = np.zeros(size, dtype=object)
        x[list(self.pivots)] = -self.rows[: self.rank, free]
        x[free] = self.scale
        return x


def gauss_jordan(A: Integers, columns: int | None = None) -> Echelon:
    """Reduce an integer matrix by its first ``columns`` columns, exactly."""
    rows = A.copy()
    height = rows.shape[0]
    width = rows.shape[1] if columns is None else columns
    pivots: list[int] = []
    previous, sign = 1, 1
    for c in range(width):
        r = len(pivots)
        if r == height:
            break
        at = next((i for i in range(r, height) if rows[i, c] != 0), None)
        if at is None:
            continue
        if at != r:
            rows[[r, at]] = rows[[at, r]]
            sign = -sign
        pivot = rows[r, c]
        for i in range(height):
            if i != r:
                rows[i] = (pivot * rows[i] - rows[i, c] * rows[r]) // previous
        previous = pivot
        pivots.append(c)
    return Echelon(rows, len(pivots), tuple(pivots), previous, sign)


def determinant(A: Integers) -> int:
    """Return the determinant of a square integer matrix."""
    if A.shape[0] == 0:
        return 1
    echelon = gauss_jordan(A)
    return echelon.sign * echelon.scale if echelon.rank == A.shape[0] else 0


def eliminated(A: Integers, k: int, previous: int) -> Integers:
    """Make one fraction-free step with pivot A[k, k]: all rows and columns except k; ``previous`` is the last pivot."""
    keep = [i for i in range(A.shape[0]) if i != k]
    column, row = A[keep, k], A[k, keep]
    step: Integers = (A[k, k] * A[np.ix_(keep, keep)] - column[:, None] * row) // previous
    return step
