"""LU factors of a matrix with the sparsity of an island: a block for every tree, and for every two trees in contact.

Trees are eliminated in an order of little fill (minimum degree, Tinney and Walker 1967), without pivoting. The
eliminated rows of a tree are stored in two panels: ``upper`` (n, w), its n rows in the columns of the tree itself and
of later ones, and ``lower`` (n, w - n), its columns in the rows of later ones, transposed. Both are in one array of at
most nv^2 numbers.
"""

from __future__ import annotations

from typing import NamedTuple

from lcp.compiler.views import view_2d
from lcp.contacts.kernels.contact_system import add_on, dot_range, row_ranges
from lcp.kernels import Floats, Ints, kernel


class Elimination(NamedTuple):
    """Elimination order of the trees of an island, and the positions of the panels."""

    starts: Ints  # (nt + 1,) first velocity of each tree
    order: Ints  # (nt,) the tree at each position
    width: Ints  # (nt,) of each tree's upper panel
    at: Ints  # (nt,) start of its upper panel; the lower one follows it
    fill: Ints  # (nt + 1,) by position, start in the next two arrays
    later: Ints  # trees that follow and are coupled, in the order of elimination
    offset: Ints  # their columns in the upper panel
    pairs: Ints  # (nc, 3) the trees of each contact, the earlier one first, -1 for none, and the other one's column
    degree: Ints  # (nt,) scratch, then the position of each tree
    runs: Ints  # (nt + 1, 2) scratch
    beside: Ints  # (nt, nt) scratch: whether two trees are coupled


@kernel
def elimination_ints(nc: int, nt: int) -> int:
    """Return the length of the integer workspace."""
    return 3 * nc + 7 * nt + 3 + nt * nt + nt * (nt - 1)


@kernel(inner=True)
def elimination_views(starts: Ints, nc: int, wi: Ints) -> Elimination:
    """Return the views of an `Elimination` in ``wi``, for nc cones and trees with the given first velocities."""
    nt = starts.shape[0] - 1
    pairs = view_2d(wi, 0, nc, 3)
    at = 3 * nc
    of_trees = view_2d(wi, at, 4, nt)
    fill = wi[at + 4 * nt : at + 5 * nt + 1]
    at += 5 * nt + 1
    runs = view_2d(wi, at, nt + 1, 2)
    at += 2 * (nt + 1)
    beside = view_2d(wi, at, nt, nt)
    at += nt * nt
    most = nt * (nt - 1) // 2
    later = wi[at : at + most]
    offset = wi[at + most : at + 2 * most]
    return Elimination(
        starts, of_trees[0], of_trees[1], of_trees[2], fill, later, offset, pairs, of_trees[3], runs, beside
    )


@kernel(inline=True)
def tree_at(starts: Ints, column: int) -> int:
    """Return the tree of a column."""
    low = 0
    high = starts.shape[0] - 2
    while low < high:
        middle = (low + high + 1) // 2
        if starts[middle] <= column:
            low = middle
        else:
            high = middle - 1
    return low


