"""Pairs of shapes that may touch, by sweep and prune over bounding boxes in columns."""

from __future__ import annotations

import math
from typing import NamedTuple

from contactlab.collision.detection.kernels.support import SYMMETRIC, half_width
from contactlab.collision.kernels import HALF_SPACE, HEIGHT_FIELD
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.multibody.spatial.kernels import rotate, rotate_inverse, vector
from lcp.kernels import kernel


@kernel
def _after(i: int, j: int, keys: FloatArray | None) -> bool:
    """Return True if item i comes after item j: by key, then by number."""
    if keys is None:
        return i > j
    return keys[i] > keys[j] or (keys[i] == keys[j] and i > j)


@kernel
def sort_by_key(order: IntArray, keys: FloatArray) -> None:
    """Sort the item numbers in ``order`` by ``keys[item]``, ties by number; fast if few have moved.

    Insertion sort is used for an order that is nearly right, as after one step of a simulation. If it needs too many
    moves, heap sort (J. W. J. Williams, Algorithm 232, Communications of the ACM 7 (1964)) bounds the time by n log n.
    The result is the same.
    """
    # insertion sort with a limited number of moves
    n = order.shape[0]
    moves = 0
    for i in range(1, n):
        item, j = order[i], i
        while j > 0 and _after(order[j - 1], item, keys):
            order[j] = order[j - 1]
            j -= 1
            moves += 1
        order[j] = item
        if moves > 8 * n + 64:
            break
    if moves <= 8 * n + 64:
        return
    heap_sort(order, n, keys)


