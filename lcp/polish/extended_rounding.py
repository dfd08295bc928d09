"""Rounding an exact solution to float64 so that its rows still hold: large unknowns first, small ones make up for them.

Beside a force of 1e9 N, known to 1e-7 N, a light body's row misses its load by as much, unless the forces with finer
digits that act on it are chosen to cancel what the coarse ones leave. This is the nearest-plane method on the grid of
floating-point numbers: L. Babai, On Lovasz' lattice reduction and the nearest lattice point problem, Combinatorica 6
(1986), without a reduction of the grid's basis but with its columns in the order of their steps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.problem import LCP, kernel_arrays
from lcp.residuals import measure

# Rows whose w is within this part of their terms of zero must not be pushed below it.
_TIGHT = 1e-12
# A direction this much shorter than its column is spanned by the finer ones before it.
_SPANNED = 1e-9
_ROUNDS = 4


def settle(problem: LCP, z: Vector, tolerance: float) -> Vector | None:
    """A verified solution on the grid of float64 beside z >= 0 (n,), a solution but for rounding; None where none.

    First every row counts by what its residual may be, then all rows alike.
    """
    M, q = kernel_arrays(problem)
    if not z.any():
        return None
    for unit in (_admitted(M, q, z), np.ones(problem.n)):
        answer = _settled(problem, z, unit, tolerance)
        if answer is not None:
            return answer
    return None


def _settled(problem: LCP, z: Vector, unit: Vector, tolerance: float) -> Vector | None:
    """By repeated moves to the nearest plane, rows in the given units, while they help."""
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
        # Where z is zero a positive w is no error.
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


def _admitted(M: NDArray[np.float64], q: Vector, z: Vector) -> Vector:
    """What each row may miss, by the rule of `lcp.residuals`: rows without load the most."""
    terms = np.abs(M) @ z + np.abs(q)
    admitted: Vector = np.where(q == 0.0, 1e-9 * terms, np.minimum(1e-9 * terms, 1e-3 * np.abs(q)))
    return np.where(admitted > 0.0, admitted, 1.0)


def _nearest_plane(block: NDArray[np.float64], wrong: Vector, z: Vector) -> Vector:
    """z moved by whole numbers of its own last digits so that block z changes by nearly -wrong."""
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
            # No unknown loses more than half of itself.
            if move > -0.5 * z[order[j]] / step[order[j]]:
                moves[j] = move
                target -= R[:, j] * move
    moved = z.copy()
    moved[order] += step[order] * moves
    return moved
