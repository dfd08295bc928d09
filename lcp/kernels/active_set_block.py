"""The active set of a principal pivoting method: its factored block, its columns of M, and its values.

``active[:k]`` are the indices in the order of the factors; ``slot`` (n,) has the position of each index there, or -1.
The columns M[:, active[s]] are copied to the contiguous rows ``place[s]`` of ``C``, so that w = q + M_a z_a reads
contiguous memory and no other part of M. ``info[SIZE]`` is k.

The block is B = L D V^T with unit lower triangular L, V and diagonal D; V = L if it is symmetric. Adding or removing an
index takes k^2 operations. Factors are stored transposed: row j has the entries of column j below the diagonal, so
every loop runs over contiguous memory. An index is added by bordering. If one is removed, the block after it changes by
d_p l_p v_p^T, which Bennett's recurrence applies: J. M. Bennett, Triangular factors of modified matrices, Numerische
Mathematik 7 (1965). For positive definite B the term is positive and the recurrence is stable (Gill, Golub, Murray and
Saunders, Mathematics of Computation 28 (1974), method C1).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.reductions import dot


@kernel
def forward(T: Floats, k: int, y: Floats) -> None:
    """Solve the unit lower triangular system of the transposed factor ``T`` in place: y <- L^-1 y."""
    # Blocks of four columns.
    j = 0
    # Four columns at a time share the loads and stores of y.
    while j + 4 <= k:
        r0 = T[j, :k]
        r1 = T[j + 1, :k]
        r2 = T[j + 2, :k]
        r3 = T[j + 3, :k]
        y0 = y[j]
        y1 = y[j + 1] - r0[j + 1] * y0
        y2 = y[j + 2] - r0[j + 2] * y0 - r1[j + 2] * y1
        y3 = y[j + 3] - r0[j + 3] * y0 - r1[j + 3] * y1 - r2[j + 3] * y2
        y[j + 1] = y1
        y[j + 2] = y2
        y[j + 3] = y3
        for i in range(j + 4, k):
            y[i] -= (r0[i] * y0 + r1[i] * y1) + (r2[i] * y2 + r3[i] * y3)
        j += 4
    # The remaining columns.
    while j < k:
        row = T[j, :k]
        y_j = y[j]
        for i in range(j + 1, k):
            y[i] -= row[i] * y_j
        j += 1


@kernel
def backward(T: Floats, k: int, y: Floats) -> None:
    """Solve the transposed, unit upper triangular system in place: y <- V^-T y."""
    for j in range(k - 2, -1, -1):
        y[j] -= dot(T[j, j + 1 : k], y[j + 1 : k], k - j - 1)


@kernel
def solve_factored(L: Floats, V: Floats, d: Floats, k: int, y: Floats) -> None:
    """Replace y by B^-1 y for the leading k indices."""
    forward(L, k, y)
    for i in range(k):
        y[i] /= d[i]
    backward(V, k, y)


@kernel
def border(
    L: Floats, V: Floats, d: Floats, k: int, symmetric: bool, above: Floats, left: Floats, corner: float
) -> float:
    """Return the Schur complement of a new last index; ``above`` becomes its row of V, ``left`` its row of L.

    ``above`` (k,) is the new column of B above the corner, ``left`` (k,) the new row beside it; for a symmetric block
    only ``above`` is read. `append` appends the index.
    """
    # The row of V, before its division by D.
    forward(L, k, above)
    # A symmetric block has the same row of L.
    if symmetric:
        schur = corner
        for i in range(k):
            y = above[i]
            above[i] = y / d[i]
            schur -= y * above[i]
        return schur
    # The row of L, and the Schur complement.
    forward(V, k, left)
    schur = corner
    for i in range(k):
        schur -= above[i] * left[i] / d[i]
        above[i] /= d[i]
        left[i] /= d[i]
    return schur


@kernel
def append(L: Floats, V: Floats, d: Floats, k: int, symmetric: bool, above: Floats, left: Floats, schur: float) -> None:
    """Append the index that `border` was called for."""
    d[k] = schur
    if symmetric:
        for j in range(k):
            L[j, k] = above[j]
        return
    for j in range(k):
        V[j, k] = above[j]
        L[j, k] = left[j]


@kernel
def split(L: Floats, V: Floats, k: int) -> None:
    """Copy the entries of L to V: the block was symmetric and is about to become unsymmetric."""
    for j in range(k):
        for i in range(j + 1, k):
            V[j, i] = L[j, i]


@kernel(inner=True)
def close_gap(T: Floats, k: int, p: int, out: Floats) -> None:
    """Copy column p of a factor to ``out`` (k - p - 1,) and move everything after index p one position forward."""
    # Keep column p.
    for i in range(k - p - 1):
        out[i] = T[p, p + 1 + i]
    # Rows before p lose an entry.
    for j in range(p):
        row = T[j]
        for i in range(p, k - 1):
            row[i] = row[i + 1]
    # Rows after p move up.
    for j in range(p, k - 1):
        target = T[j]
        source = T[j + 1]
        for i in range(j + 1, k - 1):
            target[i] = source[i + 1]


@kernel
def remove(L: Floats, V: Floats, d: Floats, k: int, symmetric: bool, p: int, l_p: Floats, v_p: Floats) -> bool:
    """Remove index p of k; return False if a pivot vanishes, which cannot happen for a positive definite block.

    ``l_p`` and ``v_p`` (k,) are scratch.
    """
    # Take column p out of the factors.
    alpha = d[p]
    close_gap(L, k, p, l_p)
    if not symmetric:
        close_gap(V, k, p, v_p)
    for j in range(p, k - 1):
        d[j] = d[j + 1]
    # Apply d_p l_p v_p^T to the rest, by Bennett's recurrence.
    m = k - 1 - p
    sound = True
    for s in range(m):
        j = p + s
        a = l_p[s]
        b = a if symmetric else v_p[s]
        old = d[j]
        new = old + alpha * a * b
        if not abs(new) > 1e-14 * abs(old):
            sound = False
            new = old
        d[j] = new
        # Update the row of L,
        gain = alpha * b / new
        row = L[j, p:k]
        for i in range(s + 1, m):
            t = l_p[i] - a * row[i]
            l_p[i] = t
            row[i] += gain * t
        # and the row of V.
        if not symmetric:
            gain = alpha * a / new
            row = V[j, p:k]
            for i in range(s + 1, m):
                t = v_p[i] - b * row[i]
                v_p[i] = t
                row[i] += gain * t
        alpha *= old / new
    return sound


# Indices of this block in the vector of information.
SIZE, SYMMETRIC = range(2)

# A Schur complement below this fraction of the terms of its difference is rounding: the index is redundant.
REDUNDANT: Final = 1e-12
# Square of the difference of mirrored entries, relative to the geometric mean of the two diagonal entries, up to which
# it is rounding.
UNLIKE: Final = 1e-24


# Number of signatures of active sets that are stored.
MEMORY: Final = 64


class ActiveSet(NamedTuple):
    """A problem, its active set, and views of the two workspaces; vectors have n entries."""

    M: Floats
    q: Floats
    L: Floats  # (n, n) factors of the block, transposed
    V: Floats  # (n, n) right factors, if the block is not symmetric
    C: Floats  # (n, n) columns of M in its rows
    d: Floats
    za: Floats  # values of the active unknowns
    w: Floats
    floor: Floats  # minus the size that counts as zero, for each w
    target: Floats  # za for which all active w vanish
    row_size: Floats  # largest magnitude of each row over the columns read so far
    above: Floats  # scratch of an insertion: multipliers of the new column
    left: Floats  # and of the new row
    direction: Floats  # direction along which the energy decreases without bound
    active: Ints
    slot: Ints
    place: Ints
    seen: Ints  # (MEMORY,) signatures
    info: Ints


@kernel(inline=True)
def active_set(M: Floats, q: Floats, wf: Floats, wi: Ints, info: Ints) -> ActiveSet:
    """Return the views at the start of the two workspaces; ``direction`` is the first."""
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
    """Make j active; return False, with the multipliers D^-1 L^-1 M_aj in ``above``, if its pivot would vanish.

    For a symmetric block a negative pivot is refused, too, because the energy would have no minimum.
    """
    above, left, row_size = t.above, t.left, t.row_size
    # Read the new column and row, and compare mirrored entries.
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
    # A block that stops being symmetric needs two factors.
    if symmetric and not alike:
        split(t.L, t.V, k)
        t.info[SYMMETRIC] = 0
        symmetric = False
    # Refuse a pivot that is rounding, or negative in a symmetric block.
    schur = border(t.L, t.L if symmetric else t.V, t.d, k, symmetric, above, left, corner)
    if not symmetric:
        for s in range(k):
            size = max(size, abs(above[s] * t.d[s] * left[s]))
    if not abs(schur) > REDUNDANT * size or (symmetric and schur < 0.0):
        return False
    # Append the factors, and copy the column of M.
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
    """Remove the index at position p, and its entry of ``za``; return False if the rest is singular."""
    # Remove it from the factors.
    k = t.info[SIZE]
    sound = remove(t.L, t.V, t.d, k, t.info[SYMMETRIC] != 0, p, t.above, t.left)
    # Move the indices and values after it; its position for a column becomes free.
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
    """Compute x[:k] = -M_aa^-1 b_a for a vector b (n,)."""
    k = t.info[SIZE]
    for s in range(k):
        x[s] = -b[t.active[s]]
    solve_factored(t.L, t.L if t.info[SYMMETRIC] != 0 else t.V, t.d, k, x)


@kernel(inner=True)
def evaluate(t: ActiveSet) -> None:
    """Compute w = q + sum_s za_s M[:, active[s]], from the original data."""
    # w = q.
    C, place, za, w = t.C, t.place, t.za, t.w
    n = w.shape[0]
    k = t.info[SIZE]
    for i in range(n):
        w[i] = t.q[i]
    # Add the columns by fours.
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
    # The remaining columns.
    while s < k:
        c0 = C[place[s]]
        z0 = za[s]
        for i in range(n):
            w[i] += c0[i] * z0
        s += 1


@kernel(inner=True)
def thresholds(t: ActiveSet, za: Floats, tolerance: float) -> float:
    """Fill ``floor`` (n,) with the negative numbers below which each w_i is infeasible; return the one of ``za``.

    They are -``tolerance`` times the units of the scaled residual, with row sizes from the columns that were read.
    """
    z_size = 0.0
    for s in range(t.info[SIZE]):
        z_size = max(z_size, abs(za[s]))
    for i in range(t.q.shape[0]):
        t.floor[i] = -tolerance * (abs(t.q[i]) + t.row_size[i] * z_size)
    return -tolerance * z_size
