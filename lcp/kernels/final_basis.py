"""The final basis of a pivoting method: its solution from the original data, its measures, and neighbouring bases.

A basis is solved again from the original data, so the result depends only on the basis, not on the path to it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from lcp.compiler.views import view_1d
from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.backward_error import error_of_sums, row_sums
from lcp.kernels.basis_solve import solve_active
from lcp.kernels.residuals import NATURAL_MAP, SCALED, SIZE, balanced_residuals, is_solved

# Fraction of the tolerance within which a basis is accepted immediately; a right one has full accuracy.
STRICTNESS: Final = 1e-3
# Fraction of the largest entry of q that its rounding can be.
ROUNDED: Final = 4.0 * float(np.finfo(np.float64).eps)


class FinalBasis(NamedTuple):
    """Problem, equilibrated by ``row`` and ``column``, and a candidate z for its solution."""

    M: Floats
    q: Floats
    row: Floats
    column: Floats
    active: Ints  # indices of the basis
    A: Floats  # (n, n): its factors
    perm: Ints
    z: Floats
    w: Floats
    work: Floats  # 3 n
    best_z: Floats  # the candidate with the smallest scaled residual so far
    measures: Floats  # of `lcp.kernels.residuals`; if units are free, the backward error in place of SCALED
    best_scaled: Floats  # (1,)
    judge: Floats  # 6 n: workspace of the backward error
    judged: Floats  # 3 n + 1: the z of the last backward error, its w and the error; largest entry of each row
    free_of_units: bool  # whether the backward error decides, with every digit of q; a step is judged as bodies are


@kernel(inline=True)
def final_floats(n: int) -> int:
    """Return the length of the workspace of a `FinalBasis`."""
    return 13 * n + SIZE + 2


@kernel(inline=True)
def final_basis(
    M: Floats, q: Floats, row: Floats, column: Floats, active: Ints, A: Floats, perm: Ints, z: Floats, w: Floats,
    work: Floats, free_of_units: bool,
) -> FinalBasis:  # fmt: skip
    """Return the views; ``work`` has length `final_floats`."""
    n = q.shape[0]
    judged = view_1d(work, 0, 3 * n + 1)
    at = 3 * n + 1
    scratch, best, measures = view_1d(work, at, 3 * n), view_1d(work, at + 3 * n, n), view_1d(work, at + 4 * n, SIZE)
    at += 4 * n + SIZE
    least, judge = view_1d(work, at, 1), view_1d(work, at + 1, 6 * n)
    return FinalBasis(
        M, q, row, column, active, A, perm, z, w, scratch, best, measures, least, judge, judged, free_of_units
    )


@kernel(inner=True)
def accept(t: FinalBasis, k: int, tolerance: float) -> bool:
    """Fill z with the solution of the basis ``active[:k]``; return False if it is singular or z does not pass.

    See `passes`.
    """
    return solve_active(t.M, t.q, t.row, t.column, t.active, k, t.A, t.perm, t.work, t.z) and passes(t, tolerance)


@kernel(inner=True)
def passes(t: FinalBasis, tolerance: float) -> bool:
    """Set negative entries of z to zero; return True if z then solves the problem, see `meets`."""
    for i in range(t.z.shape[0]):
        if t.z[i] < 0.0:
            t.z[i] = 0.0
    return meets(t, tolerance)


@kernel(inner=True)
def meets(t: FinalBasis, tolerance: float) -> bool:
    """Fill w and the measures of z on the original data; return True if z is a solution.

    If ``free_of_units``, the backward error decides, and it is stored in ``judged`` with z and w. Otherwise the
    residual of a step decides, or rounding of q.
    """
    # The rule of a step.
    if not t.free_of_units:
        balanced_residuals(t.M, t.q, t.z, t.w, t.work, t.measures)
        if is_solved(t.measures, tolerance):
            return True
        # The residual can be rounding of q only: of a load that is balanced without any force.
        largest = 0.0
        for i in range(t.q.shape[0]):
            largest = max(largest, abs(t.q[i]))
        return bool(t.measures[NATURAL_MAP] <= ROUNDED * largest)
    # The backward error, which is stored with z and w.
    n = t.q.shape[0]
    zero, above, work = view_1d(t.judge, 0, n), view_1d(t.judge, n, n), view_1d(t.judge, 2 * n, 4 * n)
    row_sums(t.M, t.q, t.z, t.w, work)
    for i in range(n):
        zero[i] = 0.0
        above[i] = np.inf
        t.judged[i] = t.z[i]
        t.judged[n + i] = t.w[i]
    t.measures[SCALED] = error_of_sums(t.M, t.q, zero, zero, above, t.z, t.w, work)
    t.judged[2 * n] = t.measures[SCALED]
    return t.measures[SCALED] <= tolerance


@kernel(inner=True)
def forget_best(t: FinalBasis) -> None:
    """Forget the best candidate (it becomes 0) and the last backward error."""
    t.best_scaled[0] = np.inf
    t.judged[0] = np.nan
    for i in range(t.z.shape[0]):
        t.best_z[i] = 0.0


@kernel(inner=True)
def keep_best(t: FinalBasis) -> None:
    """Store z as the best candidate if its measured scaled residual is smaller than the stored one."""
    if t.measures[SCALED] < t.best_scaled[0]:
        t.best_scaled[0] = t.measures[SCALED]
        for i in range(t.z.shape[0]):
            t.best_z[i] = t.z[i]


@kernel(inner=True)
def take_best(t: FinalBasis) -> None:
    """Set z to the best candidate that `keep_best` has stored."""
    for i in range(t.z.shape[0]):
        t.z[i] = t.best_z[i]


@kernel(inner=True)
def polish(t: FinalBasis, tolerance: float) -> bool:
    """Return True if z solves; otherwise guess the active set {i: z_i > w_i}, and solve it, up to five times.

    z and w are compared in equilibrated units. If no guess solves, return False; `keep_best` has seen every candidate.
    """
    # z can pass unchanged.
    if meets(t, tolerance):
        return True
    keep_best(t)
    # Guess the active set, and solve it.
    for _ in range(5):
        k = 0
        for i in range(t.z.shape[0]):
            if t.z[i] / t.column[i] > t.w[i] * t.row[i]:
                t.active[k] = i
                k += 1
        if accept(t, k, tolerance):
            return True
        if not t.measures[SCALED] < np.inf:
            return False
        keep_best(t)
    return False
