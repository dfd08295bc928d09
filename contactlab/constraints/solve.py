"""Solvers of H x - G^T lambda = c, G x = gamma on plain arrays, by three methods.

`direct` factorises the whole matrix; `null_space` solves for the motion along the constraints first;
`range_space_sparse` solves for the multipliers first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from contactlab.constraints.kernels.kkt_codes import CLEAR_LU_PIVOT, System
from contactlab.constraints.rows import ConstraintError
from contactlab.constraints.solution import (
    KKTSolution,
    LinearSolver,
    make_solution,
    read_operands,
    row_basis,
    singular_inertia_error,
    solve_square,
    solved,
    unit_columns,
)
from contactlab.multibody.kernels.codes import PIVOT
from contactlab.multibody.mass_matrix import dof_parents
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray, IntArray, finite_array

__all__ = ["KKTSolution", "LinearSolver", "direct", "null_space", "range_space_sparse"]


def direct(
    H: ArrayLike,
    G: ArrayLike,
    c: ArrayLike,
    gamma: ArrayLike,
    *,
    linear_solver: LinearSolver | None = None,
    tolerance: float | ArrayLike | None = None,
) -> KKTSolution:
    """Solve H x - G^T lambda = c, G x = gamma as one linear system, O((n + nc)^3).

    The system is [H G^T; G 0] [x; -lambda] = [c; gamma], as in RBDL's SolveConstrainedSystemDirect with the opposite
    sign of lambda (Nocedal and Wright 2006, section 16.2). H may be singular if the constraints make the motion unique.

    Parameters
    ----------
    H
        (n, n) symmetric, positive definite on the null space of G.
    G
        (nc, n) rows; they can be redundant or zero, and more than n.
    c, gamma
        (n,) and (nc,) right-hand sides.
    linear_solver
        None: row-pivoted LU with a check of the pivots. If these are too small, because rows are dependent or nearly
        so, elimination in the null space by rank-revealing QR follows. "lu", "qr" (column-pivoted, also named
        "colpiv_qr"), "complete_orthogonal" or "svd": the rows are first reduced to independent ones, by SVD for "svd"
        and by pivoted QR for the others, and the matrix is then factorised by this method.
    tolerance
        Tolerance of the rank, or (nc,) one for each row; see `KKTSolution`.

    Raises
    ------
    ConstraintError
        Wrong shapes, entries that are not finite, H not symmetric or singular on the null space of G.
    """
    system, limit = read_operands(H, G, c, gamma, tolerance, linear_solver)
    if linear_solver is None:
        return solved("direct", system, limit)
    scale = unit_columns(system.H)
    basis = row_basis(system.G * scale, limit, linear_solver)
    n, rank = scale.shape[0], basis.rank
    A = np.zeros((n + rank, n + rank))
    A[:n, :n] = system.H * scale * scale[:, None]
    A[n:, :n], A[:n, n:] = basis.Q, basis.Q.T
    z = solve_square(A, np.concatenate([system.c * scale, basis.targets(system.gamma)]), linear_solver)
    return make_solution(system, z[:n] * scale, basis.multipliers(-z[n:]), rank)


# Largest G Z relative to |G| |Z|.
_NULL = 1e-8


def null_space(
    H: ArrayLike,
    G: ArrayLike,
    c: ArrayLike,
    gamma: ArrayLike,
    *,
    Y: ArrayLike | None = None,
    Z: ArrayLike | None = None,
    linear_solver: LinearSolver | None = None,
    tolerance: float | ArrayLike | None = None,
) -> KKTSolution:
    """Solve H x - G^T lambda = c, G x = gamma with x = Y y + Z z, G Z = 0.

    (G Y) y = gamma; (Z^T H Z) z = Z^T (c - H Y y); (G Y)^T lambda = Y^T (H x - c). RBDL's
    SolveConstrainedSystemNullSpace with right multipliers (Nocedal and Wright 2006, section 16.2). H may be singular
    if the constraints make the motion unique.

    Parameters
    ----------
    H, G, c, gamma
        As for `direct`.
    Y, Z
        Bases of the caller, both or none: (n, r) such that G Y has rank r, and (n, n - r) with G Z = 0. By default they
        come from a QR factorisation of G^T with pivoting and are never formed.
    linear_solver
        None: Cholesky of Z^T H Z. Others as for `direct`.
    tolerance
        Tolerance of the rank, or (nc,) one for each row; see `KKTSolution`.

    Raises
    ------
    ConstraintError
        As for `direct`; bases that do not fit.
    """
    system, limit = read_operands(H, G, c, gamma, tolerance, linear_solver)
    if (Y is None) != (Z is None):
        raise ConstraintError("Y" if Y is None else "Z", "must be given together with the other basis")
    if Y is not None and Z is not None:
        return _by_bases(system, *_read_bases(system, Y, Z), limit, linear_solver or "complete_orthogonal")
    if linear_solver is None:
        return solved("null_space", system, limit)
    from scipy import linalg

    scale = unit_columns(system.H)
    basis = row_basis(system.G * scale, limit, linear_solver)
    full = linalg.qr(basis.Q.T)[0] if basis.rank else np.eye(scale.shape[0])
    free = full[:, basis.rank :]
    H_, load = system.H * scale * scale[:, None], system.c * scale
    x = basis.Q.T @ basis.targets(system.gamma)
    x = x + free @ solve_square(free.T @ H_ @ free, free.T @ (load - H_ @ x), linear_solver)
    return make_solution(system, x * scale, basis.multipliers(basis.Q @ (H_ @ x - load)), basis.rank)


def _read_bases(system: System, Y: ArrayLike, Z: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the bases Y and Z as arrays; raise unless they have n columns together and G Z = 0."""
    n = system.c.shape[0]
    row, free = finite_array(Y, "Y", (n, None), ConstraintError), finite_array(Z, "Z", (n, None), ConstraintError)
    if row.shape[1] + free.shape[1] != n:
        raise ConstraintError("Z", f"Y and Z have {row.shape[1]} and {free.shape[1]} columns, together not {n}")
    slip = np.abs(system.G @ free)
    size = np.abs(system.G) @ np.abs(free)
    if (slip > _NULL * size.max(initial=0.0)).any():
        raise ConstraintError("Z", f"is no basis of the null space: G Z has entries up to {slip.max():.3g}")
    return row, free


