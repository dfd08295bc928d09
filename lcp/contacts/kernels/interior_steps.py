"""A step of Mehrotra's predictor and corrector on the LCP of friction pyramids, contact by contact.

Of each contact the unknowns are z = (fN, f1, ..., fk, lambda), forces along the edges t1 ... tk, with w = M z + q:

    w = (uN, lambda + t1 uT, ..., lambda + tk uT, mu fN - sum of the fi),      z, w >= 0, z w = 0.

A step of Newton's method on z w = sigma m (m the mean of z w) gives, contact by contact, the change of p = (fN, fT)
by that of u: dp = g - D du. What is left is a sparse system of the velocities (`central_path`). A contact without
friction has fN alone; what stands behind it stays as it was.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from lcp.kernels import Floats, kernel

SHORT: Final = 0.05  # a step below this share is a failure
FAILURES: Final = 6
# Predictor, corrector, and a step to the middle where the corrector's is too short.
PREDICT: Final = 0
CORRECT: Final = 1
CENTRE: Final = 2
CENTRING: Final = 0.7
LEAST_STEP: Final = 0.2
BACK_OFF: Final = 0.95  # share of the way to the boundary


class InteriorWork(NamedTuple):
    """Memory of the method, by contact: steps, complementarity linearised (dz = e - d (B du + E dz)), and motions."""

    dz: Floats  # (nc, k + 2)
    dw: Floats
    second: Floats  # (nc, k + 2) product of the predictor's steps
    miss: Floats  # (nc, k + 2) w - (M z + q)
    d: Floats
    e: Floats
    D: Floats  # (nc, 3, 3)
    g: Floats  # (nc, 3)
    du: Floats


@kernel(inner=True)
def linearise(edges: Floats, mu: Floats, z: Floats, w: Floats, goal: float, work: InteriorWork) -> None:
    """Fill d and e, and D and g of dp = g - D du."""
    last = z.shape[1] - 1
    for c in range(z.shape[0]):
        d = work.d[c]
        e = work.e[c]
        for i in range(last + 1):
            if i > 0 and mu[c] == 0.0:
                break
            d[i] = z[c, i] / w[c, i]
            e[i] = (goal - z[c, i] * w[c, i] - work.second[c, i] + z[c, i] * work.miss[c, i]) / w[c, i]
        if mu[c] == 0.0:
            for i in range(3):
                work.g[c, i] = e[0] if i == 0 else 0.0
                for j in range(3):
                    work.D[c, i, j] = d[0] if i + j == 0 else 0.0
            continue
        total = 0.0
        constant = e[last] / d[last] - mu[c] * e[0]
        a1 = 0.0
        a2 = 0.0
        g1 = 0.0
        g2 = 0.0
        d11 = 0.0
        d12 = 0.0
        d22 = 0.0
        for i in range(1, last):
            x = edges[i - 1, 0]
            y = edges[i - 1, 1]
            total += d[i]
            constant += e[i]
            a1 += d[i] * x
            a2 += d[i] * y
            g1 += e[i] * x
            g2 += e[i] * y
            d11 += d[i] * x * x
            d12 += d[i] * x * y
            d22 += d[i] * y * y
        share = d[last] / (1.0 + d[last] * total)
        g = work.g[c]
        g[0] = e[0]
        g[1] = g1 - a1 * share * constant
        g[2] = g2 - a2 * share * constant
        D = work.D[c]
        D[0, 0] = d[0]
        D[0, 1] = 0.0
        D[0, 2] = 0.0
        D[1, 0] = a1 * share * mu[c] * d[0]
        D[1, 1] = d11 - a1 * share * a1
        D[1, 2] = d12 - a1 * share * a2
        D[2, 0] = a2 * share * mu[c] * d[0]
        D[2, 1] = D[1, 2]
        D[2, 2] = d22 - a2 * share * a2


@kernel(inner=True)
def fill_steps(edges: Floats, mu: Floats, z: Floats, w: Floats, goal: float, work: InteriorWork) -> float:
    """Fill dz and dw from du; the share of them that leads to the boundary, 1 at most, is returned."""
    longest = 1.0
    last = z.shape[1] - 1
    for c in range(z.shape[0]):
        d = work.d[c]
        e = work.e[c]
        u1 = work.du[c, 1]
        u2 = work.du[c, 2]
        dz = work.dz[c]
        dz[0] = e[0] - d[0] * work.du[c, 0]
        for i in range(1, last + 1):
            dz[i] = 0.0
            work.dw[c, i] = 0.0
        spent = 0.0
        if mu[c] > 0.0:
            total = 0.0
            constant = e[last] / d[last] - mu[c] * dz[0]
            for i in range(1, last):
                total += d[i]
                constant += e[i] - d[i] * (edges[i - 1, 0] * u1 + edges[i - 1, 1] * u2)
            dz[last] = d[last] / (1.0 + d[last] * total) * constant
            for i in range(1, last):
                dz[i] = e[i] - d[i] * (dz[last] + (edges[i - 1, 0] * u1 + edges[i - 1, 1] * u2))
                spent += dz[i]
        for i in range(last + 1 if mu[c] > 0.0 else 1):
            # Of two equal expressions the one that loses no digits.
            if z[c, i] >= w[c, i]:
                right = goal - z[c, i] * w[c, i] - work.second[c, i]
                dw = (right - w[c, i] * dz[i]) / z[c, i]
            elif i == 0:
                dw = work.du[c, 0] - work.miss[c, 0]
            elif i == last:
                dw = mu[c] * dz[0] - spent - work.miss[c, last]
            else:
                dw = dz[last] + (edges[i - 1, 0] * u1 + edges[i - 1, 1] * u2) - work.miss[c, i]
            work.dw[c, i] = dw
            # A step that is undefined is none.
            if not (math.isfinite(dz[i]) and math.isfinite(dw)):
                longest = 0.0
            if dz[i] < 0.0:
                longest = min(longest, -z[c, i] / dz[i])
            if dw < 0.0:
                longest = min(longest, -w[c, i] / dw)
    return longest


@kernel(inner=True)
def fill_misses(edges: Floats, mu: Floats, z: Floats, w: Floats, u: Floats, miss: Floats) -> float:
    """Fill miss = w - (M z + q) for the motions u of z, and return the mean of z w."""
    last = z.shape[1] - 1
    total = 0.0
    for c in range(z.shape[0]):
        left = mu[c] * z[c, 0]
        miss[c, 0] = w[c, 0] - u[c, 0]
        total += z[c, 0] * w[c, 0]
        if mu[c] == 0.0:
            continue
        for i in range(1, last):
            miss[c, i] = w[c, i] - z[c, last] - (edges[i - 1, 0] * u[c, 1] + edges[i - 1, 1] * u[c, 2])
            left -= z[c, i]
        miss[c, last] = w[c, last] - left
        for i in range(1, last + 1):
            total += z[c, i] * w[c, i]
    return total / z.size


@kernel(inner=True)
def impulses_of(edges: Floats, z: Floats, p: Floats) -> None:
    """Fill p = (fN, f1, f2) of z."""
    for c in range(z.shape[0]):
        p[c, 0] = z[c, 0]
        p[c, 1] = 0.0
        p[c, 2] = 0.0
        for i in range(edges.shape[0]):
            p[c, 1] += z[c, 1 + i] * edges[i, 0]
            p[c, 2] += z[c, 1 + i] * edges[i, 1]


@kernel(inner=True)
def aim(z: Floats, w: Floats, longest: float, mean: float, power: float, work: InteriorWork) -> float:
    """Keep the products of the predictor's steps, and return the mean that the corrector aims at."""
    total = 0.0
    for c in range(z.shape[0]):
        for i in range(z.shape[1]):
            total += (z[c, i] + longest * work.dz[c, i]) * (w[c, i] + longest * work.dw[c, i])
            work.second[c, i] = work.dz[c, i] * work.dw[c, i]
    return mean * min(1.0, max(1e-12, total / z.size / mean)) ** power
