"""Factorisations of the caller's choice: of square systems, and of the rows of G into multiples of orthonormal ones.

The compiled solvers reduce rows likewise (`contactlab.constraints.kernels.row_space`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from contactlab.constraints.errors import ConstraintError
from contactlab.constraints.kernels.kkt_codes import ZERO_ROW
from contactlab.constraints.solve.solution import loose
from contactlab.spatial.arrays import FloatArray

#: How square matrices are factorised: row-pivoted LU, column-pivoted QR, complete orthogonal decomposition, or SVD.
LinearSolver = Literal["lu", "qr", "complete_orthogonal", "svd"]

# What of a scaled matrix counts as zero.
_SINGULAR = 1e-14


def check_linear_solver(linear_solver: str | None) -> None:
    """An unknown name raises."""
    if linear_solver is not None and linear_solver not in get_args(LinearSolver):
        raise ConstraintError(
            "linear_solver", f"must be None or one of {get_args(LinearSolver)}, got {linear_solver!r}"
        )


def solve_square(A: FloatArray, b: FloatArray, linear_solver: LinearSolver) -> FloatArray:
    """A^-1 b for a matrix scaled to entries of order one; a singular one raises."""
    from scipy import linalg

    n = A.shape[0]
    if n == 0:
        return b.copy()
    if linear_solver == "lu":
        # LAPACK itself: scipy's lu_factor warns of what is an error here.
        lu, order, _ = linalg.lapack.dgetrf(A)
        _check(np.abs(np.diag(lu)))
        return np.asarray(linalg.lapack.dgetrs(lu, order, b)[0])
    if linear_solver == "svd":
        U, sizes, V = linalg.svd(A, check_finite=False)
        _check(sizes)
        return np.asarray(V.T @ ((U.T @ b) / sizes))
    Q, R, order = linalg.qr(A, pivoting=True, check_finite=False)
    _check(np.abs(np.diag(R)))
    x = np.empty(n)
    # At full rank a complete orthogonal decomposition ends with this very factor: nothing is left to be reduced.
    x[order] = linalg.solve_triangular(R, Q.T @ b, check_finite=False)
    return x


def _check(sizes: FloatArray) -> None:
    if not sizes.min() > _SINGULAR * sizes.max():
        raise loose()


@dataclass(frozen=True, eq=False)
class RowBasis:
    """G S = B Q with orthonormal rows Q, S being diagonal."""

    Q: FloatArray  # (rank, n)
    #: U, R: B = U R: (nc, rank) with orthonormal columns, and (rank, rank) upper triangular.
    U: FloatArray
    R: FloatArray

    @property
    def rank(self) -> int:
        """Number of rows of Q."""
        return int(self.Q.shape[0])

    def targets(self, gamma: FloatArray) -> FloatArray:
        """y (rank,) with B y nearest to gamma."""
        from scipy.linalg import solve_triangular

        mu = self.U.T @ gamma
        return np.asarray(solve_triangular(self.R, mu) if self.rank else mu)

    def multipliers(self, mu: FloatArray) -> FloatArray:
        """The shortest lambda (nc,) with B^T lambda = mu."""
        from scipy.linalg import solve_triangular

        return np.asarray(self.U @ (solve_triangular(self.R, mu, trans="T") if self.rank else mu))


def unit_columns(H: FloatArray) -> FloatArray:
    """S (n,): about 1 / sqrt(H_jj), in powers of two; where H_jj is nothing, that of the largest."""
    diagonal = np.abs(np.diag(H))
    largest = diagonal.max(initial=0.0)
    if not largest > 0.0:
        return np.ones(diagonal.shape[0])
    return np.asarray(2.0 ** -np.floor(0.5 * np.log2(np.where(diagonal > 1e-26 * largest, diagonal, largest))))


def row_basis(G: FloatArray, tolerance: float, linear_solver: LinearSolver) -> RowBasis:
    """Rank and bases of G (nc, n), its columns scaled already: by SVD, or by QR with pivoting for all other choices."""
    from scipy import linalg

    sizes = np.linalg.norm(G, axis=1)
    used = sizes > ZERO_ROW * sizes.max(initial=0.0)
    unit = np.where(used[:, None], G, 0.0) / np.where(used, sizes, 1.0)[:, None]
    if not used.any():
        return RowBasis(np.zeros((0, G.shape[1])), np.zeros((G.shape[0], 0)), np.zeros((0, 0)))
    if linear_solver == "svd":
        _, values, V = linalg.svd(unit, full_matrices=False)
        rank = int((values > tolerance).sum())
        Q = V[:rank]
    else:
        columns, left, _ = linalg.qr(unit.T, mode="economic", pivoting=True)
        rank = int((np.abs(np.diag(left)) > tolerance).sum())
        Q = np.asarray(columns.T[:rank])
    # Long rows first and columns pivoted: then short rows keep their digits beside long ones (Cox and Higham 1998).
    place = np.argsort(-sizes)
    B = np.where(used[:, None], G, 0.0) @ Q.T
    orthonormal, triangle, order = linalg.qr(B[place], mode="economic", pivoting=True)
    U = np.empty_like(orthonormal)
    U[place] = orthonormal
    return RowBasis(np.ascontiguousarray(Q[order]), np.asarray(U, dtype=np.float64), np.asarray(triangle))
