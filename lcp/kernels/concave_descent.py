"""Descent over vertices of {z >= 0, M z + q >= 0} in the sum of min(z_i, w_i), with random pivots at local minima.

The dictionary of n rows, in (z, w, t), is basic = x + T nonbasic; variables are numbered w (0 .. n - 1), z (n ..), t.
While t > 0, t is reduced. The sum is concave: if its slope along an edge is negative, it decreases to the edge's end at
least at this slope.
"""

from __future__ import annotations

from typing import Final

from lcp.kernels import RAY, RUNNING, SOLVED, Floats, Ints, kernel
from lcp.kernels.basis_solve import exchange, take_column

# Indices in the vector of information: state of the generator, pivots, vertices without a descending edge. STILL:
# successive pivots of length zero.
SEED, PIVOTS, MINIMA, STILL, INFO_SIZE = range(5)

# In scaled units: entries that do not block, slopes that do not descend, values that are zero.
_BLOCKS: Final = 1e-9
_FALLS: Final = -1e-9
_ZERO: Final = 1e-11
# Random pivots after a vertex without a descending edge: 1 to this number.
_KICK: Final = 12


@kernel(inner=True)
def draw(info: Ints) -> float:
    """Return the next random number in (0, 1); ``info[SEED]`` advances.

    This is the generator of S. K. Park, K. W. Miller, Comm. of the ACM 31 (1988), with its later multiplier 48271.
    """
    info[SEED] = (info[SEED] * 48271) % 2147483647
    return info[SEED] / 2147483647.0


@kernel(inner=True)
def first_to_block(T: Floats, x: Floats, c: int, last: int) -> int:
    """Return the row that first blocks nonbasic variable c (ties: row ``last`` or the largest entry), or -1."""
    best = 0.0
    r = -1
    for i in range(x.shape[0]):
        if T[i, c] < -_BLOCKS:
            ratio = x[i] / -T[i, c]
            tied = r >= 0 and ratio <= best + _ZERO
            if r < 0 or ratio < best - _ZERO or (tied and r != last and (i == last or T[i, c] < T[r, c])):
                best = ratio if r < 0 else min(best, ratio)
                r = i
    return r


@kernel(inner=True)
def swap(
    T: Floats, x: Floats, basis: Ints, outside: Ints, place: Ints, column: Floats, pivot_row: Floats, r: int, c: int
) -> None:
    """Exchange the basic variable of row r with nonbasic variable c; ``column`` and ``pivot_row`` are scratch."""
    take_column(T, c, column)
    exchange(T, x, r, c, column, pivot_row)
    for i in range(x.shape[0]):
        if i != r and abs(x[i]) < 0.01 * _ZERO:
            x[i] = 0.0
    leaving = basis[r]
    basis[r] = outside[c]
    outside[c] = leaving
    place[basis[r]] = r
    place[leaving] = -1


@kernel(inner=True)
def slopes(T: Floats, x: Floats, outside: Ints, place: Ints, slope: Floats) -> int:
    """Fill the slopes of t (while basic) or of the sum along the edges; return the number of noncomplementary pairs."""
    # While t is basic, its slopes.
    n, width = T.shape
    slope[:width] = 0.0
    if place[2 * n] >= 0:
        for c in range(width):
            slope[c] = T[place[2 * n], c]
        return n
    # The slopes of the smaller variable of each pair with two basic variables.
    wrong = 0
    for i in range(n):
        a, b = place[i], place[n + i]
        if a < 0 or b < 0:
            continue
        if min(x[a], x[b]) > _ZERO:
            wrong += 1
        smaller = a if x[a] < x[b] else b
        for c in range(width):
            slope[c] += T[smaller, c]
    # A nonbasic variable is the smaller one of its pair and increases.
    for c in range(width):
        v = outside[c]
        if v < 2 * n and place[(v + n) % (2 * n)] >= 0:
            slope[c] += 1.0
    return wrong


@kernel
def enter_wanted(
    T: Floats, x: Floats, basis: Ints, outside: Ints, place: Ints, column: Floats, pivot_row: Floats, wanted: Ints,
    start: int, most: int,
) -> int:  # fmt: skip
    """Make at most ``most`` variables basic that are marked in ``wanted`` (2 n + 1,), from column ``start`` on.

    Returns the column at which to continue, n + 1 if all are basic, -1 if the basis is singular.
    """
    # Enter the wanted variables, column by column.
    n = basis.shape[0]
    entered = 0
    for c in range(start, n + 1):
        if not wanted[outside[c]]:
            continue
        if entered == most:
            return c
        entered += 1
        # The largest pivot among rows whose variable must leave.
        r = -1
        largest = 1e-12
        for i in range(n):
            if not wanted[basis[i]] and abs(T[i, c]) > largest:
                largest = abs(T[i, c])
                r = i
        if r < 0:
            return -1
        swap(T, x, basis, outside, place, column, pivot_row, r, c)
    # All wanted variables are basic; values below zero are rounding.
    for i in range(n):
        x[i] = max(x[i], 0.0)
    return n + 1


@kernel
def concave_descent(
    T: Floats, x: Floats, basis: Ints, outside: Ints, place: Ints, column: Floats, slope: Floats, info: Ints,
    budget: int, kick: bool,
) -> int:  # fmt: skip
    """Pivot from the present vertex; return SOLVED at a complementary vertex, RAY, or RUNNING after ``budget`` pivots.

    First the artificial variable t decreases to zero, then the concave sum. RAY means that t cannot decrease any more
    and is not zero: no feasible vertex was found. At a minimum that is not complementary a few random pivots follow,
    which can exceed the budget; with ``kick`` they are made at once.
    """
    # Limits.
    n, width = T.shape
    end = info[PIVOTS] + budget
    still = info[STILL]
    while info[PIVOTS] < end:
        # Slopes along all edges.
        wrong = slopes(T, x, outside, place, slope)
        if wrong == 0 and not kick:
            return SOLVED
        # The steepest edge.
        entering = -1
        steepest = _FALLS
        for c in range(width):
            if outside[c] == 2 * n:
                continue
            # If ties keep the path at one point, a random choice leaves the cycle.
            size = slope[c] * (0.1 + draw(info)) if still > 0 else slope[c]
            if size < steepest:
                steepest = size
                entering = c
        # t cannot decrease any more.
        first = place[2 * n] >= 0
        if entering < 0 and first:
            return RAY
        # Descend along it.
        r = -1
        if entering >= 0 and not kick:
            r = first_to_block(T, x, entering, place[2 * n])
        if r >= 0 and (first or still <= n):
            still = still + 1 if x[r] <= _ZERO else 0
            info[STILL] = still
            swap(T, x, basis, outside, place, column, slope, r, entering)
            info[PIVOTS] += 1
            continue
        if first:
            return RAY
        # Otherwise make random pivots.
        kick = False
        still = 0
        info[STILL] = 0
        info[MINIMA] += 1
        for _ in range(1 + int(_KICK * draw(info))):
            c = int(width * draw(info))
            info[PIVOTS] += 1
            if outside[c] < 2 * n:
                r = first_to_block(T, x, c, -1)
                if r >= 0:
                    swap(T, x, basis, outside, place, column, slope, r, c)
    return RUNNING
