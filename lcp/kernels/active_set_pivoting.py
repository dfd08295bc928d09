"""Principal pivoting on a small active set: its block is kept factored, and rows outside it are only evaluated.

A round costs k^2 for the block and n k for w = q + M_a z_a, an insertion one column of M. Three rules follow one
another:

    START -> BLOCKS -> PRIMAL (symmetric block) -> end
                    -> GREEDY (other block)     -> LEAST -> end

BLOCKS exchanges everything infeasible at once. PRIMAL is the primal active set method. GREEDY makes single exchanges,
and LEAST follows Murty's least-index rule after a set has come back. A rule makes one round and returns `RUNNING`,
`SOLVED` if nothing is infeasible any more (up to rounding, which the driver checks), or why it cannot go on.
``info[RULE]`` is the rule of the next round. The answer is refined once and measured on the original data before it is
claimed.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from lcp.kernels import ITERATION_LIMIT, NOT_FINITE, RAY, RUNNING, SINGULAR_BASIS, SOLVED, STALLED, Floats, Ints, kernel
from lcp.kernels.active_set_block import (
    MEMORY,
    SIZE,
    SYMMETRIC,
    ActiveSet,
    active_set,
    backward,
    block_solve,
    discard,
    evaluate,
    insert,
    thresholds,
)
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

# Places in the vector of information (SIZE and SYMMETRIC are 0 and 1).
RULE, PIVOTS, BEST, PATIENCE, IDLE, LEVEL, WARM, INFO_SIZE = range(2, 10)

# Rules, in the order in which they are taken up; START comes before the first.
START, BLOCKS, PRIMAL, GREEDY, LEAST = range(5)

# Block exchanges that may fail to lessen what is infeasible.
BACKUPS: Final = 8
# Operations on factors in one round, so that an interrupt is heeded: about a twentieth of a second.
WORK: Final = 100_000_000
# Part of the largest entry of a direction below which an entry is rounding.
PIVOT: Final = 1e-9


@kernel(inner=True)
def block_round(t: ActiveSet, tolerance: float, limit: int) -> int:
    """Exchange everything infeasible at once, as long as that lessens it every few rounds, up to ``limit`` pivots."""
    # Values of the present basis, and how many are infeasible.
    za, w, slot, info = t.za, t.w, t.slot, t.info
    n = w.shape[0]
    z_floor = basic_values(t, tolerance)
    infeasible = 0
    for s in range(info[SIZE]):
        if za[s] < z_floor:
            infeasible += 1
    for i in range(n):
        if w[i] < t.floor[i] and slot[i] < 0:
            infeasible += 1
    if infeasible == 0:
        return SOLVED
    # Rounds may fail to lessen this number only so often.
    info[PATIENCE] -= 1
    if infeasible < info[BEST]:
        info[BEST] = infeasible
        info[PATIENCE] = BACKUPS
    # Remove negative z, then insert negative w, while work and pivots last.
    moved = 0
    if info[PATIENCE] >= 0:
        work = WORK
        for s in range(info[SIZE] - 1, -1, -1):
            if za[s] < z_floor and work > 0 and info[PIVOTS] + moved < limit:
                work -= info[SIZE] * info[SIZE]
                # What leaves is no candidate to enter: its w is zero but for rounding.
                w[t.active[s]] = 0.0
                moved += 1
                if not discard(t, s):
                    return SINGULAR_BASIS
        for j in range(n):
            if w[j] < t.floor[j] and slot[j] < 0 and work > 0 and info[PIVOTS] + moved < limit:
                work -= info[SIZE] * info[SIZE]
                if insert(t, j):
                    moved += 1
        info[PIVOTS] += moved
    # Nothing could move: the next rule begins, PRIMAL from a feasible point.
    if moved == 0:
        info[RULE] = PRIMAL if info[SYMMETRIC] != 0 else GREEDY
        if info[RULE] == PRIMAL:
            for s in range(info[SIZE] - 1, -1, -1):
                if not za[s] > 0.0:
                    discard(t, s)
    return RUNNING


@kernel(inner=True)
def basic_values(t: ActiveSet, tolerance: float) -> float:
    """Values of the active z and of all w, and what counts as zero of them: returned for z, in ``floor`` for w."""
    block_solve(t, t.q, t.za)
    evaluate(t)
    return thresholds(t, t.za, tolerance)


@kernel(inner=True)
def primal_round(t: ActiveSet, tolerance: float) -> int:
    """One step of the primal active set method from a point za >= 0; on `RAY` ``direction`` lowers the energy.

    While steps have no length the least index enters and of tied indices the least leaves (Chang and Cottle 1980).
    """
    # The minimum of the energy on the active set, and the step towards it that z >= 0 permits.
    za, w, target, above, active, info = t.za, t.w, t.target, t.above, t.active, t.info
    n = w.shape[0]
    k = info[SIZE]
    least = info[IDLE] > 4
    block_solve(t, t.q, target)
    z_floor = thresholds(t, target, tolerance)
    step = 1.0
    leaving = -1
    for s in range(k):
        if target[s] < z_floor:
            ratio = za[s] / (za[s] - target[s])
            if ratio < step or (leaving >= 0 and least and ratio == step and active[s] < active[leaving]):
                step = ratio
                leaving = s
    # Blocked: move as far as possible, and drop the blocking index.
    if leaving >= 0:
        length = 0.0
        for s in range(k):
            change = step * (target[s] - za[s])
            length = max(length, abs(change))
            za[s] = max(za[s] + change, 0.0)
        info[PIVOTS] += 1
        info[IDLE] = 0 if length > -z_floor else info[IDLE] + 1
        return RUNNING if discard(t, leaving) else SINGULAR_BASIS
    # The minimum is feasible: go there.
    for s in range(k):
        if abs(target[s] - za[s]) > -z_floor:
            info[IDLE] = 0
        za[s] = max(target[s], 0.0)
    evaluate(t)
    # Choose the index that lowers the energy most, or the least index.
    entering = -1
    best = 0.0
    for j in range(n):
        if t.slot[j] < 0 and w[j] < t.floor[j]:
            # The energy that j alone could take out is w_j^2 / (2 M_jj), whatever the units.
            gain = w[j] * w[j] / max(t.M[j, j], 1e-300)
            if entering < 0 or (gain > best and not least):
                best = gain
                entering = j
    if entering < 0:
        return SOLVED
    # Insert it; a block that is not symmetric has no energy.
    info[PIVOTS] += 1
    info[IDLE] += 1
    entered = insert(t, entering)
    if entered:
        za[k] = 0.0
    if info[SYMMETRIC] == 0:
        info[RULE] = GREEDY
        info[IDLE] = 0
        return RUNNING
    if entered:
        return RUNNING
    # Redundant beside the active ones: along the null vector (or one of negative curvature) until another reaches zero.
    # The null vector, and the step along it.
    backward(t.L, k, above)
    size = 1.0
    for s in range(k):
        size = max(size, abs(above[s]))
    step = np.inf
    leaving = -1
    for s in range(k):
        if above[s] > PIVOT * size:
            ratio = za[s] / above[s]
            if ratio < step or (least and ratio == step and active[s] < active[leaving]):
                step = ratio
                leaving = s
    # Nothing blocks: the energy falls for ever along this direction.
    if leaving < 0:
        t.direction[:n] = 0.0
        for s in range(k):
            t.direction[active[s]] = max(-above[s], 0.0)
        t.direction[entering] = 1.0
        return RAY
    # Move, and exchange the blocking index for the entering one.
    for s in range(k):
        za[s] = max(za[s] - step * above[s], 0.0)
    if step > -z_floor:
        info[IDLE] = 0
    info[PIVOTS] += 1
    if not discard(t, leaving) or not insert(t, entering):
        return SINGULAR_BASIS
    za[k - 1] = step
    return RUNNING


@kernel(inner=True)
def single_round(t: ActiveSet, tolerance: float) -> int:
    """Exchange the most negative w and the most negative z; once a set comes back, the least infeasible index only."""
    # Values of the present basis.
    za, w, floor, active, slot, info = t.za, t.w, t.floor, t.active, t.slot, t.info
    n = w.shape[0]
    z_floor = basic_values(t, tolerance)
    # A set that comes back ends the greedy rule.
    if info[RULE] == GREEDY:
        signature = signature_of(active, info[SIZE])
        for m in range(min(info[IDLE], MEMORY)):
            if t.seen[m] == signature:
                info[RULE] = LEAST
        t.seen[info[IDLE] % MEMORY] = signature
        info[IDLE] += 1
    # Choose the z to leave and the w to enter.
    leaving = -1
    for s in range(info[SIZE]):
        if za[s] < z_floor:
            if info[RULE] == LEAST:
                worse = leaving < 0 or active[s] < active[leaving]
            else:
                worse = leaving < 0 or za[s] < za[leaving]
            if worse:
                leaving = s
    entering = -1
    for j in range(n):
        if slot[j] >= 0 or not w[j] < floor[j]:
            continue
        # Both floors are negative: w_j lies further below its floor.
        if entering < 0 or (info[RULE] == GREEDY and w[j] * floor[entering] > w[entering] * floor[j]):
            entering = j
    # With the least-index rule only one of them moves.
    if leaving < 0 and entering < 0:
        return SOLVED
    if info[RULE] == LEAST and leaving >= 0 and entering >= 0:
        if active[leaving] < entering:
            entering = -1
        else:
            leaving = -1
    # Exchange them.
    if leaving >= 0:
        info[PIVOTS] += 1
        if not discard(t, leaving):
            return SINGULAR_BASIS
    if entering >= 0:
        info[PIVOTS] += 1
        if not insert(t, entering) and leaving < 0:
            # Any other that can enter may make this one regular.
            for j in range(n):
                if slot[j] < 0 and j != entering and w[j] < floor[j] and insert(t, j):
                    return RUNNING
            return SINGULAR_BASIS
    return RUNNING


@kernel(inner=True)
def signature_of(active: Ints, k: int) -> int:
    """A number that depends on the set, not on its order; a rare coincidence costs a slower rule, nothing else."""
    signature = 0
    for s in range(k):
        mixed = ((active[s] + 1) * 2654435761) % 2147483647
        mixed = ((mixed ^ (mixed >> 13)) * 97755755) % 2305843009213693951
        signature ^= mixed
    return signature


# Places in the vector of options.
MAX_PIVOTS, ZERO_TOLERANCE, TOLERANCE, FREE_OF_UNITS, OPTIONS_SIZE = range(5)

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
    # Views of the workspace.
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

    # Options.
    limit = max(1000, 50 * n)
    if not np.isnan(options[MAX_PIVOTS]):
        limit = int(options[MAX_PIVOTS])
    tolerance = options[TOLERANCE]

    # First call: everything is inactive, or the indices of the start are inserted.
    if info[RULE] == START:
        info[:INFO_SIZE] = 0
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

    # Rounds, until the rule ends or the budget is spent.
    verdict = RUNNING
    for _ in range(budget):
        if info[PIVOTS] >= limit:
            verdict = ITERATION_LIMIT
            break
        sharp = options[ZERO_TOLERANCE] * 100.0 ** (-info[LEVEL])
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
            # A smaller tolerance may find more infeasible pairs.
            info[BEST] = n + 1
            verdict = RUNNING
        if verdict != RUNNING:
            break
    # The present candidate.
    z[:n] = 0.0
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
    # One step of refinement, in the values of the active set.
    q, w, z = t.q, t.w, end.z
    n = q.shape[0]
    block_solve(t, w, t.target)
    z[:n] = 0.0
    q_size = 0.0
    for s in range(t.info[SIZE]):
        t.za[s] = max(t.za[s] + t.target[s], 0.0)
        z[t.active[s]] = t.za[s]
    # Test w against the thresholds of the columns read, and of the natural map.
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
    # The present z is the first candidate.
    meets(end, tolerance)
    keep_best(end)
    # Solve its basis with row pivoting.
    equilibrate(t.M, end.row, end.column, 4, end.work)
    strict = STRICTNESS * tolerance
    k = t.info[SIZE]
    for s in range(k):
        end.active[s] = t.active[s]
    if accept(end, k, strict):
        return SOLVED
    if k > 0 and end.measures[SCALED] < np.inf:
        keep_best(end)
    # Try active sets beside the best candidate.
    take_best(end)
    if polish(end, strict):
        return SOLVED
    take_best(end)
    return SOLVED if meets(end, tolerance) else verdict
