"""Refine an approximate solution: guess which unknowns are positive, solve their rows, verify."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.box import BoxLCP
from lcp.mixed import MLCP, stacked
from lcp.polish.active_set_boxed import refine_boxed
from lcp.polish.extended_basis import solve_basis_extended
from lcp.polish.extended_rounding import round_to_float64
from lcp.problem import LCP
from lcp.residuals import Problem, measure, verified
from lcp.scaling import scales

# Scaled residual below which a basis is worth solving in more digits.
_NEAR = 1e-6


def refine(problem: Problem, z: Vector, tolerance: float, rounds: int = 5) -> Vector | None:
    """Return a verified solution near z ((u, y) of an `MLCP`), or None.

    The active set is {i: z_i > w_i} in equilibrated units, guessed again from the solution of each round. Its rows are
    solved from the original data with one refinement. If they are singular, the smallest change of z that satisfies
    them is used, so that redundant unknowns keep their values. For a sparse M or two bounds see `refine_boxed`.
    """
    if isinstance(problem, BoxLCP) or (isinstance(problem, LCP) and problem.sparse):
        return refine_boxed(problem, z, tolerance, rounds)
    from lcp.kernels.basis_solve import solve_active

    K, k, m = stacked(problem)
    size = k.shape[0]
    if verified(problem, z, tolerance):
        return z
    row, column = scales(K)
    A, perm, work = np.empty((size, size)), np.empty(size, dtype=np.int64), np.empty(3 * size)
    indices = np.zeros(size, dtype=np.int64)
    seen: set[bytes] = set()
    for _ in range(rounds):
        w = K @ z + k
        positive = z / column > w * row
        positive[:m] = True
        if positive.tobytes() in seen:
            break
        seen.add(positive.tobytes())
        active = np.flatnonzero(positive)
        indices[: active.shape[0]] = active
        x = np.zeros(size)
        if solve_active(K, k, row, column, indices, active.shape[0], A, perm, work, x):
            x[m:] = np.maximum(x[m:], 0.0)
            if verified(problem, x, tolerance):
                return x
        # Equal to the basis solution for regular rows, and bounded for singular ones.
        z = _nonnegative(K, k, row, column, active, m, z)
        if verified(problem, z, tolerance):
            return z
    # Almost solved: the error may be the digits that elimination lost.
    near = seen and measure(problem, z)[0].scaled < _NEAR
    return _solve_double_double(problem, positive, m, tolerance) if near else None


def _solve_double_double(problem: LCP | MLCP, active: NDArray[np.bool_], m: int, tolerance: float) -> Vector | None:
    """Solve the basis in about 32 digits; if rounding to float64 is too coarse, move entries on the grid of float64."""
    x = solve_basis_extended(problem, active)
    if x is None:
        return None
    x[m:] = np.maximum(x[m:], 0.0)
    if verified(problem, x, tolerance):
        return x
    return round_to_float64(problem, x, tolerance) if isinstance(problem, LCP) else None


def _nonnegative(
    K: NDArray[np.float64],
    k: Vector,
    row: Vector,
    column: Vector,
    active: NDArray[np.intp],
    m: int,
    z: Vector,
) -> Vector:
    """Solve as `_nearest`, and remove negative unknowns from the active set, a few times."""
    for _ in range(5):
        x = _nearest(K, k, row, column, active, z)
        kept = active[(active < m) | (x[active] > 0.0)]
        if kept.shape == active.shape:
            break
        active = kept
    x[m:] = np.maximum(x[m:], 0.0)
    return x


def _nearest(
    K: NDArray[np.float64], k: Vector, row: Vector, column: Vector, active: NDArray[np.intp], z: Vector
) -> Vector:
    """Return the solution of the active rows nearest to z in equilibrated units, or the least-squares solution."""
    x = np.zeros_like(z)
    x[active] = z[active]
    if active.shape[0] == 0:
        return x
    block = row[active, None] * K[np.ix_(active, active)] * column[active]
    for _ in range(2):
        gap = row[active] * (K[active] @ x + k[active])
        if not (np.isfinite(block).all() and np.isfinite(gap).all()):
            # The units of entries below the smallest normal number exceed the largest number.
            break
        x[active] -= column[active] * np.linalg.lstsq(block, gap, rcond=1e-12)[0]
    return x
