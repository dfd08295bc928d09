"""Capsule and capsule."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from contactlab.contact.detection.kernels.layout import BITS, NONE, NORMAL, WITNESS
from contactlab.contact.detection.kernels.segments import closest_on_segments
from contactlab.contact.detection.kernels.sphere_sphere import rounded_points
from contactlab.contact.detection.kernels.writing import across
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

__all__ = ["capsule_capsule"]

# Above this cosine of the axes' angle the ends of the common stretch may touch as well (5.7 degrees).
SIDE_BY_SIDE = 0.995


@kernel
def _at(
    s: float,
    t: float,
    size_a: FloatArray,
    pose_a: FloatArray,
    size_b: FloatArray,
    pose_b: FloatArray,
    fallback: tuple[float, float, float],
    code: int,
    margin: float,
    count: int,
    out: FloatArray,
    feature: NDArray[np.int64],
) -> int:
    """Contact of the axes' points s of A and t of B."""
    return rounded_points(
        pose_a[9] + s * pose_a[2],
        pose_a[10] + s * pose_a[5],
        pose_a[11] + s * pose_a[8],
        size_a[0],
        pose_b[9] + t * pose_b[2],
        pose_b[10] + t * pose_b[5],
        pose_b[11] + t * pose_b[8],
        size_b[0],
        fallback,
        code,
        margin,
        count,
        out,
        feature,
    )


@kernel
def capsule_capsule(
    size_a: FloatArray,
    pose_a: FloatArray,
    size_b: FloatArray,
    pose_b: FloatArray,
    margin: float,
    out: FloatArray,
    feature: NDArray[np.int64],
) -> int:
    """Contacts of two capsules, at most 3.

    The closest points of the axes always count. Where the capsules lie side by side, so do the ends of the stretch
    they share, each an end of one axis with the closest point of the other; for parallel axes these two are all.
    Axes that cross are pushed apart along their common perpendicular, collinear ones along a fixed direction across.
    """
    ux, uy, uz = pose_a[2], pose_a[5], pose_a[8]
    wx, wy, wz = pose_b[2], pose_b[5], pose_b[8]
    dx, dy, dz = pose_b[9] - pose_a[9], pose_b[10] - pose_a[10], pose_b[11] - pose_a[11]
    cosine = ux * wx + uy * wy + uz * wz
    du, dw = dx * ux + dy * uy + dz * uz, dx * wx + dy * wy + dz * wz
    ha, hb = size_a[1], size_b[1]
    cx, cy, cz = uy * wz - uz * wy, uz * wx - ux * wz, ux * wy - uy * wx
    length = math.sqrt(cx * cx + cy * cy + cz * cz)
    if length > 1e-7:
        fallback = (cx / length, cy / length, cz / length)
    else:
        fallback = across(ux, uy, uz)
    s, t = closest_on_segments(du, dw, cosine, ha, hb)
    count = _at(s, t, size_a, pose_a, size_b, pose_b, fallback, WITNESS, margin, 0, out, feature)
    if count == 0 or abs(cosine) < SIDE_BY_SIDE or out.shape[0] < 3:
        return count
    sign = 1.0 if cosine > 0.0 else -1.0
    low, high = max(-ha, du - hb), min(ha, du + hb)
    if high - low <= 1e-9 * (ha + hb):
        return count
    nx, ny, nz = out[0, NORMAL], out[0, NORMAL + 1], out[0, NORMAL + 2]
    for end in range(2):
        side = 1.0 if end == 1 else -1.0
        if (ha <= du + hb) if end == 1 else (-ha >= du - hb):
            s_end = side * ha
            t_end = min(max(s_end * cosine - dw, -hb), hb)
            code = (end << BITS) | NONE
        else:
            t_end = side * sign * hb
            s_end = min(max(t_end * cosine + du, -ha), ha)
            code = (NONE << BITS) | int(t_end > 0.0)
        before = count
        count = _at(s_end, t_end, size_a, pose_a, size_b, pose_b, fallback, code, margin, count, out, feature)
        if count > before:
            row = out[count - 1]
            # Where the axes nearly cross, the two sides of the crossing would be pushed apart in opposite directions.
            if row[NORMAL] * nx + row[NORMAL + 1] * ny + row[NORMAL + 2] * nz < 0.9:
                count = before
    return _without_witness(count, 1e-9 * (ha + hb + size_a[0] + size_b[0]), out, feature)


@kernel
def _without_witness(count: int, slack: float, out: FloatArray, feature: NDArray[np.int64]) -> int:
    """Drop the closest points, in row 0, when an end of the common stretch is as close."""
    closest = out[0, 6] + slack
    for i in range(1, count):
        if out[i, 6] <= closest:
            for k in range(1, count):
                for j in range(out.shape[1]):
                    out[k - 1, j] = out[k, j]
                feature[k - 1] = feature[k]
            return count - 1
    return count
