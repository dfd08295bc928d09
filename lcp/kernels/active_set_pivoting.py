"""Principal pivoting on a small active set: its block is kept factored, rows outside it are only evaluated.

A round costs k^2 for the block and n k for w = q + M_a z_a, an insertion one column of M. Three rules follow one
another (`lcp.kernels.active_set_rules`): exchanges of everything infeasible at once; then, for symmetric blocks, the
primal active set method, for others single exchanges with Murty's least-index rule at the end. The answer is refined
once and measured on the original data before it is claimed.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.active_block import (
    MEMORY,
    SIZE,
    SYMMETRIC,
    ActiveSet,
    active_set,
    block_solve,
    evaluate,
    insert,
    thresholds,
)
from lcp.kernels.active_set_rules import (
    BEST,
    BLOCKS,
    INFO_SIZE,
    LEVEL,
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
from lcp.kernels.final_basis import (
    STRICTNESS,
    FinalBasis,
    accept,
    final_basis,
    final_floats,
    forget_best,
    keep_best,
    meets,
    polish,
    take_best,
)
from lcp.kernels.residuals import SCALED

__all__ = ["INFO_SIZE", "PIVOTS", "ROUNDS", "RULE", "START", "WARM", "active_set_drive", "active_set_pivoting"]

# Places in the vector of options.
MAX_PIVOTS: Final = 0
ZERO_TOLERANCE: Final = 1
TOLERANCE: Final = 2
FREE_OF_UNITS: Final = 3
OPTIONS_SIZE: Final = 4

# How often the zero tolerance may be sharpened, hundredfold, when what it calls feasible is not yet a solution.
LEVELS: Final = 2


@kernel(inline=True)
def active_set_float_size(n: int) -> int:
    """Length of the float workspace; what belongs to indices that never become active is never touched."""
    return 9 * n + 3 * n * n + 2 * n + final_floats(n)


@kernel(inline=True)
def active_set_int_size(n: int) -> int:
    """Length of the integer workspace."""
    return 5 * n + MEMORY


@kernel
def active_set_drive(
    M: Floats, q: Floats, z0: Floats, has_z0: bool, options: Floats, wf: Floats, wi: Ints, z: Floats, info: Ints,
    budget: int,
) -> int:  # fmt: skip
    """Make at most ``budget`` rounds; `RUNNING` asks to be called again with everything left as it is.

    A first call has ``info[RULE] == START``. ``z`` holds the present candidate, on `RAY` wf[:n] a direction along
    which the energy of a symmetric problem falls for ever.
    """
    n = q.shape[0]
    t = active_set(M, q, wf, wi, info)
    at = 9 * n + 3 * n * n
    basis = wi[3 * n + MEMORY : 4 * n + MEMORY]
    perm = wi[4 * n + MEMORY : 5 * n + MEMORY]
    # The factors have done their part when the final basis is solved anew.
    end = final_basis(
        M, q, wf[at : at + n], wf[at + n : at + 2 * n], basis, t.L, perm, z, t.w, wf[at + 2 * n :],
        options[FREE_OF_UNITS] != 0.0,
    )  # fmt: skip

    limit = max(1000, 50 * n)
    if not np.isnan(options[MAX_PIVOTS]):
        limit = int(options[MAX_PIVOTS])
    tolerance = options[TOLERANCE]

    if info[RULE] == START:
        for i in range(INFO_SIZE):
            info[i] = 0
        info[SYMMETRIC] = 1
        info[BEST] = n + 1
        forget_best(end)
        least = 0.0
        for i in range(n):
            z[i] = 0.0
            t.slot[i] = -1
            t.place[i] = i
            t.row_size[i] = 0.0
            least = min(least, q[i])
        if least >= 0.0:
            return SOLVED
        if has_z0:
            for i in range(n):
                if z0[i] > 0.0:
                    insert(t, i)
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
            verdict = block_round(t, sharp, limit)
        elif info[RULE] == PRIMAL:
            verdict = primal_round(t, sharp)
        else:
            verdict = single_round(t, sharp)
        if verdict == SOLVED:
            if settled(t, end, STRICTNESS * tolerance):
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
        z[t.active[s]] = max(t.za[s], 0.0)
        if not np.isfinite(t.za[s]):
            z[t.active[s]] = 0.0
            verdict = NOT_FINITE if verdict == RUNNING else verdict
    if verdict == RUNNING:
        return RUNNING
    return last_resort(t, end, tolerance, verdict)


@kernel(inner=True)
def settled(t: ActiveSet, end: FinalBasis, strict: float) -> bool:
    """Refine z once with the residual of the original rows, clip rounding below zero; whether it passes.

    The columns read bound the units of the scaled residual from below: a z that passes by them passes by all of M,
    whose other columns then need not be read.
    """
    q, w, z = t.q, t.w, end.z
    n = q.shape[0]
    block_solve(t, w, t.target)
    for i in range(n):
        z[i] = 0.0
    q_size = 0.0
    for s in range(t.info[SIZE]):
        t.za[s] = max(t.za[s] + t.target[s], 0.0)
        z[t.active[s]] = t.za[s]
    evaluate(t)
    thresholds(t, t.za, strict)
    for i in range(n):
        q_size = max(q_size, abs(q[i]))
    limit = 1e-8 * max(1.0, q_size)
    passed = True
    for i in range(n):
        value = w[i] if z[i] == 0.0 else abs(w[i])
        if z[i] > 0.0:
            value = -value
        if not (value >= t.floor[i] and value >= -limit):
            passed = False
    return (passed and not end.free_of_units) or meets(end, strict)


@kernel(inner=True)
def last_resort(t: ActiveSet, end: FinalBasis, tolerance: float, verdict: int) -> int:
    """From the final z: its basis solved with row pivoting in equilibrated units, then a few steps beside it.

    Factors updated without pivoting may have lost what this finds. ``z`` becomes the best candidate met.
    """
    meets(end, tolerance)
    keep_best(end)
    equilibrate(t.M, end.row, end.column, 4, end.work)
    strict = STRICTNESS * tolerance
    k = t.info[SIZE]
    for s in range(k):
        end.active[s] = t.active[s]
    if accept(end, k, strict):
        return SOLVED
    if k > 0 and end.measures[SCALED] < np.inf:
        keep_best(end)
    take_best(end)
    if polish(end, strict):
        return SOLVED
    take_best(end)
    return SOLVED if meets(end, tolerance) else verdict


@kernel
def active_set_pivoting(
    M: Floats, q: Floats, z0: Floats, has_z0: bool, options: Floats, wf: Floats, wi: Ints, z: Floats, info: Ints
) -> int:
    """Solve LCP(M, q) to the end; see `active_set_drive`. Returns a code of `lcp.kernels.codes`."""
    info[RULE] = START
    return active_set_drive(M, q, z0, has_z0, options, wf, wi, z, info, 1 << 60)
