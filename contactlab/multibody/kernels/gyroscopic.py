"""Euler's equation over one step by the implicit midpoint rule, for bodies that turn freely.

Solves, for the angular velocity w+ after the step (body axes),

    I (w+ - w) = h torque - h wm x I wm,      wm = (w + w+) / 2.

Without torque the rule keeps the kinetic energy 1/2 w.I w and the length of I w exactly, for every step: multiply by
wm, or by I wm. The explicit rule gains energy in every step, without bound for plates and rods. E. Hairer, C. Lubich,
G. Wanner, Geometric Numerical Integration (2006), section IV.2.1 (quadratic invariants).

The equation holds for a tree of one link: floating, about its centre of mass, or on a spherical joint fixed to the
world, about the joint. In a tree of several links, joints pass torques on that depend on all velocities at once. There
the bias force of `rnea`, taken at the start of the step, is the whole term.
"""

from __future__ import annotations

import numpy as np

from contactlab.multibody.kernels.codes import FLOATING, SPHERICAL
from contactlab.multibody.kernels.layout import Tree
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

# Newton converges in three or four iterations at sensible steps. It may stall from about 3 rad per step on, and under
# torques that speed thin bodies up as much within the step. The step is then taken in 2, 4, ... equal parts.
MAX_ITERATIONS = 50

MAX_HALVINGS = 30

MAX_PARTS = 1024

# Residual, relative to the terms of the equation, that counts as solved.
RESIDUAL_TOLERANCE = 1e-9


