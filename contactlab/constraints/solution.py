"""Operands and solution of a constrained system, and factorisations in NumPy and SciPy.

A factorisation selected by the caller solves square systems, and reduces the rows of G to orthonormal ones. The
compiled solvers reduce rows in the same way (`contactlab.constraints.kernels.factorizations`). `RowSpace` has the row
space and the null space of rows of any rank, by singular values.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from contactlab.constraints.evaluation import tolerances
from contactlab.constraints.kernels.kkt_codes import METHODS, RANK_TOLERANCE, System, kkt_size
from contactlab.constraints.rows import ConstraintError
from contactlab.spatial.arrays import FloatArray, IntArray, finite_array, finite_number

#: Factorisations of square matrices: row-pivoted LU, column-pivoted QR ("qr" and "colpiv_qr" are equal), complete
#: orthogonal decomposition, or SVD.
LinearSolver = Literal["lu", "qr", "colpiv_qr", "complete_orthogonal", "svd"]


@dataclass(frozen=True, eq=False)
class KKTSolution:
    """Solution of H x - G^T lambda = c, G x = gamma.

    Attributes
    ----------
    x
        (n,) the motion, unique if it exists. If gamma is inconsistent, G x = gamma holds in the least-squares sense, in
        the rows' own units.
    multipliers
        (nc,) lambda; if rows are redundant, the shortest one (Euclidean, in the rows' own units).
    rank
        Numerical rank of G, with rows scaled to unit length and columns scaled so that H has about a unit diagonal. A
        row depends on others if its remainder is less than ``tolerance`` (1e-10) of its length. A row shorter than eps
        max(nc, n) times the longest is zero. For rows of mechanisms, the sizes of their terms are used
        (`contactlab.constraints.kernels.rank`).
    residual
        Largest |G_i x - gamma_i| / (|gamma_i| + sum_j |G_ij| (|x_j| + |c_j| / H_jj)), with denominators of at least
        1e-6 times the largest one. It is near 1e-16 only if gamma is consistent. The last term, the effect of c on each
        x_j alone, makes rounding small relative to terms that have cancelled.
    """

    x: FloatArray
    multipliers: FloatArray
    rank: int
    residual: float


@functools.cache
def _kernels() -> Any:
    """Return the kernels `solve_kkt` and `constraint_residual`, imported on first use."""
    from contactlab.constraints.kernels.constrained_motion import constraint_residual
    from contactlab.constraints.kernels.kkt import solve_kkt

    return solve_kkt, constraint_residual


def read_operands(
    H: ArrayLike,
    G: ArrayLike,
    c: ArrayLike,
    gamma: ArrayLike,
    tolerance: float | ArrayLike | None,
    linear_solver: LinearSolver | None,
) -> tuple[System, FloatArray]:
    """Return checked copies of the operands, with H symmetrised, and the tolerances of the rank (nc,), 0 to 1."""
    check_linear_solver(linear_solver)
    load = finite_array(c, "c", (None,), ConstraintError)
    n = load.shape[0]
    matrix = finite_array(H, "H", (n, n), ConstraintError)
    bias = finite_array(gamma, "gamma", (None,), ConstraintError)
    rows = finite_array(G, "G", (bias.shape[0], n), ConstraintError)
    largest = np.abs(matrix).max(initial=0.0)
    skew = np.abs(matrix - matrix.T)
    if not skew.max(initial=0.0) <= 1e-9 * largest:
        i, j = np.unravel_index(int(np.argmax(skew)), skew.shape)
        raise ConstraintError("H", f"is not symmetric: [{i}, {j}] is {matrix[i, j]}, [{j}, {i}] is {matrix[j, i]}")
    system = System(np.ascontiguousarray(0.5 * matrix + 0.5 * matrix.T), rows, load, bias)
    if tolerance is not None and np.ndim(tolerance) == 1:
        limits = finite_array(tolerance, "tolerance", (bias.shape[0],), ConstraintError)
        if not ((limits >= 0.0) & (limits <= 1.0)).all():
            raise ConstraintError("tolerance", f"must be in [0, 1], got {limits}")
        return system, limits
    given: Any = tolerance
    limit = RANK_TOLERANCE if given is None else finite_number(given, "tolerance", ConstraintError)
    if not 0.0 <= limit < 1.0:
        raise ConstraintError("tolerance", f"must be in [0, 1), got {limit}")
    return system, raw_tolerances(system.G * unit_columns(system.H), limit)


def raw_tolerances(G: FloatArray, tolerance: float) -> FloatArray:
    """Return the tolerances (nc,) of rows whose terms are unknown, as fractions of their lengths.

    They are ``tolerance``, and 1 for rows that are zero up to rounding.
    """
    sizes = np.linalg.norm(G, axis=1)
    zero = sizes <= np.finfo(np.float64).eps * max(G.shape) * sizes.max(initial=0.0)
    return np.asarray(np.where(zero, 1.0, tolerance))


def solved(
    method: str, system: System, tolerance: FloatArray, parents: IntArray | None = None, dense: bool = True
) -> KKTSolution:
    """Solve the system by the compiled solver named ``method``; H is overwritten."""
    m, n = system.G.shape
    x, multipliers, sizes = np.empty(n), np.empty(m), unconstrained_accelerations(system.H, system.c)
    tree = np.arange(-1, n - 1) if parents is None else parents
    work, order = np.empty(kkt_size(n, m)), np.empty(n + m, dtype=np.int64)
    solve = _kernels()[0]
    code = solve(METHODS[method], tree, int(dense), system, tolerance, work, order, x, multipliers)
    if code < 0:
        raise singular_inertia_error()
    return make_solution(system, x, multipliers, code, sizes)


def singular_inertia_error() -> ConstraintError:
    """Return the error for an H that does not determine the motion."""
    return ConstraintError(
        "H", "is singular, or not positive, on motions that the constraints allow: the motion is not determined"
    )


def residual_of(G: FloatArray, x: FloatArray, gamma: FloatArray, alone: FloatArray) -> float:
    """Return the residual defined in `KKTSolution`; alone (n,) is |c_j| / H_jj."""
    return float(_kernels()[1](G, x, gamma, alone.copy(), np.empty(2 * G.shape[0])))


def unconstrained_accelerations(H: FloatArray, c: FloatArray) -> FloatArray:
    """Return |c_j| / H_jj (n,), zero without inertia."""
    diagonal = np.diag(H)
    return np.asarray(np.abs(c) / np.where(diagonal > 0.0, diagonal, np.inf))


def make_solution(
    system: System, x: FloatArray, multipliers: FloatArray, rank: int, sizes: FloatArray | None = None
) -> KKTSolution:
    """Return the solution with its residual; raise if it is not finite.

    ``sizes`` are the values of `unconstrained_accelerations`, computed before H is overwritten.
    """
    if not (np.isfinite(x).all() and np.isfinite(multipliers).all()):
        raise ConstraintError("H", "the entries are finite but so large or so small that the solution is not")
    scale = unconstrained_accelerations(system.H, system.c) if sizes is None else sizes
    return KKTSolution(x, multipliers, int(rank), residual_of(system.G, x, system.gamma, scale))


# Entries of a scaled matrix below this value count as zero.
_SINGULAR = 1e-14
# Replacement for a tolerance of 0.
_EXACT = 1e-100


def check_linear_solver(linear_solver: str | None) -> None:
    """Raise if a factorisation is unknown."""
    if linear_solver is not None and linear_solver not in get_args(LinearSolver):
        raise ConstraintError(
            "linear_solver", f"must be None or one of {get_args(LinearSolver)}, got {linear_solver!r}"
        )


def solve_square(A: FloatArray, b: FloatArray, linear_solver: LinearSolver) -> FloatArray:
    """Return A^-1 b for a matrix scaled to entries of order one; raise if it is singular."""
    from scipy import linalg

    n = A.shape[0]
    if n == 0:
        return b.copy()
    if linear_solver == "lu":
        # LAPACK is called directly, because scipy's lu_factor warns about singular matrices, which are an error here.
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
    # At full rank a complete orthogonal decomposition equals this factorisation.
    x[order] = linalg.solve_triangular(R, Q.T @ b, check_finite=False)
    return x


def _check(sizes: FloatArray) -> None:
    if not sizes.min() > _SINGULAR * sizes.max():
        raise singular_inertia_error()


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
        """Return the least-squares solution y (rank,) of B y = gamma (nc,)."""
        from scipy.linalg import solve_triangular

        mu = self.U.T @ gamma
        return np.asarray(solve_triangular(self.R, mu) if self.rank else mu)

    def multipliers(self, mu: FloatArray) -> FloatArray:
        """Return the shortest lambda (nc,) with B^T lambda = mu (rank,)."""
        from scipy.linalg import solve_triangular

        return np.asarray(self.U @ (solve_triangular(self.R, mu, trans="T") if self.rank else mu))


def unit_columns(H: FloatArray) -> FloatArray:
    """Return column scales S (n,) of a system with inertia H: powers of two, about 1 / sqrt(H_jj).

    An entry without inertia has the scale of the largest H_jj; without any inertia all scales are 1.
    """
    diagonal = np.abs(np.diag(H))
    largest = diagonal.max(initial=0.0)
    if not largest > 0.0:
        return np.ones(diagonal.shape[0])
    return np.asarray(2.0 ** -np.floor(0.5 * np.log2(np.where(diagonal > 1e-26 * largest, diagonal, largest))))


def row_basis(G: FloatArray, tolerance: FloatArray, linear_solver: LinearSolver) -> RowBasis:
    """Return rank and bases of G (nc, n) with scaled columns, by SVD for "svd" and by QR with pivoting for all others.

    ``tolerance`` (nc,) is the rounding error of each row as a fraction of its length, 1 for zero rows.
    """
    from scipy import linalg

    sizes = np.linalg.norm(G, axis=1)
    used = (sizes > 0.0) & (tolerance < 1.0)
    # In units of its rounding, every row has a noise of 1.
    known = np.where(used[:, None], G, 0.0) / np.where(used, sizes * np.maximum(tolerance, _EXACT), 1.0)[:, None]
    if not used.any():
        return RowBasis(np.zeros((0, G.shape[1])), np.zeros((G.shape[0], 0)), np.zeros((0, 0)))
    if linear_solver == "svd":
        _, values, V = linalg.svd(known, full_matrices=False)
        rank = int((values > 1.0).sum())
        Q = V[:rank]
    else:
        columns, left, _ = linalg.qr(known.T, mode="economic", pivoting=True)
        rank = int((np.abs(np.diag(left)) > 1.0).sum())
        Q = np.asarray(columns.T[:rank])
    # Long rows come first and columns are pivoted, so that short rows keep their digits (Cox and Higham 1998).
    place = np.argsort(-sizes)
    B = np.where(used[:, None], G, 0.0) @ Q.T
    orthonormal, triangle, order = linalg.qr(B[place], mode="economic", pivoting=True)
    U = np.empty_like(orthonormal)
    U[place] = orthonormal
    return RowBasis(np.ascontiguousarray(Q[order]), np.asarray(U, dtype=np.float64), np.asarray(triangle))


@dataclass(frozen=True, eq=False)
class RowSpace:
    """Rows G (m, n), each scaled to unit length: U diag(s) basis^T, of numerical rank r."""

    rank: int
    basis: FloatArray  # (n, r) orthonormal columns that span the rows
    null: FloatArray  # (n, n - r) orthonormal columns normal to all rows
    _length: FloatArray
    _U: FloatArray
    _s: FloatArray

    def solve(self, b: FloatArray) -> FloatArray:
        """Return the shortest x (n,) with G x = b.

        Without a solution it is by least squares, with rows in units of their lengths.
        """
        scaled = b / self._length
        return np.asarray(self.basis @ ((self._U.T @ scaled) / self._s))

    def multipliers(self, g: FloatArray) -> FloatArray:
        """Return the shortest y (m,) with G^T y equal to the projection of g (n,) on the row space."""
        if self.rank == 0:
            return np.zeros(self._length.shape[0])
        # U^T diag(length) y = s^-1 basis^T g has full row rank: its shortest solution by a QR factorisation.
        Q, R = np.linalg.qr(self._length[:, None] * self._U)
        return np.asarray(Q @ np.linalg.solve(R.T, (self.basis.T @ g) / self._s))


def row_space(G: FloatArray, tolerance: FloatArray | None = None) -> RowSpace:
    """Return rank, row space and null space of G (m, n).

    ``tolerance`` (m,) is the rounding error of each row as a fraction of its length, 1 for zero rows, by the rule of
    `contactlab.constraints.kernels.rank`. Without it the terms of G are unknown.
    """
    m, n = G.shape
    if m == 0 or n == 0:
        return RowSpace(0, np.zeros((n, 0)), np.eye(n), np.ones(m), np.zeros((m, 0)), np.zeros(0))
    known = tolerances(G, np.zeros(0), np.zeros(0)) if tolerance is None else tolerance
    length = np.linalg.norm(G, axis=1)
    zero = (known >= 1.0) | (length == 0.0)
    length = np.where(zero, 1.0, length)
    # Rows are scaled to unit length, because units do not affect linear dependence.
    rows = np.where(zero[:, None], 0.0, G / length[:, None])
    U, s, Vt = np.linalg.svd(rows, full_matrices=True)
    # In units of its rounding, every row has a noise of 1: singular values up to 1 are zero.
    if not zero.all() and np.ptp(known[~zero]) > 0.0:
        rank = int(np.count_nonzero(np.linalg.svd(rows / known[:, None], compute_uv=False) > 1.0))
    else:
        rank = int(np.count_nonzero(s > known[~zero].max(initial=0.0)))
    return RowSpace(rank, Vt[:rank].T, Vt[rank:].T, length, U[:, :rank], s[:rank])


def nearest_solution(rows: RowSpace, b: FloatArray, x0: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the x (n,) with G x = b that minimises (x - x0)^T diag(weights) (x - x0).

    Of several minimisers it returns the one nearest to x0. Weights (n,) are not negative. An entry of weight zero stays
    at x0 if no row acts on it.
    """
    step = rows.solve(b - unscaled(rows, x0))
    if rows.null.shape[1] == 0 or not weights.any():
        return np.asarray(x0 + step)
    root = np.sqrt(weights / weights.max())
    # Minimum-norm least squares and not normal equations: zero weights leave directions undetermined, which do not
    # move.
    along = np.linalg.lstsq(root[:, None] * rows.null, -root * step, rcond=1e-13)[0]
    return np.asarray(x0 + step + rows.null @ along)


def unscaled(rows: RowSpace, x: FloatArray) -> FloatArray:
    """Return G x, up to the rounding of dependent rows."""
    return np.asarray(rows._length * (rows._U @ (rows._s * (rows.basis.T @ x))))
