"""Sorting in place, without room of its own."""

from __future__ import annotations

from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


@kernel
def _after(i: int, j: int, keys: FloatArray | None) -> bool:
    """Whether item i comes after item j: by key, then by number."""
    if keys is None:
        return i > j
    return keys[i] > keys[j] or (keys[i] == keys[j] and i > j)


@kernel
def sort_by_key(order: IntArray, keys: FloatArray) -> None:
    """Sort the item numbers in ``order`` by ``keys[item]``, ties by number; quick where few have moved.

    Insertion serves an order that is nearly right, as after one step of a simulation; when it turns out not to be, heap
    sort (J. W. J. Williams, Algorithm 232, Communications of the ACM 7 (1964)) bounds the time by n log n. The result
    is the same.
    """
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
    """Sort the first n items by ``keys[item]``, ties by number; by number alone where there are no keys."""
    for start in range(n // 2 - 1, -1, -1):
        _sift(items, start, n, keys)
    for end in range(n - 1, 0, -1):
        item = items[0]
        items[0] = items[end]
        items[end] = item
        _sift(items, 0, end, keys)


@kernel
def _sift(items: IntArray, root: int, end: int, keys: FloatArray | None) -> None:
    while 2 * root + 1 < end:
        child = 2 * root + 1
        if child + 1 < end and _after(items[child + 1], items[child], keys):
            child += 1
        if not _after(items[child], items[root], keys):
            return
        item = items[root]
        items[root] = items[child]
        items[child] = item
        root = child
