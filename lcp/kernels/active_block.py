"""The active block of a principal pivoting method: its indices, its factors, its columns of M, and what follows.

``active[:k]`` are the indices in the order of the factors, ``slot`` (n,) holds each index's place there or -1. The
columns M[:, active[s]] are copied to the contiguous rows ``place[s]`` of ``C``, so that w = q + M_a z_a streams through
memory and no other part of M is read. k stands in ``info[SIZE]``.
"""

from __future__ import annotations

from typing import Final

from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.factor_update import append, border, remove, solve_factored, split

# Places in the vector of information that the block owns.
SIZE: Final = 0
SYMMETRIC: Final = 1

# A Schur complement below this part of the terms it is the difference of is rounding: the index is redundant.
REDUNDANT: Final = 1e-12
# Square of the part of the two diagonal entries' geometric mean by which mirrored entries may differ in rounding.
UNLIKE: Final = 1e-24


@kernel
def insert(
    M: Floats,
    j: int,
    C: Floats,
    L: Floats,
    V: Floats,
    d: Floats,
    active: Ints,
    slot: Ints,
    place: Ints,
    row_size: Floats,
    above: Floats,
    left: Floats,
    info: Ints,
) -> bool:
    """Make j active; False, with its multipliers D^-1 L^-1 M_aj in ``above``, where its pivot would vanish.

    Of a symmetric block a negative pivot is refused, too: the energy would have no minimum on it. ``row_size`` collects
    the largest magnitude of each row over the columns read so far.
    """
    n = slot.shape[0]
    k = info[SIZE]
    source = M[j]
    corner = source[j]
    size = abs(corner)
    symmetric = info[SYMMETRIC] != 0
    alike = True
    for s in range(k):
        a = M[active[s], j]
        b = source[active[s]]
        above[s] = a
        left[s] = b
        if (a - b) * (a - b) > UNLIKE * abs(M[active[s], active[s]] * corner):
            alike = False
    if symmetric and not alike:
        split(L, V, k)
        info[SYMMETRIC] = 0
        symmetric = False
    if symmetric:
        schur = border(L, L, d, k, True, above, left, corner)
    else:
        schur = border(L, V, d, k, False, above, left, corner)
        for s in range(k):
            size = max(size, abs(above[s] * d[s] * left[s]))
    if not abs(schur) > REDUNDANT * size or (symmetric and schur < 0.0):
        return False
    append(L, V, d, k, symmetric, above, left, schur)
    target = C[place[k]]
    for i in range(n):
        m = M[i, j]
        target[i] = m
        row_size[i] = max(row_size[i], abs(m))
    active[k] = j
    slot[j] = k
    info[SIZE] = k + 1
    return True


@kernel(inner=True)
def discard(
    p: int,
    L: Floats,
    V: Floats,
    d: Floats,
    za: Floats,
    active: Ints,
    slot: Ints,
    place: Ints,
    above: Floats,
    left: Floats,
    info: Ints,
) -> bool:
    """Take the index in place p, and its entry of ``za``, out of the active set; False where the rest is singular."""
    k = info[SIZE]
    sound = remove(L, V, d, k, info[SYMMETRIC] != 0, p, above, left)
    slot[active[p]] = -1
    freed = place[p]
    for s in range(p, k - 1):
        active[s] = active[s + 1]
        slot[active[s]] = s
        place[s] = place[s + 1]
        za[s] = za[s + 1]
    place[k - 1] = freed
    info[SIZE] = k - 1
    return sound


@kernel(inner=True)
def block_solve(L: Floats, V: Floats, d: Floats, b: Floats, active: Ints, x: Floats, info: Ints) -> None:
    """x[:k] = -M_aa^-1 b_a for a vector b (n,)."""
    k = info[SIZE]
    for s in range(k):
        x[s] = -b[active[s]]
    solve_factored(L, L if info[SYMMETRIC] != 0 else V, d, k, x)


@kernel
def evaluate(q: Floats, C: Floats, place: Ints, za: Floats, k: int, w: Floats) -> None:
    """w = q + sum_s za_s M[:, active[s]], from the original data."""
    n = q.shape[0]
    for i in range(n):
        w[i] = q[i]
    s = 0
    # Four columns at a time share the loads and stores of w.
    while s + 4 <= k:
        c0 = C[place[s]]
        c1 = C[place[s + 1]]
        c2 = C[place[s + 2]]
        c3 = C[place[s + 3]]
        z0 = za[s]
        z1 = za[s + 1]
        z2 = za[s + 2]
        z3 = za[s + 3]
        for i in range(n):
            w[i] += (c0[i] * z0 + c1[i] * z1) + (c2[i] * z2 + c3[i] * z3)
        s += 4
    while s < k:
        c0 = C[place[s]]
        z0 = za[s]
        for i in range(n):
            w[i] += c0[i] * z0
        s += 1


@kernel
def thresholds(q: Floats, row_size: Floats, za: Floats, k: int, tolerance: float, floor: Floats) -> float:
    """Fill ``floor`` with minus what counts as zero of each w_i; returns the same for z.

    Both are ``tolerance`` times the units of the scaled residual, the row sizes being those of the columns read.
    """
    z_size = 0.0
    for s in range(k):
        z_size = max(z_size, abs(za[s]))
    for i in range(q.shape[0]):
        floor[i] = -tolerance * (abs(q[i]) + row_size[i] * z_size)
    return -tolerance * z_size
