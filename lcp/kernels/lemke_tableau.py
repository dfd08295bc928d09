"""The condensed tableau of Lemke's method: basis, basic values, and columns that are updated on request.

A dictionary x_B = x + sum_c T_c y_c has one column per nonbasic variable: w_i is variable i, z_i is n + i, the
artificial variable is 2 n. At first all w are basic, column c < n is the column of z_c, and column n is the covering
vector. A column is unchanged (`ORIGINAL`), or stored in a row of ``T`` with the exchanges before ``stamp`` (`STORED`),
or left by exchange ``stamp - 1`` (`LEFT_BEHIND`), or follows from a factored basis (`OUTSIDE_BASE`, `IN_BASE`); later
exchanges are pending (`lcp.kernels.lemke_exchanges`).

With a basis {z_a, w_b} whose block M_aa is factored, a column or right-hand side y of the first dictionary becomes s =
-M_aa^-1 y_a in the rows of a and y_b + M_ba s in the others (principal pivot transform: Cottle, Pang and Stone 1992,
section 2.3). The columns of M_ba are in the places of the first exchanges.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from lcp.compiler.views import view_1d, view_2d
from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.basis_solve import lu_solve
from lcp.kernels.lemke_exchanges import (
    TABLE,
    Exchanges,
    add_block,
    advance,
    append,
    column_left_behind,
    in_eights,
    padded,
    pending_limit,
)

# The last two: nonbasic z_c, or w_c of an index c of a, in the dictionary of the factored basis.
ORIGINAL, STORED, LEFT_BEHIND, OUTSIDE_BASE, IN_BASE = range(5)

# Rows up to which updating the whole tableau at every exchange, with the same bits, takes less time.
SMALL: Final = 32
# Exchanges between two updates of the whole tableau on a long path.
SHORT: Final = 64

# Indices in ``counts``.
# UPDATED: columns that the update in progress has finished.
# WHOLE_KEPT: 1: every column is stored, and every exchange is applied to all of them immediately.
PENDING, MOST_PENDING, BASE_SIZE, UPDATED, WHOLE_KEPT, COUNTS = range(6)


class Tableau(NamedTuple):
    """Views of the two workspaces; vectors called padded are padded with zeros (`padded`)."""

    T: Floats  # (n + 1, padded)
    exchanges: Exchanges
    x: Floats  # padded: values of the basic variables
    size: Floats  # padded: largest magnitude that was added to each of them
    entry: Floats  # padded: the entering column
    ratio: Floats  # padded: step at which each basic variable blocks; scratch between two ratio tests
    solution: Floats  # padded scratch
    row: Floats
    column: Floats
    cover: Floats
    A: Floats  # (n, n): a factored basis
    basis: Ints  # n
    nonbasis: Ints  # n + 1
    position: Ints  # 2 n + 1: column of a nonbasic variable, -1 for a basic one
    stamp: Ints  # n + 1
    kind: Ints  # n + 1
    counts: Ints
    active: Ints  # n: indices of that basis
    perm: Ints  # n


@kernel(inline=True)
def tableau_floats(n: int) -> int:
    """Return the number of floats of the tableau."""
    width = padded(n)
    exchanges = pending_limit(n)
    return (n + 1 + exchanges) * width + n * n + TABLE * exchanges + 5 * width + 3 * n + 8


@kernel(inline=True)
def tableau_ints(n: int) -> int:
    """Return the number of integers of the tableau."""
    return 8 * n + 4 + pending_limit(n) + COUNTS


@kernel(inline=True)
def tableau(wf: Floats, wi: Ints, n: int) -> Tableau:
    """Return the views, at the start of the two workspaces."""
    width = padded(n)
    exchanges = pending_limit(n)
    # The basic values and the basis come first: `artificial_value` reads them without the rest.
    # Starts of the parts of both workspaces.
    a = 5 * width
    b = a + 3 * n
    c = b + 8
    d = c + TABLE * exchanges
    e = d + exchanges * width
    f = e + (n + 1) * width
    # Starts of the integer parts.
    i = 2 * n + 1
    j = 4 * n + 2
    k = j + 2 * n + 2
    m = k + exchanges
    p = m + COUNTS
    return Tableau(
        view_2d(wf, e, n + 1, width),
        Exchanges(
            view_2d(wf, d, exchanges, width), view_1d(wf, c, d - c), view_1d(wi, k, m - k), view_1d(wf, b, c - b), n
        ),
        view_1d(wf, 0, width),
        view_1d(wf, width, width),
        view_1d(wf, 2 * width, width),
        view_1d(wf, 3 * width, width),
        view_1d(wf, 4 * width, width),
        view_1d(wf, a, n),
        view_1d(wf, a + n, n),
        view_1d(wf, a + 2 * n, n),
        view_2d(wf, f, n, n),
        view_1d(wi, 0, n),
        view_1d(wi, n, n + 1),
        view_1d(wi, i, 2 * n + 1),
        view_1d(wi, j, n + 1),
        view_1d(wi, j + n + 1, n + 1),
        view_1d(wi, m, COUNTS),
        view_1d(wi, p, n),
        view_1d(wi, p + n, n),
    )


@kernel
def first_tableau(t: Tableau, q: Floats) -> None:
    """Form w = q + M z + cover t, equilibrated, with all w basic."""
    # All w are basic.
    n = q.shape[0]
    for i in range(n):
        t.basis[i] = i
        t.nonbasis[i] = n + i
        t.position[i] = -1
        t.position[n + i] = i
        t.x[i] = q[i] * t.row[i]
    # Padding.
    for i in range(n, t.x.shape[0]):
        t.x[i] = 0.0
        t.size[i] = 0.0
        t.entry[i] = 0.0
    # The artificial variable is the last column.
    t.nonbasis[n] = 2 * n
    t.position[2 * n] = n
    for c in range(n + 1):
        t.stamp[c] = 0
        t.kind[c] = ORIGINAL
    # No exchange yet.
    t.counts[PENDING] = 0
    t.counts[MOST_PENDING] = pending_limit(n)
    t.counts[UPDATED] = 0
    t.counts[WHOLE_KEPT] = 0


@kernel
def store_all(t: Tableau, M: Floats) -> None:
    """Write every column of the first dictionary to T if n <= `SMALL`; each exchange then updates all of them."""
    # Only if there are few.
    n = M.shape[0]
    if n > SMALL:
        return
    # Scaled columns, and the cover.
    T = t.T
    for i in range(n):
        scale = t.row[i]
        source = M[i]
        for c in range(n):
            T[c, i] = source[c] * scale * t.column[c]
        T[n, i] = t.cover[i]
    # Padding.
    for c in range(n + 1):
        for i in range(n, in_eights(n)):
            T[c, i] = 0.0
        t.kind[c] = STORED
    t.counts[WHOLE_KEPT] = 1


@kernel(inline=True)
def add_eight(y: Floats, v: float, u: Floats) -> None:
    """Return y + v u of eight numbers; with constant indices the compiler makes two vectors."""
    a, b, c, d = y[0] + v * u[0], y[1] + v * u[1], y[2] + v * u[2], y[3] + v * u[3]
    e, f, g, h = y[4] + v * u[4], y[5] + v * u[5], y[6] + v * u[6], y[7] + v * u[7]
    y[0], y[1], y[2], y[3] = a, b, c, d
    y[4], y[5], y[6], y[7] = e, f, g, h


@kernel(inner=True, vectors=True)
def update_all(t: Tableau, r: int, entering: int) -> None:
    """Apply the exchange of row r and column ``entering``, which is ``entry``, to every stored column."""
    # The factor of the entering column.
    T = t.T
    e = t.entry
    columns = T.shape[0]
    width = in_eights(columns - 1)
    inverse = 1.0 / e[r]
    factor = -inverse
    # Update every column, eight rows at a time.
    for c in range(columns):
        y = T[c]
        v = y[r] * factor
        for j in range(0, width, 8):
            add_eight(view_1d(y, j, 8), v, view_1d(e, j, 8))
        y[r] = v
    # The column of the variable that left.
    left = T[entering]
    for i in range(width):
        left[i] = e[i] * inverse
    left[r] = inverse


@kernel(inner=True)
def original_column(t: Tableau, M: Floats, c: int, y: Floats) -> None:
    """Fill y (padded) with column c of the first dictionary."""
    n = M.shape[0]
    if c == n:
        for i in range(n):
            y[i] = t.cover[i]
    else:
        scale = t.column[c]
        for i in range(n):
            y[i] = M[i, c] * t.row[i] * scale
    for i in range(n, y.shape[0]):
        y[i] = 0.0


@kernel(inner=True)
def through_base(t: Tableau, k: int, y: Floats) -> None:
    """Convert a column y (padded) of the first dictionary to the dictionary of the basis factored in A, of size k."""
    # s, in whole blocks of eight.
    s = t.solution
    for j in range(k):
        t.ratio[j] = -y[t.active[j]]
        y[t.active[j]] = 0.0
    lu_solve(view_2d(t.A, 0, k, k), k, t.perm, t.ratio, s)
    for j in range(k, (k + 7) // 8 * 8):
        s[j] = 0.0
    # The rows outside a, then the rows of a.
    for block in range((k + 7) // 8):
        add_block(t.exchanges, block, s[8 * block :], y)
    for j in range(k):
        y[t.active[j]] = s[j]


@kernel
def base_tableau(t: Tableau, M: Floats, q: Floats, k: int) -> None:
    """Form the dictionary of the basis of the k indices in ``active``, whose block is factored in A."""
    # Exchange z_a and w_a in the first dictionary.
    first_tableau(t, q)
    n = q.shape[0]
    blocks = (k + 7) // 8
    for c in range(n):
        t.kind[c] = OUTSIDE_BASE
        t.stamp[c] = 8 * blocks
    for j in range(k):
        i = t.active[j]
        t.basis[i] = n + i
        t.nonbasis[i] = i
        t.position[i] = i
        t.position[n + i] = -1
        t.kind[i] = IN_BASE
    # The columns of M_ba, zero in the rows of a.
    U = t.exchanges.U
    for j in range(8 * blocks):
        target = U[j]
        for i in range(target.shape[0]):
            target[i] = 0.0
    for i in range(n):
        if t.basis[i] == i:
            source = M[i]
            for j in range(k):
                U[j, i] = source[t.active[j]] * t.row[i] * t.column[t.active[j]]
    # Basic values; later exchanges follow the columns.
    through_base(t, k, t.x)
    t.counts[BASE_SIZE] = k
    t.counts[PENDING] = 8 * blocks


@kernel(inline=True)
def copy_column(t: Tableau, M: Floats, c: int, y: Floats) -> None:
    """Fill y (padded) with column c as it was after ``stamp[c]`` of the pending exchanges."""
    # By the kind of the column.
    kind = t.kind[c]
    if kind == ORIGINAL:
        original_column(t, M, c, y)
    elif kind == STORED:
        source = t.T[c]
        for i in range(y.shape[0]):
            y[i] = source[i]
    elif kind == OUTSIDE_BASE:
        original_column(t, M, c, y)
        through_base(t, t.counts[BASE_SIZE], y)
    elif kind == IN_BASE:
        for i in range(y.shape[0]):
            y[i] = 0.0
        y[c] = -1.0
        through_base(t, t.counts[BASE_SIZE], y)
    else:
        column_left_behind(t.exchanges, t.stamp[c] - 1, t.counts[PENDING], y)


@kernel
def stored_column(t: Tableau, M: Floats, c: int) -> None:
    """Bring column c up to date, with all pending exchanges, in its row of T."""
    y = t.T[c]
    if t.kind[c] != STORED:
        copy_column(t, M, c, y)
        t.kind[c] = STORED
    if t.stamp[c] < t.counts[PENDING]:
        advance(t.exchanges, y, t.stamp[c], t.counts[PENDING])
        t.stamp[c] = t.counts[PENDING]


@kernel
def update_tableau(t: Tableau, M: Floats) -> None:
    """Apply the pending exchanges to every column and remove them."""
    update_columns(t, M, M.shape[0] + 1)


@kernel(inner=True)
def update_columns(t: Tableau, M: Floats, most: int) -> bool:
    """Update about ``most`` further columns by the pending exchanges; return True, without exchanges, after the last.

    ``counts[UPDATED]`` is the column at which the next call continues.
    """
    # The next columns.
    n = M.shape[0]
    first = t.counts[UPDATED]
    last = min(n + 1, first + 1 + most)
    for c in range(first, last):
        stored_column(t, M, c)
    t.counts[UPDATED] = last
    # There are more to update.
    if last <= n:
        return False
    # All are up to date: remove the exchanges.
    for c in range(n + 1):
        t.stamp[c] = 0
    t.counts[UPDATED] = 0
    t.counts[PENDING] = 0
    t.counts[MOST_PENDING] = min(SHORT, t.counts[MOST_PENDING])
    return True


@kernel(inline=True)
def entering_column(t: Tableau, M: Floats, entering: int) -> None:
    """Fill ``entry`` with the up-to-date column of a nonbasic variable."""
    # Update the whole tableau if there are too many exchanges.
    pending = t.counts[PENDING]
    if pending >= t.counts[MOST_PENDING]:
        update_tableau(t, M)
        pending = 0
    # Copy the column.
    c = t.position[entering]
    if t.counts[WHOLE_KEPT] == 1:
        source = t.T[c]
        for i in range(in_eights(M.shape[0])):
            t.entry[i] = source[i]
        return
    copy_column(t, M, c, t.entry)
    if t.stamp[c] < pending:
        advance(t.exchanges, t.entry, t.stamp[c], pending)


@kernel(inline=True)
def exchange(t: Tableau, r: int, entering: int) -> int:
    """Exchange the basic variable of row r, which is returned, with ``entering``, whose column is ``entry``.

    The caller updates the basic values.
    """
    # Apply the exchange immediately, or store it.
    c = t.position[entering]
    leaving = t.basis[r]
    if t.counts[WHOLE_KEPT] == 1:
        update_all(t, r, c)
    else:
        k = t.counts[PENDING]
        append(t.exchanges, t.entry, r, k)
        t.counts[PENDING] = k + 1
        t.stamp[c] = k + 1
        t.kind[c] = LEFT_BEHIND
    # Exchange the variables.
    t.basis[r] = entering
    t.nonbasis[c] = leaving
    t.position[entering] = -1
    t.position[leaving] = c
    return leaving
