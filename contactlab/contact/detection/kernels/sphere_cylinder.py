"""Sphere and cylinder."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from contactlab.contact.detection.kernels.writing import put
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

__all__ = ["sphere_cylinder"]


@kernel
def sphere_cylinder(
    size_a: FloatArray,
    pose_a: FloatArray,
    size_b: FloatArray,
    pose_b: FloatArray,
    margin: float,
    out: FloatArray,
    feature: NDArray[np.int64],
) -> int:
    """Contact of a sphere (A) and a cylinder (B), 0 or 1.

    In the half-plane through the axis and the sphere's centre the cylinder is a rectangle, and the closest point is
    found as for a box. A centre inside leaves through the nearer of mantle and cap; one on the axis leaves the mantle
    along the cylinder's x axis.
    """
    dx, dy, dz = pose_a[9] - pose_b[9], pose_a[10] - pose_b[10], pose_a[11] - pose_b[11]
    cx = pose_b[0] * dx + pose_b[3] * dy + pose_b[6] * dz
    cy = pose_b[1] * dx + pose_b[4] * dy + pose_b[7] * dz
    cz = pose_b[2] * dx + pose_b[5] * dy + pose_b[8] * dz
    rim, half, radius = size_b[0], size_b[1], size_a[0]
    rho = math.sqrt(cx * cx + cy * cy)
    ex, ey = 1.0, 0.0
    if rho > 1e-150:
        ex, ey = cx / rho, cy / rho
    # Differences to the closest point of the rectangle, radial and axial.
    lr = min(rho, rim) - rho
    lz = min(max(cz, -half), half) - cz
    length = math.sqrt(lr * lr + lz * lz)
    if length > 1e-12 * (rim + half):
        gap = length - radius
        lr, lz = lr / length, lz / length
    elif abs(cz) - half > rho - rim:
        gap, lr, lz = abs(cz) - half - radius, 0.0, (-1.0 if cz >= 0.0 else 1.0)
    else:
        gap, lr, lz = rho - rim - radius, -1.0, 0.0
    if not gap <= margin:
        return 0
    lx, ly = lr * ex, lr * ey
    nx = pose_b[0] * lx + pose_b[1] * ly + pose_b[2] * lz
    ny = pose_b[3] * lx + pose_b[4] * ly + pose_b[5] * lz
    nz = pose_b[6] * lx + pose_b[7] * ly + pose_b[8] * lz
    px, py, pz = pose_a[9] + radius * nx, pose_a[10] + radius * ny, pose_a[11] + radius * nz
    return put(px, py, pz, nx, ny, nz, gap, 0, 0, out, feature)
