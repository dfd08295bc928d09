"""Solve one complementary basis from the original data to full float64 accuracy, even if it is ill-conditioned."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.mixed import MLCP, stacked
from lcp.problem import LCP
from lcp.scaling import balanced_scales

# Limit on steps of refinement with a float64 factor; each must reduce the error at least by the second number.
_STEPS = 8
_PROGRESS = 0.25


def solve_basis_extended(problem: LCP | MLCP, active: NDArray[np.bool_] | NDArray[np.intp]) -> Vector | None:
    """Return the z, (u, y) of an `MLCP`, that is zero outside ``active`` and solves the active rows; None if singular.

    ``active`` is a mask (n,) or ascending indices. For an `MLCP` it covers (u, y) and includes the free unknowns.
    Entries may be negative, because the basis may be a wrong one. The data, dense, are exact by assumption. A float64
    factor is refined with residuals in double-double numbers (J. Demmel, Y. Hida, W. Kahan, X. S. Li, S. Mukherjee,
    E. J. Riedy, Error bounds from extra-precise iterative refinement, ACM Transactions on Mathematical Software 32,
    2006). If this does not converge (condition beyond 1e15), the block is factored in double-double numbers. The
    relative error is then 1e-32 times the condition of the balanced block.
    """
    K, k, _ = stacked(problem)
    indices = np.flatnonzero(active) if np.asarray(active).dtype == np.bool_ else np.asarray(active, dtype=np.intp)
    z = np.zeros(k.shape[0])
    count = indices.shape[0]
    if count == 0:
        return z
    block = np.ascontiguousarray(K[np.ix_(indices, indices)])
    row, column = balanced_scales(block)
    scaled = row[:, None] * block * column
    load = row * k[indices]
    x = _refined(scaled, load)
    if x is None:
        x = _in_double_double(scaled, load)
    if x is None:
        return None
    z[indices] = column * x
    return z if np.isfinite(z).all() else None


def _refined(block: NDArray[np.float64], load: Vector) -> Vector | None:
    """Return -block^-1 load by a float64 factor and double-double residuals, or None if this does not converge."""
    from lcp.kernels.basis_solve import lu_factor, lu_solve
    from lcp.kernels.double_double import ROUNDING
    from lcp.kernels.extended_basis import dd_residual

    k = load.shape[0]
    factor, perm = block.copy(), np.empty(k, dtype=np.int64)
    if not lu_factor(factor, k, perm):
        return None
    x, low, b, b_low, y = np.zeros(k), np.zeros(k), np.empty(k), np.empty(k), np.empty(k)
    last = np.inf
    for _ in range(_STEPS):
        dd_residual(block, load, k, x, low, b, b_low)
        lu_solve(factor, k, perm, b, y)
        size = float(np.abs(x).max())
        step = float(np.abs(y).max())
        if not np.isfinite(step):
            return None
        # x + y as a sum of two numbers again.
        total = x + y
        virtual = total - x
        low += (x - (total - virtual)) + (y - virtual)
        x = total + low
        low -= x - total
        if size > 0.0:
            # Every entry has full accuracy, small entries as well as large ones.
            if (np.abs(y) <= ROUNDING**0.6 * np.abs(x)).all():
                return x
            if step > _PROGRESS * last:
                return None
            last = step
    return None


def _in_double_double(block: NDArray[np.float64], load: Vector) -> Vector | None:
    from lcp.kernels.extended_basis import dd_block_solve

    k = load.shape[0]
    A, A_low = np.empty((k, k)), np.empty((k, k))
    x, x_low, work, perm = np.empty(k), np.empty(k), np.empty(4 * k), np.empty(k, dtype=np.int64)
    return x if dd_block_solve(block, load, k, A, A_low, perm, x, x_low, work) else None
