"""Factors of a square system, dense or sparse, with one interface: solve, or report that the matrix is singular."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector, scaled_matrix
from lcp.scaling import entrywise_scales, scales

# A pivot below this fraction of the largest entry is rounding. The matrix is expected to be equilibrated.
_RANK = 1e-15
# Error of a solution of size one at which a sparse matrix counts as singular: a condition of about 1e15.
_LOST = 0.1
# First correction, relative to the solution, above which the condition may be 1e6 and more.
_LOSES = 1e-10
_SHIFTS = (1e-12, 1e-9, 1e-6, 1e-3)


#: Reciprocal condition number, equilibrated, under which a matrix counts as singular.
MIN_RCOND = 1e-14


@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """A factorised matrix A: ``solve(b)`` is A^-1 b, with infinite or NaN entries if A is nearly singular.

    ``solve(b, True)`` is the same for the transpose.
    """

    solve: Callable[..., Vector]


def factorized(A: Any, *, positive_definite: bool = False, symmetric_pattern: bool = False) -> Factors | None:
    """Return factors of A (n, n), dense or scipy.sparse, or None if A is singular to working precision.

    A dense A that is ``positive_definite`` is factored by Cholesky's method, in half the work. A sparse A with entries
    in symmetric places (``symmetric_pattern``) is eliminated on the diagonal if this is stable, because a symmetric
    ordering has less fill.
    """
    if A.shape[0] == 0:
        return Factors(lambda b, transposed=False: np.zeros_like(b))
    if isinstance(A, np.ndarray):
        return _dense(A, positive_definite)
    return _sparse(A, symmetric_pattern)


def equilibrated(A: Any) -> tuple[Factors | None, float]:
    """Return factors of A, dense or sparse, and its reciprocal condition number in units near one.

    The factors are None if this estimate is below `MIN_RCOND`.
    """
    from scipy.sparse.linalg import LinearOperator, onenormest

    n = A.shape[0]
    if n == 0:
        return factorized(A), 1.0
    row, column = scales(np.ascontiguousarray(A)) if isinstance(A, np.ndarray) else entrywise_scales(A)
    scaled = scaled_matrix(A, row, column)
    factors = factorized(scaled)
    if factors is None:
        return None, 0.0
    inner, rcond = factors.solve, 1.0
    if n > 1:
        inverse = LinearOperator(A.shape, matvec=inner, rmatvec=lambda b: inner(b, True), dtype=np.float64)
        # Further columns of `onenormest` are random. LAPACK's second start takes their place.
        i = np.arange(n)
        second = inner(np.where(i % 2 == 0, 1.0, -1.0) * (1.0 + i / (n - 1)))
        size = max(float(onenormest(inverse, t=1)), 2.0 * float(np.abs(second).sum()) / (3.0 * n))
        rcond = 1.0 / (float(abs(scaled).sum(axis=0).max()) * size)
    if not rcond > MIN_RCOND:
        return None, rcond

    def solve(b: Vector, transposed: bool = False) -> Vector:
        before, behind = (column, row) if transposed else (row, column)
        solved: Vector = (behind * inner((before * b.T).T, transposed).T).T
        return solved

    return Factors(solve), rcond


def block(M: Any, rows: NDArray[np.intp]) -> Any:
    """Return the square block of a dense or CSR matrix in these rows and columns."""
    if isinstance(M, np.ndarray):
        return M[np.ix_(rows, rows)]
    return M[rows][:, rows]


def shifted(A: Any, shift: float | Vector) -> Any:
    """Return A + diag(shift), dense or sparse as A is."""
    if isinstance(A, np.ndarray):
        moved = A.copy()
        moved[np.diag_indices_from(moved)] += shift
        return moved
    from scipy import sparse

    return A + sparse.diags_array(np.broadcast_to(np.asarray(shift, dtype=np.float64), A.shape[:1]))


def solution(
    A: Any,
    b: Vector,
    *,
    symmetric_pattern: bool = False,
    shifts: bool = False,
    refinements: int = 1,
    accurate: bool = False,
) -> Vector | None:
    """Return x with A x = b, refined at most ``refinements`` times while refinement helps; None if A is singular.

    If the first correction shows that many digits are lost, or if ``accurate`` is set, residuals are summed in twice
    the working precision. Then x is right to its last bits for every A that its factors distinguish from a singular
    matrix (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., SIAM 2002, theorem 12.1).

    With ``shifts`` a singular A is replaced by A + s I with the smallest s of a short list that makes it regular. Every
    s > 0 makes A = D_a + D_b M regular if M is a P0-matrix and D_a, D_b >= 0 (F. Facchinei and C. Kanzow, Beyond
    monotonicity in regularization methods for nonlinear complementarity problems, SIAM J. Control Optim. 37, 1999).
    """
    for shift in (0.0, *_SHIFTS) if shifts else (0.0,):
        matrix = A if shift == 0.0 else shifted(A, shift)
        factors = factorized(matrix, symmetric_pattern=symmetric_pattern)
        if factors is None:
            continue
        improve = _refined_accurately if accurate else refined
        x = improve(factors, matrix, factors.solve(b), b, refinements)
        if np.isfinite(x).all():
            return x
    return None


def refined(factors: Factors, A: Any, x: Vector, b: Vector, refinements: int) -> Vector:
    """Return x after at most ``refinements`` steps of refinement."""
    gap = b - A @ x
    for _ in range(refinements):
        correction = factors.solve(gap)
        if np.abs(correction).max(initial=0.0) > _LOSES * np.abs(x).max(initial=0.0):
            return _refined_accurately(factors, A, x, b, refinements)
        better = x + correction
        left = b - A @ better
        if not np.abs(left).max(initial=0.0) < np.abs(gap).max(initial=0.0):
            break
        x, gap = better, left
    return x


def _refined_accurately(factors: Factors, A: Any, x: Vector, b: Vector, refinements: int) -> Vector:
    """Return x after steps with accurate residuals, while each step is less than half of the previous one.

    The residual itself is not a measure of the error: elimination leaves a residual of rounding even if x is wrong.
    """
    before = np.inf
    for _ in range(refinements):
        # The residual as if computed in twice the working precision, or in working precision if this overflows.
        gap, error = enclosed_rows(A, x, -b)
        correction = factors.solve(-gap if np.isfinite(error).all() else b - A @ x)
        size = float(np.abs(correction).max(initial=0.0))
        if not size < 0.5 * before:
            break
        before, x = size, x + correction
    return x


def enclosed_rows(A: Any, x: Vector, q: Vector) -> tuple[Vector, Vector]:
    """Return A x + q for a dense or sparse A, summed in twice the working precision, and bounds of its errors."""
    from lcp.kernels.reductions import dense_residual, sparse_residual

    w, error = np.empty(q.shape[0]), np.empty(q.shape[0])
    if isinstance(A, np.ndarray):
        dense_residual(np.ascontiguousarray(A), q, x, np.arange(x.shape[0], dtype=np.int64), w, error)
    else:
        rows = A.tocsr()
        indptr, indices = (part.astype(np.int64) for part in (rows.indptr, rows.indices))
        sparse_residual(indptr, indices, rows.data, q, x, w, error)
    return w, error


def _dense(A: NDArray[np.float64], positive_definite: bool) -> Factors | None:
    """Return Cholesky's factors if A is positive definite, else LU factors; None if A is singular."""
    from scipy.linalg.lapack import dgetrf, dgetrs, dpotrf, dpotrs

    if not np.isfinite(A).all():
        return None
    if positive_definite:
        lower, fault = dpotrf(A, lower=1)
        if fault == 0:
            return Factors(lambda b, transposed=False: dpotrs(lower, b, lower=1)[0])
    lu, pivots, fault = dgetrf(A)
    pivot_sizes = np.abs(np.diagonal(lu))
    if fault != 0 or not pivot_sizes.min() > _RANK * float(np.abs(A).max()):
        return None
    return Factors(lambda b, transposed=False: dgetrs(lu, pivots, b, trans=int(transposed))[0])


def _sparse(A: Any, symmetric_pattern: bool) -> Factors | None:
    """Return sparse LU factors, or None if A is singular or the factors have lost their digits."""
    from scipy.sparse.linalg import splu

    if not np.isfinite(A.data).all():
        return None
    compressed = A.tocsc()
    lu: Any
    try:
        if symmetric_pattern:
            options = {"SymmetricMode": True}
            lu = splu(compressed, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=1e-3, options=options)
        else:
            lu = splu(compressed)
    except RuntimeError:  # "Factor is exactly singular"
        return None
    # Reading the pivots would copy the factors. Instead, solve for a known vector without a pattern and compare.
    known = 1.0 + 0.5 * np.sin(np.arange(A.shape[0], dtype=np.float64))
    if not np.abs(lu.solve(compressed @ known) - known).max() < _LOST:
        return None
    return Factors(lambda b, transposed=False: lu.solve(b, "T" if transposed else "N"))
