"""Units of rows and columns, so that no decision on rank or sign depends on the units of the data.

`ScaledBox` is a plain or boxed problem in such units, as the Newton, interior-point and path solvers take it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector, is_symmetric, largest, scaled_matrix
from lcp.problem import LCP, BoxLCP, bounds_of


def scales(K: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return powers of two (row, column) that scale the largest entries of K, and of its rows and columns, near one."""
    from lcp.kernels.equilibrate import equilibrate

    n = K.shape[0]
    row, column = np.ones(n), np.ones(n)
    equilibrate(K, row, column, 4, np.empty(3 * n))
    size = largest(row[:, None] * K * column)
    if size > 0.0:
        row *= 2.0 ** -np.floor(np.log2(size))
    return row, column


def balanced_scales(K: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Do the same as `scales`, after `lcp.kernels.equilibrate.geometric_means`, which sees small entries too."""
    from lcp.kernels.equilibrate import geometric_means

    n = K.shape[0]
    row, column = np.empty(n), np.empty(n)
    geometric_means(np.ascontiguousarray(K), row, column, np.empty(3 * n))
    row, column = np.exp2(np.round(np.log2(row))), np.exp2(np.round(np.log2(column)))
    second_row, second_column = scales(row[:, None] * K * column)
    return row * second_row, column * second_column


def entrywise_scales(M: Any, *, congruent: bool = False) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return powers of two (row, column) that scale the largest entries of rows and columns of M near one.

    Rows and columns are divided by the square roots of their largest entries, six times. ``congruent`` requires that
    row and column are the same.

    D. Ruiz, A scaling algorithm to equilibrate both rows and columns norms in matrices, RAL-TR-2001-034.
    """
    n = M.shape[0]
    row, column = np.ones(n), np.ones(n)
    if n == 0:
        return row, column
    sizes = abs(M)
    dense = isinstance(M, np.ndarray)
    if not dense:
        sizes = sizes.tocoo()
    for _ in range(6):
        if dense:
            scaled = row[:, None] * sizes * column
            in_row, in_column = scaled.max(axis=1), scaled.max(axis=0)
        else:
            data = row[sizes.row] * sizes.data * column[sizes.col]
            in_row, in_column = np.zeros(n), np.zeros(n)
            np.maximum.at(in_row, sizes.row, data)
            np.maximum.at(in_column, sizes.col, data)
        if congruent:
            in_row = in_column = np.maximum(in_row, in_column)
        row /= np.sqrt(np.where(in_row > 0.0, in_row, 1.0))
        column /= np.sqrt(np.where(in_column > 0.0, in_column, 1.0))
    return np.exp2(np.round(np.log2(row))), np.exp2(np.round(np.log2(column)))


States = NDArray[np.int8]

#: State of an unknown: at its lower bound, between its bounds (its row is then an equation), at its upper bound.
LOWER, BETWEEN, UPPER = -1, 0, 1


@dataclass(frozen=True, slots=True, eq=False)
class ScaledBox:
    """Find x with lo <= x <= hi and w = M x + q, w_i >= 0 at lo_i, w_i <= 0 at hi_i, w_i = 0 between.

    An `LCP` has lo = 0 and hi = inf. All scales are powers of two, so that the data keep every digit.
    """

    M: Any  # scaled matrix (n, n), a dense array or CSR
    #: q, lo, hi: Scaled vectors (n,).
    q: Vector
    lo: Vector
    hi: Vector
    unit: Vector  # z = unit * x, (n,)
    symmetric: bool  # whether M is symmetric
    symmetric_pattern: bool  # whether a sparse M has entries in symmetric places

    @property
    def n(self) -> int:
        """Number of unknowns."""
        return int(self.q.shape[0])

    def rows(self, x: Vector) -> Vector:
        """Return w = M x + q."""
        w: Vector = self.M @ x + self.q
        return w

    def start(self, z: Vector | None) -> Vector:
        """Return x of a z in the problem's units, or for None the point of the box nearest to zero."""
        return np.clip(0.0, self.lo, self.hi) if z is None else z / self.unit

    def original(self, x: Vector) -> Vector:
        """Return z of an x."""
        return self.unit * x

    def natural(self, x: Vector, w: Vector) -> Vector:
        """Return the median of x - lo, w and x - hi, which is zero exactly at solutions: min(x, w) for an `LCP`."""
        middle: Vector = np.maximum(x - self.hi, np.minimum(x - self.lo, w))
        return middle

    def states(self, x: Vector, w: Vector) -> States:
        """Return which of the three is the median in each row; a tie of x - lo and w counts as the bound."""
        low, high = x - self.lo, x - self.hi
        return np.where(low <= w, LOWER, np.where(high >= w, UPPER, BETWEEN)).astype(np.int8)

    def at_bounds(self, states: States) -> Vector:
        """Return x with unknowns at bounds set to them and the others zero."""
        return np.where(states == LOWER, self.lo, np.where(states == UPPER, self.hi, 0.0))


def scaled_box(problem: LCP | BoxLCP, *, congruent: bool = False, balanced: bool = False) -> ScaledBox:
    """Return the problem in units near one: M' = R M C, x = z / (s C), with the largest load R q / s near one.

    ``congruent`` requires R = C, which keeps M positive semidefinite. Otherwise R and C may differ, which keeps only
    P-matrices. Then a dense M is scaled by its largest entries. With ``balanced`` it is first scaled by the geometric
    means of its smallest and largest entries, which enlarges small entries of the diagonal.
    """
    M, q = problem._M, problem._q
    lo, hi = bounds_of(problem)
    if problem.sparse or congruent:
        row, column = entrywise_scales(M, congruent=congruent)
    else:
        row, column = (balanced_scales if balanced else scales)(M)
    scaled = scaled_matrix(M, row, column)
    symmetric, pattern = _symmetry(scaled) if problem.sparse else (is_symmetric(scaled), False)
    load = row * q
    size = largest(load)
    if size == 0.0:
        bounds = np.abs(np.concatenate([lo, hi]) / np.concatenate([column, column]))
        size = largest(bounds[np.isfinite(bounds)])
    common = float(np.exp2(np.floor(np.log2(size)))) if size > 0.0 and np.isfinite(size) else 1.0
    unit = column * common
    return ScaledBox(scaled, load / common, lo / unit, hi / unit, unit, symmetric, pattern)


def _symmetry(M: Any) -> tuple[bool, bool]:
    """Return whether a sparse M is symmetric, and whether its pattern is."""
    transposed = M.T.tocsr()
    M.sort_indices()
    transposed.sort_indices()
    pattern = bool(np.array_equal(M.indptr, transposed.indptr) and np.array_equal(M.indices, transposed.indices))
    if not pattern:
        return False, False
    return bool((np.abs(M.data - transposed.data) <= 1e-12 * largest(M.data)).all()), True
