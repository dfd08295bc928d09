"""The rows of one step's problem, in the form of all kernels of this folder, and products with them.

A row of J and Y can differ from zero only in the columns of the one or two trees it acts on. ``column_ranges``
(rows, 4) holds two half-open ranges of columns for each row, the lower one first. A row beyond its length has all
columns. A sum over the ranges has the bits of the sum over all columns, because only zeros are left out.

A row of J has one column for each velocity of the island, but a free body has only six. So rows are far apart in
memory, and each uses a separate page. *Packed* rows are stored contiguously, for loops that read all rows often: each
row takes twelve numbers, six for each of its two bodies. Longer rows, of articulated trees, are read from J and Y. The
last functions below treat both in the same way: they find the two parts of row i at ``offsets[i]``.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from lcp.compiler.views import view_1d, view_2d
from lcp.kernels import Floats, Ints, kernel

NOT_PACKED: Final[Floats] = np.zeros(0)
NO_OFFSETS: Final[Ints] = np.zeros((0, 2), dtype=np.int64)
SPAN_INTS: Final = 4
# Number of entries from which vector instructions are faster. Entries of a free body were just written one by one, and
# are not in the cache yet.
MANY: Final = 12
# Numbers of a packed row: the velocities of two free bodies. Number of entries of J from which rows are packed, because
# J and Y then use more pages of memory than a processor keeps in its lookup buffer.
WIDTH: Final = 12
MANY_ENTRIES: Final = 16384


class ContactSystem(NamedTuple):
    """Rows [N; F; L; G; B] with their responses and terms; m rows in all, of which nbox are boxed.

    Assembly and recovery get them with the rows G eliminated (nb = 0), certification in their original form. At
    acceleration level h is 1 and velocities are accelerations.
    """

    h: float  # step [s]
    nc: int  # contacts
    nr: int  # friction directions of all contacts
    nl: int  # limits
    nb: int  # bilateral rows
    r: Ints  # (ncone,) directions of each friction cone: of the contacts' own, then of further ones
    mu: Floats  # (ncone,) friction coefficient, or length [m] of a cone of moments
    cone_contacts: Ints  # (ncone,) the contact whose normal force bounds each cone
    J: Floats  # (>= m, nv) constraint rows
    Y: Floats  # (>= m, nv) row i is C J_i, C the inverse inertia
    k: Floats  # (>= m,) terms of the rows [m/s for contacts]
    gamma: Floats  # (>= m,) softening [s/kg for contacts]
    gammaE: Floats  # (ncone,) softening of the slack lambda
    lo: Floats  # (nbox,) bounds of the forces of boxed rows
    hi: Floats
    v_free: Floats  # (nv,) velocity after the step without the forces of these rows
    Mv: Floats  # (nv,) M v_free
    column_ranges: Ints  # columns of the rows, see above; empty for all columns
    diagonal: Floats  # (m,) J_i Y_i; empty if they are computed on request
    # Entries of J and Y in their ranges, row i from offsets[i, 0] and offsets[i, 1] on.
    J_entries: Floats = NOT_PACKED
    Y_entries: Floats = NOT_PACKED
    offsets: Ints = NO_OFFSETS  # (m, 2)


@kernel(inline=True)
def row_ranges(spans: Ints, i: int, nv: int) -> tuple[int, int, int, int]:
    """Return (a, b, c, d): row i has entries in the columns a .. b and c .. d only (ends excluded).

    A row beyond the end of ``spans`` has all columns, 0 .. nv.
    """
    if i >= spans.shape[0]:
        return 0, nv, nv, nv
    return spans[i, 0], spans[i, 1], spans[i, 2], spans[i, 3]


@kernel(inner=True)
def sparse_dot(a: int, b: int, c: int, d: int, x: Floats, y: Floats) -> float:
    """Return the sum of x_p y_p over the ranges a .. b and c .. d, in this order."""
    total = dot_range(a, b, x, y, 0.0)
    return dot_range(c, d, x, y, total) if c < d else total


@kernel(inline=True)
def dot_of_row(rows: ContactSystem, i: int, x: Floats, y: Floats) -> float:
    """Return the sum of x_p y_p over the column ranges of row i: `sparse_dot`, inlined for loops over all rows."""
    a, b, c, d = row_ranges(rows.column_ranges, i, y.shape[0])
    total = dot_range(a, b, x, y, 0.0)
    return dot_range(c, d, x, y, total) if c < d else total


@kernel(inner=True)
def dot_range(a: int, b: int, x: Floats, y: Floats, total: float) -> float:
    """Return total plus the sum of x_p y_p over a .. b, in order; three in an iteration, as a body has six columns."""
    p = a
    while p + 3 <= b:
        total += x[p] * y[p]
        total += x[p + 1] * y[p + 1]
        total += x[p + 2] * y[p + 2]
        p += 3
    while p < b:
        total += x[p] * y[p]
        p += 1
    return total


@kernel(inner=True)
def abs_dot_range(a: int, b: int, x: Floats, u: Floats, total: float) -> float:
    """Return total plus the sum of |x_p| u_p over a .. b, in order; three in an iteration as in `dot_range`."""
    p = a
    while p + 3 <= b:
        total += abs(x[p]) * u[p]
        total += abs(x[p + 1]) * u[p + 1]
        total += abs(x[p + 2]) * u[p + 2]
        p += 3
    while p < b:
        total += abs(x[p]) * u[p]
        p += 1
    return total


@kernel(inner=True)
def abs_terms_range(a: int, b: int, x: Floats, y: Floats, total: float) -> float:
    """Return total plus the sum of |x_p y_p| over a .. b, in order."""
    for p in range(a, b):
        total += abs(x[p] * y[p])
    return total


@kernel(inner=True)
def dot_and_terms_on(
    a: int, b: int, x: Floats, y: Floats, z: Floats, total: float, terms: float
) -> tuple[float, float]:
    """Return ``total`` plus the sum of x_p y_p, and ``terms`` plus the sum of |x_p z_p|, over a .. b.

    The results are equal, bit for bit, to `dot_range` and `abs_terms_range`, but x is read once.
    """
    p = a
    while p + 3 <= b:
        total += x[p] * y[p]
        terms += abs(x[p] * z[p])
        total += x[p + 1] * y[p + 1]
        terms += abs(x[p + 1] * z[p + 1])
        total += x[p + 2] * y[p + 2]
        terms += abs(x[p + 2] * z[p + 2])
        p += 3
    while p < b:
        total += x[p] * y[p]
        terms += abs(x[p] * z[p])
        p += 1
    return total, terms


@kernel(inner=True, vectors=True)
def add_sizes_on(a: int, b: int, factor: float, x: Floats, y: Floats) -> None:
    """Add factor |x_p| to y_p over a .. b, in place; four at a time, so that the compiler uses vectors."""
    p = a
    while p + 4 <= b:
        r, s, t, u = x[p], x[p + 1], x[p + 2], x[p + 3]
        e, f, g, h = y[p], y[p + 1], y[p + 2], y[p + 3]
        y[p] = e + factor * abs(r)
        y[p + 1] = f + factor * abs(s)
        y[p + 2] = g + factor * abs(t)
        y[p + 3] = h + factor * abs(u)
        p += 4
    while p < b:
        y[p] += factor * abs(x[p])
        p += 1


@kernel(inner=True)
def add_within(a: int, b: int, c: int, d: int, factor: float, x: Floats, y: Floats) -> None:
    """Add factor x_p to y_p over the ranges a .. b and c .. d."""
    add_on(a, b, factor, x, y)
    if c < d:
        add_on(c, d, factor, x, y)


@kernel(inner=True, vectors=True)
def add_on(a: int, b: int, factor: float, x: Floats, y: Floats) -> None:
    """Add factor x_p to y_p over a .. b, in place.

    Many columns are taken four at a time: all four are read before one is written, so the compiler uses vectors.
    """
    p = a
    while b - a >= MANY and p + 4 <= b:
        r, s, t, u = x[p], x[p + 1], x[p + 2], x[p + 3]
        e, f, g, h = y[p], y[p + 1], y[p + 2], y[p + 3]
        y[p] = e + factor * r
        y[p + 1] = f + factor * s
        y[p + 2] = g + factor * t
        y[p + 3] = h + factor * u
        p += 4
    while p + 3 <= b:
        y[p] += factor * x[p]
        y[p + 1] += factor * x[p + 1]
        y[p + 2] += factor * x[p + 2]
        p += 3
    while p < b:
        y[p] += factor * x[p]
        p += 1


@kernel(inner=True, vectors=True)
def add_three(f: float, g: float, h: float, x: Floats, y: Floats, z: Floats, row: Floats) -> None:
    """Add f x + g y + h z to ``row`` in place; many columns are taken four at a time, others three, as in `add_on`."""
    n = x.shape[0]
    p = 0
    while n >= MANY and p + 4 <= n:
        a, b, c, d = row[p], row[p + 1], row[p + 2], row[p + 3]
        i = f * x[p] + g * y[p] + h * z[p]
        j = f * x[p + 1] + g * y[p + 1] + h * z[p + 1]
        k = f * x[p + 2] + g * y[p + 2] + h * z[p + 2]
        m = f * x[p + 3] + g * y[p + 3] + h * z[p + 3]
        row[p] = a + i
        row[p + 1] = b + j
        row[p + 2] = c + k
        row[p + 3] = d + m
        p += 4
    while p + 3 <= n:
        row[p] += f * x[p] + g * y[p] + h * z[p]
        row[p + 1] += f * x[p + 1] + g * y[p + 1] + h * z[p + 1]
        row[p + 2] += f * x[p + 2] + g * y[p + 2] + h * z[p + 2]
        p += 3
    while p < n:
        row[p] += f * x[p] + g * y[p] + h * z[p]
        p += 1


@kernel(inner=True, vectors=True)
def add_to_three(f: float, g: float, h: float, x: Floats, u: Floats, v: Floats, w: Floats) -> None:
    """Add f x to u, g x to v and h x to w in place, four columns at a time as in `add_on`."""
    p = 0
    while p + 4 <= x.shape[0]:
        a, b, c, d = x[p], x[p + 1], x[p + 2], x[p + 3]
        e, i, j, k = u[p] + f * a, u[p + 1] + f * b, u[p + 2] + f * c, u[p + 3] + f * d
        m, n, o, q = v[p] + g * a, v[p + 1] + g * b, v[p + 2] + g * c, v[p + 3] + g * d
        r, s, t, y = w[p] + h * a, w[p + 1] + h * b, w[p + 2] + h * c, w[p + 3] + h * d
        u[p], u[p + 1], u[p + 2], u[p + 3] = e, i, j, k
        v[p], v[p + 1], v[p + 2], v[p + 3] = m, n, o, q
        w[p], w[p + 1], w[p + 2], w[p + 3] = r, s, t, y
        p += 4
    while p < x.shape[0]:
        u[p] += f * x[p]
        v[p] += g * x[p]
        w[p] += h * x[p]
        p += 1


@kernel(inner=True, vectors=True)
def combine3_range(a: int, b: int, f: float, g: float, h: float, x: Floats, y: Floats, z: Floats, row: Floats) -> None:
    """Set row_p = f x_p + g y_p + h z_p over a .. b, four columns at a time as in `add_on`."""
    p = a
    while b - a >= MANY and p + 4 <= b:
        i = f * x[p] + g * y[p] + h * z[p]
        j = f * x[p + 1] + g * y[p + 1] + h * z[p + 1]
        k = f * x[p + 2] + g * y[p + 2] + h * z[p + 2]
        m = f * x[p + 3] + g * y[p + 3] + h * z[p + 3]
        row[p] = i
        row[p + 1] = j
        row[p + 2] = k
        row[p + 3] = m
        p += 4
    while p + 3 <= b:
        row[p] = f * x[p] + g * y[p] + h * z[p]
        row[p + 1] = f * x[p + 1] + g * y[p + 1] + h * z[p + 1]
        row[p + 2] = f * x[p + 2] + g * y[p + 2] + h * z[p + 2]
        p += 3
    while p < b:
        row[p] = f * x[p] + g * y[p] + h * z[p]
        p += 1


@kernel(inner=True, vectors=True)
def combine3_six(a: int, f: float, g: float, h: float, x: Floats, y: Floats, z: Floats, row: Floats) -> None:
    """Do what `combine3_range` does for the six columns from a on, of a free body, with vector instructions."""
    i = f * x[a] + g * y[a] + h * z[a]
    j = f * x[a + 1] + g * y[a + 1] + h * z[a + 1]
    k = f * x[a + 2] + g * y[a + 2] + h * z[a + 2]
    m = f * x[a + 3] + g * y[a + 3] + h * z[a + 3]
    p = f * x[a + 4] + g * y[a + 4] + h * z[a + 4]
    q = f * x[a + 5] + g * y[a + 5] + h * z[a + 5]
    row[a] = i
    row[a + 1] = j
    row[a + 2] = k
    row[a + 3] = m
    row[a + 4] = p
    row[a + 5] = q


@kernel(inline=True)
def delassus_diagonal_entry(rows: ContactSystem, i: int) -> float:
    """Return J_i Y_i of row i, the change of its rate for a unit of its impulse."""
    if i < rows.diagonal.shape[0]:
        return rows.diagonal[i]
    return dot_of_row(rows, i, rows.J[i], rows.Y[i])


@kernel(inline=True)
def row_response(rows: ContactSystem, i: int) -> float:
    """Return h J_i Y_i + gamma_i, the rate of row i for a unit of its force."""
    return rows.h * delassus_diagonal_entry(rows, i) + rows.gamma[i]


@kernel(inner=True)
def response_of(rows: ContactSystem, posed: Floats, diagonal: Floats, i: int) -> float:
    """Return h J_i Y_i + gamma_i, the rate of row i for a unit of its force, if possible before rows G are eliminated.

    It comes from ``posed`` (see `IslandProblem`) if this is not empty. Otherwise it comes from ``diagonal`` (n,), the
    responses of the first n rows, or for later rows from `row_response`.
    """
    if posed.shape[0] > 0:
        return rows.h * posed[i] + rows.gamma[i]
    return diagonal[i] if i < diagonal.shape[0] else row_response(rows, i)


@kernel(inner=True)
def size_unforced(rows: ContactSystem, posed: Floats, i: int) -> float:
    """Return the magnitude of row i's rate without forces, before rows G are eliminated if ``posed`` is not empty."""
    if posed.shape[0] > 0:
        return posed[posed.shape[0] // 2 + i]
    return abs(dot_of_row(rows, i, rows.J[i], rows.v_free) + rows.k[i])


@kernel
def packed_floats(m: int) -> int:
    """Return the length of the float workspace for m rows."""
    return 2 * WIDTH * m


@kernel
def packed_ints(m: int) -> int:
    """Return the length of the integer workspace for m rows."""
    return 2 * m


@kernel(inner=True)
def packed_rows(rows: ContactSystem, floats: Floats, ints: Ints, fill: bool) -> ContactSystem:
    """Return the rows with their entries packed into the workspaces; these are filled already if ``fill`` is False."""
    nv = rows.v_free.shape[0]
    m = rows.nc + rows.nr + rows.nl + rows.lo.shape[0]
    offsets = view_2d(ints, 0, m, 2)
    # Rows are packed if there are many, all of free bodies.
    narrow = m * nv > MANY_ENTRIES
    if narrow:
        for i in range(m):
            a, b, c, d = row_ranges(rows.column_ranges, i, nv)
            narrow = narrow and b - a + d - c <= WIDTH
    J, Y = view_1d(rows.J, 0, m * nv), view_1d(rows.Y, 0, m * nv)
    if narrow:
        J, Y = floats[: WIDTH * m], floats[WIDTH * m : 2 * WIDTH * m]
    if fill:
        for i in range(m):
            a, b, c, d = row_ranges(rows.column_ranges, i, nv)
            offsets[i, 0] = WIDTH * i if narrow else nv * i + a
            offsets[i, 1] = WIDTH * i + b - a if narrow else nv * i + c
            if narrow:
                copy_part(rows, i, a, b, WIDTH * i, J, Y)
                copy_part(rows, i, c, d, WIDTH * i + b - a, J, Y)
    return ContactSystem(
        rows.h, rows.nc, rows.nr, rows.nl, rows.nb, rows.r, rows.mu, rows.cone_contacts, rows.J, rows.Y, rows.k,
        rows.gamma, rows.gammaE, rows.lo, rows.hi, rows.v_free, rows.Mv, rows.column_ranges, rows.diagonal, J, Y,
        offsets,
    )  # fmt: skip


@kernel(inner=True)
def copy_part(rows: ContactSystem, i: int, begin: int, end: int, at: int, J: Floats, Y: Floats) -> None:
    """Copy the columns of row i from ``begin`` to ``end`` to J[at:] and Y[at:]."""
    for p in range(end - begin):
        J[at + p] = rows.J[i, begin + p]
        Y[at + p] = rows.Y[i, begin + p]


@kernel(inner=True)
def row_dot(rows: ContactSystem, i: int, v: Floats) -> float:
    """Return J_i v."""
    a, b, c, d = row_ranges(rows.column_ranges, i, v.shape[0])
    at, then = rows.offsets[i, 0], rows.offsets[i, 1]
    total = dot_range(0, b - a, view_1d(rows.J_entries, at, b - a), view_1d(v, a, b - a), 0.0)
    if c < d:
        total = dot_range(0, d - c, view_1d(rows.J_entries, then, d - c), view_1d(v, c, d - c), total)
    return total


@kernel(inner=True)
def add_row_times(rows: ContactSystem, i: int, factor: float, v: Floats) -> None:
    """Add ``factor`` times row i of Y to v."""
    a, b, c, d = row_ranges(rows.column_ranges, i, v.shape[0])
    at, then = rows.offsets[i, 0], rows.offsets[i, 1]
    add_on(0, b - a, factor, view_1d(rows.Y_entries, at, b - a), view_1d(v, a, b - a))
    if c < d:
        add_on(0, d - c, factor, view_1d(rows.Y_entries, then, d - c), view_1d(v, c, d - c))


@kernel(inner=True)
def three_dots(rows: ContactSystem, i: int, j: int, k: int, v: Floats) -> tuple[float, float, float]:
    """Return J_i v, J_j v and J_k v of three rows with the same span, v read once."""
    a, b, c, d = row_ranges(rows.column_ranges, i, v.shape[0])
    x = y = z = 0.0
    for part in range(2 if c < d else 1):
        begin = a if part == 0 else c
        n = b - a if part == 0 else d - c
        J, at = rows.J_entries, rows.offsets
        p, q, r, u = (
            view_1d(J, at[i, part], n),
            view_1d(J, at[j, part], n),
            view_1d(J, at[k, part], n),
            view_1d(v, begin, n),
        )
        for e in range(n):
            x += p[e] * u[e]
            y += q[e] * u[e]
            z += r[e] * u[e]
    return x, y, z


@kernel(inner=True)
def add_three_rows(rows: ContactSystem, i: int, j: int, k: int, f: float, g: float, h: float, v: Floats) -> None:
    """Add f Y_i + g Y_j + h Y_k of three rows with the same span to v."""
    a, b, c, d = row_ranges(rows.column_ranges, i, v.shape[0])
    Y, at = rows.Y_entries, rows.offsets
    for part in range(2 if c < d else 1):
        begin = a if part == 0 else c
        n = b - a if part == 0 else d - c
        x, y, z = view_1d(Y, at[i, part], n), view_1d(Y, at[j, part], n), view_1d(Y, at[k, part], n)
        add_in_order(f, g, h, x, y, z, view_1d(v, begin, n))


@kernel(inner=True, vectors=True)
def add_in_order(f: float, g: float, h: float, x: Floats, y: Floats, z: Floats, v: Floats) -> None:
    """Add f x, then g y, then h z to v; three numbers are read before one is written, so the compiler uses vectors."""
    p = 0
    while p + 3 <= v.shape[0]:
        a = ((v[p] + f * x[p]) + g * y[p]) + h * z[p]
        b = ((v[p + 1] + f * x[p + 1]) + g * y[p + 1]) + h * z[p + 1]
        c = ((v[p + 2] + f * x[p + 2]) + g * y[p + 2]) + h * z[p + 2]
        v[p] = a
        v[p + 1] = b
        v[p + 2] = c
        p += 3
    while p < v.shape[0]:
        v[p] = ((v[p] + f * x[p]) + g * y[p]) + h * z[p]
        p += 1
