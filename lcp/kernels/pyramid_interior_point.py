"""Mehrotra's predictor and corrector on the LCP of friction pyramids with four edges, in the space of the bodies.

Of each contact the unknowns are z = (fN, f1+, f2+, f1-, f2-, lambda), with w = M z + q of the LCP:

    w = (uN, lambda + u1, lambda + u2, lambda - u1, lambda - u2, mu fN - sum of the edges),      z, w >= 0, z w = 0.

A step of Newton's method on z w = sigma m (m the mean of z w) gives, contact by contact, the change of p = (fN, f1, f2)
by that of u: dp = g - D du. What is left is (1 + J' D J) dy = J' g, a sparse system of the bodies (`body_blocks`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from lcp.kernels import Floats, kernel
from lcp.kernels.body_blocks import (
    BlockFactors,
    BodySystem,
    add_impulses,
    assemble_blocks,
    contact_motion,
    copy_rows,
    factor_blocks,
    moved_by,
    solve_blocks,
)

UNKNOWNS = 6  # of a contact
SHORT = 0.05  # a step below this share is a failure
FAILURES = 6
# Predictor, corrector, and a step to the middle where the corrector's is too short.
PREDICT = 0
CORRECT = 1
CENTRE = 2
CENTRING = 0.7
LEAST_STEP = 0.2
BACK_OFF = 0.95  # share of the way to the boundary


class InteriorWork(NamedTuple):
    """Memory of the method, by contact: steps, complementarity linearised (dz = e - d (B du + E dz)), and motions."""

    dz: Floats  # (nc, 6)
    dw: Floats
    second: Floats  # (nc, 6) product of the predictor's steps
    miss: Floats  # (nc, 6) w - (M z + q)
    d: Floats
    e: Floats
    D: Floats  # (nc, 3, 3)
    g: Floats  # (nc, 3)
    p: Floats
    u: Floats
    du: Floats
    y: Floats  # (nb, 6)
    dy: Floats
    right: Floats
    rest: Floats


@kernel(inner=True)
def linearise(mu: Floats, z: Floats, w: Floats, goal: float, work: InteriorWork) -> None:
    """Fill d and e, and D and g of dp = g - D du."""
    for c in range(z.shape[0]):
        d = work.d[c]
        e = work.e[c]
        for i in range(UNKNOWNS):
            d[i] = z[c, i] / w[c, i]
            e[i] = (goal - z[c, i] * w[c, i] - work.second[c, i] + z[c, i] * work.miss[c, i]) / w[c, i]
        skew1 = d[1] - d[3]
        skew2 = d[2] - d[4]
        share = d[5] / (1.0 + d[5] * (d[1] + d[2] + d[3] + d[4]))
        constant = share * (e[5] / d[5] + e[1] + e[2] + e[3] + e[4] - mu[c] * e[0])
        g = work.g[c]
        g[0] = e[0]
        g[1] = e[1] - e[3] - skew1 * constant
        g[2] = e[2] - e[4] - skew2 * constant
        D = work.D[c]
        D[0, 0] = d[0]
        D[0, 1] = 0.0
        D[0, 2] = 0.0
        D[1, 0] = skew1 * share * mu[c] * d[0]
        D[1, 1] = d[1] + d[3] - skew1 * share * skew1
        D[1, 2] = -skew1 * share * skew2
        D[2, 0] = skew2 * share * mu[c] * d[0]
        D[2, 1] = -skew2 * share * skew1
        D[2, 2] = d[2] + d[4] - skew2 * share * skew2


@kernel(inner=True)
def move_bodies(system: BodySystem, factors: BlockFactors, work: InteriorWork) -> None:
    """Fill dy and du = J dy of (1 + J' D J) dy = J' g, refined once."""
    right = work.right
    right[:] = 0.0
    add_impulses(system, work.g, right)
    dy = work.dy
    copy_rows(right, dy)
    solve_blocks(system, factors, dy)
    contact_motion(system, dy, False, work.du)
    D = work.D
    for c in range(D.shape[0]):
        for i in range(3):
            work.p[c, i] = -(D[c, i, 0] * work.du[c, 0] + D[c, i, 1] * work.du[c, 1] + D[c, i, 2] * work.du[c, 2])
    rest = work.rest
    for k in range(dy.shape[0]):
        for j in range(dy.shape[1]):
            rest[k, j] = right[k, j] - dy[k, j]
    add_impulses(system, work.p, rest)
    solve_blocks(system, factors, rest)
    for k in range(dy.shape[0]):
        for j in range(dy.shape[1]):
            dy[k, j] += rest[k, j]
    contact_motion(system, dy, False, work.du)


@kernel(inner=True)
def fill_steps(mu: Floats, z: Floats, w: Floats, goal: float, work: InteriorWork) -> float:
    """Fill dz and dw from du; the share of them that leads to the boundary, 1 at most, is returned."""
    longest = 1.0
    for c in range(z.shape[0]):
        d = work.d[c]
        e = work.e[c]
        u1 = work.du[c, 1]
        u2 = work.du[c, 2]
        dz = work.dz[c]
        dz[0] = e[0] - d[0] * work.du[c, 0]
        share = d[5] / (1.0 + d[5] * (d[1] + d[2] + d[3] + d[4]))
        edges = e[1] + e[2] + e[3] + e[4] - (d[1] - d[3]) * u1 - (d[2] - d[4]) * u2
        dz[5] = share * (e[5] / d[5] + edges - mu[c] * dz[0])
        dz[1] = e[1] - d[1] * (dz[5] + u1)
        dz[2] = e[2] - d[2] * (dz[5] + u2)
        dz[3] = e[3] - d[3] * (dz[5] - u1)
        dz[4] = e[4] - d[4] * (dz[5] - u2)
        for i in range(UNKNOWNS):
            # Of two equal expressions the one that loses no digits.
            if z[c, i] >= w[c, i]:
                right = goal - z[c, i] * w[c, i] - work.second[c, i]
                dw = (right - w[c, i] * dz[i]) / z[c, i]
            elif i == 0:
                dw = work.du[c, 0] - work.miss[c, 0]
            elif i == 5:
                dw = mu[c] * dz[0] - dz[1] - dz[2] - dz[3] - dz[4] - work.miss[c, 5]
            elif i < 3:
                dw = dz[5] + work.du[c, i] - work.miss[c, i]
            else:
                dw = dz[5] - work.du[c, i - 2] - work.miss[c, i]
            work.dw[c, i] = dw
            # A step that is undefined is none.
            if not (math.isfinite(dz[i]) and math.isfinite(dw)):
                longest = 0.0
            if dz[i] < 0.0:
                longest = min(longest, -z[c, i] / dz[i])
            if dw < 0.0:
                longest = min(longest, -w[c, i] / dw)
    return longest


@kernel
def impulses_of(z: Floats, p: Floats) -> None:
    """Fill p = (fN, f1, f2) of z."""
    for c in range(z.shape[0]):
        p[c, 0] = z[c, 0]
        p[c, 1] = z[c, 1] - z[c, 3]
        p[c, 2] = z[c, 2] - z[c, 4]


@kernel(inner=True)
def mean_product(system: BodySystem, z: Floats, w: Floats, work: InteriorWork) -> float:
    """Fill miss = w - (M z + q), and return the mean of z w."""
    p = work.p
    u = work.u
    impulses_of(z, p)
    moved_by(system, p, work.y, u)
    total = 0.0
    for c in range(z.shape[0]):
        miss = work.miss[c]
        miss[0] = w[c, 0] - u[c, 0]
        miss[1] = w[c, 1] - z[c, 5] - u[c, 1]
        miss[2] = w[c, 2] - z[c, 5] - u[c, 2]
        miss[3] = w[c, 3] - z[c, 5] + u[c, 1]
        miss[4] = w[c, 4] - z[c, 5] + u[c, 2]
        miss[5] = w[c, 5] - system.mu[c] * z[c, 0] + z[c, 1] + z[c, 2] + z[c, 3] + z[c, 4]
        for i in range(UNKNOWNS):
            total += z[c, i] * w[c, i]
    return total / z.size


@kernel
def follow_path(
    system: BodySystem,
    factors: BlockFactors,
    work: InteriorWork,
    power: float,
    target: float,
    budget: int,
    z: Floats,
    w: Floats,
) -> tuple[int, float]:
    """Move z, w (nc, 6) > 0 along the central path until the mean of z w is ``target``; steps made, and that mean.

    The corrector aims at the predictor's share of the mean, to the ``power`` given.
    """
    steps = 0
    failures = 0
    mean = mean_product(system, z, w, work)
    while mean > target and steps < budget and failures < FAILURES:
        steps += 1
        work.second[:] = 0.0
        longest = 0.0
        goal = 0.0
        for stage in range(3):
            if stage == CENTRE:
                if longest >= LEAST_STEP:
                    break
                work.second[:] = 0.0
                goal = CENTRING * mean
            linearise(system.mu, z, w, goal, work)
            if stage == PREDICT:
                assemble_blocks(system, work.D, factors)
                factor_blocks(system, factors)
            move_bodies(system, factors, work)
            longest = fill_steps(system.mu, z, w, goal, work)
            if stage == PREDICT:
                total = 0.0
                for c in range(z.shape[0]):
                    for i in range(UNKNOWNS):
                        total += (z[c, i] + longest * work.dz[c, i]) * (w[c, i] + longest * work.dw[c, i])
                        work.second[c, i] = work.dz[c, i] * work.dw[c, i]
                goal = mean * min(1.0, max(1e-12, total / z.size / mean)) ** power
        step = min(1.0, BACK_OFF * longest)
        if step < SHORT:
            failures += 1
        if step == 0.0:
            break
        for c in range(z.shape[0]):
            for i in range(UNKNOWNS):
                z[c, i] += step * work.dz[c, i]
                w[c, i] += step * work.dw[c, i]
        mean = mean_product(system, z, w, work)
    return steps, mean
