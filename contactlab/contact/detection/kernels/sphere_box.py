"""Sphere and box."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from contactlab.contact.detection.kernels.writing import put
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

__all__ = ["sphere_box"]


@kernel
def sphere_box(
    size_a: FloatArray,
    pose_a: FloatArray,
    size_b: FloatArray,
    pose_b: FloatArray,
    margin: float,
    out: FloatArray,
    feature: NDArray[np.int64],
) -> int:
    """Contact of a sphere (A) and a box (B), 0 or 1.

    A centre outside is met by the box's closest point (Ericson 2005, section 5.1.4); one inside leaves through the
    nearest face, the first of equal ones in the order x, y, z.
    """
    dx, dy, dz = pose_a[9] - pose_b[9], pose_a[10] - pose_b[10], pose_a[11] - pose_b[11]
    cx = pose_b[0] * dx + pose_b[3] * dy + pose_b[6] * dz
    cy = pose_b[1] * dx + pose_b[4] * dy + pose_b[7] * dz
    cz = pose_b[2] * dx + pose_b[5] * dy + pose_b[8] * dz
    hx, hy, hz = size_b[0], size_b[1], size_b[2]
    radius = size_a[0]
    lx = min(max(cx, -hx), hx) - cx
    ly = min(max(cy, -hy), hy) - cy
    lz = min(max(cz, -hz), hz) - cz
    length = math.sqrt(lx * lx + ly * ly + lz * lz)
    # A centre on the surface up to rounding counts as inside: the difference to the closest point is noise.
    if length > 1e-12 * (hx + hy + hz):
        gap = length - radius
        lx, ly, lz = lx / length, ly / length, lz / length
    else:
        gap, lx, ly, lz = abs(cx) - hx, (-1.0 if cx >= 0.0 else 1.0), 0.0, 0.0
        if abs(cy) - hy > gap:
            gap, lx, ly = abs(cy) - hy, 0.0, (-1.0 if cy >= 0.0 else 1.0)
        if abs(cz) - hz > gap:
            gap, lx, ly, lz = abs(cz) - hz, 0.0, 0.0, (-1.0 if cz >= 0.0 else 1.0)
        gap -= radius
    if not gap <= margin:
        return 0
    nx = pose_b[0] * lx + pose_b[1] * ly + pose_b[2] * lz
    ny = pose_b[3] * lx + pose_b[4] * ly + pose_b[5] * lz
    nz = pose_b[6] * lx + pose_b[7] * ly + pose_b[8] * lz
    px, py, pz = pose_a[9] + radius * nx, pose_a[10] + radius * ny, pose_a[11] + radius * nz
    return put(px, py, pz, nx, ny, nz, gap, 0, 0, out, feature)