def _by_bases(
    system: System, Y: FloatArray, Z: FloatArray, tolerance: FloatArray, linear_solver: LinearSolver
) -> KKTSolution:
    """Return the solution with x = Y y + Z z, by the null-space method with the caller's bases."""
    H, G, c, gamma = system
    basis = row_basis(G @ Y, tolerance, linear_solver)
    if basis.rank < Y.shape[1]:
        raise ConstraintError("Y", f"G Y has rank {basis.rank}, not {Y.shape[1]}: Y is no basis of the rows of G")
    y = basis.Q.T @ basis.targets(gamma)
    reduced = Z.T @ H @ Z
    scale = unit_columns(reduced)
    z = scale * solve_square(reduced * scale * scale[:, None], scale * (Z.T @ (c - H @ (Y @ y))), linear_solver)
    x = Y @ y + Z @ z
    return make_solution(system, x, basis.multipliers(basis.Q @ (Y.T @ (H @ x - c))), basis.rank)


def range_space_sparse(
    H: ArrayLike,
    G: ArrayLike,
    c: ArrayLike,
    gamma: ArrayLike,
    *,
    tree: Model | ArrayLike | None = None,
    linear_solver: LinearSolver | None = None,
    tolerance: float | ArrayLike | None = None,
) -> KKTSolution:
    """Solve H x - G^T lambda = c, G x = gamma through (G H^-1 G^T) lambda = gamma - G H^-1 c.

    This is RBDL's SolveConstrainedSystemRangeSpaceSparse with the true branches of the tree: H = L^T L, and Y = L^-T
    G^T has entries only from each row's bodies to the root (Featherstone 2008, sections 6.5 and 8.2). It is the fastest
    method for trees with branches and few rows. It requires a positive definite H. Otherwise, or if rows are dependent
    or nearly so, the null-space method is used.

    Parameters
    ----------
    H, G, c, gamma
        As for `direct`.
    tree
        Branches: a `Model`, or for each of the n degrees of freedom (n,) the next one towards the root, -1 for none.
        Without it, and for deep chains, H is factorised as a dense matrix.
    linear_solver
        None: Cholesky. Others, for the matrix of the responses, as for `direct`: rows are then combined, and branches
        are not used.
    tolerance
        Tolerance of the rank, or (nc,) one for each row; see `KKTSolution`.

    Raises
    ------
    ConstraintError
        As for `direct`; an entry of H between two branches that is not zero.
    """
    system, limit = read_operands(H, G, c, gamma, tolerance, linear_solver)
    n = system.c.shape[0]
    if linear_solver is not None:
        return _solve_with_linear_solver(system, limit, linear_solver)
    if tree is None or (isinstance(tree, Model) and tree.packed.chain and tree.nv == n):
        return solved("range_space_sparse", system, limit)
    parents = _parents(tree, n)
    from contactlab.multibody.kernels.ltl import off_branch

    at = off_branch(parents, system.H)
    if at >= 0:
        i, j = divmod(int(at), n)
        raise ConstraintError("H", f"entry [{i}, {j}] is {system.H[i, j]:g}, but no branch of the tree holds both")
    return solved("range_space_sparse", system, limit, parents, dense=False)


