"""Triangular factors of a principal block that grows and shrinks by one index at a time, at k^2 operations each.

The block is B = L D V^T with unit lower triangular L, V and diagonal D; V = L where it is symmetric. Factors are kept
transposed, row j holding the entries of column j below the diagonal, so that every loop runs over contiguous memory.
An index is added by bordering. When one is taken out, the block behind it gains d_p l_p v_p^T, a term that Bennett's
recurrence works in: J. M. Bennett, Triangular factors of modified matrices, Numerische Mathematik 7 (1965); for
positive definite B it adds a positive term and is stable (Gill, Golub, Murray and Saunders, Mathematics of
Computation 28 (1974), method C1).
"""

from __future__ import annotations

from lcp.kernels import Floats, kernel
from lcp.kernels.reductions import dot


@kernel
def forward(T: Floats, k: int, y: Floats) -> None:
    """Solve the unit lower triangular system of the transposed factor ``T`` in place: y <- L^-1 y."""
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
    """y <- B^-1 y for the leading k indices."""
    forward(L, k, y)
    for i in range(k):
        y[i] /= d[i]
    backward(V, k, y)


@kernel
def border(
    L: Floats, V: Floats, d: Floats, k: int, symmetric: bool, above: Floats, left: Floats, corner: float
) -> float:
    """Schur complement of a new last index; ``above`` becomes its row of V, ``left`` its row of L.

    ``above`` (k,) holds the new column of B above the corner, ``left`` (k,) the new row beside it; of a symmetric block
    only ``above`` is read. Nothing is appended yet: see `append`.
    """
    forward(L, k, above)
    if symmetric:
        schur = corner
        for i in range(k):
            y = above[i]
            above[i] = y / d[i]
            schur -= y * above[i]
        return schur
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
    """Give V the entries of L: the block was symmetric so far and is about to be so no longer."""
    for j in range(k):
        for i in range(j + 1, k):
            V[j, i] = L[j, i]


@kernel(inner=True)
def close_gap(T: Floats, k: int, p: int, out: Floats) -> None:
    """Copy column p of a factor to ``out`` (k - p - 1,) and move everything behind index p one place forward."""
    for i in range(k - p - 1):
        out[i] = T[p, p + 1 + i]
    for j in range(p):
        row = T[j]
        for i in range(p, k - 1):
            row[i] = row[i + 1]
    for j in range(p, k - 1):
        target = T[j]
        source = T[j + 1]
        for i in range(j + 1, k - 1):
            target[i] = source[i + 1]


@kernel
def remove(L: Floats, V: Floats, d: Floats, k: int, symmetric: bool, p: int, l_p: Floats, v_p: Floats) -> bool:
    """Take index p out of k; False where a pivot vanishes, which cannot happen to a positive definite block.

    ``l_p`` and ``v_p`` (k,) are scratch.
    """
    alpha = d[p]
    close_gap(L, k, p, l_p)
    if not symmetric:
        close_gap(V, k, p, v_p)
    for j in range(p, k - 1):
        d[j] = d[j + 1]
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
        gain = alpha * b / new
        row = L[j, p:k]
        for i in range(s + 1, m):
            t = l_p[i] - a * row[i]
            l_p[i] = t
            row[i] += gain * t
        if not symmetric:
            gain = alpha * a / new
            row = V[j, p:k]
            for i in range(s + 1, m):
                t = v_p[i] - b * row[i]
                v_p[i] = t
                row[i] += gain * t
        alpha *= old / new
    return sound