@kernel
def heap_sort(items: IntArray, n: int, keys: FloatArray | None) -> None:
    """Sort the first n items by ``keys[item]``, ties by number; only by number if there are no keys."""
    for start in range(n // 2 - 1, -1, -1):
        _sift(items, start, n, keys)
    for end in range(n - 1, 0, -1):
        items[0], items[end] = items[end], items[0]
        _sift(items, 0, end, keys)


@kernel
def _sift(items: IntArray, root: int, end: int, keys: FloatArray | None) -> None:
    """Move the item at ``root`` down until no child comes after it."""
    while 2 * root + 1 < end:
        child = 2 * root + 1
        if child + 1 < end and _after(items[child + 1], items[child], keys):
            child += 1
        if not _after(items[child], items[root], keys):
            return
        items[root], items[child] = items[child], items[root]
        root = child


# Fewer shapes than this are swept in one column.
SINGLE_COLUMN_LIMIT = 256

# Largest width of a shape relative to its column, so that rounding moves no edge one column farther.
WIDTH_FRACTION = 1.0 - 1e-9

# Maximum number of columns along each side; shapes beyond are in the last one.
MAX_COLUMNS = 4096


class Filters(NamedTuple):
    """Filters of pairs: the body of each shape (below 0 if fixed), and the bits of its category and mask."""

    body: IntArray
    category: IntArray
    mask: IntArray


@kernel
def _may_touch(i: int, j: int, filters: Filters) -> bool:
    """Return True if filters admit a pair: not of one body, not both fixed, and each mask admits the other category."""
    body, category, mask = filters
    if body[i] == body[j] or (body[i] < 0 and body[j] < 0):
        return False
    return (category[i] & mask[j]) != 0 and (category[j] & mask[i]) != 0


@kernel
def _near(
    i: int, s: int, kind: IntArray, size: FloatArray, poses: FloatArray, boxes: FloatArray, enlarged: float
) -> bool:
    """Return True if shape i reaches half-space s: exactly for symmetric shapes, by the bounding box for others."""
    normal, lowest = rotate(poses[s], vector(size[s])), -size[s, 3]
    if kind[i] in SYMMETRIC:
        # gap of the shape along the normal of the half-space
        x, y, z = rotate_inverse(poses[i], normal)
        for k in range(3):
            lowest += normal[k] * (poses[i, 9 + k] - poses[s, 9 + k])
        return lowest - half_width(kind[i], size[i], x, y, z) <= 2.0 * enlarged
    for k in range(3):
        n = normal[k]
        lowest += n * ((boxes[i, k] if n > 0.0 else boxes[i, 3 + k]) - poses[s, 9 + k]) if n != 0.0 else 0.0
    return lowest <= enlarged


@kernel
def _variance(kind: IntArray, boxes: FloatArray, k: int) -> float:
    """Return the sum of squares of the finite shapes' centres about their mean, along axis k."""
    n, mean, total = 0, 0.0, 0.0
    for i in range(kind.shape[0]):
        if kind[i] != HALF_SPACE and kind[i] != HEIGHT_FIELD:
            center = 0.5 * (boxes[i, k] + boxes[i, 3 + k])
            n += 1
            # running mean and sum of squares (B. P. Welford, Technometrics 4 (1962))
            delta = center - mean
            mean += delta / n
            total += delta * (center - mean)
    return total


@kernel
def _column_width(boxes: FloatArray, k: int) -> float:
    """Return the width of columns along axis k, a power of two, which few shapes exceed."""
    n, most = boxes.shape[0], 16 + boxes.shape[0] // 64
    # 1.5 times the mean extent, rounded up to a power of two
    count, total = 0, 0.0
    for i in range(n):
        extent = boxes[i, 3 + k] - boxes[i, k]
        if extent < math.inf:
            count += 1
            total += extent
    if count == 0 or not 0.0 < total < math.inf:
        return math.inf
    width = 2.0 ** math.ceil(math.log2(1.5 * total / count))
    # doubled until few shapes are wider
    while width < math.inf:
        wider = 0
        for i in range(n):
            if not boxes[i, 3 + k] - boxes[i, k] <= WIDTH_FRACTION * width:
                wider += 1
        if wider <= most:
            break
        width *= 2.0
    return width


@kernel
def _is_wide(i: int, boxes: FloatArray, y: int, z: int, wy: float, wz: float) -> bool:
    """Return True if the box of shape i exceeds a column, ``wy`` by ``wz`` along axes y and z, or is infinite in x."""
    x = 3 - y - z
    fits = boxes[i, 3 + y] - boxes[i, y] <= WIDTH_FRACTION * wy and boxes[i, 3 + z] - boxes[i, z] <= WIDTH_FRACTION * wz
    return not (fits and boxes[i, 3 + x] - boxes[i, x] < math.inf)


@kernel
def _column(low: float, width: float, least: float) -> int:
    """Return the number of the column, counted from the first, that contains an edge at ``low``."""
    if not width < math.inf:
        return 0
    return int(min(math.floor(low / width) - least, MAX_COLUMNS - 1.0))


@kernel
def _first(order: IntArray, keys: FloatArray, key: float, low: int) -> int:
    """Return the first index in the order, from ``low`` on, whose key is at least ``key``."""
    high = order.shape[0]
    while low < high:
        middle = (low + high) // 2
        if keys[order[middle]] < key:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _pair(i: int, j: int, boxes: FloatArray, filters: Filters, count: int, pairs: IntArray) -> int:
    """Append the pair if the boxes overlap and the filters admit it; return the new number of pairs."""
    for k in range(3):
        if boxes[j, k] > boxes[i, 3 + k] or boxes[j, 3 + k] < boxes[i, k]:
            return count
    if not _may_touch(i, j, filters):
        return count
    if count < pairs.shape[0]:
        pairs[count] = min(i, j) * filters.body.shape[0] + max(i, j)
    return count + 1


@kernel
def _fill_keys(
    kind: IntArray, boxes: FloatArray, x: int, y: int, z: int, wy: float, wz: float, keys: FloatArray
) -> tuple[float, int, float]:
    """Fill the keys: column by column, within a column by the lower edge along x; wide shapes and half-spaces first.

    Return the length of keys of one column, the number of columns along z, and the largest extent along x.
    """
    # range of the shapes in columns
    n = kind.shape[0]
    x_least, x_most, widest = math.inf, -math.inf, 0.0
    y_least, z_least, z_most = math.inf, math.inf, -math.inf
    for i in range(n):
        if kind[i] != HALF_SPACE and not _is_wide(i, boxes, y, z, wy, wz):
            x_least, x_most = min(x_least, boxes[i, x]), max(x_most, boxes[i, x])
            widest = max(widest, boxes[i, 3 + x] - boxes[i, x])
            y_least, z_least = min(y_least, boxes[i, y]), min(z_least, boxes[i, z])
            z_most = max(z_most, boxes[i, z])
    # length of the keys of one column, and the first columns
    span, columns = 1.0, 1
    first_y, first_z = 0.0, 0.0
    if x_least <= x_most:
        span = 1.001 * (x_most - x_least) + 1.0
        if wy < math.inf:
            first_y = math.floor(y_least / wy)
        if wz < math.inf:
            first_z = math.floor(z_least / wz)
        columns = _column(z_most, wz, first_z) + 1
    # keys
    for i in range(n):
        if kind[i] == HALF_SPACE or _is_wide(i, boxes, y, z, wy, wz):
            keys[i] = -1.0
        else:
            # one empty column between rows, so that the last one is no neighbour of the next row's first
            row = _column(boxes[i, y], wy, first_y) * (columns + 1)
            # away from the ends of the column's keys, so that rounding changes no column
            keys[i] = (row + _column(boxes[i, z], wz, first_z)) * span + (boxes[i, x] - x_least) + 0.5
    return span, columns + 1, widest


@kernel
def candidates(
    kind: IntArray,
    size: FloatArray,
    poses: FloatArray,
    boxes: FloatArray,
    enlarged: float,
    body: IntArray,
    category: IntArray,
    mask: IntArray,
    order: IntArray,
    keys: FloatArray,
    pairs: IntArray,
) -> int:
    """Find the pairs of shapes whose enlarged bounding boxes overlap, in ascending order of (i, j), i < j.

    D. Baraff, Dynamic Simulation of Non-Penetrating Rigid Bodies, PhD thesis, Cornell 1992, section 2.3. The boxes are
    sorted along the axis of largest variance, and each is compared with the boxes that begin before it ends. Many boxes
    are first put into columns along that axis, about twice as wide as the boxes, and compared within their column and
    its neighbours. So the work grows with their number. A box wider than a column is compared with all. A half-space
    has no useful box, so every shape is tested against it.

    Parameters
    ----------
    kind, size, poses, boxes
        Shapes (n), their poses in the world (n, POSE), their bounding boxes (n, 6), enlarged on each side by
        ``enlarged``: half the margin within which contacts are wanted.
    body
        Number of each shape's body, negative for a fixed one: shapes of one body, and fixed ones, make no pairs.
    category, mask
        Bits: a pair (i, j) needs ``category[i] & mask[j]`` and ``category[j] & mask[i]``.
    order
        Any permutation of 0 .. n-1, which is sorted in index. The order of the previous step makes the sort fast. It
        does not influence the result.
    keys
        Workspace (n,).
    pairs
        (capacity,) filled with i n + j.

    Returns
    -------
    int
        Number of pairs. Pairs beyond the capacity are counted, not stored, and then none is sorted.
    """
    n, count, filters = kind.shape[0], 0, Filters(body, category, mask)
    # sweep along the axis of largest variance
    x, largest = 0, -1.0
    for k in range(3):
        variance = _variance(kind, boxes, k)
        if variance > largest:
            x, largest = k, variance
    y, z = (x + 1) % 3, (x + 2) % 3
    # sort by column and lower edge
    wy, wz = math.inf, math.inf
    if n >= SINGLE_COLUMN_LIMIT:
        wy, wz = _column_width(boxes, y), _column_width(boxes, z)
    span, per_row, widest = _fill_keys(kind, boxes, x, y, z, wy, wz, keys)
    sort_by_key(order, keys)
    # rounding of the keys can put shapes that begin together in either order
    slack = 1e-9 * (span + widest)
    # half-spaces and wide shapes against all
    index = 0
    while index < n and keys[order[index]] < 0.0:
        i = order[index]
        if kind[i] == HALF_SPACE:
            for j in range(n):
                wanted = kind[j] != HALF_SPACE and _may_touch(i, j, filters)
                if wanted and _near(j, i, kind, size, poses, boxes, enlarged):
                    if count < pairs.shape[0]:
                        pairs[count] = min(i, j) * n + max(i, j)
                    count += 1
        else:
            for b in range(n):
                j = order[b]
                if kind[j] != HALF_SPACE and (b > index or keys[j] >= 0.0):
                    count = _pair(i, j, boxes, filters, count, pairs)
        index += 1
    # each column against itself and its neighbours
    while index < n:
        column = math.floor(keys[order[index]] / span)
        end = _first(order, keys, (column + 1.0) * span, index)
        for a in range(index, end):
            i = order[a]
            for b in range(a + 1, end):
                j = order[b]
                if boxes[j, x] > boxes[i, 3 + x] + slack:
                    break
                count = _pair(i, j, boxes, filters, count, pairs)
        for step in range(4):
            # the next column of the row, and three columns of the next row
            other = column + 1.0 if step == 0 else column + per_row + (step - 2.0)
            b0 = _first(order, keys, other * span, end)
            last = _first(order, keys, (other + 1.0) * span, b0)
            if b0 < last:
                for a in range(index, end):
                    i = order[a]
                    while b0 < last and boxes[order[b0], x] < boxes[i, x] - widest - slack:
                        b0 += 1
                    for b in range(b0, last):
                        j = order[b]
                        if boxes[j, x] > boxes[i, 3 + x] + slack:
                            break
                        count = _pair(i, j, boxes, filters, count, pairs)
        index = end
    if count <= pairs.shape[0]:
        heap_sort(pairs, count, None)
    return count
