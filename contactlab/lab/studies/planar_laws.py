"""Vectorised laws of `contactlab.impact` for many single planar impacts.

A fit needs thousands of impacts for each trial of its parameters. In the plane an impact has at most two straight
phases over the normal impulse p: slip, then stick or slip from rest. So Routh's laws are closed formulas. Each was
checked against `contactlab.impact` impact by impact. Coordinates of a contact are u = (u_n, u_t) = J v, with the
response W = J M^-1 J'; both have one entry per impact.

Sources: E. J. Routh, Dynamics of a System of Rigid Bodies (1877); W. J. Stronge, Impact Mechanics (2000), chapter 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from contactlab.multibody.spatial.arrays import FloatArray

Law = Literal[
    "Newton",
    "Newton, sequential",
    "Poisson",
    "Stronge",
    "Chatterjee and Ruina",
    "Brach",
    "Smith",
    "Tangential compliance",
]
LAWS: tuple[Law, ...] = get_args(Law)
#: Parameter of a law beyond mu and e: name, start of the fit, size of its first step, and bounds.
LAW_NUMBERS: dict[str, tuple[str, float, float, float, float]] = {
    "Chatterjee and Ruina": ("e_t", 0.0, 0.2, -1.0, 1.0),
    "Tangential compliance": ("eta2", 1.21, 0.5, 0.01, 100.0),
}
_BISECTIONS = 50
#: Resolutions of the springs' motion: errors of velocities of 3e-4 of the largest; and of 1e-3, which change a mean
#: error by 2e-6.
RESOLUTION, COARSE, _MOST_STEPS = 5e-2, 1e-1, 100_000


def planar_impulses(
    law: Law,
    W: FloatArray,
    u: FloatArray,
    mu: float,
    e: FloatArray,
    own: float = 0.0,
    *,
    resolution: float = RESOLUTION,
) -> FloatArray:
    """Return the impulses (n, 2), normal and tangential [N s], of n separate impacts.

    The response W (n, 2, 2) is positive definite. If the velocity before, u (n, 2), has u_n >= 0, there is no impact.
    Restitution e (n,), 0 to 1, is a ratio of velocities ("Newton", with friction at the velocity after the impact), of
    impulses, or the root of a ratio of works, depending on the law. ``own`` is the parameter of `LAW_NUMBERS`, and
    ``resolution`` the step of springs. Entries are NaN if the law has no solution (slip into a wedge that no impulse
    separates); the caller counts them.
    """
    formulas: dict[str, Callable[[], FloatArray]] = {
        "Newton": lambda: _newton(W, u, mu, e),
        "Chatterjee and Ruina": lambda: _algebraic(W, u, mu, e, own),
        "Brach": lambda: _brach(W, u, mu, e),
        "Smith": lambda: _smith(W, u, mu, e),
        "Tangential compliance": lambda: _two_springs(W, u, mu, e, own, resolution),
    }
    return np.asarray(np.where(u[:, :1] < 0.0, formulas[law]() if law in formulas else _routh(law, W, u, mu, e), 0.0))


def _newton(W: FloatArray, u: FloatArray, mu: float, e: FloatArray) -> FloatArray:
    """Return the impulses (n, 2) with u_n+ = -e u_n- by Newton's law.

    A contact sticks (u_t+ = 0) if the sticking impulse is in the cone. Otherwise friction is mu p_n, with the sign of
    the sticking impulse's tangential part.
    """
    target = np.stack((-e * u[:, 0], np.zeros(len(u))), axis=1) - u
    stuck = np.linalg.solve(W, target[:, :, None])[:, :, 0]
    side = np.sign(stuck[:, 1])
    rate = W[:, 0, 0] + mu * side * W[:, 0, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        normal = np.where(rate > 0.0, target[:, 0] / rate, np.nan)
    slipped = np.stack((normal, mu * side * normal), axis=1)
    return np.where((np.abs(stuck[:, 1]) <= mu * stuck[:, 0])[:, None], stuck, slipped)


def _routh(law: Law, W: FloatArray, u: FloatArray, mu: float, e: FloatArray) -> FloatArray:
    """Return impulses (n, 2) by following u over the normal impulse p.

    u changes at the rates a until the slip stops at p_s, and then at the rates b, in stick or in slip from rest. The
    law determines p at the end.
    """
    Wnn, Wnt, Wtt = W[:, 0, 0], W[:, 0, 1], W[:, 1, 1]
    hold = -Wnt / Wtt  # tangential impulse per normal impulse that keeps a contact from slipping
    rest = np.clip(hold, -mu, mu)  # at rest: stick, or slip from rest with friction at its bound
    first = np.where(u[:, 1] != 0.0, -mu * np.sign(u[:, 1]), rest)
    a_n, a_t = Wnn + Wnt * first, Wnt + Wtt * first
    b_n = Wnn + Wnt * rest
    with np.errstate(divide="ignore", invalid="ignore"):
        stop = -u[:, 1] / a_t
        stop = np.where((u[:, 1] != 0.0) & (stop > 0.0), stop, np.where(u[:, 1] != 0.0, np.inf, 0.0))
        end_a = np.where(a_n > 0.0, -u[:, 0] / a_n, np.inf)
        at_stop = u[:, 0] + a_n * np.where(np.isfinite(stop), stop, 0.0)
        compressed = np.where(end_a <= stop, end_a, stop - at_stop / np.where(b_n > 0.0, b_n, np.nan))
        if law == "Poisson":
            end = (1.0 + e) * compressed
        elif law == "Newton, sequential":
            leaves = -e * u[:, 0]
            alone = (leaves - u[:, 0]) / np.where(a_n > 0.0, a_n, np.nan)
            late = ~(alone <= stop)
            end = np.where(late, stop + (leaves - at_stop) / np.where(b_n > 0.0, b_n, np.nan), alone)
        else:
            end = _energetic_end(u[:, 0], a_n, b_n, stop, at_stop, compressed, e)
    before = np.minimum(end, stop)
    return np.stack((end, first * before + rest * (end - before)), axis=1)


def _algebraic(W: FloatArray, u: FloatArray, mu: float, e: FloatArray, e_t: float) -> FloatArray:
    """Return impulses (1 + e) P + s Q: P stops the approach without friction, and P + Q stops the slip too.

    s is 1 + e_t, or, if the sum is then outside the cone, the value for which it is on the cone.
    """
    smooth = -u[:, 0] / W[:, 0, 0]
    stop = -np.linalg.solve(W, u[:, :, None])[:, :, 0]
    stop[:, 0] -= smooth
    normal, slip = (1.0 + e) * smooth, np.abs(stop[:, 1])
    beyond = (1.0 + e_t) * slip > mu * (normal + (1.0 + e_t) * stop[:, 0])
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(beyond, mu * normal / (slip - mu * stop[:, 0]), 1.0 + e_t)
    return np.asarray(np.stack((normal, np.zeros(len(u))), axis=1) + share[:, None] * stop)


def _brach(W: FloatArray, u: FloatArray, mu: float, e: FloatArray) -> FloatArray:
    """Return Newton's impulses (n, 2); if one would gain energy, its ratio p_t / p_n is reduced until it does not."""
    p = _newton(W, u, mu, e)
    ratio = p[:, 1] / p[:, 0]
    # The lost energy, times 2 (W_nn + x W_nt) / p_n, at the ratio t x is c + b t + a t^2.
    nn, nt, tt, bounce = W[:, 0, 0], W[:, 0, 1], W[:, 1, 1], -(1.0 + e) * u[:, 0]
    c = -(1.0 - e) * u[:, 0] * nn
    b = -ratio * ((1.0 - e) * u[:, 0] * nt + 2.0 * u[:, 1] * nn + bounce * nt)
    a = -(ratio**2) * (2.0 * u[:, 1] * nt + bounce * tt)
    gains = c + b + a < -1e-12 * (np.abs(c) + np.abs(b) + np.abs(a))
    with np.errstate(divide="ignore", invalid="ignore"):
        half = -0.5 * (b + np.copysign(np.sqrt(np.maximum(0.0, b * b - 4.0 * a * c)), b))
        first, second = half / a, c / half
        falls = [np.where((t >= 0.0) & (b + 2.0 * a * t < 0.0), t, np.inf) for t in (first, second)]
        ratio = np.where(gains, ratio * np.minimum(1.0, np.minimum(*falls)), ratio)
    normal = bounce / (nn + ratio * nt)
    return np.where(gains[:, None], np.stack((normal, ratio * normal), axis=1), p)


