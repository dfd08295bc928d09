"""The basis a pivoting method ended in: its solution from the original data, its measures, and better ones beside it.

A basis is solved anew from the original data, so that the answer depends on it alone and not on the way to it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.backward_error import backward_error
from lcp.kernels.basis_solve import solve_active
from lcp.kernels.residuals import SCALED, SIZE, is_solved, lcp_residuals

# Part of the tolerance within which a basis is accepted at once; a right one is at full accuracy.
STRICTNESS: Final = 1e-3


class FinalBasis(NamedTuple):
    """A problem, equilibrated by ``row`` and ``column``, and a candidate z for its solution."""

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
    measures: Floats  # of `lcp.kernels.residuals`; where units are free, the backward error in place of SCALED
    best_scaled: Floats  # (1,)
    judge: Floats  # 6 n: what the backward error takes
    free_of_units: bool  # whether the backward error judges, as of every digit of q; a step is judged in its units


@kernel(inline=True)
def final_floats(n: int) -> int:
    """Length of the workspace of a `FinalBasis`."""
    return 10 * n + SIZE + 1


@kernel(inline=True)
def final_basis(
    M: Floats, q: Floats, row: Floats, column: Floats, active: Ints, A: Floats, perm: Ints, z: Floats, w: Floats,
    work: Floats, free_of_units: bool,
) -> FinalBasis:  # fmt: skip
    """The views; ``work`` has length `final_floats`."""
    n = q.shape[0]
    size = 4 * n + SIZE
    views = work[: 3 * n], work[3 * n : 4 * n], work[4 * n : size], work[size : size + 1]
    judge = work[size + 1 : size + 1 + 6 * n]
    return FinalBasis(
        M, q, row, column, active, A, perm, z, w, views[0], views[1], views[2], views[3], judge, free_of_units
    )


@kernel(inner=True)
def accept(t: FinalBasis, k: int, tolerance: float) -> bool:
    """Solve the basis ``active[:k]`` from the original data; whether it passes."""
    return solve_active(t.M, t.q, t.row, t.column, t.active, k, t.A, t.perm, t.work, t.z) and passes(t, tolerance)


@kernel(inner=True)
def passes(t: FinalBasis, tolerance: float) -> bool:
    """Clip what is below zero; whether z then meets the tolerance."""
    for i in range(t.z.shape[0]):
        if t.z[i] < 0.0:
            t.z[i] = 0.0
    return meets(t, tolerance)


@kernel(inner=True)
def meets(t: FinalBasis, tolerance: float) -> bool:
    """Measure z on the original data; whether it is a solution."""
    if not t.free_of_units:
        lcp_residuals(t.M, t.q, t.z, t.w, t.measures)
        return is_solved(t.measures, tolerance)
    t.measures[SCALED] = plain_error(t.M, t.q, t.z, t.w, t.judge)
    return t.measures[SCALED] <= tolerance


@kernel(inner=True)
def plain_error(M: Floats, q: Floats, z: Floats, w: Floats, work: Floats) -> float:
    """The backward error where bounds are 0 and infinity and every digit of q is meant; ``work`` has length 6 n."""
    n = q.shape[0]
    for i in range(n):
        work[i] = 0.0
        work[n + i] = np.inf
    zero = work[:n]
    return backward_error(M, q, zero, zero, work[n : 2 * n], z, w, work[2 * n :])


@kernel(inner=True)
def forget_best(t: FinalBasis) -> None:
    """No candidate so far."""
    t.best_scaled[0] = np.inf
    for i in range(t.z.shape[0]):
        t.best_z[i] = 0.0


@kernel(inner=True)
def keep_best(t: FinalBasis) -> None:
    """Remember the candidate with the smallest scaled residual."""
    if t.measures[SCALED] < t.best_scaled[0]:
        t.best_scaled[0] = t.measures[SCALED]
        for i in range(t.z.shape[0]):
            t.best_z[i] = t.z[i]


@kernel(inner=True)
def take_best(t: FinalBasis) -> None:
    """Return to that candidate."""
    for i in range(t.z.shape[0]):
        t.z[i] = t.best_z[i]


@kernel(inner=True)
def polish(t: FinalBasis, tolerance: float) -> bool:
    """Measure z, then guess the active set anew as {i: z_i > w_i}, equilibrated, and solve it, up to five times."""
    if meets(t, tolerance):
        return True
    keep_best(t)
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
