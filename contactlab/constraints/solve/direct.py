"""The direct method on bare arrays: the whole matrix at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from contactlab.constraints.solve.factorisations import (
    LinearSolver,
    check_linear_solver,
    row_basis,
    solve_square,
    unit_columns,
)
from contactlab.constraints.solve.solution import KKTSolution, finished, read_system, read_tolerance, solved


def direct(
    H: ArrayLike,
    G: ArrayLike,
    c: ArrayLike,
    gamma: ArrayLike,
    *,
    linear_solver: LinearSolver | None = None,
    tolerance: float | None = None,
) -> KKTSolution:
    """Solve H x - G^T lambda = c, G x = gamma as one linear system, O((n + nc)^3).

    [H G^T; G 0] [x; -lambda] = [c; gamma]: RBDL's SolveConstrainedSystemDirect, with the sign of lambda turned (Nocedal
    and Wright 2006, section 16.2). H may be singular where the constraints make the motion unique.

    Parameters
    ----------
    H
        (n, n) symmetric, positive definite on the null space of G.
    G
        (nc, n) any rows: redundant, zero and more than n are fine.
    c, gamma
        (n,) and (nc,) right-hand sides.
    linear_solver
        None: row-pivoted LU with a look at the pivots; where they are too small, because rows depend on each other or
        nearly so, elimination in the null space by rank-revealing QR. "lu", "qr" (column-pivoted),
        "complete_orthogonal" or "svd": the rows are first reduced to independent ones, by SVD for "svd" and by pivoted
        QR for the others, and the matrix is factorised as asked.
    tolerance
        For the rank; see `KKTSolution`.

    Raises
    ------
    ConstraintError
        Wrong shapes, entries that are not finite, H not symmetric or singular on the null space of G.
    """
    check_linear_solver(linear_solver)
    system = read_system(H, G, c, gamma)
    limit = read_tolerance(tolerance)
    if linear_solver is None:
        return solved("direct", system, limit)
    scale = unit_columns(system.H)
    basis = row_basis(system.G * scale, limit, linear_solver)
    n, rank = scale.shape[0], basis.rank
    A = np.zeros((n + rank, n + rank))
    A[:n, :n] = system.H * scale * scale[:, None]
    A[n:, :n], A[:n, n:] = basis.Q, basis.Q.T
    z = solve_square(A, np.concatenate([system.c * scale, basis.targets(system.gamma)]), linear_solver)
    return finished(system, z[:n] * scale, basis.multipliers(-z[n:]), rank)
