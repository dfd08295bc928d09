"""Small problems decided in exact arithmetic: a solution, a Farkas vector, or a contradiction in every branch.

Linear programs in integers: the first phase of the simplex method with Bland's rule, with exact divisions as in
`lcp.analysis.exact`. If a feasible point has both y and w of a pair positive, the search branches on this pair.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lcp.analysis.exact import Integers, doubles, integers
from lcp.arrays import Vector
from lcp.interruptible import cpu_seconds
from lcp.scaling import scales


@dataclass(slots=True, eq=False)
class Branching:
    """Search for a complementary x of K x + k, whose first ``free`` rows are equations of unknowns without sign.

    Attributes
    ----------
    K, k, free
        The data, in doubles.
    time_limit
        Seconds, checked between linear programs; the first is always solved.
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

    K: NDArray[np.float64]
    k: Vector
    free: int
    time_limit: float
    nodes: int = 0
    farkas: Vector | None = None
    feasible: Vector | None = None
    found: Vector | None = None
    complete: bool = True
    _row: Vector = field(init=False, repr=False)
    _column: Vector = field(init=False, repr=False)
    _A: Integers = field(init=False, repr=False)
    _b: Integers = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Choose powers of two as units, and integers in these: no digit is lost."""
        size = self.k.shape[0]
        whole, self._row, self._column = to_scaled_integers(np.column_stack([self.K, self.k]))
        A, b, m = whole[:, :size], -whole[:, size], self.free
        slack = np.zeros((size, size - m), dtype=object)
        slack[range(m, size), range(size - m)] = -1
        # Unknowns without sign are differences; w can have any unit.
        self._A, self._b = np.hstack([A, -A[:, :m], slack]), b

    def run(self) -> None:
        """Branch until a solution is found, all branches are excluded, or the limit is reached."""
        size, m = self.k.shape[0], self.free
        deadline = cpu_seconds() + self.time_limit
        open_nodes: list[tuple[frozenset[int], frozenset[int]]] = [(frozenset(), frozenset())]
        while open_nodes:
            if self.nodes and cpu_seconds() >= deadline:
                self.complete = False
                return
            self.nodes += 1
            without_y, without_w = open_nodes.pop()
            out = without_y | {size + i for i in without_w}
            kept = [j for j in range(self._A.shape[1]) if j not in out]
            x, scale, y = nonnegative(self._A[:, kept], self._b)
            if x is None:
                if self.nodes == 1:
                    self.farkas = doubles(y) * self._row
                continue
            whole = np.zeros(self._A.shape[1], dtype=object)
            whole[kept] = x
            both = [i for i in range(m, size) if whole[i] and whole[size + i]]
            if self.feasible is None or not both:
                self.feasible = self._point(whole, scale)
            if not both:
                self.found = self.feasible
                return
            open_nodes += [(without_y | {both[0]}, without_w), (without_y, without_w | {both[0]})]

    def _point(self, whole: Integers, scale: int) -> Vector:
        size, m = self.k.shape[0], self.free
        whole[:m] -= whole[size : size + m]
        try:
            x = np.array([a / scale for a in whole[:size]])
        except OverflowError:
            x = np.full(size, np.inf)
        point: Vector = x * self._column[:size] / self._column[size]
        return point


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
