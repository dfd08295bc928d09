"""From a mixed problem to a plain one by eliminating the free unknowns.

    A u + X1 y + a = 0                    u = -A^+ (a + X1 y) + N t
    w = X2 u + X3 y + x4          =>      w = MM y + B t + qq,      C y + c = 0

with MM = X3 - X2 A^+ X1, qq = x4 - X2 A^+ a. A regular A leaves no t and no C: the problem is LCP(MM, qq). For a
singular one, N spans the right null space of A, L the left one, B = X2 N, C = L^T X1 and c = L^T a.

* C = 0 and c = 0: the redundant equations drop out (duplicated joints).
* C = 0 and c != 0, or c not in the range of C: no u and y satisfy the equations: inconsistent.
* B = 0: w does not depend on t; t = 0 gives the u of least norm.
* C or B not zero: some equations constrain y, or w depends on t. LCP(MM, qq) is then only a
  guess. The rest is a small mixed problem in (t, y), `Reduction.core`, with a zero in place of A. It is exact, to
  be solved by `mlcp_to_lcp` or by enumeration. `lcp.solve` tries the guess first, then the core.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lcp.analysis.exact import doubles, nonnegative, to_scaled_integers
from lcp.arrays import Vector, check_range, checked_vector
from lcp.farkas import EXACT, Farkas, candidates
from lcp.problem import LCP, MLCP
from lcp.scaling import scales
from lcp.status import ProblemError, Status

Matrix = NDArray[np.float64]
RANK_TOLERANCE = 1e-12
# Entries below this fraction of the terms of their sum are zero: null vectors are exact to rounding over the gap of R.
_ZERO = 1e-9


@dataclass(frozen=True, eq=False)
class Reduction:
    """Mixed problem with its free unknowns eliminated.

    Attributes
    ----------
    lcp
        LCP(MM, qq) in y.
    rank
        Rank of A (equilibrated, so that it does not depend on units).
    consistent
        Whether some u and y satisfy the equations A u + X1 y + a = 0.
    residual
        Distance from consistency: the part of a outside the range of (A, X1), in units of its terms.
    exact
        Whether solutions of ``lcp`` are exactly the solutions of the mixed problem; False only for a singular A whose
        null spaces couple to y or w.
    core
        The remaining mixed problem if ``exact`` is False: free unknowns t, the same y.
    evidence
        Farkas vector with y = 0 that proves the equations inconsistent; None if they are consistent.
    null
        Right null space of A, (n_free, n_free - rank), orthonormal columns.
    """

    lcp: LCP
    rank: int
    consistent: bool
    residual: float
    exact: bool
    core: MLCP | None
    evidence: Farkas | None
    null: Matrix
    _problem: MLCP = field(repr=False)
    _inverse: _Inverse = field(repr=False)

    def recover(self, y: Matrix, t: Matrix | None = None) -> Matrix:
        """Return the free unknowns (n_free,) for y (n,): of least norm, or with the null space part N t added."""
        y = checked_vector("y", y, self._problem.n)
        p = self._problem
        right = -(p.a + p.X1 @ y)
        u = self._inverse.apply(right)
        # One refinement on the original rows.
        u = u + self._inverse.apply(right - p.A @ u)
        if t is not None:
            u = u + self.null @ checked_vector("t", t, self.null.shape[1])
        return u


@dataclass(frozen=True, eq=False)
class _Inverse:
    """Moore-Penrose inverse of A, in the units of the data: ``columns`` lu^-1 ``rows`` between two projections."""

    rows: Matrix
    lu: tuple[Matrix, NDArray[np.int32]]
    columns: Matrix
    left: Matrix
    null: Matrix

    def apply(self, right: Matrix) -> Matrix:
        from scipy.linalg import lu_solve

        if self.rows.shape[0] == 0:
            return np.zeros((self.columns.shape[0], *right.shape[1:]))
        right = right - self.left @ (self.left.T @ right)
        # Callers find an overflow in the result.
        solved: Matrix = self.columns @ lu_solve(self.lu, self.rows @ right, check_finite=False)
        return solved - self.null @ (self.null.T @ solved)


def reduce(problem: MLCP, *, rank_tolerance: float = RANK_TOLERANCE) -> Reduction:
    """Eliminate the free unknowns of a mixed problem.

    Parameters
    ----------
    problem
        The `MLCP`.
    rank_tolerance
        Diagonal entries of the pivoted triangular factor of the equilibrated A below this fraction of the first count
        as zero. A singular A is eliminated through a complete orthogonal decomposition (column-pivoted QR from both
        sides), with the minimum-norm least-squares solution in the units of the data.

    References
    ----------
    G. H. Golub, C. F. Van Loan, Matrix Computations (4th ed., 2013), section 5.4.7.
    """
    if not isinstance(problem, MLCP):
        raise ProblemError(f"reduce takes an lcp.MLCP, got {type(problem).__name__}")
    if not 0.0 < rank_tolerance < 1.0:
        raise ProblemError(f"rank_tolerance must lie between 0 and 1, got {rank_tolerance}")
    inverse = _factor(problem._K[: problem.n_free, : problem.n_free], rank_tolerance)
    left, null = inverse.left, inverse.null
    m, n, rank = problem.n_free, problem.n, problem.n_free - null.shape[1]
    A, X1, X2 = problem.A, problem.X1, problem.X2
    right = np.column_stack([X1, problem.a])
    what = "what the equations leave of the problem"
    with np.errstate(over="ignore", invalid="ignore"):
        solved = inverse.apply(right)
        solved = solved + inverse.apply(right - A @ solved)
        MM, qq = problem.X3 - X2 @ solved[:, :n], problem.x4 - X2 @ solved[:, n]
    check_range(what, MM, qq)
    if rank == m:
        return Reduction(LCP(MM, qq), rank, True, 0.0, True, None, None, null, problem, inverse)
    C, C_size = left.T @ X1, np.abs(left).T @ np.abs(X1)
    c, c_size = left.T @ problem.a, np.abs(left).T @ np.abs(problem.a)
    B, B_size = X2 @ null, np.abs(X2) @ np.abs(null)
    C = np.where(np.abs(C) <= _ZERO * C_size, 0.0, C)
    B = np.where(np.abs(B) <= _ZERO * B_size, 0.0, B)
    consistent, residual, evidence = _consistency(problem, left, C, C_size, c, c_size)
    exact = not (C.any() or B.any())
    core = None
    if not exact:
        c = np.where(np.abs(c) <= _ZERO * c_size, 0.0, c)
        T = _skew(C, B)
        with np.errstate(over="ignore", invalid="ignore"):
            C, c = T @ C, T @ c
        check_range(what, C, c)
        core = MLCP(np.zeros((null.shape[1], null.shape[1])), C, B, MM, c, qq)
    return Reduction(LCP(MM, qq), rank, consistent, residual, exact, core, evidence, null, problem, inverse)


def _skew(C: Matrix, B: Matrix) -> Matrix:
    """Return a regular T with T C = -B^T if there is one, else the identity; T C y + T c = 0 are the same equations.

    Then the core of a monotone problem is monotone too, as Lemke's method and the QP solvers need it.
    """
    d = C.shape[0]
    T = np.asarray(np.linalg.lstsq(C.T, -B, rcond=1e-12)[0].T, dtype=np.float64)
    # T can map directions outside the rows of C arbitrarily.
    U, values, _ = np.linalg.svd(C)
    spare = U[:, int((values > 1e-12 * max(float(values.max(initial=0.0)), 1e-300)).sum()) :]
    T = T + (np.eye(d) - T) @ spare @ spare.T
    size = max(float(np.abs(B).max(initial=0.0)), float(np.abs(C).max(initial=0.0)))
    if np.abs(T @ C + B.T).max(initial=0.0) <= 1e-12 * size and np.linalg.cond(T) < 1e8:
        regular: Matrix = T
        return regular
    return np.eye(d)


def _factor(A: Matrix, tolerance: float) -> _Inverse:
    """Return the generalised inverse of A, with its left and right null spaces (orthonormal columns)."""
    from scipy.linalg import lu_factor, qr

    m = A.shape[0]
    row, column = scales(A)
    scaled = row[:, None] * A * column
    none = np.zeros((m, 0))
    if m == 0:
        empty = (np.zeros((0, 0)), np.zeros(0, dtype=np.int32))
        return _Inverse(np.zeros((0, 0)), empty, np.zeros((0, 0)), none, none)
    Q, R, order = qr(scaled, pivoting=True)
    size = np.abs(np.diag(R))
    rank = int((size > tolerance * size[0]).sum()) if size[0] > 0.0 else 0
    if rank == m:
        return _Inverse(np.diag(row), lu_factor(scaled), np.diag(column), none, none)
    # R[:rank] P^T = T^T Z^T: the second factorisation splits the columns into range and null space.
    Z, T, swap = qr(R[:rank].T, pivoting=True) if rank else (np.eye(m), np.zeros((m, 0)), np.zeros(0, dtype=int))
    back = np.empty_like(Z)
    back[order] = Z
    null = _zero_rounding(np.linalg.qr(column[:, None] * back[:, rank:])[0], column)
    triangle = np.empty((rank, rank))
    triangle[swap] = T[:rank].T
    lu = lu_factor(triangle) if rank else (np.zeros((0, 0)), np.zeros(0, dtype=np.int32))
    left = _zero_rounding(np.linalg.qr(row[:, None] * Q[:, rank:])[0], row)
    return _Inverse(Q[:, :rank].T * row, lu, column[:, None] * back[:, :rank], left, null)


def _zero_rounding(vectors: Matrix, unit: NDArray[np.float64]) -> Matrix:
    """Return null vectors with zeros in place of entries that are rounding compared with the largest of their column.

    Otherwise such an entry couples a row without part in the null vector, and contradictory equations seem consistent.
    """
    share = np.abs(vectors) / unit[:, None]
    return np.where(share < 1e-13 * share.max(axis=0, initial=0.0), 0.0, vectors)


def _consistency(
    problem: MLCP, left: Matrix, C: Matrix, C_size: Matrix, c: Matrix, c_size: Matrix
) -> tuple[bool, float, Farkas | None]:
    """Return whether C y + c = 0 may have a solution y of any sign, the scaled residual, and a proof if it has none.

    The system is the part of the free rows that A leaves: C = ``left``' X1, c = ``left``' a. ``C_size`` and ``c_size``
    are the sizes of the sums' terms. Without a verified proof it counts as consistent.
    """
    columns = np.abs(C).max(axis=0, initial=0.0)
    unit = np.where(columns > 0.0, columns, 1.0)
    y = np.linalg.lstsq(C / unit, -c, rcond=1e-12)[0] / unit if C.size else np.zeros(C.shape[1])
    gap = C @ y + c
    sizes = c_size + C_size @ np.abs(y)
    residual = float(np.max(np.abs(gap) / np.where(sizes > 0.0, sizes, 1.0), initial=0.0))
    if residual <= _ZERO:
        return True, residual, None
    # The least-squares residual is orthogonal to the range of C: as a combination of null vectors it is the
    # contradiction.
    v = -left @ gap
    # Rows without part have exact zeros, in their units.
    row = scales(problem._K[: problem.n_free, : problem.n_free])[0]
    share = np.abs(v) / row
    v = np.where(share > 1e-12 * share.max(), v, 0.0)
    columns = np.hstack([problem.A, problem.X1]).T
    rounded = candidates(columns, problem.a, v / np.abs(v).max(), columns.shape[0])
    for multipliers in itertools.chain(_contradiction(problem), rounded):
        proof = Farkas(y=np.zeros(problem.n), v=multipliers)
        # Not a contradiction that is true only for y >= 0.
        if proof.proves(problem) and proof.status(problem) is Status.INCONSISTENT:
            return False, residual, proof
    return True, residual, None


def _contradiction(problem: MLCP) -> Iterator[Vector]:
    """Return multipliers of few equations that contradict each other exactly."""
    if problem.n_free <= EXACT:
        whole, row, _ = to_scaled_integers(np.column_stack([problem.A, problem.X1, problem.a]))
        x, _, v = nonnegative(np.hstack([whole[:, :-1], -whole[:, :-1]]), -whole[:, -1])
        if x is None:
            yield doubles(v) * row
