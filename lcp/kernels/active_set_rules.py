"""Which indices enter and leave the active set: the three rules of `lcp.kernels.active_set_pivoting`.

Each function makes one round and returns `RUNNING`, `SOLVED` where nothing is infeasible any more (in rounding the
driver judges), or why it cannot go on. ``info[RULE]`` is the rule of the next round.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from lcp.kernels import Ints, kernel
from lcp.kernels.active_block import (
    MEMORY,
    SIZE,
    SYMMETRIC,
    ActiveSet,
    block_solve,
    discard,
    evaluate,
    insert,
    thresholds,
)
from lcp.kernels.codes import RAY, RUNNING, SINGULAR_BASIS, SOLVED
from lcp.kernels.factor_update import backward

# Places in the vector of information (SIZE and SYMMETRIC are 0 and 1).
RULE: Final = 2
PIVOTS: Final = 3
ROUNDS: Final = 4
BEST: Final = 5
PATIENCE: Final = 6
IDLE: Final = 7
LEVEL: Final = 8
WARM: Final = 9
INFO_SIZE: Final = 10

# Rules, in the order in which they are taken up; START comes before the first.
START: Final = 0
BLOCKS: Final = 1
PRIMAL: Final = 2
GREEDY: Final = 3
LEAST: Final = 4

# Block exchanges that may fail to lessen what is infeasible.
BACKUPS: Final = 8
# Operations on factors in one round, so that an interrupt is heeded: about a twentieth of a second.
WORK: Final = 100_000_000
# Part of the largest entry of a direction below which an entry is rounding.
PIVOT: Final = 1e-9


@kernel(inner=True)
def block_round(t: ActiveSet, tolerance: float, limit: int) -> int:
    """Exchange everything infeasible at once, as long as that lessens it every few rounds, up to ``limit`` pivots."""
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
    info[PATIENCE] -= 1
    if infeasible < info[BEST]:
        info[BEST] = infeasible
        info[PATIENCE] = BACKUPS
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
    if leaving >= 0:
        length = 0.0
        for s in range(k):
            change = step * (target[s] - za[s])
            length = max(length, abs(change))
            za[s] = max(za[s] + change, 0.0)
        info[PIVOTS] += 1
        info[IDLE] = 0 if length > -z_floor else info[IDLE] + 1
        return RUNNING if discard(t, leaving) else SINGULAR_BASIS
    for s in range(k):
        if abs(target[s] - za[s]) > -z_floor:
            info[IDLE] = 0
        za[s] = max(target[s], 0.0)
    evaluate(t)
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
    if leaving < 0:
        for i in range(n):
            t.direction[i] = 0.0
        for s in range(k):
            t.direction[active[s]] = max(-above[s], 0.0)
        t.direction[entering] = 1.0
        return RAY
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
    za, w, floor, active, slot, info = t.za, t.w, t.floor, t.active, t.slot, t.info
    n = w.shape[0]
    z_floor = basic_values(t, tolerance)
    if info[RULE] == GREEDY:
        signature = signature_of(active, info[SIZE])
        for m in range(min(info[IDLE], MEMORY)):
            if t.seen[m] == signature:
                info[RULE] = LEAST
        t.seen[info[IDLE] % MEMORY] = signature
        info[IDLE] += 1
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
    if leaving < 0 and entering < 0:
        return SOLVED
    if info[RULE] == LEAST and leaving >= 0 and entering >= 0:
        if active[leaving] < entering:
            entering = -1
        else:
            leaving = -1
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
