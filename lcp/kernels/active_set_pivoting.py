"""Principal pivoting on a small active set: its block is kept factored, rows outside it are only evaluated.

A round costs k^2 for the block and n k for w = q + M_a z_a, an insertion one column of M. Three rules follow one
another (`lcp.kernels.active_set_rules`): exchanges of everything infeasible at once; then, for symmetric blocks, the
primal active set method, for others single exchanges with Murty's least-index rule at the end. The answer is refined
once and judged on the original data before it is claimed.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.active_block import SIZE, SYMMETRIC, block_solve, evaluate, insert, thresholds
from lcp.kernels.active_set_rules import (
    BEST,
    BLOCKS,
    INFO_SIZE,
    LEVEL,
    MEMORY,
    PIVOTS,
    PRIMAL,
    ROUNDS,
    RULE,
    START,
    WARM,
    block_round,
    primal_round,
    single_round,
)
from lcp.kernels.codes import ITERATION_LIMIT, NOT_FINITE, RUNNING, SOLVED, STALLED
from lcp.kernels.equilibrate import equilibrate
from lcp.kernels.final_basis import accept, keep_best, polish
from lcp.kernels.residuals import is_solved, lcp_residuals

__all__ = ["INFO_SIZE", "PIVOTS", "ROUNDS", "RULE", "START", "WARM", "active_set_drive", "active_set_pivoting"]

# Places in the vector of options.
MAX_PIVOTS: Final = 0
ZERO_TOLERANCE: Final = 1
TOLERANCE: Final = 2
OPTIONS_SIZE: Final = 4

# Part of the tolerance within which an answer is accepted at once; a right one is at full accuracy.
STRICTNESS: Final = 1e-3
# How often the zero tolerance may be sharpened, hundredfold, when what it calls feasible is not yet a solution.
LEVELS: Final = 2


@kernel(inline=True)
def active_set_float_size(n: int) -> int:
    """Length of the float workspace; what belongs to indices that never become active is never touched."""
    return 3 * n * n + 17 * n + 16


@kernel(inline=True)
def active_set_int_size(n: int) -> int:
    """Length of the integer workspace."""
    return 5 * n + MEMORY


@kernel
def active_set_drive(
    M: Floats,
    q: Floats,
    z0: Floats,
    has_z0: bool,
    options: Floats,
    wf: Floats,
    wi: Ints,
    z: Floats,
    info: Ints,
    budget: int,
) -> int:
    """Make at most ``budget`` rounds; `RUNNING` asks to be called again with everything left as it is.

    A first call has ``info[RULE] == START``. ``z`` holds the present candidate, on `RAY` wf[:n] a direction along
    which the energy of a symmetric problem falls for ever.
    """
    n = q.shape[0]
    vectors = wf[: 17 * n + 16]
    direction = vectors[:n]
    za = vectors[n : 2 * n]
    w = vectors[2 * n : 3 * n]
    floor = vectors[3 * n : 4 * n]
    target = vectors[4 * n : 5 * n]
    row_size = vectors[5 * n : 6 * n]
    above = vectors[6 * n : 7 * n]
    left = vectors[7 * n : 8 * n]
    d = vectors[8 * n : 9 * n]
    best_z = vectors[9 * n : 10 * n]
    row = vectors[10 * n : 11 * n]
    column = vectors[11 * n : 12 * n]
    work = vectors[12 * n : 15 * n]
    measures = vectors[17 * n : 17 * n + 8]
    best_scaled = vectors[17 * n + 8 : 17 * n + 9]
    at = 17 * n + 16
    L = wf[at : at + n * n].reshape((n, n))
    V = wf[at + n * n : at + 2 * n * n].reshape((n, n))
    C = wf[at + 2 * n * n : at + 3 * n * n].reshape((n, n))
    active = wi[:n]
    slot = wi[n : 2 * n]
    place = wi[2 * n : 3 * n]
    basis = wi[3 * n : 4 * n]
    perm = wi[4 * n : 5 * n]
    seen = wi[5 * n :]

    limit = max(1000, 50 * n)
    if not np.isnan(options[MAX_PIVOTS]):
        limit = int(options[MAX_PIVOTS])
    tolerance = options[TOLERANCE]

    if info[RULE] == START:
        for i in range(INFO_SIZE):
            info[i] = 0
        info[SYMMETRIC] = 1
        info[BEST] = n + 1
        best_scaled[0] = np.inf
        least = 0.0
        for i in range(n):
            z[i] = 0.0
            best_z[i] = 0.0
            slot[i] = -1
            place[i] = i
            row_size[i] = 0.0
            least = min(least, q[i])
        if least >= 0.0:
            return SOLVED
        if has_z0:
            for i in range(n):
                if z0[i] > 0.0:
                    insert(M, i, C, L, V, d, active, slot, place, row_size, above, left, info)
            info[WARM] = 1
        info[RULE] = BLOCKS

    verdict = RUNNING
    for _ in range(budget):
        if info[PIVOTS] >= limit:
            verdict = ITERATION_LIMIT
            break
        sharp = options[ZERO_TOLERANCE] * 100.0 ** (-info[LEVEL])
        info[ROUNDS] += 1
        if info[RULE] == BLOCKS:
            verdict = block_round(
                M, q, sharp, C, L, V, d, za, w, floor, active, slot, place, row_size, above, left, limit, info
            )  # fmt: skip
        elif info[RULE] == PRIMAL:
            verdict = primal_round(
                M, q, sharp, C, L, V, d, za, w, floor, target, active, slot, place, row_size, above, left, direction,
                info,
            )  # fmt: skip
        else:
            verdict = single_round(
                M, q, sharp, C, L, V, d, za, w, floor, active, slot, place, row_size, above, left, seen, info
            )  # fmt: skip
        if verdict == SOLVED:
            if settled(M, q, STRICTNESS * tolerance, C, L, V, d, za, w, floor, target, active, place, row_size,
                       measures, z, info):  # fmt: skip
                return SOLVED
            if info[LEVEL] >= LEVELS:
                verdict = STALLED
                break
            info[LEVEL] += 1
            # A sharper eye may see more that is infeasible.
            info[BEST] = n + 1
            verdict = RUNNING
        if verdict != RUNNING:
            break
    for i in range(n):
        z[i] = 0.0
    for s in range(info[SIZE]):
        z[active[s]] = max(za[s], 0.0)
        if not np.isfinite(za[s]):
            z[active[s]] = 0.0
            verdict = NOT_FINITE if verdict == RUNNING else verdict
    if verdict == RUNNING:
        return RUNNING
    return last_resort(
        M, q, tolerance, verdict, active, row, column, work, L, perm, basis, z, w, measures, best_z, best_scaled, info
    )  # fmt: skip


@kernel
def settled(
    M: Floats,
    q: Floats,
    strict: float,
    C: Floats,
    L: Floats,
    V: Floats,
    d: Floats,
    za: Floats,
    w: Floats,
    floor: Floats,
    change: Floats,
    active: Ints,
    place: Ints,
    row_size: Floats,
    measures: Floats,
    z: Floats,
    info: Ints,
) -> bool:
    """Refine z once with the residual of the original rows, clip rounding below zero, and judge it.

    The columns read bound the units of the scaled residual from below: a z that passes by them passes by all of M,
    whose other columns then need not be read.
    """
    n = q.shape[0]
    k = info[SIZE]
    block_solve(L, V, d, w, active, change, info)
    for i in range(n):
        z[i] = 0.0
    q_size = 0.0
    for s in range(k):
        za[s] = max(za[s] + change[s], 0.0)
        z[active[s]] = za[s]
    evaluate(q, C, place, za, k, w)
    thresholds(q, row_size, za, k, strict, floor)
    for i in range(n):
        q_size = max(q_size, abs(q[i]))
    limit = 1e-8 * max(1.0, q_size)
    passed = True
    for i in range(n):
        value = w[i] if z[i] == 0.0 else abs(w[i])
        if z[i] > 0.0:
            value = -value
        if not (value >= floor[i] and value >= -limit):
            passed = False
    if passed:
        return True
    lcp_residuals(M, q, z, w, measures)
    return is_solved(measures, strict)


@kernel(inner=True)
def last_resort(
    M: Floats,
    q: Floats,
    tolerance: float,
    verdict: int,
    active: Ints,
    row: Floats,
    column: Floats,
    work: Floats,
    A: Floats,
    perm: Ints,
    basis: Ints,
    z: Floats,
    w: Floats,
    measures: Floats,
    best_z: Floats,
    best_scaled: Floats,
    info: Ints,
) -> int:
    """From the final z: its basis solved with row pivoting in equilibrated units, then a few steps beside it.

    Factors updated without pivoting may have lost what this finds. ``z`` becomes the best candidate met.
    """
    n = q.shape[0]
    lcp_residuals(M, q, z, w, measures)
    keep_best(z, measures, best_z, best_scaled)
    equilibrate(M, row, column, 4, work)
    strict = STRICTNESS * tolerance
    k = info[SIZE]
    for s in range(k):
        basis[s] = active[s]
    if accept(M, q, row, column, basis, k, A, perm, work, z, w, measures, strict):
        return SOLVED
    if k > 0 and measures[0] < np.inf:
        keep_best(z, measures, best_z, best_scaled)
    for i in range(n):
        z[i] = best_z[i]
    if polish(M, q, row, column, basis, A, perm, work, z, w, measures, strict, best_z, best_scaled):
        return SOLVED
    for i in range(n):
        z[i] = best_z[i]
    lcp_residuals(M, q, z, w, measures)
    return SOLVED if is_solved(measures, tolerance) else verdict


@kernel
def active_set_pivoting(
    M: Floats, q: Floats, z0: Floats, has_z0: bool, options: Floats, wf: Floats, wi: Ints, z: Floats, info: Ints
) -> int:
    """Solve LCP(M, q) to the end; see `active_set_drive`. Returns a code of `lcp.kernels.codes`."""
    info[RULE] = START
    return active_set_drive(M, q, z0, has_z0, options, wf, wi, z, info, 1 << 60)
