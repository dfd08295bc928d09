"""Entries of the rows within their ranges, stored contiguously for loops that read all rows often.

A row of J has one column for each velocity of the island, but a free body has only six. So rows are far apart in
memory, and each uses a separate page. Here each row takes twelve numbers, six for each of its two bodies. Longer rows,
of articulated trees, are read from J and Y. The functions below treat both in the same way: they find the two parts of
row i at ``offsets[i]``. Sums have the order and the bits of `column_ranges`.
"""

from __future__ import annotations

from typing import Final

from lcp.compiler.views import view_1d
from lcp.contacts.kernels.column_ranges import add_on, dot_range, row_ranges
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.kernels import Floats, Ints, kernel

# Numbers of a packed row: the velocities of two free bodies. Number of entries of J from which rows are packed, because
# J and Y then use more pages of memory than a processor keeps in its lookup buffer.
WIDTH: Final = 12
MANY_ENTRIES: Final = 16384


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
    offsets = ints[: 2 * m].reshape(m, 2)
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
    """Add f Y_i, then g Y_j, then h Y_k of three rows with the same span to v."""
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
