"""Solve one complementary basis in about 32 digits, and round the solution to float64.

A force of 1e9 N is rounded to 1e-7 N. The row of a light body then has an error as large, unless forces with finer
digits that act on the body cancel it. Large unknowns are therefore rounded first, and small ones compensate. This is
the nearest-plane method on the grid of floating-point numbers (L. Babai, On Lovasz' lattice reduction and the nearest
lattice point problem, Combinatorica 6, 1986). The basis of the grid is not reduced; its columns are sorted by step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.problem import LCP, MLCP, kernel_arrays, stacked
from lcp.residuals import measure
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
    from lcp.kernels.double_double import ROUNDING, dd_residual

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
    """Return x = -block^-1 load from double-double LU factors, rounded to float64, or None if the block is singular."""
    from lcp.kernels.double_double import dd_block_solve

    k = load.shape[0]
    A, A_low = block.copy(), np.zeros((k, k))
    x, x_low, work, perm = np.zeros(k), np.zeros(k), np.empty(4 * k), np.empty(k, dtype=np.int64)
    return x if dd_block_solve(block, load, k, A, A_low, perm, x, x_low, work) else None


# Rows whose w is zero within this fraction of their terms must not become negative.
_TIGHT = 1e-12
# A direction shorter than this fraction of its column is spanned by the finer columns before it.
_SPANNED = 1e-9
_ROUNDS = 4


def round_to_float64(problem: LCP, z: Vector, tolerance: float) -> Vector | None:
    """Return a verified float64 solution next to z >= 0 (n,), which solves up to rounding; None if there is none.

    Rows are weighted first by the tolerance of their residuals, then equally.
    """
    M, q = kernel_arrays(problem)
    if not z.any():
        return None
    for unit in (_row_tolerances(M, q, z), np.ones(problem.n)):
        answer = _round_iteratively(problem, z, unit, tolerance)
        if answer is not None:
            return answer
    return None


def _round_iteratively(problem: LCP, z: Vector, unit: Vector, tolerance: float) -> Vector | None:
    """Round z by repeated moves to the nearest plane, with rows in the given units, while they help."""
    from lcp.kernels.double_double import dd_dot

    M, q = kernel_arrays(problem)
    n = problem.n
    zero, w = np.zeros(n), np.empty(n)
    least = measure(problem, z)[0].natural_map
    for _ in range(_ROUNDS):
        for i in range(n):
            w[i] = dd_dot(M[i], z, zero, n, q[i])[0]
        used = np.flatnonzero(z > 0.0)
        tight = np.flatnonzero((w <= _TIGHT * (np.abs(q) + np.abs(M) @ z)) | ((z > 0.0) & (z > w)))
        if used.shape[0] == 0 or tight.shape[0] == 0:
            return None
        # If z_i is zero, a positive w_i is not an error.
        wrong = np.where(z[tight] > 0.0, w[tight], np.minimum(w[tight], 0.0)) / unit[tight]
        trial = z.copy()
        trial[used] = _nearest_plane(M[np.ix_(tight, used)] / unit[tight, None], wrong, z[used])
        residual = measure(problem, trial)[0]
        if residual.solved(tolerance):
            return trial
        if not residual.natural_map < least:
            return None
        least, z = residual.natural_map, trial
    return None


def _row_tolerances(M: NDArray[np.float64], q: Vector, z: Vector) -> Vector:
    """Return the tolerance of each row's residual (n,) by the rule of `lcp.residuals`; 1 for rows without any terms."""
    terms = np.abs(M) @ z + np.abs(q)
    admitted: Vector = np.where(q == 0.0, 1e-9 * terms, np.minimum(1e-9 * terms, 1e-3 * np.abs(q)))
    return np.where(admitted > 0.0, admitted, 1.0)


def _nearest_plane(block: NDArray[np.float64], wrong: Vector, z: Vector) -> Vector:
    """Return z moved by integer multiples of its last digits so that block z changes by nearly -wrong."""
    step = np.spacing(z)
    order = np.argsort(np.abs(block * step).max(axis=0), kind="stable")
    columns = (block * step)[:, order]
    length = np.abs(columns).max(axis=0)
    Q, R = np.linalg.qr(columns)
    target = -(Q.T @ wrong)
    moves = np.zeros(z.shape[0])
    for j in range(min(R.shape) - 1, -1, -1):
        if abs(R[j, j]) > _SPANNED * length[j]:
            move = np.round(target[j] / R[j, j])
            # An unknown changes by at most half of its value.
            if move > -0.5 * z[order[j]] / step[order[j]]:
                moves[j] = move
                target -= R[:, j] * move
    moved = z.copy()
    moved[order] += step[order] * moves
    return moved
