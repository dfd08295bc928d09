"""The null-space method on bare arrays: the motion along the constraints first."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from contactlab.constraints.errors import ConstraintError
from contactlab.constraints.solve.factorisations import (
    LinearSolver,
    check_linear_solver,
    row_basis,
    solve_square,
    unit_columns,
)
from contactlab.constraints.solve.solution import KKTSolution, System, finished, read_system, read_tolerance, solved
from contactlab.spatial.arrays import FloatArray, finite_array

# How far from zero G Z may be, beside |G| |Z|.
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
    tolerance: float | None = None,
) -> KKTSolution:
    """Solve H x - G^T lambda = c, G x = gamma with x = Y y + Z z, G Z = 0.

    (G Y) y = gamma; (Z^T H Z) z = Z^T (c - H Y y); (G Y)^T lambda = Y^T (H x - c). RBDL's
    SolveConstrainedSystemNullSpace with right multipliers (Nocedal and Wright 2006, section 16.2). H may be singular
    where the constraints make the motion unique.

    Parameters
    ----------
    H, G, c, gamma
        As for `direct`.
    Y, Z
        Bases of one's own, both or none: (n, r) such that G Y has rank r, and (n, n - r) with G Z = 0. Without them
        they come from a QR factorisation of G^T with pivoting and are never formed.
    linear_solver
        None: Cholesky of Z^T H Z. Others as for `direct`.
    tolerance
        For the rank; see `KKTSolution`.

    Raises
    ------
    ConstraintError
        As for `direct`; bases that do not fit.
    """
    check_linear_solver(linear_solver)
    system = read_system(H, G, c, gamma)
    limit = read_tolerance(tolerance)
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
    return finished(system, x * scale, basis.multipliers(basis.Q @ (H_ @ x - load)), basis.rank)


def _read_bases(system: System, Y: ArrayLike, Z: ArrayLike) -> tuple[FloatArray, FloatArray]:
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
    system: System, Y: FloatArray, Z: FloatArray, tolerance: float, linear_solver: LinearSolver
) -> KKTSolution:
    H, G, c, gamma = system
    basis = row_basis(G @ Y, tolerance, linear_solver)
    if basis.rank < Y.shape[1]:
        raise ConstraintError("Y", f"G Y has rank {basis.rank}, not {Y.shape[1]}: Y is no basis of the rows of G")
    y = basis.Q.T @ basis.targets(gamma)
    reduced = Z.T @ H @ Z
    scale = unit_columns(reduced)
    z = scale * solve_square(reduced * scale * scale[:, None], scale * (Z.T @ (c - H @ (Y @ y))), linear_solver)
    x = Y @ y + Z @ z
    return finished(system, x, basis.multipliers(basis.Q @ (Y.T @ (H @ x - c))), basis.rank)
