"""Refine an approximate solution: guess which unknowns are positive, solve their rows, verify."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.factors import block, factorized
from lcp.polish.extended import round_to_float64, solve_basis_extended
from lcp.problem import LCP, MLCP, BoxLCP, bounds_of, stacked
from lcp.residuals import Problem, measure, verified
from lcp.scaling import entrywise_scales, scales


def refine_boxed(problem: LCP | BoxLCP, z: Vector, tolerance: float, rounds: int = 5) -> Vector | None:
    """Return a verified solution near z, or None; a sparse M stays sparse.

    In equilibrated units an unknown is at its lower bound if its distance from the bound is less than w, and at its
    upper bound if its distance is less than -w. Otherwise it is between them. The rows of the unknowns between bounds
    are solved from the original data with one refinement. The partition is guessed again from each solution.
    """
    if verified(problem, z, tolerance):
        return z
    M, q = problem._M, problem._q
    lo, hi = bounds_of(problem)
    row, column = entrywise_scales(M)
    seen: set[bytes] = set()
    for _ in range(rounds):
        pull = (M @ z + q) * row
        low, high = (z - lo) / column <= pull, (hi - z) / column <= -pull
        low |= lo == hi
        between = ~(low | high)
        key = np.packbits(low).tobytes() + np.packbits(high).tobytes()
        if key in seen:
            return None
        seen.add(key)
        x = np.where(low, lo, np.where(high, hi, 0.0))
        if not np.isfinite(x).all():
            return None
        a = np.flatnonzero(between)
        if a.shape[0]:
            factors = factorized(block(M, a))
            if factors is None:
                return None
            for _ in range(2):
                x[a] -= factors.solve(M[a] @ x + q[a])
            if not np.isfinite(x).all():
                return None
        # The values of a solution are between the bounds up to rounding.
        z = np.clip(x, lo, hi)
        if verified(problem, z, tolerance):
            return z
        z = x
    return None


def at_bounds(problem: BoxLCP, z: Vector, tolerance: float) -> Vector:
    """Return z with entries within rounding of a bound set to it, if this solves; otherwise return z unchanged.

    A difference gives 1e-16 for a solution at a bound of zero, and this is not small relative to itself.
    """
    matrix, load = problem._M, float(np.abs(problem._q).max(initial=0.0))
    size = float(abs(matrix).max()) if problem.n else 0.0
    near = 1e-14 * max(float(np.abs(z).max(initial=0.0)), load / size if size > 0.0 else 0.0)
    snapped = np.where(np.abs(z - problem.lo) <= near, problem.lo, z)
    snapped = np.where(np.abs(snapped - problem.hi) <= near, problem.hi, snapped)
    snapped = np.where(np.abs(snapped) <= near, np.clip(0.0, problem.lo, problem.hi), snapped)
    return snapped if measure(problem, snapped)[0].solved(tolerance) else z


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
    """Return the solution of the active rows of K x + k = 0 that is nearest to z, or the least-squares solution.

    Distances are in units that equilibrate K by ``row`` and ``column``; other unknowns are zero.
    """
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