def _smith(W: FloatArray, u: FloatArray, mu: float, e: FloatArray) -> FloatArray:
    """Return impulses (n, 2) with p_t = -mu f p_n, found by bisection.

    f = (v |v| + v+ |v+|) / (v^2 + v+^2), from -1 to 1, for the slip v before and v+ after the impact.
    """
    nn, nt, bounce = W[:, 0, 0], W[:, 0, 1], -(1.0 + e) * u[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        edge = nn / (mu * nt) if mu > 0.0 else np.full(len(u), np.inf)
    low, high = np.where(edge < 0.0, np.maximum(-1.0, edge), -1.0), np.where(edge > 0.0, np.minimum(1.0, edge), 1.0)
    for _ in range(_BISECTIONS):
        f = 0.5 * (low + high)
        with np.errstate(divide="ignore", invalid="ignore"):
            normal = bounce / (nn - mu * f * nt)
            after = u[:, 1] + normal * (nt - mu * f * W[:, 1, 1])
            mean = (u[:, 1] * np.abs(u[:, 1]) + after * np.abs(after)) / (u[:, 1] ** 2 + after**2)
        low, high = np.where(f < mean, f, low), np.where(f < mean, high, f)
    return np.stack((normal, -mu * f * normal), axis=1)


def _two_springs(W: FloatArray, u: FloatArray, mu: float, e: FloatArray, eta2: float, resolution: float) -> FloatArray:
    """Return the impulses (n, 2) of two springs; the tangential stiffness is the normal one divided by ``eta2``."""
    from contactlab.impact.kernels import solve_two_springs

    n = len(u)
    wide, after, p = np.zeros((n, 3, 3)), np.zeros((n, 3)), np.zeros((n, 3))
    wide[:, :2, :2], after[:, :2] = W, u
    solve_two_springs(wide, mu, np.ascontiguousarray(e), eta2, resolution, _MOST_STEPS, after, p, np.zeros(n))
    return p[:, :2]


def _energetic_end(
    u_n: FloatArray,
    a: FloatArray,
    b: FloatArray,
    stop: FloatArray,
    at_stop: FloatArray,
    compressed: FloatArray,
    e: FloatArray,
) -> FloatArray:
    """Return the normal impulse p (n,) at which the work of restitution is e^2 times the work of compression.

    a and b are the rates of u_n before and after the slip stops at ``stop``, with u_n ``at_stop``. Compression ends at
    ``compressed``.
    """
    early = compressed <= stop  # the compression ends while the contact still slips
    done = np.where(early, stop, 0.0)
    work = np.where(
        early,
        0.5 * u_n * compressed,
        0.5 * (u_n + at_stop) * np.where(np.isfinite(stop), stop, 0.0) + 0.5 * at_stop * (compressed - stop),
    )
    back = -e * e * work
    # Restitution: triangles u_n = rate (p - compressed), with a kink at the stop if it comes later.
    alone = compressed + np.sqrt(2.0 * back / np.where(early, a, b))
    left = back - 0.5 * at_stop * (done - compressed)  # remaining work at the stop, at the speed at_stop
    kinked = done + (np.sqrt(at_stop * at_stop + 2.0 * b * left) - at_stop) / b
    return np.where(early & (alone > stop), kinked, alone)
