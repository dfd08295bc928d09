"""Exact linear algebra on double precision data: doubles are rationals, and in one common unit they are integers.

Elimination needs no fractions (E. H. Bareiss, Sylvester's identity and multistep integer-preserving Gaussian
elimination, Mathematics of Computation 22, 1968): every number is a minor of the matrix, and every division is exact.
Arrays of Python integers have the dtype ``object``.

Linear programs are solved by the first phase of the simplex method with Bland's rule. `branch` decides a small
problem: if a feasible point has both y and w of a pair positive, it branches on this pair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.interruptible import cpu_seconds
from lcp.scaling import scales

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
    """Return A after a fraction-free step with pivot A[k, k], without row and column k; ``previous``: last pivot."""
    keep = [i for i in range(A.shape[0]) if i != k]
    column, row = A[keep, k], A[k, keep]
    step: Integers = (A[k, k] * A[np.ix_(keep, keep)] - column[:, None] * row) // previous
    return step


@dataclass(slots=True, eq=False)
class Branching:
    """Result of `branch`.

    Attributes
    ----------
    nodes
        Number of solved programs.
    farkas
        Multipliers, if no point is feasible.
    feasible
        A feasible point, if there is one.
    found
        The solution (u, y) nearest to an exact one, if there is one and the limit was not reached before.
    complete
        False if the limit was reached.
    """

    nodes: int = 0
    farkas: Vector | None = None
    feasible: Vector | None = None
    found: Vector | None = None
    complete: bool = True


def branch(K: NDArray[np.float64], k: Vector, free: int, time_limit: float) -> Branching:
    """Search for a complementary x of K x + k, whose first ``free`` rows are equations of unknowns without sign.

    It branches until a solution is found, all branches are excluded, or the limit in seconds is reached, which is
    checked between linear programs; the first is always solved.
    """
    # Powers of two as units, and integers in these: no digit is lost.
    size = k.shape[0]
    integral, row, column = to_scaled_integers(np.column_stack([K, k]))
    slack = np.zeros((size, size - free), dtype=object)
    slack[range(free, size), range(size - free)] = -1
    # Unknowns without sign are differences; w can have any unit.
    A, b = np.hstack([integral[:, :size], -integral[:, :free], slack]), -integral[:, size]
    result, deadline = Branching(), cpu_seconds() + time_limit
    open_nodes: list[tuple[frozenset[int], frozenset[int]]] = [(frozenset(), frozenset())]
    while open_nodes:
        if result.nodes and cpu_seconds() >= deadline:
            result.complete = False
            break
        result.nodes += 1
        without_y, without_w = open_nodes.pop()
        out = without_y | {size + i for i in without_w}
        kept = [j for j in range(A.shape[1]) if j not in out]
        x, scale, y = nonnegative(A[:, kept], b)
        if x is None:
            if result.nodes == 1:
                result.farkas = doubles(y) * row
            continue
        whole = np.zeros(A.shape[1], dtype=object)
        whole[kept] = x
        both = [i for i in range(free, size) if whole[i] and whole[size + i]]
        if result.feasible is None or not both:
            whole[:free] -= whole[size : size + free]
            try:
                point = np.array([a / scale for a in whole[:size]])
            except OverflowError:
                point = np.full(size, np.inf)
            result.feasible = point * column[:size] / column[size]
        if not both:
            result.found = result.feasible
            break
        open_nodes += [(without_y | {both[0]}, without_w), (without_y, without_w | {both[0]})]
    return result


def to_scaled_integers(rows: NDArray[np.float64]) -> tuple[Integers, Vector, Vector]:
    """Return integers proportional to the entries, with rows and columns in powers of two that keep them small."""
    height, width = rows.shape
    square = np.zeros((max(rows.shape),) * 2)
    square[:height, :width] = rows
    row, column = (factor[:count] for factor, count in zip(scales(square), rows.shape, strict=True))
    return integers(row[:, None] * rows * column), row, column


def nonnegative(A: Integers, b: Integers) -> tuple[Integers | None, int, Integers]:
    """Solve A x = b, x >= 0 in integers, or prove that it has no solution.

    Return (x, d, unused) with A x = d b, x >= 0, d > 0, or (None, unused, y) with y A <= 0 and y . b > 0.
    """
    count, size = A.shape
    sign = np.array([-1 if value < 0 else 1 for value in b], dtype=object)
    table = np.zeros((count + 1, size + count + 1), dtype=object)
    table[:count, :size], table[:count, -1] = sign[:, None] * A, sign * b
    for i in range(count):
        table[i, size + i] = 1
    # The last row: the sum of the rows whose artificial unknowns are in the basis.
    table[count, :size], table[count, -1] = table[:count, :size].sum(axis=0), table[:count, -1].sum()
    basis, scale = [size + i for i in range(count)], 1
    while table[count, -1] > 0:
        enter = next((j for j in range(size) if table[count, j] > 0), None)
        if enter is None:
            return None, scale, sign * (table[count, size:-1] + scale)
        leave = -1
        for i in range(count):
            if table[i, enter] > 0:
                excess = 1 if leave < 0 else table[leave, -1] * table[i, enter] - table[i, -1] * table[leave, enter]
                if excess > 0 or (excess == 0 and basis[i] < basis[leave]):
                    leave = i
        pivot = table[leave, enter]
        for i in range(count + 1):
            if i != leave:
                table[i] = (pivot * table[i] - table[i, enter] * table[leave]) // scale
        scale, basis[leave] = pivot, enter
    x = np.zeros(size, dtype=object)
    for i, j in enumerate(basis):
        if j < size:
            x[j] = table[i, -1]
    return x, scale, b
