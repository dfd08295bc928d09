"""Which of many shapes may touch: sweep and prune over their bounding boxes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.contact.detection.kernels.layout import BOX, CAPSULE, CYLINDER, HALF_SPACE, HEIGHT_FIELD, SPHERE
from contactlab.contact.detection.kernels.sorting import sort_by_key, sort_integers
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

__all__ = ["candidates"]


@kernel
def _may_touch(i: int, j: int, body: NDArray[np.int64], category: NDArray[np.int64], mask: NDArray[np.int64]) -> bool:
    """Filters: never two shapes of one body or two fixed ones (body < 0), and masks must admit both ways."""
    if body[i] == body[j] or (body[i] < 0 and body[j] < 0):
        return False
    return (category[i] & mask[j]) != 0 and (category[j] & mask[i]) != 0


@kernel
def _over(half_space: FloatArray, pose: FloatArray, box: FloatArray, enlarged: float) -> bool:
    """Whether an enlarged bounding box reaches the half-space, enlarged as much."""
    lowest = -half_space[3]
    for k in range(3):
        n = pose[3 * k] * half_space[0] + pose[3 * k + 1] * half_space[1] + pose[3 * k + 2] * half_space[2]
        lowest += n * ((box[k] if n > 0.0 else box[3 + k]) - pose[9 + k]) if n != 0.0 else 0.0
    return lowest <= enlarged


@kernel
def _near(
    i: int, s: int, kind: NDArray[np.int64], size: FloatArray, poses: FloatArray, boxes: FloatArray, enlarged: float
) -> bool:
    """Whether shape i reaches half-space s; exact for the symmetric shapes, by the bounding box for the others."""
    if not _over(size[s], poses[s], boxes[i], enlarged):
        return False
    if kind[i] not in (SPHERE, CAPSULE, BOX, CYLINDER):
        return True
    h, frame, pose = size[s], poses[s], poses[i]
    gap, along_x, along_y, along_z = -h[3], 0.0, 0.0, 0.0
    for k in range(3):
        n = frame[3 * k] * h[0] + frame[3 * k + 1] * h[1] + frame[3 * k + 2] * h[2]
        gap += n * (pose[9 + k] - frame[9 + k])
        along_x += n * pose[3 * k]
        along_y += n * pose[3 * k + 1]
        along_z += n * pose[3 * k + 2]
    if kind[i] == SPHERE:
        gap -= size[i, 0]
    elif kind[i] == CAPSULE:
        gap -= size[i, 0] + size[i, 1] * abs(along_z)
    elif kind[i] == BOX:
        gap -= size[i, 0] * abs(along_x) + size[i, 1] * abs(along_y) + size[i, 2] * abs(along_z)
    else:
        gap -= size[i, 0] * (along_x * along_x + along_y * along_y) ** 0.5 + size[i, 1] * abs(along_z)
    return gap <= 2.0 * enlarged


@kernel
def _widest_axis(kind: NDArray[np.int64], boxes: FloatArray) -> int:
    """Axis along which the centres of the finite shapes spread most: sweeping there leaves the fewest overlaps."""
    axis, widest = 0, -1.0
    for k in range(3):
        n, mean, spread = 0, 0.0, 0.0
        for i in range(kind.shape[0]):
            if kind[i] != HALF_SPACE and kind[i] != HEIGHT_FIELD:
                center = 0.5 * (boxes[i, k] + boxes[i, 3 + k])
                n += 1
                # Running mean and sum of squares (B. P. Welford, Technometrics 4 (1962)).
                delta = center - mean
                mean += delta / n
                spread += delta * (center - mean)
        if spread > widest:
            axis, widest = k, spread
    return axis


@kernel
def candidates(
    kind: NDArray[np.int64],
    size: FloatArray,
    poses: FloatArray,
    boxes: FloatArray,
    enlarged: float,
    body: NDArray[np.int64],
    category: NDArray[np.int64],
    mask: NDArray[np.int64],
    order: NDArray[np.int64],
    keys: FloatArray,
    pairs: NDArray[np.int64],
) -> int:
    """Pairs of shapes whose enlarged bounding boxes overlap, in ascending order of (i, j), i < j.

    D. Baraff, Dynamic Simulation of Non-Penetrating Rigid Bodies, PhD thesis, Cornell 1992, section 2.3; the boxes are
    sorted along the axis on which they spread most, and each is compared with those that begin before it ends. A
    half-space has no useful box: every shape is measured against it.

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
        Any permutation of 0 .. n-1, left sorted; the one a step before makes the next sort quick. It has no influence
        on the result.
    keys
        Workspace (n,).
    pairs
        (capacity,) filled with i n + j.

    Returns
    -------
    int
        Number of pairs; beyond the capacity they are counted, not stored, and none is sorted.
    """
    n, count, capacity = kind.shape[0], 0, pairs.shape[0]
    axis = _widest_axis(kind, boxes)
    for i in range(n):
        keys[i] = boxes[i, axis]
    sort_by_key(order, keys)
    y, z = (axis + 1) % 3, (axis + 2) % 3
    for a in range(n):
        i = order[a]
        if kind[i] == HALF_SPACE:
            for j in range(n):
                wanted = kind[j] != HALF_SPACE and _may_touch(i, j, body, category, mask)
                if wanted and _near(j, i, kind, size, poses, boxes, enlarged):
                    if count < capacity:
                        pairs[count] = min(i, j) * n + max(i, j)
                    count += 1
            continue
        end = boxes[i, 3 + axis]
        y_low, y_high, z_low, z_high = boxes[i, y], boxes[i, 3 + y], boxes[i, z], boxes[i, 3 + z]
        for b in range(a + 1, n):
            j = order[b]
            if boxes[j, axis] > end:
                break
            if boxes[j, y] > y_high or boxes[j, 3 + y] < y_low or boxes[j, z] > z_high or boxes[j, 3 + z] < z_low:
                continue
            if kind[j] != HALF_SPACE and _may_touch(i, j, body, category, mask):
                if count < capacity:
                    pairs[count] = min(i, j) * n + max(i, j)
                count += 1
    if count <= capacity:
        sort_integers(pairs, count)
    return count
