"""Euler's equation over one step by the implicit midpoint rule.

Solves, for the angular velocity w+ after the step (body axes),

    I (w+ - w) = h torque - h wm x I wm,      wm = (w + w+) / 2.

Without torque the rule keeps the kinetic energy 1/2 w.I w and the length of I w exactly, whatever the step: multiply by
wm, or by I wm. The explicit rule gains energy in every step, without bound for plates and rods. E. Hairer, C. Lubich,
G. Wanner, Geometric Numerical Integration (2006), section IV.2.1 (quadratic invariants).
"""

from __future__ import annotations

from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

# Newton converges in three or four iterations at sensible steps; halvings of its step make it converge at any.
ITERATIONS = 50
HALVINGS = 30


@kernel(inline=True)
def residual(
    inertia: FloatArray,
    hx: float,
    hy: float,
    hz: float,
    wx: float,
    wy: float,
    wz: float,
    dx: float,
    dy: float,
    dz: float,
    h: float,
) -> tuple[float, float, float]:
    """I d + h wm x I wm - h torque for w+ = w + d; (hx, hy, hz) is h torque."""
    ax, ay, az = wx + 0.5 * dx, wy + 0.5 * dy, wz + 0.5 * dz
    lx = inertia[0, 0] * ax + inertia[0, 1] * ay + inertia[0, 2] * az
    ly = inertia[1, 0] * ax + inertia[1, 1] * ay + inertia[1, 2] * az
    lz = inertia[2, 0] * ax + inertia[2, 1] * ay + inertia[2, 2] * az
    return (
        inertia[0, 0] * dx + inertia[0, 1] * dy + inertia[0, 2] * dz + h * (ay * lz - az * ly) - hx,
        inertia[1, 0] * dx + inertia[1, 1] * dy + inertia[1, 2] * dz + h * (az * lx - ax * lz) - hy,
        inertia[2, 0] * dx + inertia[2, 1] * dy + inertia[2, 2] * dz + h * (ax * ly - ay * lx) - hz,
    )


@kernel
def midpoint_spin(
    inertia: FloatArray, tx: float, ty: float, tz: float, wx: float, wy: float, wz: float, h: float
) -> tuple[float, float, float]:
    """Change w+ - w of the angular velocity [rad/s] over a step h [s] under a torque [N m], all in body axes.

    ``inertia`` (3, 3) [kg m^2] is about the centre of mass. Newton's method with its step halved until the residual
    falls; it ends when the residual no longer does, at rounding.
    """
    hx, hy, hz = h * tx, h * ty, h * tz
    dx, dy, dz = 0.0, 0.0, 0.0
    fx, fy, fz = residual(inertia, hx, hy, hz, wx, wy, wz, dx, dy, dz, h)
    size = fx * fx + fy * fy + fz * fz
    for _ in range(ITERATIONS):
        if size == 0.0:
            break
        # Jacobian I + h/2 ([wm]x I - [I wm]x).
        g = 0.5 * h
        ax, ay, az = wx + 0.5 * dx, wy + 0.5 * dy, wz + 0.5 * dz
        i00, i01, i02 = inertia[0, 0], inertia[0, 1], inertia[0, 2]
        i10, i11, i12 = inertia[1, 0], inertia[1, 1], inertia[1, 2]
        i20, i21, i22 = inertia[2, 0], inertia[2, 1], inertia[2, 2]
        lx = i00 * ax + i01 * ay + i02 * az
        ly = i10 * ax + i11 * ay + i12 * az
        lz = i20 * ax + i21 * ay + i22 * az
        j00 = i00 + g * (ay * i20 - az * i10)
        j01 = i01 + g * (ay * i21 - az * i11 + lz)
        j02 = i02 + g * (ay * i22 - az * i12 - ly)
        j10 = i10 + g * (az * i00 - ax * i20 - lz)
        j11 = i11 + g * (az * i01 - ax * i21)
        j12 = i12 + g * (az * i02 - ax * i22 + lx)
        j20 = i20 + g * (ax * i10 - ay * i00 + ly)
        j21 = i21 + g * (ax * i11 - ay * i01 - lx)
        j22 = i22 + g * (ax * i12 - ay * i02)
        c00 = j11 * j22 - j12 * j21
        c01 = j12 * j20 - j10 * j22
        c02 = j10 * j21 - j11 * j20
        determinant = j00 * c00 + j01 * c01 + j02 * c02
        sx = -(c00 * fx + (j02 * j21 - j01 * j22) * fy + (j01 * j12 - j02 * j11) * fz) / determinant
        sy = -(c01 * fx + (j00 * j22 - j02 * j20) * fy + (j02 * j10 - j00 * j12) * fz) / determinant
        sz = -(c02 * fx + (j01 * j20 - j00 * j21) * fy + (j00 * j11 - j01 * j10) * fz) / determinant
        share = 1.0
        smaller = False
        for _ in range(HALVINGS):
            ex, ey, ez = dx + share * sx, dy + share * sy, dz + share * sz
            fx, fy, fz = residual(inertia, hx, hy, hz, wx, wy, wz, ex, ey, ez, h)
            trial = fx * fx + fy * fy + fz * fz
            if trial < size:
                dx, dy, dz, size = ex, ey, ez, trial
                smaller = True
                break
            share *= 0.5
        if not smaller:
            break
    return dx, dy, dz
