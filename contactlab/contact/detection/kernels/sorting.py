"""Sorting in place, without room of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

__all__ = ["sort_by_key", "sort_integers"]


@kernel
def _after(i: int, j: int, keys: FloatArray) -> bool:
    """Whether item i comes after item j: by key, then by number."""
    return keys[i] > keys[j] or (keys[i] == keys[j] and i > j)


@kernel
def sort_by_key(order: NDArray[np.int64], keys: FloatArray) -> None:
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
    for start in range(n // 2 - 1, -1, -1):
        _sift_keys(order, start, n, keys)
    for end in range(n - 1, 0, -1):
        item = order[0]
        order[0] = order[end]
        order[end] = item
        _sift_keys(order, 0, end, keys)


@kernel
def _sift_keys(order: NDArray[np.int64], root: int, end: int, keys: FloatArray) -> None:
    while 2 * root + 1 < end:
        child = 2 * root + 1
        if child + 1 < end and _after(order[child + 1], order[child], keys):
            child += 1
        if not _after(order[child], order[root], keys):
            return
        item = order[root]
        order[root] = order[child]
        order[child] = item
        root = child


@kernel
def sort_integers(values: NDArray[np.int64], n: int) -> None:
    """Sort the first n integers (heap sort)."""
    for start in range(n // 2 - 1, -1, -1):
        _sift(values, start, n)
    for end in range(n - 1, 0, -1):
        item = values[0]
        values[0] = values[end]
        values[end] = item
        _sift(values, 0, end)


@kernel
def _sift(values: NDArray[np.int64], root: int, end: int) -> None:
    while 2 * root + 1 < end:
        child = 2 * root + 1
        if child + 1 < end and values[child + 1] > values[child]:
            child += 1
        if values[child] <= values[root]:
            return
        item = values[root]
        values[root] = values[child]
        values[child] = item
        root = child
