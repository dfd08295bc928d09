"""Moving along a velocity and measuring between configurations, joint by joint."""

from __future__ import annotations

import numpy as np

from contactlab.multibody.kernels.codes import CUSTOM, FLOATING, SPHERICAL
from contactlab.multibody.kernels.layout import Tree, tree
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


@kernel(inline=True)
def turn(q: FloatArray, at: int, a: float, b: float, c: float, out: FloatArray) -> None:
    """out[at:at + 4] = q[at:at + 4] * exp((a, b, c)), the rotation vector being in body axes; renormalised."""
    squared = a * a + b * b + c * c
    if squared < 1e-8:
        w = 1.0 - squared / 8.0 * (1.0 - squared / 48.0)
        s = 0.5 - squared / 48.0 * (1.0 - squared / 80.0)
    else:
        angle = np.sqrt(squared)
        w = np.cos(0.5 * angle)
        s = np.sin(0.5 * angle) / angle
    x = s * a
    y = s * b
    z = s * c
    qw, qx, qy, qz = q[at], q[at + 1], q[at + 2], q[at + 3]
    rw = qw * w - qx * x - qy * y - qz * z
    rx = qw * x + qx * w + qy * z - qz * y
    ry = qw * y - qx * z + qy * w + qz * x
    rz = qw * z + qx * y - qy * x + qz * w
    inverse = 1.0 / np.sqrt(rw * rw + rx * rx + ry * ry + rz * rz)
    out[at] = rw * inverse
    out[at + 1] = rx * inverse
    out[at + 2] = ry * inverse
    out[at + 3] = rz * inverse


@kernel(inline=True)
def turn_between(q0: FloatArray, q1: FloatArray, at: int, out: FloatArray, to: int) -> None:
    """out[to:to + 3] = rotation vector, body axes, of the shorter turn from q0[at:at + 4] to q1[at:at + 4]."""
    aw = q0[at]
    ax = -q0[at + 1]
    ay = -q0[at + 2]
    az = -q0[at + 3]
    bw, bx, by, bz = q1[at], q1[at + 1], q1[at + 2], q1[at + 3]
    w = aw * bw - ax * bx - ay * by - az * bz
    x = aw * bx + ax * bw + ay * bz - az * by
    y = aw * by - ax * bz + ay * bw + az * bx
    z = aw * bz + ax * by - ay * bx + az * bw
    if w < 0.0:
        w = -w
        x = -x
        y = -y
        z = -z
    sine = np.sqrt(x * x + y * y + z * z)
    factor = 2.0 / w * (1.0 - sine * sine / (3.0 * w * w)) if sine < 1e-5 else 2.0 * np.arctan2(sine, w) / sine
    out[to] = factor * x
    out[to + 1] = factor * y
    out[to + 2] = factor * z


@kernel(inline=True)
def coordinates(t: Tree, i: int) -> int:
    """Number of entries of joint i in q whose rates are those in v; a quaternion stands behind them."""
    if t.kind[i] == FLOATING:
        return 3
    return 0 if t.kind[i] in (SPHERICAL, CUSTOM) else t.iv[i + 1] - t.iv[i]


@kernel
def integrate_configuration(
    I: IntArray, F: FloatArray, q: FloatArray, v: FloatArray, dt: float, out: FloatArray
) -> None:
    """Move every joint but the custom ones at constant v for dt."""
    t = tree(I, F)
    for i in range(t.parent.shape[0]):
        a = t.iq[i]
        b = t.iv[i]
        plain = coordinates(t, i)
        for k in range(plain):
            out[a + k] = q[a + k] + v[b + k] * dt
        if t.kind[i] in (SPHERICAL, FLOATING):
            a += plain
            b += plain
            turn(q, a, v[b] * dt, v[b + 1] * dt, v[b + 2] * dt, out)


@kernel
def configuration_difference(I: IntArray, F: FloatArray, q0: FloatArray, q1: FloatArray, out: FloatArray) -> None:
    """The velocity that takes q0 to q1 in unit time, except for custom joints."""
    t = tree(I, F)
    for i in range(t.parent.shape[0]):
        a = t.iq[i]
        b = t.iv[i]
        plain = coordinates(t, i)
        for k in range(plain):
            out[b + k] = q1[a + k] - q0[a + k]
        if t.kind[i] in (SPHERICAL, FLOATING):
            turn_between(q0, q1, a + plain, out, b + plain)