@kernel(inner=True)
def body_inertia_times(inertia: FloatArray, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Return I (x, y, z) for the six numbers xx, yy, zz, xy, xz, yz of I."""
    return (
        inertia[0] * x + inertia[3] * y + inertia[4] * z,
        inertia[3] * x + inertia[1] * y + inertia[5] * z,
        inertia[4] * x + inertia[5] * y + inertia[2] * z,
    )


@kernel(inner=True)
def midpoint_residual(
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
    """Return I d + h wm x I wm - h torque for w+ = w + d; (hx, hy, hz) is h torque."""
    ax, ay, az = wx + 0.5 * dx, wy + 0.5 * dy, wz + 0.5 * dz
    lx, ly, lz = body_inertia_times(inertia, ax, ay, az)
    ex, ey, ez = body_inertia_times(inertia, dx, dy, dz)
    return (
        ex + h * (ay * lz - az * ly) - hx,
        ey + h * (az * lx - ax * lz) - hy,
        ez + h * (ax * ly - ay * lx) - hz,
    )


@kernel(inner=True)
def midpoint_step(
    inertia: FloatArray, tx: float, ty: float, tz: float, wx: float, wy: float, wz: float, h: float
) -> tuple[float, float, float, bool]:
    """Return the change d = w+ - w of one step of the rule, and whether it solves the equation.

    Newton's method, its step halved until the residual falls. It ends when the residual stops falling, at rounding or
    in a stall.
    """
    # residual without a change
    hx, hy, hz = h * tx, h * ty, h * tz
    dx, dy, dz = 0.0, 0.0, 0.0
    fx, fy, fz = midpoint_residual(inertia, hx, hy, hz, wx, wy, wz, dx, dy, dz, h)
    size = fx * fx + fy * fy + fz * fz
    for _ in range(MAX_ITERATIONS):
        if size == 0.0:
            break
        # Jacobian I + h/2 ([wm]x I - [I wm]x)
        g = 0.5 * h
        ax, ay, az = wx + 0.5 * dx, wy + 0.5 * dy, wz + 0.5 * dz
        i00, i11, i22, i01, i02, i12 = inertia[0], inertia[1], inertia[2], inertia[3], inertia[4], inertia[5]
        lx, ly, lz = body_inertia_times(inertia, ax, ay, az)
        j00 = i00 + g * (ay * i02 - az * i01)
        j01 = i01 + g * (ay * i12 - az * i11 + lz)
        j02 = i02 + g * (ay * i22 - az * i12 - ly)
        j10 = i01 + g * (az * i00 - ax * i02 - lz)
        j11 = i11 + g * (az * i01 - ax * i12)
        j12 = i12 + g * (az * i02 - ax * i22 + lx)
        j20 = i02 + g * (ax * i01 - ay * i00 + ly)
        j21 = i12 + g * (ax * i11 - ay * i01 - lx)
        j22 = i22 + g * (ax * i12 - ay * i02)
        # the step by cofactors
        c00 = j11 * j22 - j12 * j21
        c01 = j12 * j20 - j10 * j22
        c02 = j10 * j21 - j11 * j20
        determinant = j00 * c00 + j01 * c01 + j02 * c02
        sx = -(c00 * fx + (j02 * j21 - j01 * j22) * fy + (j01 * j12 - j02 * j11) * fz) / determinant
        sy = -(c01 * fx + (j00 * j22 - j02 * j20) * fy + (j02 * j10 - j00 * j12) * fz) / determinant
        sz = -(c02 * fx + (j01 * j20 - j00 * j21) * fy + (j00 * j11 - j01 * j10) * fz) / determinant
        # halve it until the residual falls
        share = 1.0
        smaller = False
        for _ in range(MAX_HALVINGS):
            ex, ey, ez = dx + share * sx, dy + share * sy, dz + share * sz
            fx, fy, fz = midpoint_residual(inertia, hx, hy, hz, wx, wy, wz, ex, ey, ez, h)
            trial = fx * fx + fy * fy + fz * fz
            if trial < size:
                dx, dy, dz, size = ex, ey, ez, trial
                smaller = True
                break
            # this step is lost in d, as are all shorter ones
            if ex == dx and ey == dy and ez == dz:
                break
            share *= 0.5
        if not smaller:
            break
    # residual relative to the terms of the equation
    ix, iy, iz = body_inertia_times(inertia, wx, wy, wz)
    kx, ky, kz = body_inertia_times(inertia, wx + dx, wy + dy, wz + dz)
    terms = ix * ix + iy * iy + iz * iz + kx * kx + ky * ky + kz * kz + hx * hx + hy * hy + hz * hz
    return dx, dy, dz, size <= RESIDUAL_TOLERANCE * RESIDUAL_TOLERANCE * terms


@kernel(inner=True)
def midpoint_spin(
    inertia: FloatArray, tx: float, ty: float, tz: float, wx: float, wy: float, wz: float, h: float
) -> tuple[float, float, float]:
    """Return the change w+ - w of the angular velocity [rad/s] over h [s] under a torque [N m], all in body axes.

    ``inertia`` (6,) [kg m^2]: xx, yy, zz, xy, xz, yz about the reference point of the torque. The step is one of the
    rule, or the fewest equal parts 2, 4, ... that can be solved. The torque is constant in body axes. NaN if 1024 are
    too few.
    """
    # 1, 2, 4, ... parts until all of them are solved
    parts = 1
    while parts <= MAX_PARTS:
        part = h / parts
        dx, dy, dz = 0.0, 0.0, 0.0
        solved = True
        for _ in range(parts):
            ex, ey, ez, solved = midpoint_step(inertia, tx, ty, tz, wx + dx, wy + dy, wz + dz, part)
            if not solved:
                break
            dx, dy, dz = dx + ex, dy + ey, dz + ez
        if solved:
            return dx, dy, dz
        parts *= 2
    return np.nan, np.nan, np.nan


@kernel(inline=True)
def is_free_rotor(t: Tree, first: int, last: int) -> bool:
    """Return True if links first ... last - 1, a whole tree, are one link to which the midpoint rule applies.

    Rotors behind its degrees of freedom have unknown velocity products. Such a link stays with the explicit rule.
    """
    if last - first != 1 or t.kind[first] not in (FLOATING, SPHERICAL):
        return False
    largest = 0.0
    for j in range(t.iv[first], t.iv[last]):
        largest = max(largest, t.armature[j])
    return largest == 0.0


@kernel(inline=True)
def rotation_load(
    t: Tree, R: FloatArray, S: FloatArray, i: int, tau: FloatArray, inertia: FloatArray
) -> tuple[int, tuple[float, float, float], tuple[float, float, float]]:
    """Return the place in v of a link's angular velocity, and force and torque on it in body axes.

    Link i is a tree of its own. ``inertia`` (6,) is filled with the inertia about the reference point of the torque.
    """
    # inertia about the centre of mass
    Ri = R[i]
    own = t.inertia[i]
    m = t.mass[i]
    x, y, z = t.com[i, 0], t.com[i, 1], t.com[i, 2]
    a = t.iv[i]
    fx = fy = fz = 0.0
    for k in range(6):
        inertia[k] = own[k]
    if t.kind[i] == FLOATING:
        # floating: the applied force about the centre of mass, where the weight has no torque
        for k in range(3):
            fx -= S[a + k, 3] * tau[a + k]
            fy -= S[a + k, 4] * tau[a + k]
            fz -= S[a + k, 5] * tau[a + k]
        a += 3
    else:
        # spherical: about the joint, whose force is unknown; the weight has a torque
        fx = m * t.gravity[0]
        fy = m * t.gravity[1]
        fz = m * t.gravity[2]
        inertia[0] += m * (y * y + z * z)
        inertia[1] += m * (x * x + z * z)
        inertia[2] += m * (x * x + y * y)
        inertia[3] -= m * x * y
        inertia[4] -= m * x * z
        inertia[5] -= m * y * z
    # in body axes
    bx = Ri[0] * fx + Ri[3] * fy + Ri[6] * fz
    by = Ri[1] * fx + Ri[4] * fy + Ri[7] * fz
    bz = Ri[2] * fx + Ri[5] * fy + Ri[8] * fz
    qx = tau[a] + (y * bz - z * by)
    qy = tau[a + 1] + (z * bx - x * bz)
    qz = tau[a + 2] + (x * by - y * bx)
    return a, (bx, by, bz), (qx, qy, qz)


@kernel(inline=True)
def gyroscopic_impulse(
    t: Tree,
    R: FloatArray,
    S: FloatArray,
    i: int,
    v: FloatArray,
    tau: FloatArray,
    h: float,
    spins: bool,
    inertia: FloatArray,
    Mv: FloatArray,
) -> None:
    """Replace the explicit gyroscopic impulse in M v + h (tau - bias) by the midpoint rule's impulse, or remove it.

    Parameters
    ----------
    t, R, S
        The model, rotations (nl, 9) and motion columns (nv, 6) at the start of the step.
    i
        A link that is a tree of its own, for which `is_free_rotor` holds.
    v, tau
        (nv,) velocity and applied force, of the whole model.
    spins
        False to leave the gyroscopic torque out: I dw = h torque.
    inertia
        (6,) scratch.
    Mv
        (nv,) whose three entries of the link's angular velocity are corrected, by I dw - h torque + h w x I w.
    """
    # load and angular momentum
    a, _, (qx, qy, qz) = rotation_load(t, R, S, i, tau, inertia)
    wx, wy, wz = v[a], v[a + 1], v[a + 2]
    lx, ly, lz = body_inertia_times(inertia, wx, wy, wz)
    # the impulse of the midpoint rule
    if spins:
        dx, dy, dz = midpoint_spin(inertia, qx, qy, qz, wx, wy, wz, h)
        ex, ey, ez = body_inertia_times(inertia, dx, dy, dz)
        # without the explicit one
        Mv[a] += ex - h * qx
        Mv[a + 1] += ey - h * qy
        Mv[a + 2] += ez - h * qz
    Mv[a] += h * (wy * lz - wz * ly)
    Mv[a + 1] += h * (wz * lx - wx * lz)
    Mv[a + 2] += h * (wx * ly - wy * lx)
