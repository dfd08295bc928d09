"""Round an exact solution to float64 so that its rows are still satisfied.

A force of 1e9 N is rounded to 1e-7 N. The row of a light body then has an error as large, unless forces with finer
digits that act on the body cancel it. Large unknowns are therefore rounded first, and small ones compensate. This is
the nearest-plane method on the grid of floating-point numbers (L. Babai, On Lovasz' lattice reduction and the nearest
lattice point problem, Combinatorica 6, 1986). The basis of the grid is not reduced; its columns are sorted by step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.problem import LCP, kernel_arrays
from lcp.residuals import measure

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
    """Return the tolerance of each row by the rule of `lcp.residuals`; rows without load have the largest."""
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