@kernel(inner=True)
def order_elimination(trees: Elimination, spans: Ints) -> None:
    """Find the elimination order of the trees for contacts in the given column ranges, and place the panels.

    Each contact must act on one or two trees.
    """
    starts, order, fill, later, offset = trees.starts, trees.order, trees.fill, trees.later, trees.offset
    pairs, degree, beside = trees.pairs, trees.degree, trees.beside
    nt = order.shape[0]
    nv = int(starts[nt])
    # no tree has a neighbour yet
    degree[:] = 0
    beside[:] = 0
    # the trees of each contact; two trees in one contact are neighbours
    for c in range(pairs.shape[0]):
        begin, _, other, end = row_ranges(spans, c, nv)
        a = tree_at(starts, begin)
        b = tree_at(starts, other) if other < end else -1
        pairs[c, 0] = a
        pairs[c, 1] = b
        pairs[c, 2] = 0
        if b >= 0 and beside[a, b] == 0:
            beside[a, b] = beside[b, a] = 1
            degree[a] += 1
            degree[b] += 1
    # eliminate the tree of least degree first
    at = 0
    count = 0
    for place in range(nt):
        # the tree that has the fewest neighbours left
        k = 0
        least = nt
        for j in range(nt):
            if 0 <= degree[j] < least:
                k = j
                least = degree[j]
        # its remaining neighbours are the blocks right of its diagonal block
        order[place] = k
        fill[place] = count
        for j in range(nt):
            if beside[k, j] != 0 and degree[j] >= 0:
                later[count] = j
                count += 1
        # elimination joins its neighbours pairwise
        degree[k] = -1
        for x in range(fill[place], count):
            a = later[x]
            degree[a] -= 1
            for y in range(fill[place], x):
                b = later[y]
                if beside[a, b] == 0:
                    beside[a, b] = beside[b, a] = 1
                    degree[a] += 1
                    degree[b] += 1
    fill[nt] = count
    # From here on degree is the position of a tree.
    for place in range(nt):
        degree[order[place]] = place
    # sort each tree's blocks by their place in the order, and place its panel
    for place in range(nt):
        k = order[place]
        n = starts[k + 1] - starts[k]
        width = n
        for x in range(fill[place], fill[place + 1]):
            j = later[x]
            y = x
            while y > fill[place] and degree[later[y - 1]] > degree[j]:
                later[y] = later[y - 1]
                y -= 1
            later[y] = j
        # column of each block in the panel, and the panel's width
        for x in range(fill[place], fill[place + 1]):
            offset[x] = width
            width += starts[later[x] + 1] - starts[later[x]]
        trees.width[k] = width
        trees.at[k] = at
        at += n * (2 * width - n)
    # the block of each contact's off-diagonal product, in the tree that is eliminated first
    for c in range(pairs.shape[0]):
        a = pairs[c, 0]
        b = pairs[c, 1]
        if b >= 0:
            if degree[b] < degree[a]:
                a, b = b, a
            pairs[c, 0] = a
            pairs[c, 1] = b
            x = fill[degree[a]]
            while later[x] != b:
                x += 1
            pairs[c, 2] = offset[x]


@kernel(inline=True)
def panel_size(trees: Elimination) -> int:
    """Return the number of floats of all panels."""
    nt = trees.order.shape[0]
    k = trees.order[nt - 1]
    n = trees.starts[k + 1] - trees.starts[k]
    return trees.at[k] + n * n


@kernel(inner=True)
def factor_work(trees: Elimination) -> float:
    """Return the approximate number of products of a factorisation."""
    work = 0.0
    for k in range(trees.order.shape[0]):
        width = float(trees.width[k])
        work += (trees.starts[k + 1] - trees.starts[k]) * width * width
    return work


@kernel(inline=True)
def upper_panel(trees: Elimination, K: Floats, k: int) -> Floats:
    """Return the rows of tree k."""
    return view_2d(K, trees.at[k], trees.starts[k + 1] - trees.starts[k], trees.width[k])


@kernel(inline=True)
def lower_panel(trees: Elimination, K: Floats, k: int) -> Floats:
    """Return the transposed columns of tree k below its diagonal block."""
    n = trees.starts[k + 1] - trees.starts[k]
    return view_2d(K, trees.at[k] + n * trees.width[k], n, trees.width[k] - n)


@kernel(inner=True)
def subtract_multiple(factor: float, x: Floats, y: Floats) -> None:
    """Subtract factor x from y."""
    add_on(0, y.shape[0], -factor, x, y)


@kernel(inner=True)
def factor_panels(trees: Elimination, K: Floats, total: Floats) -> bool:
    """Factor K = L U in place; return False if a pivot vanishes. ``total`` (nv,) is scratch."""
    starts, fill, later, offset = trees.starts, trees.fill, trees.later, trees.offset
    # eliminate one tree after another
    for place in range(trees.order.shape[0]):
        k = trees.order[place]
        upper = upper_panel(trees, K, k)
        lower = lower_panel(trees, K, k)
        n, width = upper.shape
        # factor the diagonal block, and apply it to the rows of the transposed columns
        for p in range(n):
            if not abs(upper[p, p]) > 1e-12:
                return False
            inverse = 1.0 / upper[p, p]
            for i in range(p + 1, n):
                factor = upper[i, p] * inverse
                if factor != 0.0:
                    subtract_multiple(factor, upper[p, p + 1 :], upper[i, p + 1 :])
                upper[i, p] = factor
            if width > n:
                row = lower[p]
                for q in range(p):
                    if upper[q, p] != 0.0:
                        subtract_multiple(upper[q, p], lower[q], row)
                for j in range(width - n):
                    row[j] *= inverse
        # subtract the products of its blocks from the panels of its neighbours
        for x in range(fill[place], fill[place + 1]):
            a = later[x]
            at = offset[x]
            size = starts[a + 1] - starts[a]
            rows = upper_panel(trees, K, a)
            below = lower_panel(trees, K, a)
            runs = find_runs(trees, x, fill[place + 1], width)
            last = width - at
            for r in range(size):
                # The change of row r of tree a by tree k, and of its column r.
                products(lower, at - n + r, upper, at, total[:last])
                subtract_runs(trees.runs, runs, 0, total, rows[r])
                if last > size:
                    products(upper, at + r, lower, at - n + size, total[: last - size])
                    subtract_runs(trees.runs, runs, size, total, below[r])
    return True


