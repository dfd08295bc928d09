"""How a contact is written down, and directions for the cases that have none."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from contactlab.contact.detection.kernels.layout import GAP, NORMAL, POINT
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

__all__ = ["across", "flip", "put"]


@kernel
def put(
    ax: float,
    ay: float,
    az: float,
    nx: float,
    ny: float,
    nz: float,
    gap: float,
    code: int,
    count: int,
    out: FloatArray,
    feature: NDArray[np.int64],
) -> int:
    """Write contact number ``count`` and return ``count`` + 1; one beyond the capacity is counted, not stored.

    (ax, ay, az) lies on A's surface and the gap from it on along the normal. The point written is the middle of the
    gap: it is the same whichever of the two shapes comes first, and neither surface is preferred in an overlap.
    """
    if count < out.shape[0]:
        row = out[count]
        row[POINT] = ax + 0.5 * gap * nx
        row[POINT + 1] = ay + 0.5 * gap * ny
        row[POINT + 2] = az + 0.5 * gap * nz
        row[NORMAL] = nx
        row[NORMAL + 1] = ny
        row[NORMAL + 2] = nz
        row[GAP] = gap
        feature[count] = code
    return count + 1


@kernel
def flip(out: FloatArray, count: int) -> None:
    """Turn the normals of the first ``count`` contacts: A and B change places."""
    for i in range(min(count, out.shape[0])):
        for j in range(3):
            # From zero: a zero entry stays a plain zero.
            out[i, NORMAL + j] = 0.0 - out[i, NORMAL + j]


@kernel
def across(x: float, y: float, z: float) -> tuple[float, float, float]:
    """Unit vector across (x, y, z), a fixed function of it; the world's x axis where it is zero."""
    length = math.sqrt(x * x + y * y + z * z)
    if length < 1e-150:
        return 1.0, 0.0, 0.0
    x, y, z = x / length, y / length, z / length
    # The world axis with the smallest part along the vector leaves the longest part across it.
    if abs(x) <= abs(y) and abs(x) <= abs(z):
        a, b, c = 1.0 - x * x, -x * y, -x * z
    elif abs(y) <= abs(z):
        a, b, c = -x * y, 1.0 - y * y, -y * z
    else:
        a, b, c = -x * z, -y * z, 1.0 - z * z
    length = math.sqrt(a * a + b * b + c * c)
    return a / length, b / length, c / length
