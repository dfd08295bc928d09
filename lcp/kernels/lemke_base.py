"""Columns of a dictionary of Lemke's method: of the first one, and of one whose basis is factored.

With a basis {z_a, w_b} whose block M_aa is factored, a column or right-hand side y of the first dictionary becomes
s = -M_aa^-1 y_a in the rows of a and y_b + M_ba s in the others (principal pivot transform: Cottle, Pang and Stone
1992, section 2.3). The k columns of M_ba lie where exchanges do (`lcp.kernels.lemke_exchanges`), eight to a block.
"""

from __future__ import annotations

from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.basis_solve import factored, lu_solve
from lcp.kernels.lemke_exchanges import BLOCK_FLOATS, STRIP, fuse_one, strips


@kernel(inner=True)
def original_column(M: Floats, row: Floats, column: Floats, cover: Floats, c: int, y: Floats) -> None:
    """Fill y (padded) with column c of the first dictionary."""
    n = M.shape[0]
    if c == n:
        for i in range(n):
            y[i] = cover[i]
    else:
        scale = column[c]
        for i in range(n):
            y[i] = M[i, c] * row[i] * scale
    for i in range(n, y.shape[0]):
        y[i] = 0.0


@kernel(inner=True)
def through_base(
    A: Floats, perm: Ints, active: Ints, U: Floats, b: Floats, s: Floats, k: int, n: int, y: Floats
) -> None:
    """Add the base's columns times s = A^-1 b to y (padded, zero in the k rows of the base); put s in those rows."""
    width = y.shape[0]
    count = strips(n)
    lu_solve(factored(A, k), k, perm, b, s)
    for j in range(k, width):
        s[j] = 0.0
    for block in range((k + 7) // 8):
        v = s[8 * block : 8 * block + 8]
        for strip in range(count):
            u = U[(block * count + strip) * BLOCK_FLOATS : (block * count + strip + 1) * BLOCK_FLOATS]
            part = y[strip * STRIP : min((strip + 1) * STRIP, width)]
            fuse_one(u, part, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7])
    for j in range(k):
        y[active[j]] = s[j]


@kernel(inner=True)
def based_column(
    M: Floats,
    row: Floats,
    column: Floats,
    cover: Floats,
    A: Floats,
    perm: Ints,
    active: Ints,
    member: Ints,
    U: Floats,
    b: Floats,
    s: Floats,
    k: int,
    c: int,
    y: Floats,
) -> None:
    """Column c of the dictionary whose basis is factored in A: z_a = A^-1 (w_a - q_a - M_ac z_c), w = q + M z."""
    if member[c] < 0:
        original_column(M, row, column, cover, c, y)
        for j in range(k):
            b[j] = -y[active[j]]
            y[active[j]] = 0.0
    else:
        for i in range(y.shape[0]):
            y[i] = 0.0
        for j in range(k):
            b[j] = 0.0
        b[member[c]] = 1.0
    through_base(A, perm, active, U, b, s, k, M.shape[0], y)
