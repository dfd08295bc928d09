"""Sphere and sphere, and the core of every pair of rounded points."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from contactlab.contact.detection.kernels.writing import put
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

__all__ = ["rounded_points", "sphere_sphere"]


@kernel
def rounded_points(
    ax: float,
    ay: float,
    az: float,
    ra: float,
    bx: float,
    by: float,
    bz: float,
    rb: float,
    fallback: tuple[float, float, float],
    code: int,
    margin: float,
    count: int,
    out: FloatArray,
    feature: NDArray[np.int64],
) -> int:
    """Contact of two points with radii; where they coincide the normal is ``fallback``, a unit vector."""
    dx, dy, dz = bx - ax, by - ay, bz - az
    length = math.sqrt(dx * dx + dy * dy + dz * dz)
    gap = length - ra - rb
    if not gap <= margin:
        return count
    # What rounding alone makes of coinciding points gives no direction.
    size = abs(ax) + abs(ay) + abs(az) + ra + rb
    if length > 4e-16 * size and length > 1e-150:
        nx, ny, nz = dx / length, dy / length, dz / length
    else:
        nx, ny, nz = fallback
    return put(ax + ra * nx, ay + ra * ny, az + ra * nz, nx, ny, nz, gap, code, count, out, feature)


@kernel
def sphere_sphere(
    size_a: FloatArray,
    pose_a: FloatArray,
    size_b: FloatArray,
    pose_b: FloatArray,
    margin: float,
    out: FloatArray,
    feature: NDArray[np.int64],
) -> int:
    """Contact of two spheres, 0 or 1; concentric ones are pushed apart along the world's z axis.

    Christer Ericson, Real-Time Collision Detection, Morgan Kaufmann 2005, section 4.3.
    """
    return rounded_points(
        pose_a[9],
        pose_a[10],
        pose_a[11],
        size_a[0],
        pose_b[9],
        pose_b[10],
        pose_b[11],
        size_b[0],
        (0.0, 0.0, 1.0),
        0,
        margin,
        0,
        out,
        feature,
    )
