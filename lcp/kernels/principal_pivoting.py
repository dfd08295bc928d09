"""The principal pivoting methods of Cottle and Dantzig, and of Murty, with bounds on both sides.

Cottle and Dantzig (1968); Cottle, Pang and Stone (1992), section 4.3. A major cycle takes one pair that is not
complementary and drives it along the path on which all pairs that are complementary stay so; z_r and w_r of the driven
pair move in one direction only, until one of them reaches the value that makes the pair complementary. A pair that is
blocked changes places by itself or, where its diagonal entry vanishes, together with the driven one. Every major cycle
mends a pair and spoils none, so that there are at most n of them. Where nothing else blocks, a pair that is violated
already does, at a limit far out on its wrong side; without that limit a ray would prove nothing.

K. G. Murty, Note on a Bard-type scheme for solving the complementarity problem, Opsearch 11 (1974): of the pairs that
are not complementary the first, in a fixed order, is mended, whatever becomes of the others. With bounds a pair has
three states, and the rule leads to the sink of the unique sink orientation of a grid (B. Gaertner, W. D. Morris,
L. Ruest, Unique sink orientations of grids, Algorithmica 51 (2008)).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.codes import ITERATION_LIMIT, NOT_FINITE, RAY, RUNNING, SINGULAR_BASIS, SOLVED
from lcp.kernels.principal_tableau import PIVOTS, PrincipalTableau, advance, swap_one, swap_two

# Places in the vector of information, beside `PIVOTS`.
DRIVEN: Final = 1
SENSE: Final = 2
WRONG_SIGN: Final = 3
IDLE: Final = 4
MAJOR: Final = 5

# Steps without length after which ties are broken by the least index alone (Cottle and Chang 1992).
PATIENCE: Final = 2


@kernel(inner=True)
def violation(t: PrincipalTableau, tolerance: float, i: int) -> float:
    """By how much pair i fails to be complementary, positive where z_i (or w_i) has to grow; 0 within rounding."""
    b, y, lo, hi = t.b[i], t.y[i], t.lo[i], t.hi[i]
    margin = tolerance * t.size[i]
    if t.inside[i] == 1:
        if b < lo - margin:
            return lo - b
        if b > hi + margin:
            return hi - b
        return -y
    if y < lo:
        return lo - y
    if y > hi:
        return hi - y
    if lo == hi or abs(b) <= margin:
        return 0.0
    if b < 0.0 and y < hi:
        return -b
    if b > 0.0 and y > lo:
        return -b
    return 0.0


@kernel(inner=True)
def room(t: PrincipalTableau, tolerance: float, i: int, rate: float) -> float:
    """How far the basic variable of pair i, not the driven one, may move in the direction of ``rate``."""
    b, y, lo, hi = t.b[i], t.y[i], t.lo[i], t.hi[i]
    margin = tolerance * t.size[i]
    if t.inside[i] == 1:
        # Beyond a bound already, and going further: another major cycle mends it.
        if rate < 0.0:
            return np.inf if b < lo - margin else max(b - lo, 0.0)
        return np.inf if b > hi + margin else max(hi - b, 0.0)
    if lo == hi:
        return np.inf
    if lo == -np.inf and hi == np.inf:
        # Without bounds w_i = 0 is all there is: kept when met, and met when possible.
        if abs(b) <= margin:
            return 0.0
        return abs(b) if b * rate < 0.0 else np.inf
    if y <= lo:
        return max(b, 0.0) if rate < 0.0 and b >= -margin else np.inf
    return max(-b, 0.0) if rate > 0.0 and b <= margin else np.inf


@kernel
def pivot_loop(
    t: PrincipalTableau, column: Floats, zero_tolerance: float, pivot_tolerance: float, far: float, limit: int,
    info: Ints, budget: int,
) -> int:  # fmt: skip
    """Make at most ``budget`` pivots from the tableau; `RUNNING` asks to be called again with everything as it is.

    ``far`` is where a violated pair blocks. `SOLVED` says that every
    pair is complementary up to rounding; on `RAY` the driven variable can grow for ever, ``column`` being the direction
    of the basic ones.
    """
    T, b, y, inside, lo, hi, size = t.T, t.b, t.y, t.inside, t.lo, t.hi, t.size
    n = b.shape[0]
    spent = 0
    while True:
        r = info[DRIVEN]
        if r < 0:
            worst = 0.0
            for i in range(n):
                amount = violation(t, zero_tolerance, i)
                if abs(amount) > abs(worst):
                    worst = amount
                    r = i
            if r < 0:
                return SOLVED
            if not np.isfinite(worst):
                return NOT_FINITE
            info[DRIVEN] = r
            info[SENSE] = 1 if worst > 0.0 else -1
            position = b[r] if inside[r] == 1 else y[r]
            margin = zero_tolerance * size[r] if inside[r] == 1 else 0.0
            info[WRONG_SIGN] = 1 if lo[r] - margin <= position <= hi[r] + margin else 0
            info[MAJOR] += 1
        if info[PIVOTS] >= limit:
            return ITERATION_LIMIT
        if spent >= budget:
            return RUNNING
        spent += 1
        sense = 1.0 if info[SENSE] > 0 else -1.0
        largest = 0.0
        for i in range(n):
            column[i] = sense * T[i, r]
            largest = max(largest, abs(column[i]))
        floor = pivot_tolerance * largest

        # What the driven pair aims at: w_r = 0 or its far bound, or, from beyond a bound, that bound.
        if info[WRONG_SIGN] == 1:
            z_goal = hi[r] if info[SENSE] > 0 else lo[r]
            w_goal = 0.0
        else:
            z_goal = lo[r] if info[SENSE] > 0 else hi[r]
            w_goal = sense * np.inf
        nonbasic_goal = w_goal if inside[r] == 1 else z_goal
        basic_goal = z_goal if inside[r] == 1 else w_goal
        nonbasic = max(sense * (nonbasic_goal - y[r]), 0.0)
        rate = sense * column[r]
        basic = max(sense * (basic_goal - b[r]), 0.0) / rate if rate > floor else np.inf
        step = min(nonbasic, basic)

        blocking = -1
        least = info[IDLE] > PATIENCE
        for i in range(n):
            if i == r or not abs(column[i]) > floor:
                continue
            distance = room(t, zero_tolerance, i, column[i])
            ratio = distance / abs(column[i])
            if ratio == np.inf:
                continue
            near = zero_tolerance * size[i] / abs(column[i])
            if ratio + near < step or (blocking < 0 and ratio < step):
                step = ratio
                blocking = i
            elif blocking < 0 or least or ratio > step + near:
                continue
            elif abs(T[i, i]) > abs(T[blocking, blocking]):
                # Of pairs that are blocked together the one with the larger pivot changes.
                step = min(step, ratio)
                blocking = i
        limited = step == np.inf
        if limited:
            for i in range(n):
                amount = violation(t, zero_tolerance, i)
                if i != r and abs(column[i]) > floor and amount * column[i] < 0.0:
                    ratio = max(far - abs(amount), 0.0) / abs(column[i])
                    if ratio < step:
                        step = ratio
                        blocking = i
            if blocking < 0:
                return RAY
        if not step < np.inf:
            return NOT_FINITE
        length = 0.0
        for i in range(n):
            change = abs(column[i]) * step
            size[i] = max(size[i], change)
            if change > zero_tolerance * size[i]:
                length = 1.0
        info[IDLE] = 0 if length > 0.0 else info[IDLE] + 1
        advance(t, r, sense * step)
        info[PIVOTS] += 1
        if blocking < 0:
            if nonbasic <= basic:
                y[r] = nonbasic_goal
            else:
                b[r] = basic_goal
                size[r] = max(abs(y[r]), abs(z_goal) if np.isfinite(z_goal) else 0.0)
                swap_one(t, r)
            info[DRIVEN] = -1
            continue
        i = blocking
        if not limited:
            # Exactly: what rests is tested for equality with its bound.
            b[i] = 0.0 if inside[i] == 0 else lo[i] if column[i] < 0.0 else hi[i]
        coupling = max(abs(T[i, r]), abs(T[r, i]))
        if abs(T[i, i]) > pivot_tolerance * coupling:
            swap_one(t, i)
            size[i] = max(abs(b[i]), step)
        else:
            if not abs(T[r, i]) > pivot_tolerance * coupling:
                return SINGULAR_BASIS
            swap_two(t, i, r)
            size[i] = max(abs(b[i]), step)
            size[r] = max(abs(b[r]), step)


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
