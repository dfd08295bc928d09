"""Refine an approximate solution: guess which unknowns are positive, solve their rows, verify; in 16 and in 32 digits.

A force of 1e9 N is rounded to 1e-7 N. The row of a light body then has an error as large, unless forces with finer
digits that act on the body cancel it. Large unknowns are therefore rounded first, and small ones compensate. This is
the nearest-plane method on the grid of floating-point numbers (L. Babai, On Lovasz' lattice reduction and the nearest
lattice point problem, Combinatorica 6, 1986). The basis of the grid is not reduced; its columns are sorted by step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.factors import block, factorized
from lcp.problem import LCP, MLCP, BoxLCP, bounds_of, kernel_arrays, stacked
from lcp.residuals import Problem, measure, verified
from lcp.scaling import balanced_scales, entrywise_scales, scales


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
    K, k, m = stacked(problem)
    if verified(problem, z, tolerance):
        return z
    row, column = scales(K)
    seen: set[bytes] = set()
    for _ in range(rounds):
        w = K @ z + k
        positive = z / column > w * row
        positive[:m] = True
        if positive.tobytes() in seen:
            break
        seen.add(positive.tobytes())
        active = np.flatnonzero(positive)
        x = solve_basis(problem, row, column, active)
        if x is not None and verified(problem, x, tolerance):
            return x
        # Equal to the basis solution for regular rows, and bounded for singular ones.
        z = _nonnegative(K, k, row, column, active, m, z)
        if verified(problem, z, tolerance):
            return z
    # Almost solved: the error may be the digits that elimination lost. Solve the basis in about 32 digits; if rounding
    # to float64 is too coarse, move entries on the grid of float64.
    near = seen and measure(problem, z)[0].scaled < _NEAR
    x = solve_basis_extended(problem, positive) if near else None
    if x is None:
        return None
    x[m:] = np.maximum(x[m:], 0.0)
    if verified(problem, x, tolerance):
        return x
    return round_to_float64(problem, x, tolerance) if isinstance(problem, LCP) else None


def solve_basis(problem: LCP | MLCP, row: Vector, column: Vector, active: NDArray[np.intp]) -> Vector | None:
    """Return the solution of the ``active`` rows, refined once, with y >= 0; or None if their block is singular.

    ``row`` and ``column`` are the `scales` of the matrix.
    """
    from lcp.kernels.basis_solve import solve_active

    K, k, m = stacked(problem)
    size, count = k.shape[0], active.shape[0]
    A, perm, work, x = np.empty((size, size)), np.empty(size, dtype=np.int64), np.empty(3 * size), np.zeros(size)
    indices = np.concatenate([active, np.zeros(size - count, dtype=np.int64)])
    if not solve_active(K, k, row, column, indices, count, A, perm, work, x):
        return None
    x[m:] = np.maximum(x[m:], 0.0)
    return x


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


# Limit on steps of refinement with a float64 factor; each must reduce the error at least by the second number.
_STEPS = 8
_PROGRESS = 0.25


def solve_basis_extended(problem: LCP | MLCP, active: NDArray[np.bool_] | NDArray[np.intp]) -> Vector | None:
    """Return the z, (u, y) of an `MLCP`, that is zero outside ``active`` and solves the active rows; None if singular.

    ``active`` is a mask (n,) or ascending indices. For an `MLCP` it covers (u, y) and includes the free unknowns.
    Entries may be negative, because the basis may be a wrong one. The data, dense, are exact by assumption. A float64
    factor is refined with residuals in double-double numbers (J. Demmel, Y. Hida, W. Kahan, X. S. Li, S. Mukherjee,
    E. J. Riedy, Error bounds from extra-precise iterative refinement, ACM Transactions on Mathematical Software 32,
    2006). If this does not converge (condition beyond 1e15), the block is eliminated in double-double numbers. The
    relative error is then 1e-32 times the condition of the balanced block.
    """
    K, k, _ = stacked(problem)
    indices = np.flatnonzero(active) if np.asarray(active).dtype == np.bool_ else np.asarray(active, dtype=np.intp)
    z = np.zeros(k.shape[0])
    if indices.shape[0] == 0:
        return z
    block = np.ascontiguousarray(K[np.ix_(indices, indices)])
    row, column = balanced_scales(block)
    scaled = row[:, None] * block * column
    load = row * k[indices]
    x = _refined(scaled, load)
    if x is None:
        from lcp.kernels.extended_lemke import extended_float_size, extended_int_size, solve_extended

        size = load.shape[0]
        wf, wi = np.empty(extended_float_size(size)), np.empty(extended_int_size(size), dtype=np.int64)
        x = np.empty(size)
        if not solve_extended(scaled, load, np.ones(size), wf, wi, x):
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
    # The tolerance of each row's residual by the rule of `lcp.residuals`; 1 for rows without any terms.
    terms = np.abs(M) @ z + np.abs(q)
    admitted = np.where(q == 0.0, 1e-9 * terms, np.minimum(1e-9 * terms, 1e-3 * np.abs(q)))
    for unit in (np.where(admitted > 0.0, admitted, 1.0), np.ones(problem.n)):
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
