"""Newton's step on the velocities of an island whose contacts and rows of joints answer with given slopes.

With forces p(v), of slope -B in the rates of their rows, v = v_free + h sum Y p(v) has the derivative::

    1 + h sum Y' B J

This matrix is as sparse as the trees' contacts, unsymmetric where contacts slide, and regular whatever rows depend on
one another.
"""

from __future__ import annotations

from lcp.contacts.kernels.contact_response import THREE, Contacts, Polygon, to_moments
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.elimination import Elimination, lower_panel, panel_size, tree_at, upper_panel
from lcp.contacts.kernels.spans import add_on, add_three, add_within, blend_on, columns, dot_within
from lcp.kernels import Floats, kernel


@kernel(inner=True)
def form_system(
    rows: ContactSystem,
    polygon: Polygon,
    contacts: Contacts,
    slopes: Floats,
    trees: Elimination,
    W: Floats,
    K: Floats,
) -> None:
    """Fill the panels of K = 1 + h sum Y' B J; W (3, nv) is scratch.

    ``slopes`` are those of the rows behind the friction rows, each of which acts on one tree.
    """
    for i in range(panel_size(trees)):
        K[i] = 0.0
    for k in range(trees.order.shape[0]):
        upper = upper_panel(trees, K, k)
        for p in range(upper.shape[0]):
            upper[p, p] = 1.0
    for c in range(contacts.B.shape[0]):
        # Open; a cone of moments has no normal force of its own.
        if contacts.B[c, 0, 0] != 0.0 or (c >= rows.nc and turns_with(contacts.B[c])):
            add_contact(rows, polygon, trees, c, contacts.B[c], W, K)
    for i in range(slopes.shape[0]):
        if slopes[i] != 0.0:
            add_row(rows, trees, i, slopes[i], K)


@kernel(inner=True)
def add_contact(
    rows: ContactSystem, polygon: Polygon, trees: Elimination, c: int, B: Floats, W: Floats, K: Floats
) -> None:
    """K += h Y' B J of a contact, or of a cone of moments."""
    starts, pairs = trees.starts, trees.pairs
    J, Y = rows.J, rows.Y
    i, j, k = three(rows, polygon, c, 0), three(rows, polygon, c, 1), three(rows, polygon, c, 2)
    begin, middle, other, end = columns(rows.spans, i, rows.v_free.shape[0])
    for e in range(THREE):
        f, g, h = rows.h * B[e, 0], rows.h * B[e, 1], rows.h * B[e, 2]
        blend_on(begin, middle, f, g, h, J[i], J[j], J[k], W[e])
        if other < end:
            blend_on(other, end, f, g, h, J[i], J[j], J[k], W[e])
    a = pairs[i, 0]
    begin, end = starts[a], starts[a + 1]
    upper = upper_panel(trees, K, a)
    for p in range(begin, end):
        add_three(Y[i, p], Y[j, p], Y[k, p], W[0, begin:end], W[1, begin:end], W[2, begin:end], upper[p - begin])
    b = pairs[i, 1]
    if b < 0:
        return
    first, last = starts[b], starts[b + 1]
    at = pairs[i, 2]
    lower = lower_panel(trees, K, a)
    for p in range(begin, end):
        row = upper[p - begin, at:]
        add_three(Y[i, p], Y[j, p], Y[k, p], W[0, first:last], W[1, first:last], W[2, first:last], row)
        row = lower[p - begin, at - (end - begin) :]
        add_three(W[0, p], W[1, p], W[2, p], Y[i, first:last], Y[j, first:last], Y[k, first:last], row)
    upper = upper_panel(trees, K, b)
    for p in range(first, last):
        add_three(Y[i, p], Y[j, p], Y[k, p], W[0, first:last], W[1, first:last], W[2, first:last], upper[p - first])


@kernel(inner=True)
def add_row(rows: ContactSystem, trees: Elimination, i: int, slope: float, K: Floats) -> None:
    """K += h slope Y' J of the i-th row behind the friction rows, which acts on one tree."""
    behind = rows.nc + rows.nr + i
    begin, _, _, _ = columns(rows.spans, behind, rows.v_free.shape[0])
    k = tree_at(trees.starts, begin)
    begin, end = trees.starts[k], trees.starts[k + 1]
    upper = upper_panel(trees, K, k)
    for p in range(begin, end):
        factor = rows.h * slope * rows.Y[behind, p]
        if factor != 0.0:
            add_on(0, end - begin, factor, rows.J[behind, begin:end], upper[p - begin])


@kernel(inline=True)
def turns_with(B: Floats) -> bool:
    """Whether a moment of slope B (3, 3) changes with any rate."""
    return B[1, 0] != 0.0 or B[2, 0] != 0.0 or B[1, 1] != 0.0 or B[2, 2] != 0.0


@kernel(inner=True)
def spread_slope(rows: ContactSystem, polygon: Polygon, c: int, D: Floats, B: Floats) -> None:
    """Fill B of the three rows of contact c from the slope D along normal and axes."""
    skew = polygon.skew
    stretch = polygon.stretch
    for i in range(THREE):
        B[i, 0] = D[i, 0]
        B[i, 1] = D[i, 1] + skew * D[i, 2]
        B[i, 2] = stretch * D[i, 2]
    for j in range(THREE):
        B[1, j] += skew * B[2, j]
        B[2, j] *= stretch
    if rows.r[c] == 1:
        for i in range(THREE):
            B[i, 2] = 0.0
            B[2, i] = 0.0
    if c >= rows.nc:
        to_moments(rows.mu[c], B)


@kernel(inline=True)
def three(rows: ContactSystem, polygon: Polygon, c: int, i: int) -> int:
    """The i-th of the three rows of a contact; the normal where there is none."""
    if i == 0 or i > rows.r[c]:
        return rows.cone_contacts[c]
    first = polygon.first[c]
    return first if i == 1 else first + polygon.across


@kernel(inner=True)
def push(rows: ContactSystem, polygon: Polygon, c: int, p: Floats, v: Floats) -> None:
    """Add h Y' p of a contact's force p (3,), along normal and axes, to the velocities v."""
    a, b, d, e = columns(rows.spans, rows.cone_contacts[c], v.shape[0])
    impulse = rows.h
    if c >= rows.nc:
        impulse *= rows.mu[c]
    elif p[0] != 0.0:
        add_within(a, b, d, e, impulse * p[0], rows.Y[c], v)
    if rows.r[c] > 0:
        first = polygon.first[c]
        along = p[1] + polygon.skew * p[2] if rows.r[c] > 1 else p[1]
        if along != 0.0:
            add_within(a, b, d, e, impulse * along, rows.Y[first], v)
        if rows.r[c] > 1 and p[2] != 0.0:
            add_within(a, b, d, e, impulse * polygon.stretch * p[2], rows.Y[first + polygon.across], v)


@kernel(inner=True)
def push_row(rows: ContactSystem, i: int, force: float, v: Floats) -> None:
    """Add h Y' p of the force p of row i to the velocities v."""
    a, b, c, d = columns(rows.spans, i, v.shape[0])
    add_within(a, b, c, d, rows.h * force, rows.Y[i], v)


@kernel(inner=True)
def row_speed(rows: ContactSystem, i: int, v: Floats) -> float:
    """Rate of row i at the velocities v, without its term k."""
    a, b, c, d = columns(rows.spans, i, v.shape[0])
    return dot_within(a, b, c, d, rows.J[i], v)
