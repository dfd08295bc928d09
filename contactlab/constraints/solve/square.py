"""Square systems by a factorisation of the caller's choice."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from contactlab.constraints.errors import ConstraintError
from contactlab.constraints.solve.solution import loose
from contactlab.spatial.arrays import FloatArray

__all__ = ["LinearSolver", "check_linear_solver", "solve_square"]

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
