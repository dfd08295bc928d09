"""The active set of a principal pivoting method: its block, factored, its columns of M, and what follows from them.

``active[:k]`` are the indices in the order of the factors, ``slot`` (n,) holds each index's place there or -1. The
columns M[:, active[s]] are copied to the contiguous rows ``place[s]`` of ``C``, so that w = q + M_a z_a streams through
memory and no other part of M is read. k stands in ``info[SIZE]``.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.factor_update import append, border, remove, solve_factored, split

# Places in the vector of information that the block owns.
SIZE: Final = 0
SYMMETRIC: Final = 1

# A Schur complement below this part of the terms it is the difference of is rounding: the index is redundant.
REDUNDANT: Final = 1e-12
# Square of the part of the two diagonal entries' geometric mean by which mirrored entries may differ in rounding.
UNLIKE: Final = 1e-24


# Signatures of active sets that are remembered.
MEMORY: Final = 64


class ActiveSet(NamedTuple):
    """A problem, its active set, and views of the two workspaces; vectors have n entries."""

    M: Floats
    q: Floats
    L: Floats  # (n, n) factors of the block, transposed
    V: Floats  # (n, n) the same from the right, where the block is not symmetric
    C: Floats  # (n, n) columns of M in its rows
    d: Floats
    za: Floats  # values of the active unknowns
    w: Floats
    floor: Floats  # minus what counts as zero of each w
    target: Floats  # za where all active w vanish
    row_size: Floats  # largest magnitude of each row over the columns read so far
    above: Floats  # scratch of an insertion: multipliers of the new column
    left: Floats  # and of the new row
    direction: Floats  # along which the energy falls for ever
    active: Ints
    slot: Ints
    place: Ints
    seen: Ints  # (MEMORY,) signatures
    info: Ints


@kernel(inline=True)
def active_set(M: Floats, q: Floats, wf: Floats, wi: Ints, info: Ints) -> ActiveSet:
    """The views, at the head of the two workspaces, ``direction`` being the first."""
    n = q.shape[0]
    square = n * n
    at = 9 * n
    return ActiveSet(
        M,
        q,
        wf[at : at + square].reshape((n, n)),
        wf[at + square : at + 2 * square].reshape((n, n)),
        wf[at + 2 * square : at + 3 * square].reshape((n, n)),
        wf[n : 2 * n],
        wf[2 * n : 3 * n],
        wf[3 * n : 4 * n],
        wf[4 * n : 5 * n],
        wf[5 * n : 6 * n],
        wf[6 * n : 7 * n],
        wf[7 * n : 8 * n],
        wf[8 * n : 9 * n],
        wf[:n],
        wi[:n],
        wi[n : 2 * n],
        wi[2 * n : 3 * n],
        wi[3 * n : 3 * n + MEMORY],
        info,
    )


@kernel(inner=True)
def insert(t: ActiveSet, j: int) -> bool:
    """Make j active; False, with its multipliers D^-1 L^-1 M_aj in ``above``, where its pivot would vanish.

    Of a symmetric block a negative pivot is refused, too: the energy would have no minimum on it.
    """
    above, left, row_size = t.above, t.left, t.row_size
    k = t.info[SIZE]
    source = t.M[j]
    corner = source[j]
    size = abs(corner)
    symmetric = t.info[SYMMETRIC] != 0
    alike = True
    for s in range(k):
        a = t.M[t.active[s], j]
        b = source[t.active[s]]
        above[s] = a
        left[s] = b
        if (a - b) * (a - b) > UNLIKE * abs(t.M[t.active[s], t.active[s]] * corner):
            alike = False
    if symmetric and not alike:
        split(t.L, t.V, k)
        t.info[SYMMETRIC] = 0
        symmetric = False
    schur = border(t.L, t.L if symmetric else t.V, t.d, k, symmetric, above, left, corner)
    if not symmetric:
        for s in range(k):
            size = max(size, abs(above[s] * t.d[s] * left[s]))
    if not abs(schur) > REDUNDANT * size or (symmetric and schur < 0.0):
        return False
    append(t.L, t.V, t.d, k, symmetric, above, left, schur)
    target = t.C[t.place[k]]
    for i in range(t.slot.shape[0]):
        m = t.M[i, j]
        target[i] = m
        row_size[i] = max(row_size[i], abs(m))
    t.active[k] = j
    t.slot[j] = k
    t.info[SIZE] = k + 1
    return True


@kernel(inner=True)
def discard(t: ActiveSet, p: int) -> bool:
    """Take the index in place p, and its entry of ``za``, out of the active set; False where the rest is singular."""
    k = t.info[SIZE]
    sound = remove(t.L, t.V, t.d, k, t.info[SYMMETRIC] != 0, p, t.above, t.left)
    t.slot[t.active[p]] = -1
    freed = t.place[p]
    for s in range(p, k - 1):
        t.active[s] = t.active[s + 1]
        t.slot[t.active[s]] = s
        t.place[s] = t.place[s + 1]
        t.za[s] = t.za[s + 1]
    t.place[k - 1] = freed
    t.info[SIZE] = k - 1
    return sound


@kernel(inner=True)
def block_solve(t: ActiveSet, b: Floats, x: Floats) -> None:
    """x[:k] = -M_aa^-1 b_a for a vector b (n,)."""
    k = t.info[SIZE]
    for s in range(k):
        x[s] = -b[t.active[s]]
    solve_factored(t.L, t.L if t.info[SYMMETRIC] != 0 else t.V, t.d, k, x)


@kernel(inner=True)
def evaluate(t: ActiveSet) -> None:
    """w = q + sum_s za_s M[:, active[s]], from the original data."""
    C, place, za, w = t.C, t.place, t.za, t.w
    n = w.shape[0]
    k = t.info[SIZE]
    for i in range(n):
        w[i] = t.q[i]
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


@kernel(inner=True)
def thresholds(t: ActiveSet, za: Floats, tolerance: float) -> float:
    """Fill ``floor`` with minus what counts as zero of each w_i; returns the same for the values ``za``.

    Both are ``tolerance`` times the units of the scaled residual, the row sizes being those of the columns read.
    """
    z_size = 0.0
    for s in range(t.info[SIZE]):
        z_size = max(z_size, abs(za[s]))
    for i in range(t.q.shape[0]):
        t.floor[i] = -tolerance * (abs(t.q[i]) + t.row_size[i] * z_size)
    return -tolerance * z_size
