"""Newton's system in the velocities of an island whose contacts and joint rows have given slopes.

With forces p(v) whose derivative by the rates of their rows is -B, the residual v - v_free - h sum Y' p(v) of the
velocities has the derivative::

    K = 1 + h sum Y' B J

K is as sparse as the contacts between trees, unsymmetric if contacts slide, and regular also for dependent rows.
"""

from __future__ import annotations

from lcp.compiler.views import view_1d
from lcp.contacts.kernels.contact_law import CONTACT_DIM, ContactState, FrictionCone, normal_row
from lcp.contacts.kernels.contact_system import (
    ContactSystem,
    add_on,
    add_row_times,
    add_three,
    add_three_rows,
    combine3_range,
    row_ranges,
)
from lcp.contacts.kernels.elimination import Elimination, lower_panel, panel_size, tree_at, upper_panel
from lcp.kernels import Floats, kernel


@kernel(inner=True)
def form_system(
    rows: ContactSystem,
    polygon: FrictionCone,
    contacts: ContactState,
    trees: Elimination,
    W: Floats,
    K: Floats,
) -> None:
    """Fill the panels of K = 1 + h sum Y' B J; W (3, nv) is scratch. Each joint row acts on one tree."""
    for i in range(panel_size(trees)):
        K[i] = 0.0
    for k in range(trees.order.shape[0]):
        upper = upper_panel(trees, K, k)
        for p in range(upper.shape[0]):
            upper[p, p] = 1.0
    for c in range(contacts.B.shape[0]):
        # An open contact adds nothing; a cone of moments has no separate normal force.
        B = contacts.B[c]
        moves = B[1, 0] != 0.0 or B[2, 0] != 0.0 or B[1, 1] != 0.0 or B[2, 2] != 0.0
        if B[0, 0] != 0.0 or (c >= rows.nc and moves):
            add_contact(rows, polygon, trees, c, B, W, K)


@kernel(inner=True)
def add_contact(
    rows: ContactSystem, polygon: FrictionCone, trees: Elimination, c: int, B: Floats, W: Floats, K: Floats
) -> None:
    """Add h Y' B J of a contact, of a moment cone or of a joint row to K."""
    if c >= rows.r.shape[0]:
        add_row(rows, trees, normal_row(rows, c), B[0, 0], K)
        return
    starts, pairs = trees.starts, trees.pairs
    i, j, k = contact_row(rows, polygon, c, 0), contact_row(rows, polygon, c, 1), contact_row(rows, polygon, c, 2)
    # W = h B J, by the trees on which the contact acts.
    a, b = pairs[i, 0], pairs[i, 1]
    begin, end = starts[a], starts[a + 1]
    n = end - begin
    part = 0 if row_ranges(rows.column_ranges, i, rows.v_free.shape[0])[0] == begin else 1
    combine_J_parts(rows, B, i, j, k, part, begin, n, W)
    x, y, z = Y_part(rows, i, part, n), Y_part(rows, j, part, n), Y_part(rows, k, part, n)
    # The block of the first tree.
    upper = upper_panel(trees, K, a)
    u, v, w = W[0, begin:end], W[1, begin:end], W[2, begin:end]
    add_products(x, y, z, u, v, w, upper, 0)
    if b < 0:
        return
    # The blocks of both trees, and the one of the second tree.
    first, last = starts[b], starts[b + 1]
    at, size = pairs[i, 2], last - first
    combine_J_parts(rows, B, i, j, k, 1 - part, first, size, W)
    p, q, r = W[0, first:last], W[1, first:last], W[2, first:last]
    add_products(x, y, z, p, q, r, upper, at)
    x, y, z = Y_part(rows, i, 1 - part, size), Y_part(rows, j, 1 - part, size), Y_part(rows, k, 1 - part, size)
    add_products(u, v, w, x, y, z, lower_panel(trees, K, a), at - n)
    add_products(x, y, z, p, q, r, upper_panel(trees, K, b), 0)


