"""Principal pivoting on a small active set: its block is factored, and rows outside it are only evaluated.

A round costs k^2 for the block and n k for w = q + M_a z_a, an insertion one column of M. Three rules are applied in
order:

    START -> BLOCKS -> PRIMAL (symmetric block) -> end
                    -> GREEDY (other block)     -> LEAST -> end

BLOCKS exchanges all infeasible indices together. PRIMAL is the primal active set method. GREEDY makes single exchanges,
and LEAST follows Murty's least-index rule after a set has occurred twice. A rule makes one round and returns `RUNNING`,
or `SOLVED` if no index is infeasible (up to rounding, which the driver checks), or the reason why it cannot continue.
``info[RULE]`` is the rule of the next round. The solution is refined once and measured on the original data before it
is claimed.
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

# Indices in the vector of information (SIZE and SYMMETRIC are 0 and 1).
RULE, PIVOTS, BEST, PATIENCE, IDLE, LEVEL, WARM, INFO_SIZE = range(2, 10)

# Rules, in the order of their use; START comes before the first.
START, BLOCKS, PRIMAL, GREEDY, LEAST = range(5)

# Number of successive block exchanges that need not reduce the number of infeasible indices.
BACKUPS: Final = 8
# Operations on factors in one round, about a twentieth of a second, so that Ctrl-C is handled.
WORK: Final = 100_000_000
# Fraction of the largest entry of a direction below which an entry is rounding.
PIVOT: Final = 1e-9


@kernel(inner=True)
def block_round(t: ActiveSet, tolerance: float, limit: int) -> int:
    """Exchange all infeasible indices together, in at most ``limit`` pivots in all, while this reduces their number.

    Return `SOLVED`, `SINGULAR_BASIS` or `RUNNING`. If no index was exchanged, ``info[RULE]`` becomes PRIMAL for a
    symmetric block, from a basis with za > 0, otherwise GREEDY.
    """
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
    # Only a limited number of rounds may fail to reduce it.
    info[PATIENCE] -= 1
    if infeasible < info[BEST]:
        info[BEST] = infeasible
        info[PATIENCE] = BACKUPS
    # Remove negative z, then insert negative w, while work and pivots last.
    exchanged = 0
    if info[PATIENCE] >= 0:
        work = WORK
        for s in range(info[SIZE] - 1, -1, -1):
            if za[s] < z_floor and work > 0 and info[PIVOTS] + exchanged < limit:
                work -= info[SIZE] * info[SIZE]
                # A removed index is not a candidate to enter: its w is zero except for rounding.
                w[t.active[s]] = 0.0
                exchanged += 1
                if not discard(t, s):
                    return SINGULAR_BASIS
        for j in range(n):
            if w[j] < t.floor[j] and slot[j] < 0 and work > 0 and info[PIVOTS] + exchanged < limit:
                work -= info[SIZE] * info[SIZE]
                if insert(t, j):
                    exchanged += 1
        info[PIVOTS] += exchanged
    # No index could move: the next rule starts, PRIMAL from a feasible point.
    if exchanged == 0:
        info[RULE] = PRIMAL if info[SYMMETRIC] != 0 else GREEDY
        if info[RULE] == PRIMAL:
            for s in range(info[SIZE] - 1, -1, -1):
                if not za[s] > 0.0:
                    discard(t, s)
    return RUNNING


@kernel(inner=True)
def basic_values(t: ActiveSet, tolerance: float) -> float:
    """Compute the active z (``za``) and all w, and fill ``floor``; return the threshold of z. See `thresholds`."""
    block_solve(t, t.q, t.za)
    evaluate(t)
    return thresholds(t, t.za, tolerance)


@kernel(inner=True)
def primal_round(t: ActiveSet, tolerance: float) -> int:
    """Make one step of the primal active set method from a point za >= 0; return a code.

    The code is `RUNNING`, `SOLVED`, `SINGULAR_BASIS`, or `RAY` with a ``direction`` along which the energy falls
    without bound. After several steps of length zero, the least index enters and of tied indices the least leaves
    (Chang and Cottle 1980).
    """
    # The minimum of the energy on the active set, and the admissible fraction of the step to it.
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
    # Blocked: move as far as possible, and remove the blocking index.
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
            # The decrease of energy by j alone is w_j^2 / (2 M_jj), which does not depend on units.
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
    # Linearly dependent: move along the null vector (or one of negative curvature) until another unknown reaches zero.
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
    # No index blocks: the energy decreases without bound along this direction.
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
    """Exchange the most negative w and the most negative z; after a repeated set, only the least infeasible index.

    Return `SOLVED`, `SINGULAR_BASIS` or `RUNNING`.
    """
    # Values of the present basis.
    za, w, floor, active, slot, info = t.za, t.w, t.floor, t.active, t.slot, t.info
    n = w.shape[0]
    z_floor = basic_values(t, tolerance)
    # A repeated set ends the greedy rule.
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
        # Both floors are negative: w_j is farther below its floor.
        if entering < 0 or (info[RULE] == GREEDY and w[j] * floor[entering] > w[entering] * floor[j]):
            entering = j
    # With the least-index rule only one of them is exchanged.
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
            # Any other index that can enter may make this block regular.
            for j in range(n):
                if slot[j] < 0 and j != entering and w[j] < floor[j] and insert(t, j):
                    return RUNNING
            return SINGULAR_BASIS
    return RUNNING


@kernel(inner=True)
def signature_of(active: Ints, k: int) -> int:
    """Return a number that depends on the set, not on its order; a rare coincidence only leads to a slower rule."""
    signature = 0
    for s in range(k):
        mixed = ((active[s] + 1) * 2654435761) % 2147483647
        mixed = ((mixed ^ (mixed >> 13)) * 97755755) % 2305843009213693951
        signature ^= mixed
    return signature


# Indices in the vector of options.
MAX_PIVOTS, ZERO_TOLERANCE, TOLERANCE, FREE_OF_UNITS, OPTIONS_SIZE = range(5)

# Number of hundredfold reductions of the zero tolerance, if its feasible point is not yet a solution.
LEVELS: Final = 2


@kernel(inline=True)
def active_set_float_size(n: int) -> int:
    """Return the length of the float workspace; parts for indices that never become active are not touched."""
    return 9 * n + 3 * n * n + 2 * n + final_floats(n)


@kernel(inline=True)
def active_set_int_size(n: int) -> int:
    """Return the length of the integer workspace."""
    return 5 * n + MEMORY


@kernel
def active_set_drive(
    M: Floats, q: Floats, z0: Floats, has_z0: bool, options: Floats, wf: Floats, wi: Ints, z: Floats, info: Ints,
    budget: int,
) -> int:  # fmt: skip
    """Make at most ``budget`` rounds; on `RUNNING` call again with everything unchanged.

    The first call has ``info[RULE] == START``. ``z`` is the present candidate; on `RAY` wf[:n] is a direction along
    which the energy of a symmetric problem decreases without bound.
    """
    # Views of the workspace.
    n = q.shape[0]
    t = active_set(M, q, wf, wi, info)
    at = 9 * n + 3 * n * n
    basis = wi[3 * n + MEMORY : 4 * n + MEMORY]
    perm = wi[4 * n + MEMORY : 5 * n + MEMORY]
    # The factors are not needed any more when the final basis is solved again.
    end = final_basis(
        M, q, wf[at : at + n], wf[at + n : at + 2 * n], basis, t.L, perm, z, t.w, wf[at + 2 * n :],
        options[FREE_OF_UNITS] != 0.0,
    )  # fmt: skip

    # Options.
    limit = max(1000, 50 * n)
    if not np.isnan(options[MAX_PIVOTS]):
        limit = int(options[MAX_PIVOTS])
    tolerance = options[TOLERANCE]

    # First call: no index is active, or the indices of the start are inserted.
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
            if refine_and_test(t, end, STRICTNESS * tolerance):
                return SOLVED
            if info[LEVEL] >= LEVELS:
                verdict = STALLED
                break
            info[LEVEL] += 1
            # A smaller tolerance can find more infeasible pairs.
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
def refine_and_test(t: ActiveSet, end: FinalBasis, strict: float) -> bool:
    """Refine z once with the residual of the original rows, in ``end.z``; return True if it is a solution."""
    block_solve(t, t.w, t.target)
    end.z[: t.q.shape[0]] = 0.0
    for s in range(t.info[SIZE]):
        t.za[s] = max(t.za[s] + t.target[s], 0.0)
        end.z[t.active[s]] = t.za[s]
    return meets(end, strict)


@kernel(inner=True)
def last_resort(t: ActiveSet, end: FinalBasis, tolerance: float, verdict: int) -> int:
    """Solve the final basis again with row pivoting in equilibrated units, then try neighbouring bases.

    The factors updated without pivoting may be too inaccurate for its solution. ``end.z`` becomes the best candidate.
    Return `SOLVED` if it meets the tolerance, otherwise ``verdict``.
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
    # Try neighbouring active sets of the best candidate.
    take_best(end)
    if polish(end, strict):
        return SOLVED
    take_best(end)
    return SOLVED if meets(end, tolerance) else verdict