@kernel(inner=True, long_loops=True)
def products(left: Floats, column: int, right: Floats, first: int, total: Floats) -> None:
    """Fill ``total`` with the products of column ``column`` of ``left`` and the columns of ``right`` from ``first`` on.

    total_j = sum_p left[p, column] right[p, first + j], for panels of the same rows.
    """
    n = left.shape[0]
    size = total.shape[0]
    done = 0
    if n >= 6:
        a, b, c = left[0, column], left[1, column], left[2, column]
        d, e, f = left[3, column], left[4, column], left[5, column]
        t, u, v = right[0, first:], right[1, first:], right[2, first:]
        x, y, z = right[3, first:], right[4, first:], right[5, first:]
        for j in range(size):
            total[j] = (a * t[j] + b * u[j] + c * v[j]) + (d * x[j] + e * y[j] + f * z[j])
        done = 6
    else:
        for j in range(size):
            total[j] = 0.0
    for p in range(done, n):
        factor = left[p, column]
        row = right[p, first:]
        for j in range(size):
            total[j] += factor * row[j]


@kernel(inner=True)
def find_runs(trees: Elimination, x: int, end: int, width: int) -> int:
    """Find which columns of the trees ``later[x:end]`` are adjacent in the panels of the first of them.

    Each run of adjacent columns gets a row of ``trees.runs``: its start among the columns of these trees, and its start
    in the panel. One more row ends the last run. Return the number of runs. ``width`` is the end of the columns.
    """
    later, offset, runs = trees.later, trees.offset, trees.runs
    own = later[x]
    y = trees.fill[trees.degree[own]]
    count = 0
    for e in range(x, end):
        to = 0
        if e > x:
            while later[y] != later[e]:
                y += 1
            to = offset[y]
        begin = offset[e] - offset[x]
        if count == 0 or to - runs[count - 1, 1] != begin - runs[count - 1, 0]:
            runs[count, 0] = begin
            runs[count, 1] = to
            count += 1
    runs[count, 0] = width - offset[x]
    return count


@kernel(inner=True, long_loops=True)
def subtract_runs(runs: Ints, count: int, skip: int, total: Floats, row: Floats) -> None:
    """Subtract ``total`` from a row of a panel, run by run (`find_runs`); both lack the first ``skip`` columns."""
    for i in range(count):
        begin = max(runs[i, 0] - skip, 0)
        source = total[begin : runs[i + 1, 0] - skip]
        target = row[runs[i, 1] + begin - (runs[i, 0] - skip) - skip :]
        for j in range(source.shape[0]):
            target[j] -= source[j]


@kernel(inner=True)
def solve_panels(trees: Elimination, K: Floats, x: Floats) -> None:
    """Replace x (nv,) by K^-1 x, with K factored."""
    starts, fill, later, offset = trees.starts, trees.fill, trees.later, trees.offset
    nt = trees.order.shape[0]
    for place in range(nt):
        k = trees.order[place]
        upper = upper_panel(trees, K, k)
        lower = lower_panel(trees, K, k)
        n = upper.shape[0]
        own = x[starts[k] : starts[k + 1]]
        for i in range(1, n):
            own[i] = -dot_range(0, i, upper[i], own, -own[i])
        for e in range(fill[place], fill[place + 1]):
            b = later[e]
            other = x[starts[b] : starts[b + 1]]
            begin = offset[e] - n
            for p in range(n):
                subtract_multiple(own[p], lower[p, begin : begin + other.shape[0]], other)
    for backwards in range(nt):
        place = nt - 1 - backwards
        k = trees.order[place]
        upper = upper_panel(trees, K, k)
        n = upper.shape[0]
        own = x[starts[k] : starts[k + 1]]
        for e in range(fill[place], fill[place + 1]):
            b = later[e]
            other = x[starts[b] : starts[b + 1]]
            begin = offset[e]
            for p in range(n):
                own[p] -= dot_range(0, other.shape[0], upper[p, begin:], other, 0.0)
        for down in range(n):
            p = n - 1 - down
            own[p] = -dot_range(p + 1, n, upper[p], own, -own[p]) / upper[p, p]
