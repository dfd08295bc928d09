"""Motion along a velocity, differences of configurations, and the Runge-Kutta method for free motion.

`runge_kutta` moves a whole model freely over a time in equal parts, by the classical method of fourth order. Only
weights and a constant generalised force act. Rotations of ball and floating joints are integrated as rotation vectors t
from the start of a part. With the angular velocity w in body axes, t' = w + t x w / 2 + t x (t x w) / 12, up to terms
beyond the order (E. Hairer, C. Lubich, G. Wanner, Geometric Numerical Integration, 2006, section IV.8). The
accelerations come from the articulated-body algorithm.

The energy T + V less the work of the force is constant. Its error over the whole time decides the number of parts.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from contactlab.multibody.kernels import (
    CUSTOM,
    CUSTOM_ROW,
    FLOATING,
    GOOD,
    NOTHING,
    SPHERICAL,
    VELOCITIES,
    work_size,
)
from contactlab.multibody.kernels.centroidal import rotor_energy, sum_masses, sum_momenta
from contactlab.multibody.kernels.dynamics import aba
from contactlab.multibody.kernels.kinematics import fill_frames
from contactlab.multibody.kernels.layout import Tree, model_and_workspace_views, tree
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, Vec3
from contactlab.multibody.spatial.kernels import (
    add_to,
    copy,
    cross,
    dot,
    fill,
    linear,
    times,
    vector,
    vector_at,
)
from lcp.compiler.views import view_1d, view_2d
from lcp.kernels import kernel


@kernel(inner=True)
def quaternion_product(v: float, a: Vec3, w: float, b: Vec3) -> tuple[float, Vec3]:
    """Return the real and the imaginary part of the product of (v, a) and (w, b)."""
    return v * w - a[0] * b[0] - a[1] * b[1] - a[2] * b[2], (
        v * b[0] + a[0] * w + a[1] * b[2] - a[2] * b[1],
        v * b[1] - a[0] * b[2] + a[1] * w + a[2] * b[0],
        v * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * w,
    )


@kernel(inline=True)
def rotate_quaternion(q: FloatArray, at: int, a: float, b: float, c: float, out: FloatArray) -> None:
    """Fill out[at:at + 4] with q[at:at + 4] * exp((a, b, c)), renormalised; the rotation vector is in body axes."""
    # quaternion of the rotation, by its series at small angles
    squared = a * a + b * b + c * c
    if squared < 1e-8:
        w = 1.0 - squared / 8.0 * (1.0 - squared / 48.0)
        s = 0.5 - squared / 48.0 * (1.0 - squared / 80.0)
    else:
        angle = np.sqrt(squared)
        w = np.cos(0.5 * angle)
        s = np.sin(0.5 * angle) / angle
    w, v = quaternion_product(q[at], vector_at(q, at + 1), w, (s * a, s * b, s * c))
    # unit length
    inverse = 1.0 / np.sqrt(w * w + v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    out[at] = w * inverse
    out[at + 1], out[at + 2], out[at + 3] = times(inverse, v)


@kernel(inline=True)
def rotation_between(q0: FloatArray, q1: FloatArray, at: int, out: FloatArray, to: int) -> None:
    """Fill out[to:to + 3] with the rotation vector from q0[at:at + 4] to q1[at:at + 4].

    It is in body axes, along the shorter rotation.
    """
    # conjugate of q0, times q1, and the shorter turn
    conjugate = (-q0[at + 1], -q0[at + 2], -q0[at + 3])
    w, v = quaternion_product(q0[at], conjugate, q1[at], vector_at(q1, at + 1))
    if w < 0.0:
        w, v = -w, times(-1.0, v)
    # its rotation vector
    sine = np.sqrt(dot(v, v))
    factor = 2.0 / w * (1.0 - sine * sine / (3.0 * w * w)) if sine < 1e-5 else 2.0 * np.arctan2(sine, w) / sine
    out[to], out[to + 1], out[to + 2] = times(factor, v)


@kernel(inline=True)
def plain_coordinates(t: Tree, i: int) -> int:
    """Return the number of entries of joint i in q with rates in v; a quaternion follows them."""
    if t.kind[i] == FLOATING:
        return 3
    return 0 if t.kind[i] in (SPHERICAL, CUSTOM) else t.iv[i + 1] - t.iv[i]


@kernel
def integrate_configuration(
    I: IntArray, F: FloatArray, q: FloatArray, v: FloatArray, dt: float, out: FloatArray
) -> None:
    """Fill ``out`` (nq,) with q moved at constant v for dt; entries of custom joints are not written."""
    t = tree(I, F)
    for i in range(t.parent.shape[0]):
        a = t.iq[i]
        b = t.iv[i]
        # coordinates with rates in v
        plain = plain_coordinates(t, i)
        for k in range(plain):
            out[a + k] = q[a + k] + v[b + k] * dt
        # quaternion
        if t.kind[i] in (SPHERICAL, FLOATING):
            a += plain
            b += plain
            rotate_quaternion(q, a, v[b] * dt, v[b + 1] * dt, v[b + 2] * dt, out)


@kernel
def configuration_difference(I: IntArray, F: FloatArray, q0: FloatArray, q1: FloatArray, out: FloatArray) -> None:
    """Fill ``out`` (nv,) with the velocity from q0 to q1 in unit time; entries of custom joints are not written."""
    t = tree(I, F)
    for i in range(t.parent.shape[0]):
        a = t.iq[i]
        b = t.iv[i]
        # coordinates with rates in v
        plain = plain_coordinates(t, i)
        for k in range(plain):
            out[b + k] = q1[a + k] - q0[a + k]
        # quaternion
        if t.kind[i] in (SPHERICAL, FLOATING):
            rotation_between(q0, q1, a + plain, out, b + plain)


#: Largest accepted error of the energy, relative to the larger kinetic energy, and largest number of parts.
ENERGY_TOLERANCE: Final = 1e-6

MAX_PARTS: Final = 128

VECTORS: Final = 7

#: Rounding relative to the compared energies.
ROUNDING: Final = 1e-13


def runge_kutta_size(nl: int, nv: int, nq: int) -> int:
    """Return the length of the memory: vectors of velocities, two configurations, energies and a workspace."""
    return VECTORS * nv + 2 * nq + 18 + work_size(nl, nv)


@kernel(inner=True)
def displacement_rate(t: Tree, d: FloatArray, v: FloatArray, out: FloatArray) -> None:
    """Fill ``out`` with the rate of the displacement d (nv,) from the start of a part, at velocities v.

    The rate is v, except for the entries of rotation vectors.
    """
    # v
    copy(v, out)
    for i in range(t.parent.shape[0]):
        if t.kind[i] not in (SPHERICAL, FLOATING):
            continue
        # t x w / 2 + t x (t x w) / 12
        a = t.iv[i + 1] - 3
        turn = vector_at(d, a)
        first = cross(turn, vector_at(v, a))
        second = cross(turn, first)
        out[a] += 0.5 * first[0] + second[0] / 12.0
        out[a + 1] += 0.5 * first[1] + second[1] / 12.0
        out[a + 2] += 0.5 * first[2] + second[2] / 12.0


@kernel(inner=True)
def energies_at(
    I: IntArray, F: FloatArray, q: FloatArray, v: FloatArray, W: FloatArray, none: FloatArray, out: FloatArray
) -> bool:
    """Fill ``out`` (14,); return True if the energies are finite.

    out[11:13] are kinetic and potential energy at (q, v). out[13] is the kinetic energy that the error is compared
    with; for a free tree it is the energy about the centre of mass, because the error does not depend on its speed.
    ``none`` (4,) is 0.
    """
    # energies
    t, f, _, _ = model_and_workspace_views(I, F, W)
    if fill_frames(I, F, q, v, view_2d(W, 0, 0, CUSTOM_ROW), NOTHING, VELOCITIES, W) != GOOD:
        return False
    sum_masses(t, f.R, f.p, none, out)
    sum_momenta(t, f.R, f.p, f.V, out)
    out[11] = out[10] + rotor_energy(t, v)
    out[12] = -out[0] * dot(vector_at(out, 1), vector(t.gravity))
    # less the energy of the centre of mass
    out[13] = out[11]
    if t.kind[0] == FLOATING and out[0] > 0.0:
        out[13] -= 0.5 * (out[4] * out[4] + out[5] * out[5] + out[6] * out[6]) / out[0]
    return math.isfinite(out[11] + out[12])


@kernel
def runge_kutta(
    I: IntArray, F: FloatArray, q: FloatArray, v: FloatArray, tau: FloatArray, h: float, memory: FloatArray,
    wanted: int, q_out: FloatArray, v_out: FloatArray,
) -> int:  # fmt: skip
    """Fill (q_out, v_out) with the state at h after (q, v), under weights and the constant force tau.

    Parameters
    ----------
    I, F
        The model's buffers, without custom joints.
    q, v, tau, h
        (nq,), (nv,), (nv,), time.
    memory
        `runge_kutta_size` numbers.
    wanted
        Number of parts; 0: the fewest of 1, 2, 4, ..., 128 that keep the energy to `ENERGY_TOLERANCE`.
    q_out, v_out
        (nq,), (nv,), different arrays from q and v.

    Returns
    -------
    int
        Number of parts; 0 if none are enough, or the motion is not finite, and the outputs are unchanged.
    """
    # views of the memory
    nv, nq = v.shape[0], q.shape[0]
    rows, rest = view_2d(memory, 0, VECTORS, nv), VECTORS * nv
    q_at, q_stage = view_1d(memory, rest, nq), view_1d(memory, rest + nq, nq)
    none, sums = view_1d(memory, rest + 2 * nq, 4), view_1d(memory, rest + 2 * nq + 4, 14)
    rest += 2 * nq + 18
    W = view_1d(memory, rest, memory.shape[0] - rest)
    v_at, v_stage, d, moved = rows[0], rows[1], rows[2], rows[3]
    gained, rate, acceleration = rows[4], rows[5], rows[6]
    no_row, no_wrench = view_2d(W, 0, 0, CUSTOM_ROW), view_2d(W, 0, 0, 6)
    # energies at the start
    fill(0.0, none)
    if not energies_at(I, F, q, v, W, none, sums):
        return 0
    kinetic, begin = sums[13], sums[11] + sums[12]
    # energy of a free tree relative to a frame that moves at the first velocity u of its centre of mass: it is less by
    # u . (change of momentum - impulse), so an additional drift has no effect
    t, f, _, _ = model_and_workspace_views(I, F, W)
    u, drift = (0.0, 0.0, 0.0), 0.0
    if t.kind[0] == FLOATING and sums[0] > 0.0:
        u = (sums[4] / sums[0], sums[5] / sums[0], sums[6] / sums[0])
        drift = dot(u, vector_at(sums, 4)) + h * sums[0] * dot(u, vector(t.gravity))
        for j in range(3):
            drift += h * tau[j] * dot(u, linear(f.S[j]))
    # increase the number of parts until the energy is kept
    parts = max(wanted, 1)
    while parts <= MAX_PARTS:
        part = h / parts
        work, finite = 0.0, True
        # start from the given state
        copy(q, q_at)
        copy(v, v_at)
        # one part: four stages
        for _ in range(parts):
            for j in range(nv):
                moved[j], gained[j], d[j], rate[j], acceleration[j] = 0.0, 0.0, 0.0, 0.0, 0.0
            for stage in range(4):
                # state of the stage
                way = 0.0 if stage == 0 else (part if stage == 3 else 0.5 * part)
                share = part / 6.0 if stage in (0, 3) else part / 3.0
                for j in range(nv):
                    d[j] = way * rate[j]
                    v_stage[j] = v_at[j] + way * acceleration[j]
                if stage == 0:
                    copy(q_at, q_stage)
                else:
                    integrate_configuration(I, F, q_at, d, 1.0, q_stage)
                # its rates
                displacement_rate(tree(I, F), d, v_stage, rate)
                if aba(I, F, q_stage, v_stage, tau, no_wrench, no_row, W, NOTHING, acceleration) != GOOD:
                    finite = False
                    break
                # weighted sums
                for j in range(nv):
                    moved[j] += share * rate[j]
                    gained[j] += share * acceleration[j]
                    work += share * tau[j] * v_stage[j]
            if not finite:
                break
            # state after the part
            integrate_configuration(I, F, q_at, moved, 1.0, q_stage)
            copy(q_stage, q_at)
            add_to(gained, v_at)
        # error of the energy
        more = 2
        if finite and energies_at(I, F, q_at, v_at, W, none, sums):
            error = abs(sums[11] + sums[12] - begin - work - (dot(u, vector_at(sums, 4)) - drift))
            bound = ENERGY_TOLERANCE * max(kinetic, sums[13]) + ROUNDING * (abs(begin) + abs(work))
            if wanted > 0 or error <= bound:
                copy(q_at, q_out)
                copy(v_at, v_out)
                return parts
            # more parts: the error is of fourth order
            while more < 8 and error > bound * more**4:
                more *= 2
        if wanted > 0:
            return 0
        parts *= more
    return 0