def _parents(tree: Model | ArrayLike, n: int) -> IntArray:
    """Return the parent degree of freedom (n,) of each one, -1 for roots, from a Model or a checked array."""
    if isinstance(tree, Model):
        parents: IntArray = dof_parents(tree)
        if parents.shape[0] != n:
            raise ConstraintError("tree", f"has {parents.shape[0]} degrees of freedom, H has {n}")
        return parents
    given = np.asarray(tree)
    if given.dtype.kind not in "iu" or given.shape != (n,):
        raise ConstraintError(
            "tree", f"must be a Model or whole numbers of shape ({n},), got {given.dtype} {given.shape}"
        )
    branches = np.array(given, dtype=np.int64)
    for i, up in enumerate(branches.tolist()):
        if not -1 <= up < i:
            raise ConstraintError("tree", f"entry [{i}] must lie between -1 and {i - 1}, got {up}")
    return branches


def _solve_with_linear_solver(system: System, tolerance: FloatArray, linear_solver: LinearSolver) -> KKTSolution:
    """Reduce G to independent rows, and return the solution with the caller's factorisation ``linear_solver``."""
    from scipy import linalg

    scale = unit_columns(system.H)
    basis = row_basis(system.G * scale, tolerance, linear_solver)
    H, load, y = system.H * scale * scale[:, None], system.c * scale, basis.targets(system.gamma)
    factor = _cholesky(H, CLEAR_LU_PIVOT)
    if factor is None:
        # Q x = y may be added to H, multiplied by Q^T, without changing the solution (augmented Lagrangian).
        H, load = H + basis.Q.T @ basis.Q, load + basis.Q.T @ y
        factor = _cholesky(H, PIVOT * H.shape[0])
        if factor is None:
            raise singular_inertia_error()
    Y = linalg.cho_solve(factor, basis.Q.T)
    free = linalg.cho_solve(factor, load)
    mu = solve_square(basis.Q @ Y, y - basis.Q @ free, linear_solver)
    return make_solution(system, (free + Y @ mu) * scale, basis.multipliers(mu), basis.rank)


def _cholesky(H: FloatArray, least: float) -> tuple[FloatArray, bool] | None:
    """Return the Cholesky factor of H (n, n), scaled to a unit diagonal, or None if a pivot is below ``least``."""
    from scipy import linalg

    try:
        factor, lower = linalg.cho_factor(H, lower=True)
    except np.linalg.LinAlgError:
        return None
    return (factor, lower) if np.diag(factor).min(initial=np.inf) ** 2 > least else None
