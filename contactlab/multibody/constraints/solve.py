"""Solvers of H x - G^T lambda = c, G x = gamma on plain arrays.

`null_space`, also named `direct` and `range_space_sparse`, solves for the motion along the constraints first. A
factorisation of NumPy or SciPy that the caller selects solves square systems. `RowSpace` has the row space and the null
space of rows of any rank, by singular values; the compiled solver uses reflections
(`contactlab.multibody.constraints.kernels.factorizations`).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.constraints.evaluation import tolerances
from contactlab.multibody.constraints.kernels import RANK_TOLERANCE, System, null_space_size
from contactlab.multibody.constraints.rows import ConstraintError
from contactlab.multibody.spatial.arrays import FloatArray, finite_array, finite_number

__all__ = ["KKTSolution", "LinearSolver", "direct", "null_space", "range_space_sparse"]

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
        (`contactlab.multibody.constraints.kernels.factorizations`).
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
    """Return the kernels `solve_null_space` and `constraint_residual`, imported on first use."""
    from contactlab.multibody.constraints.kernels.constrained_motion import constraint_residual
    from contactlab.multibody.constraints.kernels.kkt import solve_null_space

    return solve_null_space, constraint_residual


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


def solved(system: System, tolerance: FloatArray) -> KKTSolution:
    """Solve the system by the compiled null-space method; H is overwritten."""
    m, n = system.G.shape
    x, multipliers, sizes = np.empty(n), np.empty(m), unconstrained_accelerations(system.H, system.c)
    code = _kernels()[0](system, tolerance, np.empty(null_space_size(n, m)), x, multipliers)
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
        sizes = np.abs(np.diag(lu))
        rank, x = n * (sizes.min() > _SINGULAR * sizes.max()), linalg.lapack.dgetrs(lu, order, b)[0]
    else:
        # A complete orthogonal decomposition equals QR with column pivoting at full rank.
        driver: Any = "gelsd" if linear_solver == "svd" else "gelsy"
        x, _, rank, _ = linalg.lstsq(A, b, _SINGULAR, check_finite=False, lapack_driver=driver)
    if rank < n:
        raise singular_inertia_error()
    return np.asarray(x)


def unit_columns(H: FloatArray) -> FloatArray:
    """Return column scales S (n,) of a system with inertia H: powers of two, about 1 / sqrt(H_jj).

    An entry without inertia has the scale of the largest H_jj; without any inertia all scales are 1.
    """
    diagonal = np.abs(np.diag(H))
    largest = diagonal.max(initial=0.0)
    if not largest > 0.0:
        return np.ones(diagonal.shape[0])
    return np.asarray(2.0 ** -np.floor(0.5 * np.log2(np.where(diagonal > 1e-26 * largest, diagonal, largest))))


@dataclass(frozen=True, eq=False)
class RowSpace:
    """Rows G (m, n) of numerical rank r: G = U R basis^T up to their rounding."""

    basis: FloatArray  # (n, r) orthonormal columns that span the rows
    null: FloatArray  # (n, n - r) orthonormal columns normal to all rows
    #: U, R: (m, r) with orthonormal columns, and (r, r) upper triangular.
    U: FloatArray
    R: FloatArray

    @property
    def rank(self) -> int:
        """Rank of the rows."""
        return int(self.basis.shape[1])

    def targets(self, gamma: FloatArray) -> FloatArray:
        """Return the values y (r,) along the basis with which G x = gamma (m,), in the least-squares sense."""
        return np.asarray(np.linalg.solve(self.R, self.U.T @ gamma), dtype=np.float64)

    def solve(self, gamma: FloatArray) -> FloatArray:
        """Return the shortest x (n,) with G x = gamma (m,), in the least-squares sense."""
        return np.asarray(self.basis @ self.targets(gamma))

    def multipliers(self, mu: FloatArray) -> FloatArray:
        """Return the shortest lambda (m,) with G^T lambda = basis mu, for mu (r,)."""
        return np.asarray(self.U @ np.linalg.solve(self.R.T, mu))


def row_space(G: FloatArray, tolerance: FloatArray | None = None) -> RowSpace:
    """Return rank, row space and null space of G (m, n).

    ``tolerance`` (m,) is the rounding error of each row as a fraction of its length, 1 for zero rows, by the rule of
    `contactlab.multibody.constraints.kernels.factorizations`. Without it the terms of G are unknown.
    """
    from scipy import linalg

    known = tolerances(G, np.zeros(0), np.zeros(0)) if tolerance is None else np.maximum(tolerance, _EXACT)
    sizes = np.linalg.norm(G, axis=1)
    used = (sizes > 0.0) & (known < 1.0)
    # Rows are scaled to unit length, because units do not affect linear dependence.
    rows = np.where(used, 1.0 / np.where(used, sizes, 1.0), 0.0)[:, None] * G
    Vt = np.linalg.svd(rows, full_matrices=True)[2]
    # In units of its rounding, every row has a noise of 1: singular values up to 1 are zero.
    rank = int(np.count_nonzero(np.linalg.svd(rows / known[:, None], compute_uv=False) > 1.0))
    basis = Vt[:rank].T
    # Long rows come first and columns are pivoted, so that short rows keep their digits (Cox and Higham 1998).
    place = np.argsort(-sizes)
    U = np.empty((G.shape[0], rank))
    U[place], R, order = linalg.qr((used[:, None] * G @ basis)[place], mode="economic", pivoting=True)
    return RowSpace(basis[:, order], Vt[rank:].T, U, R)


def nearest_solution(rows: RowSpace, b: FloatArray, x0: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the x (n,) with G x = b that minimises (x - x0)^T diag(weights) (x - x0).

    Of several minimisers it returns the one nearest to x0. Weights (n,) are not negative. An entry of weight zero stays
    at x0 if no row acts on it.
    """
    step = rows.basis @ (rows.targets(b) - rows.basis.T @ x0)
    if rows.null.shape[1] == 0 or not weights.any():
        return np.asarray(x0 + step)
    root = np.sqrt(weights / weights.max())
    # Minimum-norm least squares and not normal equations: zero weights leave directions undetermined, which do not
    # move.
    along = np.linalg.lstsq(root[:, None] * rows.null, -root * step, rcond=1e-13)[0]
    return np.asarray(x0 + step + rows.null @ along)


