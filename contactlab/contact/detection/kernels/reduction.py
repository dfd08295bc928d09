"""At most four contacts of a pair, and the order they stand in."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from contactlab.contact.detection.kernels.layout import GAP
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

__all__ = ["reduce_contacts", "sort_contacts"]


@kernel
def _swap(i: int, j: int, out: FloatArray, feature: NDArray[np.int64]) -> None:
    for m in range(out.shape[1]):
        kept = out[i, m]
        out[i, m] = out[j, m]
        out[j, m] = kept
    code = feature[i]
    feature[i] = feature[j]
    feature[j] = code


@kernel
def sort_contacts(count: int, out: FloatArray, feature: NDArray[np.int64]) -> None:
    """Sort the contacts of one pair by feature: their order does not depend on how they were found."""
    # By selection: rows are long, and each is moved at most once or twice.
    for i in range(count - 1):
        least = i
        for j in range(i + 1, count):
            if feature[j] < feature[least]:
                least = j
        if least != i:
            _swap(i, least, out, feature)


@kernel
def _distance2(i: int, j: int, out: FloatArray) -> float:
    x, y, z = out[i, 0] - out[j, 0], out[i, 1] - out[j, 1], out[i, 2] - out[j, 2]
    return x * x + y * y + z * z


@kernel
def _spread(i: int, chosen: int, out: FloatArray) -> float:
    """What contact i adds to the first ``chosen``: squared distance from one, squared area with two, outside three."""
    if chosen == 1:
        return _distance2(i, 0, out)
    ax, ay, az = out[i, 0] - out[0, 0], out[i, 1] - out[0, 1], out[i, 2] - out[0, 2]
    if chosen == 2:
        bx, by, bz = out[1, 0] - out[0, 0], out[1, 1] - out[0, 1], out[1, 2] - out[0, 2]
        x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        return x * x + y * y + z * z
    nearest = _distance2(i, 0, out)
    for j in range(1, chosen):
        nearest = min(nearest, _distance2(i, j, out))
    return nearest


@kernel
def reduce_contacts(count: int, out: FloatArray, feature: NDArray[np.int64]) -> int:
    """Keep at most four contacts: the deepest, the farthest from it, the one of largest area, the one farthest off.

    Contacts are taken in the order of their features, and a later one must be better by a millionth: of equal ones
    the first stays, step after step, whatever the last bits are. Returns how many stay, sorted by feature.
    """
    if count <= 4:
        return count
    sort_contacts(count, out, feature)
    extent2 = 0.0
    for i in range(1, count):
        extent2 = max(extent2, _distance2(i, 0, out))
    for chosen in range(4):
        best, most = chosen, -math.inf
        for i in range(chosen, count):
            if chosen == 0:
                value, slack = -out[i, GAP], 1e-6 * math.sqrt(extent2)
            else:
                value, slack = _spread(i, chosen, out), 1e-6 * abs(most)
            if i == chosen or value > most + slack:
                best, most = i, value
        # Moved by neighbours, so that the rest keep their order.
        for i in range(best, chosen, -1):
            _swap(i, i - 1, out, feature)
    sort_contacts(4, out, feature)
    return 4
