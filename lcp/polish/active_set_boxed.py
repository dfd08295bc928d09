"""The method of `lcp.polish.active_set` for a sparse M and for two bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.box import BoxLCP, bounds_of
from lcp.problem import LCP
from lcp.residuals import measure, verified


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
    row, column = equilibrating_units(M)
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
            solve = _factored(M, a)
            if solve is None:
                return None
            for _ in range(2):
                x[a] -= solve(M[a] @ x + q[a])
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


def equilibrating_units(M: Any) -> tuple[Vector, Vector]:
    """Return powers of two (row, column) that scale the largest entries of the rows and columns of M to about one."""
    from scipy import sparse

    size = abs(sparse.csr_matrix(M))
    n = M.shape[0]
    row, column = np.ones(n), np.ones(n)
    for _ in range(4):
        scaled = sparse.diags_array(row) @ size @ sparse.diags_array(column)
        for axis, factor in ((1, row), (0, column)):
            most = np.asarray(scaled.max(axis=axis).toarray()).ravel()
            factor /= np.sqrt(np.where(most > 0.0, most, 1.0))
    return np.exp2(np.floor(np.log2(row))), np.exp2(np.floor(np.log2(column)))


def _factored(M: Any, a: NDArray[np.intp]) -> Callable[[Vector], Vector] | None:
    """Return a function that solves with the block M_aa, or None if the block is singular."""
    if isinstance(M, np.ndarray):
        from scipy.linalg.lapack import dgetrf, dgetrs

        block = M[np.ix_(a, a)]
        lu, order, _ = dgetrf(block)
        if not (np.abs(np.diag(lu)) > 1e-14 * np.abs(block).max()).all():
            return None
        return lambda b: np.asarray(dgetrs(lu, order, b)[0])
    from scipy.sparse.linalg import splu

    try:
        sparse_factor = splu(M[a][:, a].tocsc())
    except RuntimeError:  # "Factor is exactly singular"
        return None
    return lambda b: np.asarray(sparse_factor.solve(b))
