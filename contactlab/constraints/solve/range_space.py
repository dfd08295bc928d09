"""The range-space method on bare arrays: the multipliers first."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from contactlab.constraints.errors import ConstraintError
from contactlab.constraints.kernels.kkt_codes import CLEAR_LU_PIVOT
from contactlab.constraints.solve.factorisations import (
    LinearSolver,
    check_linear_solver,
    row_basis,
    solve_square,
    unit_columns,
)
from contactlab.constraints.solve.solution import (
    KKTSolution,
    System,
    finished,
    loose,
    read_system,
    read_tolerance,
    solved,
)
from contactlab.multibody.kernels.codes import PIVOT
from contactlab.multibody.ltl import dof_parents
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray, IntArray


def range_space_sparse(
    H: ArrayLike,
    G: ArrayLike,
    c: ArrayLike,
    gamma: ArrayLike,
    *,
    tree: Model | ArrayLike | None = None,
    linear_solver: LinearSolver | None = None,
    tolerance: float | None = None,
) -> KKTSolution:
    """Solve H x - G^T lambda = c, G x = gamma through (G H^-1 G^T) lambda = gamma - G H^-1 c.

    RBDL's SolveConstrainedSystemRangeSpaceSparse, but with the true branches of the tree: H = L^T L, and Y = L^-T G^T
    is filled from each row's bodies to the root only (Featherstone 2008, sections 6.5 and 8.2). Fastest where there are
    branches and few rows. H has to be positive definite for that; where it is not, or where rows depend on each other
    or nearly so, the answer comes from elimination in the null space.

    Parameters
    ----------
    H, G, c, gamma
        As for `direct`.
    tree
        What gives the branches: a `Model`, or for each of the n degrees of freedom (n,) the one next to it towards the
        root, -1 for none. Without it, and for deep chains, H is factorised as a dense matrix.
    linear_solver
        None: Cholesky. Others, for the matrix of the responses, as for `direct`: rows are then mixed with each other
        and branches no longer used.
    tolerance
        For the rank; see `KKTSolution`.

    Raises
    ------
    ConstraintError
        As for `direct`; an entry of H between two branches that is not zero.
    """
    check_linear_solver(linear_solver)
    system = read_system(H, G, c, gamma)
    limit = read_tolerance(tolerance)
    n = system.c.shape[0]
    if linear_solver is not None:
        return _chosen(system, limit, linear_solver)
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
    """The branches, as the kernels take them."""
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


def _chosen(system: System, tolerance: float, linear_solver: LinearSolver) -> KKTSolution:
    """Solution by the caller's factorisation, on independent rows."""
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
            raise loose()
    Y = linalg.cho_solve(factor, basis.Q.T)
    free = linalg.cho_solve(factor, load)
    mu = solve_square(basis.Q @ Y, y - basis.Q @ free, linear_solver)
    return finished(system, (free + Y @ mu) * scale, basis.multipliers(mu), basis.rank)


def _cholesky(H: FloatArray, least: float) -> tuple[FloatArray, bool] | None:
    """The factor of H (n, n), of about a unit diagonal; None where a pivot is below ``least``: rounding is, mostly."""
    from scipy import linalg

    try:
        factor, lower = linalg.cho_factor(H, lower=True)
    except np.linalg.LinAlgError:
        return None
    return (factor, lower) if np.diag(factor).min(initial=np.inf) ** 2 > least else None
