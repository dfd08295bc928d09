"""Solvers of H x - G^T lambda = c, G x = gamma on plain arrays, by three methods.

`direct` factorises the whole matrix; `null_space` solves for the motion along the constraints first;
`range_space_sparse` solves for the multipliers first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from contactlab.constraints.kernels.kkt_codes import System
from contactlab.constraints.rows import ConstraintError
from contactlab.constraints.solution import (
    KKTSolution,
    LinearSolver,
    make_solution,
    read_operands,
    row_space,
    solve_square,
    solved,
    unit_columns,
)
from contactlab.multibody.mass_matrix import dof_parents
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray, IntArray

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
        "colpiv_qr"), "complete_orthogonal" or "svd": the rows are reduced to independent ones by SVD, and the matrix of
        the motion that they leave is factorised by this method.
    tolerance
        Tolerance of the rank, or (nc,) one for each row; see `KKTSolution`.

    Raises
    ------
    ConstraintError
        Wrong shapes, entries that are not finite, H not symmetric or singular on the null space of G.
    """
    system, limit = read_operands(H, G, c, gamma, tolerance, linear_solver)
    return solved("direct", system, limit) if linear_solver is None else _factorised(system, limit, linear_solver)


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
    factorisation of G^T with pivoting and are never formed. RBDL's SolveConstrainedSystemNullSpace with right
    multipliers (Nocedal and Wright 2006, section 16.2). H may be singular if the constraints make the motion unique.

    Parameters
    ----------
    H, G, c, gamma
        As for `direct`.
    linear_solver
        None: Cholesky of Z^T H Z. Others as for `direct`.
    tolerance
        Tolerance of the rank, or (nc,) one for each row; see `KKTSolution`.

    Raises
    ------
    ConstraintError
        As for `direct`.
    """
    system, limit = read_operands(H, G, c, gamma, tolerance, linear_solver)
    return solved("null_space", system, limit) if linear_solver is None else _factorised(system, limit, linear_solver)


def _factorised(system: System, tolerance: FloatArray, linear_solver: LinearSolver) -> KKTSolution:
    """Return the solution by the null-space method, with the caller's factorisation ``linear_solver`` of Z^T H Z."""
    scale = unit_columns(system.H)
    rows = row_space(system.G * scale, tolerance)
    H, load, Z = system.H * scale * scale[:, None], system.c * scale, rows.null
    x = rows.solve(system.gamma)
    x = x + Z @ solve_square(Z.T @ H @ Z, Z.T @ (load - H @ x), linear_solver)
    return make_solution(system, x * scale, rows.multipliers(rows.basis.T @ (H @ x - load)), rows.rank)


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
        Without it, all are one branch.
    linear_solver
        None: Cholesky. Others as for `direct`, without branches.
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
        return _factorised(system, limit, linear_solver)
    if tree is None:
        return solved("range_space_sparse", system, limit)
    parents = _parents(tree, n)
    from contactlab.multibody.kernels.mass_matrix import off_branch

    at = off_branch(parents, system.H)
    if at >= 0:
        i, j = divmod(int(at), n)
        raise ConstraintError("H", f"entry [{i}, {j}] is {system.H[i, j]:g}, but no branch of the tree holds both")
    return solved("range_space_sparse", system, limit, parents)


def _parents(tree: Model | ArrayLike, n: int) -> IntArray:
    """Return the parent degree of freedom (n,) of each one, -1 for roots, from a Model or a checked array."""
    parents = dof_parents(tree) if isinstance(tree, Model) else np.asarray(tree)
    if parents.dtype.kind not in "iu" or parents.shape != (n,):
        detail = f"must be a Model or whole numbers of shape ({n},), got {parents.dtype} {parents.shape}"
        raise ConstraintError("tree", detail)
    if ((parents < -1) | (parents >= np.arange(n))).any():
        raise ConstraintError("tree", f"each entry [i] must lie between -1 and i - 1, got {parents.tolist()}")
    return parents.astype(np.int64)
