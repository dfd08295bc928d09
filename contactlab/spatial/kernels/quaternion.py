"""Unit quaternions (w, x, y, z) as scalars: rotation matrix and exponential-map step."""

from __future__ import annotations

import math

from lcp.kernels import kernel

# Below this angle [rad] sin(a/2)/a is summed as a series: three terms err by less than 1e-18.
SMALL_ANGLE = 1e-2


@kernel(inline=True)
def rotation_entries(
    w: float, x: float, y: float, z: float
) -> tuple[float, float, float, float, float, float, float, float, float]:
    """Rotation matrix of a quaternion, row by row: R maps body axes to parent axes.

    The quaternion's length is divided out, so that R is orthogonal to rounding whatever the drift of a caller's q.
    """
    s = 2.0 / (w * w + x * x + y * y + z * z)
    return (
        1.0 - s * (y * y + z * z),
        s * (x * y - w * z),
        s * (x * z + w * y),
        s * (x * y + w * z),
        1.0 - s * (x * x + z * z),
        s * (y * z - w * x),
        s * (x * z - w * y),
        s * (y * z + w * x),
        1.0 - s * (x * x + y * y),
    )


@kernel(inline=True)
def rotated_by(
    w: float, x: float, y: float, z: float, ax: float, ay: float, az: float
) -> tuple[float, float, float, float]:
    """Quaternion after a turn by the rotation vector ``a`` [rad] given in body axes: q * exp(a), renormalised.

    Exact for a constant body angular velocity omega with a = h omega.
    """
    squared = ax * ax + ay * ay + az * az
    if squared < SMALL_ANGLE * SMALL_ANGLE:
        # sin(a/2)/a and cos(a/2) about 0: no division by an angle that may be exactly zero or denormal.
        ratio = 0.5 - squared * (1.0 / 48.0 - squared / 3840.0)
        c = 1.0 - squared * (0.125 - squared * (1.0 / 384.0 - squared / 46080.0))
    else:
        angle = math.sqrt(squared)
        ratio = math.sin(0.5 * angle) / angle
        c = math.cos(0.5 * angle)
    sx = ratio * ax
    sy = ratio * ay
    sz = ratio * az
    nw = w * c - x * sx - y * sy - z * sz
    nx = w * sx + x * c + y * sz - z * sy
    ny = w * sy - x * sz + y * c + z * sx
    nz = w * sz + x * sy - y * sx + z * c
    scale = 1.0 / math.sqrt(nw * nw + nx * nx + ny * ny + nz * nz)
    return nw * scale, nx * scale, ny * scale, nz * scale
