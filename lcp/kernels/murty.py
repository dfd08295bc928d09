"""Murty's least-index principal pivoting on a tableau of principal transforms, with bounds on both sides.

K. G. Murty, Note on a Bard-type scheme for solving the complementarity problem, Opsearch 11 (1974): of the pairs that
are not complementary the first, in a fixed order, is mended, whatever becomes of the others. With bounds a pair has
three states, and the rule leads to the sink of the unique sink orientation of a grid (B. Gaertner, W. D. Morris,
L. Ruest, Unique sink orientations of grids, Algorithmica 51 (2008)).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from lcp.kernels import Ints, kernel
from lcp.kernels.codes import ITERATION_LIMIT, NOT_FINITE, RUNNING, SINGULAR_BASIS, SOLVED
from lcp.kernels.cottle_dantzig import violation
from lcp.kernels.principal_tableau import PrincipalTableau, advance, swap_one

# Places in the vector of information.
PIVOTS: Final = 0
INFO_SIZE: Final = 4


@kernel
def least_index_loop(
    t: PrincipalTableau, order: Ints, zero_tolerance: float, pivot_tolerance: float, limit: int, info: Ints, budget: int
) -> int:
    """Make at most ``budget`` pivots; `RUNNING` asks to be called again with everything as it is.

    `SOLVED` says that every pair is complementary up to rounding, `SINGULAR_BASIS` that a diagonal entry of the tableau
    is not positive, so that M is no P matrix to working precision.
    """
    T, b, size = t.T, t.b, t.size
    n = b.shape[0]
    for _ in range(budget):
        i = -1
        for k in range(n):
            if violation(t, zero_tolerance, order[k]) != 0.0:
                i = order[k]
                break
        if i < 0:
            return SOLVED
        if not np.isfinite(b[i]):
            return NOT_FINITE
        if info[PIVOTS] >= limit:
            return ITERATION_LIMIT
        info[PIVOTS] += 1
        largest = 0.0
        for j in range(n):
            largest = max(largest, abs(T[j, i]))
        if not T[i, i] > pivot_tolerance * largest:
            return SINGULAR_BASIS
        goal = 0.0
        if t.inside[i] == 1:
            goal = t.lo[i] if b[i] < t.lo[i] else t.hi[i]
        step = (goal - b[i]) / T[i, i]
        for j in range(n):
            # Rounding in b_j is a multiple of the largest term that has gone into it.
            size[j] = max(size[j], abs(T[j, i] * step))
        advance(t, i, step)
        b[i] = goal
        swap_one(t, i)
        size[i] = abs(step)
    return RUNNING