@kernel(inner=True, vectors=True)
def add_products(x: Floats, y: Floats, z: Floats, u: Floats, v: Floats, w: Floats, panel: Floats, at: int) -> None:
    """Add x' u + y' v + z' w to the columns of a panel from ``at`` on; six columns, of a free body, as vectors."""
    n = u.shape[0]
    for p in range(x.shape[0]):
        f, g, h = x[p], y[p], z[p]
        row = panel[p, at : at + n]
        if n == 6:
            a = row[0] + (f * u[0] + g * v[0] + h * w[0])
            b = row[1] + (f * u[1] + g * v[1] + h * w[1])
            c = row[2] + (f * u[2] + g * v[2] + h * w[2])
            d = row[3] + (f * u[3] + g * v[3] + h * w[3])
            e = row[4] + (f * u[4] + g * v[4] + h * w[4])
            i = row[5] + (f * u[5] + g * v[5] + h * w[5])
            row[0] = a
            row[1] = b
            row[2] = c
            row[3] = d
            row[4] = e
            row[5] = i
        else:
            add_three(f, g, h, u, v, w, row)


@kernel(inline=True)
def Y_part(rows: ContactSystem, i: int, part: int, n: int) -> Floats:
    """Return the view of the n stored entries of row i of Y in its first (``part`` 0) or second column range."""
    return view_1d(rows.Y_entries, rows.offsets[i, part], n)


@kernel(inner=True)
def combine_J_parts(
    rows: ContactSystem, B: Floats, i: int, j: int, k: int, part: int, begin: int, n: int, W: Floats
) -> None:
    """Fill n columns of W (3, nv) from ``begin`` on with h B J, from one column range of a contact's rows i, j, k."""
    J, at = rows.J_entries, rows.offsets
    x, y, z = view_1d(J, at[i, part], n), view_1d(J, at[j, part], n), view_1d(J, at[k, part], n)
    for e in range(CONTACT_DIM):
        combine3_range(0, n, rows.h * B[e, 0], rows.h * B[e, 1], rows.h * B[e, 2], x, y, z, W[e, begin : begin + n])


@kernel(inner=True)
def add_row(rows: ContactSystem, trees: Elimination, i: int, slope: float, K: Floats) -> None:
    """Add h slope Y' J of row i to K; the row acts on one tree."""
    begin, _, _, _ = row_ranges(rows.column_ranges, i, rows.v_free.shape[0])
    k = tree_at(trees.starts, begin)
    begin, end = trees.starts[k], trees.starts[k + 1]
    upper = upper_panel(trees, K, k)
    row = view_1d(rows.J_entries, rows.offsets[i, 0], end - begin)
    for p in range(end - begin):
        factor = rows.h * slope * Y_part(rows, i, 0, end - begin)[p]
        if factor != 0.0:
            add_on(0, end - begin, factor, row, upper[p])


@kernel(inline=True)
def contact_row(rows: ContactSystem, polygon: FrictionCone, c: int, i: int) -> int:
    """Return the i-th of a contact's three rows, or the normal row if it has fewer."""
    if i == 0 or i > rows.r[c]:
        return rows.cone_contacts[c]
    first = polygon.first[c]
    return first if i == 1 else first + polygon.second_direction


@kernel(inner=True)
def apply_contact_impulse(rows: ContactSystem, polygon: FrictionCone, c: int, p: Floats, v: Floats) -> None:
    """Add h Y' p of the force p (3,) of a contact or joint row, along normal and axes, to the velocities v."""
    if p[0] == 0.0 and p[1] == 0.0 and p[2] == 0.0:
        return
    impulse, ncone = rows.h, rows.r.shape[0]
    if c < rows.nc and rows.r[c] > 1:
        first = polygon.first[c]
        along, across = p[1] + polygon.skew * p[2], polygon.stretch * p[2]
        add_three_rows(
            rows, c, first, first + polygon.second_direction, impulse * p[0], impulse * along, impulse * across, v
        )
        return
    if rows.nc <= c < ncone:
        # A moment; the normal force of its contact does not act a second time.
        impulse *= rows.mu[c]
    else:
        add_row_times(rows, normal_row(rows, c), impulse * p[0], v)
    if c < ncone and rows.r[c] > 0:
        first = polygon.first[c]
        add_row_times(rows, first, impulse * (p[1] + polygon.skew * p[2]), v)
        if rows.r[c] > 1:
            add_row_times(rows, first + polygon.second_direction, impulse * polygon.stretch * p[2], v)
