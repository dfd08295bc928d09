"""Judging the basis a pivoting method ended in, and looking for the right one beside it.

A basis is solved anew from the original data, so that the answer depends on it alone and not on the way to it.
"""

from __future__ import annotations

import numpy as np

from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.basis_solve import solve_active
from lcp.kernels.residuals import SCALED, is_solved, lcp_residuals


@kernel
def accept(
    M: Floats,
    q: Floats,
    row: Floats,
    column: Floats,
    active: Ints,
    k: int,
    A: Floats,
    perm: Ints,
    work: Floats,
    z: Floats,
    w: Floats,
    measures: Floats,
    tolerance: float,
) -> bool:
    """Solve the basis ``active[:k]`` from the original data, clip rounding below zero, and judge it."""
    return solve_active(M, q, row, column, active, k, A, perm, work, z) and judge(M, q, z, w, measures, tolerance)


@kernel
def judge(M: Floats, q: Floats, z: Floats, w: Floats, measures: Floats, tolerance: float) -> bool:
    """Clip what is below zero and measure z on the original data."""
    for i in range(z.shape[0]):
        if z[i] < 0.0:
            z[i] = 0.0
    lcp_residuals(M, q, z, w, measures)
    return is_solved(measures, tolerance)


@kernel(inner=True)
def keep_best(z: Floats, measures: Floats, best_z: Floats, best_scaled: Floats) -> None:
    """Remember the candidate with the smallest scaled residual."""
    if measures[SCALED] < best_scaled[0]:
        best_scaled[0] = measures[SCALED]
        for i in range(z.shape[0]):
            best_z[i] = z[i]


@kernel
def polish(
    M: Floats,
    q: Floats,
    row: Floats,
    column: Floats,
    active: Ints,
    A: Floats,
    perm: Ints,
    work: Floats,
    z: Floats,
    w: Floats,
    measures: Floats,
    tolerance: float,
    best_z: Floats,
    best_scaled: Floats,
) -> bool:
    """Judge z, then re-guess the active set as {i: z_i > w_i} in equilibrated units and solve it, up to five times."""
    n = q.shape[0]
    lcp_residuals(M, q, z, w, measures)
    if is_solved(measures, tolerance):
        return True
    keep_best(z, measures, best_z, best_scaled)
    for _ in range(5):
        k = 0
        for i in range(n):
            if z[i] / column[i] > w[i] * row[i]:
                active[k] = i
                k += 1
        if accept(M, q, row, column, active, k, A, perm, work, z, w, measures, tolerance):
            return True
        if not measures[SCALED] < np.inf:
            return False
        keep_best(z, measures, best_z, best_scaled)
    return False