def null_space(
    H: ArrayLike,
    G: ArrayLike,
    c: ArrayLike,
    gamma: ArrayLike,
    *,
    linear_solver: LinearSolver | None = None,
    tolerance: float | ArrayLike | None = None,
) -> KKTSolution:
    """Solve H x - G^T lambda = c, G x = gamma with x = Y y + Z z, G Z = 0.

    (G Y) y = gamma; (Z^T H Z) z = Z^T (c - H Y y); (G Y)^T lambda = Y^T (H x - c). The bases Y and Z come from a QR
    factorisation of G^T with pivoting and are never formed (Nocedal and Wright 2006, section 16.2). It stands for
    RBDL's SolveConstrainedSystemNullSpace, -Direct and -RangeSpaceSparse, with the opposite sign of lambda. H may be
    singular if the constraints make the motion unique.

    Parameters
    ----------
    H
        (n, n) symmetric, positive definite on the null space of G.
    G
        (nc, n) rows; they can be redundant or zero, and more than n.
    c, gamma
        (n,) and (nc,) right-hand sides.
    linear_solver
        None: Cholesky of Z^T H Z. "lu", "qr" (column-pivoted, also named "colpiv_qr"), "complete_orthogonal" or "svd":
        the rows are reduced to independent ones by SVD, and Z^T H Z is factorised by this method.
    tolerance
        Tolerance of the rank, or (nc,) one for each row; see `KKTSolution`.

    Raises
    ------
    ConstraintError
        Wrong shapes, entries that are not finite, H not symmetric, or not positive definite on the null space of G.
    """
    system, limit = read_operands(H, G, c, gamma, tolerance, linear_solver)
    return solved(system, limit) if linear_solver is None else _factorised(system, limit, linear_solver)


def _factorised(system: System, tolerance: FloatArray, linear_solver: LinearSolver) -> KKTSolution:
    """Return the solution by the null-space method, with the caller's factorisation ``linear_solver`` of Z^T H Z."""
    scale = unit_columns(system.H)
    rows = row_space(system.G * scale, tolerance)
    H, load, Z = system.H * scale * scale[:, None], system.c * scale, rows.null
    x = rows.solve(system.gamma)
    x = x + Z @ solve_square(Z.T @ H @ Z, Z.T @ (load - H @ x), linear_solver)
    return make_solution(system, x * scale, rows.multipliers(rows.basis.T @ (H @ x - load)), rows.rank)


# The names of RBDL's other methods, which solve the same equations.
direct = range_space_sparse = null_space
