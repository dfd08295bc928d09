"""Principal pivoting on a dense tableau: the methods of Cottle and Dantzig, and of Murty.

A dictionary x_B = x + sum_j T[:, j] y_j has one column per nonbasic variable; basic columns, which are unit vectors,
are not stored. In a principal transform every pair (z_i, w_i) keeps row i and column i: b = x + T y with one of each
pair basic (b_i) and the other nonbasic (y_i); ``inside[i]`` is true if z_i is basic. Unlike in Lemke's tableau nonbasic
values need not be zero, because z_i can be at a bound. Data are equilibrated, T = R M C at first, which keeps signs,
complementarity and the classes P and sufficient. R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity
Problem (1992), section 2.3.

Cottle and Dantzig (1968); Cottle, Pang and Stone (1992), section 4.3. A major cycle drives one violated pair along the
path on which all complementary pairs stay complementary. z_r and w_r of the driven pair move in one direction only,
until one of them reaches the value that makes the pair complementary. A blocking pair is exchanged by itself or, if its
diagonal entry vanishes, together with the driven one. Every major cycle makes one pair complementary and violates none,
so there are at most n of them. If no other pair blocks, a violated pair blocks at a limit far on its wrong side;
without this limit a ray would prove nothing.

K. G. Murty, Note on a Bard-type scheme for solving the complementarity problem, Opsearch 11 (1974). The first pair, in
a fixed order, that is not complementary is exchanged; this can violate others. With bounds a pair has three states, and
the rule leads to the sink of the unique sink orientation of a grid (B. Gaertner, W. D. Morris, L. Ruest, Unique sink
orientations of grids, Algorithmica 51 (2008)).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from lcp.kernels import ITERATION_LIMIT, NOT_FINITE, RAY, RUNNING, SINGULAR_BASIS, SOLVED, Floats, Ints, kernel
from lcp.kernels.basis_solve import exchange, solve_active, take_column

# A pivot below this fraction of the largest entry of the tableau makes a basis singular to working precision.
SINGULAR: Final = 1e-14

# Indices in the vector of information: pivots of both methods, then the state of Cottle and Dantzig's.
PIVOTS, DRIVEN, SENSE, WRONG_SIGN, IDLE, INFO_SIZE = range(6)


class PrincipalTableau(NamedTuple):
    """Problem, its scales, and the tableau of one of its principal transforms."""

    M: Floats
    q: Floats
    row: Floats
    column: Floats
    T: Floats
    x: Floats
    b: Floats  # basic values
    y: Floats  # nonbasic values
    inside: Ints
    lo: Floats  # bounds of z, in the units of the tableau
    hi: Floats
    size: Floats  # largest magnitude that was added to each b
    entry: Floats  # n scratch
    pivot_row: Floats  # n + 1 scratch


@kernel(inner=True)
def change_places(t: PrincipalTableau, i: int) -> None:
    """Exchange the basic value and the nonbasic value of pair i, and mark which of z_i and w_i is basic."""
    t.b[i], t.y[i] = t.y[i], t.b[i]
    t.inside[i] = 1 - t.inside[i]


@kernel(inner=True)
def swap_one(t: PrincipalTableau, i: int) -> None:
    """Exchange z_i and w_i of pair i; the pivot is T_ii."""
    take_column(t.T, i, t.entry)
    exchange(t.T, t.x, i, i, t.entry, t.pivot_row)
    change_places(t, i)


@kernel(inner=True)
def swap_two(t: PrincipalTableau, i: int, r: int) -> None:
    """Exchange pairs i and r together, for pairs whose diagonal entries are too small as pivots.

    There are two exchanges off the diagonal; after them rows and columns i and r change places.
    """
    # The two exchanges off the diagonal.
    T, x = t.T, t.x
    n = x.shape[0]
    take_column(T, r, t.entry)
    exchange(T, x, i, r, t.entry, t.pivot_row)
    take_column(T, i, t.entry)
    exchange(T, x, r, i, t.entry, t.pivot_row)
    # Rows and columns i and r change places.
    upper = T[i]
    lower = T[r]
    for j in range(n):
        upper[j], lower[j] = lower[j], upper[j]
    for j in range(n):
        T[j, i], T[j, r] = T[j, r], T[j, i]
    x[i], x[r] = x[r], x[i]
    change_places(t, i)
    change_places(t, r)


@kernel(inner=True)
def advance(t: PrincipalTableau, r: int, step: float) -> None:
    """Move the nonbasic variable of pair r by ``step``, and update the basic ones."""
    for i in range(t.b.shape[0]):
        t.b[i] += t.T[i, r] * step
    t.y[r] += step


@kernel
def enter_basis(t: PrincipalTableau, wanted: Ints, rest: Floats) -> bool:
    """Enter the ``wanted`` z into the tableau with all w basic, and compute its values.

    The largest diagonal pivots come first, then 2 x 2 pivots if the diagonal vanishes. Returns False if this basis is
    singular to working precision; then as many as possible have entered. Nonbasic z have the values ``rest``.
    """
    # The largest entry bounds the pivots.
    T, inside = t.T, t.inside
    n = t.q.shape[0]
    largest = 0.0
    for i in range(n):
        inside[i] = 0
        for j in range(n):
            largest = max(largest, abs(T[i, j]))
    complete = True
    # Enter the wanted z.
    while True:
        # The largest diagonal pivot.
        best = SINGULAR * largest
        first = -1
        for i in range(n):
            if wanted[i] == 1 and inside[i] == 0 and abs(T[i, i]) > best:
                best = abs(T[i, i])
                first = i
        if first >= 0:
            swap_one(t, first)
            continue
        # Without any, the largest pivot of two pairs.
        best = SINGULAR * largest
        second = -1
        for i in range(n):
            for j in range(i):
                if wanted[i] == 1 and wanted[j] == 1 and inside[i] == 0 and inside[j] == 0:
                    size = min(abs(T[i, j]), abs(T[j, i]))
                    if size > best:
                        best = size
                        first = i
                        second = j
        if second < 0:
            break
        swap_two(t, first, second)
    # Nonbasic values, and whether all wanted z have entered.
    for i in range(n):
        if wanted[i] == 1 and inside[i] == 0:
            complete = False
        t.y[i] = 0.0 if inside[i] == 1 else rest[i]
    # Basic values.
    for i in range(n):
        source = T[i]
        total = t.x[i]
        for j in range(n):
            total += source[j] * t.y[j]
        t.b[i] = total
    return complete


@kernel
def resolve(
    t: PrincipalTableau, lo: Floats, hi: Floats, active: Ints, perm: Ints, A: Floats, load: Floats, work: Floats,
    z: Floats,
) -> bool:  # fmt: skip
    """Compute z of the present basis from the original data, refined once and between its bounds ``lo`` and ``hi``.

    Returns False, with z from the tableau, if the basis is singular. ``load`` (n,) and ``work`` (3 n,) are scratch.
    """
    # The basis, and q.
    inside = t.inside
    n = t.q.shape[0]
    k = 0
    for i in range(n):
        load[i] = t.q[i]
        if inside[i] == 1:
            active[k] = i
            k += 1
    # Add the columns of z at nonzero bounds.
    for j in range(n):
        if inside[j] == 0 and t.y[j] != 0.0:
            value = resting_value(lo[j], hi[j], t.y[j] * t.column[j])
            for i in range(n):
                load[i] += t.M[i, j] * value
    # Solve the basis, and put every z between its bounds.
    sound = solve_active(t.M, load, t.row, t.column, active, k, A, perm, work, z)
    for i in range(n):
        if inside[i] == 0:
            z[i] = resting_value(lo[i], hi[i], t.y[i] * t.column[i])
        elif not sound:
            z[i] = t.b[i] * t.column[i]
        if not np.isfinite(z[i]):
            z[i] = 0.0
        z[i] = min(max(z[i], lo[i]), hi[i])
    return sound


@kernel(inline=True)
def resting_value(lo: float, hi: float, value: float) -> float:
    """Return the value of a nonbasic z_i in the units of the problem, exactly a bound if it is at one."""
    if np.isfinite(lo) and abs(value - lo) <= 1e-14 * abs(lo):
        return lo
    if np.isfinite(hi) and abs(value - hi) <= 1e-14 * abs(hi):
        return hi
    return value


# Steps of length zero after which ties are broken only by the least index (Cottle and Chang 1992).
PATIENCE: Final = 2


@kernel(inner=True)
def violation(t: PrincipalTableau, tolerance: float, i: int) -> float:
    """Return the violation of pair i, positive if z_i (or w_i) must grow; 0 within rounding."""
    # A basic z must be between its bounds, where w = 0.
    b, y, lo, hi = t.b[i], t.y[i], t.lo[i], t.hi[i]
    margin = tolerance * t.size[i]
    if t.inside[i] == 1:
        if b < lo - margin:
            return lo - b
        if b > hi + margin:
            return hi - b
        return -y
    # A nonbasic z must not be beyond a bound, and w has the sign that its bound admits.
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
    """Return how far the basic variable of pair i, not the driven one, can move in the direction of ``rate``.

    It is infinite if the variable does not block.
    """
    b, y, lo, hi = t.b[i], t.y[i], t.lo[i], t.hi[i]
    margin = tolerance * t.size[i]
    if t.inside[i] == 1:
        # It is already beyond a bound and moves farther: another major cycle corrects this.
        if rate < 0.0:
            return np.inf if b < lo - margin else max(b - lo, 0.0)
        return np.inf if b > hi + margin else max(hi - b, 0.0)
    if lo == hi:
        return np.inf
    if lo == -np.inf and hi == np.inf:
        # Without bounds the condition is w_i = 0: kept if satisfied, and reached if possible.
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
    """Make at most ``budget`` pivots from the tableau; on `RUNNING` call again with everything unchanged.

    ``far`` is the limit at which a violated pair blocks. `SOLVED` means that every pair is complementary up to
    rounding. On `RAY` the driven variable can grow without bound, and ``column`` is the direction of the basic ones.
    """
    T, b, y, inside, lo, hi, size = t.T, t.b, t.y, t.inside, t.lo, t.hi, t.size
    n = b.shape[0]
    spent = 0
    while True:
        # A major cycle begins with the most violated pair.
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
        # Limits.
        if info[PIVOTS] >= limit:
            return ITERATION_LIMIT
        if spent >= budget:
            return RUNNING
        spent += 1
        # The column of the driven variable.
        sense = 1.0 if info[SENSE] > 0 else -1.0
        largest = 0.0
        for i in range(n):
            column[i] = sense * T[i, r]
            largest = max(largest, abs(column[i]))
        floor = pivot_tolerance * largest

        # Target of the driven pair: w_r = 0 or its far bound, or, from beyond a bound, this bound.
        if info[WRONG_SIGN] == 1:
            z_goal = hi[r] if info[SENSE] > 0 else lo[r]
            w_goal = 0.0
        else:
            z_goal = lo[r] if info[SENSE] > 0 else hi[r]
            w_goal = sense * np.inf
        # The distance that the driven pair can move.
        nonbasic_goal = w_goal if inside[r] == 1 else z_goal
        basic_goal = z_goal if inside[r] == 1 else w_goal
        nonbasic = max(sense * (nonbasic_goal - y[r]), 0.0)
        rate = sense * column[r]
        basic = max(sense * (basic_goal - b[r]), 0.0) / rate if rate > floor else np.inf
        step = min(nonbasic, basic)

        # The distance that the other pairs admit; ties by the larger pivot or the least index.
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
                # Of pairs that block together the one with the larger pivot is exchanged.
                step = min(step, ratio)
                blocking = i
        # No pair blocks: violated pairs block at the far limit, or the path is a ray.
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
        # Move, and count steps of length zero.
        length = 0.0
        for i in range(n):
            change = abs(column[i]) * step
            size[i] = max(size[i], change)
            if change > zero_tolerance * size[i]:
                length = 1.0
        info[IDLE] = 0 if length > 0.0 else info[IDLE] + 1
        advance(t, r, sense * step)
        info[PIVOTS] += 1
        # The driven pair becomes complementary, which ends the cycle.
        if blocking < 0:
            if nonbasic <= basic:
                y[r] = nonbasic_goal
            else:
                b[r] = basic_goal
                size[r] = max(abs(y[r]), abs(z_goal) if np.isfinite(z_goal) else 0.0)
                swap_one(t, r)
            info[DRIVEN] = -1
            continue
        # A blocking pair is exchanged by itself or together with the driven one.
        i = blocking
        if not limited:
            # Exactly, because nonbasic values are compared with their bounds.
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
    """Make at most ``budget`` pivots; on `RUNNING` call again with everything unchanged.

    `SOLVED` means that every pair is complementary up to rounding. `SINGULAR_BASIS` means that a diagonal entry of the
    tableau is not positive, so M is not a P matrix to working precision.
    """
    T, b, size = t.T, t.b, t.size
    n = b.shape[0]
    for _ in range(budget):
        # The first violated pair of the order.
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
        # Its pivot must be positive.
        info[PIVOTS] += 1
        largest = 0.0
        for j in range(n):
            largest = max(largest, abs(T[j, i]))
        if not T[i, i] > pivot_tolerance * largest:
            return SINGULAR_BASIS
        # Move it to its target, and exchange it.
        goal = 0.0
        if t.inside[i] == 1:
            goal = t.lo[i] if b[i] < t.lo[i] else t.hi[i]
        step = (goal - b[i]) / T[i, i]
        for j in range(n):
            # Rounding in b_j is a multiple of the largest term that was added to it.
            size[j] = max(size[j], abs(T[j, i] * step))
        advance(t, i, step)
        b[i] = goal
        swap_one(t, i)
        size[i] = abs(step)
    return RUNNING
