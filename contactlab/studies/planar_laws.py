"""The laws of `contactlab.impact` for many single impacts in the plane at once.

A fit asks for thousands of impacts per trial of its parameters. In the plane the course of an impact is at most two
straight lines over the normal impulse p (slip, then stick or slip from rest), so that every law is a closed formula;
it is checked against `contactlab.impact` impact by impact. Coordinates of a contact: u = (u_n, u_t) = J v, response
W = J M^-1 J', both with one row per impact.

Sources: E. J. Routh, Dynamics of a System of Rigid Bodies (1877); W. J. Stronge, Impact Mechanics (2000), chapter 3.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from contactlab.spatial.arrays import FloatArray

Law = Literal["Newton", "Poisson", "Stronge"]
LAWS: tuple[Law, ...] = ("Newton", "Poisson", "Stronge")


def planar_impulses(law: Law, W: FloatArray, u: FloatArray, mu: float, e: FloatArray) -> FloatArray:
    """Return the impulses (n, 2), normal and tangential [N s], of n separate impacts.

    The response W (n, 2, 2) is positive definite; where the velocity before, u (n, 2), has u_n >= 0 there is no impact.
    Restitution e (n,), 0 to 1, is a ratio of velocities (friction then acts on the velocity after the impact), of
    impulses, or the root of the ratio of works. Entries are NaN where the law has no end (slip into a wedge that no
    impulse separates), which the caller counts.
    """
    p = _newton(W, u, mu, e) if law == "Newton" else _routh(law, W, u, mu, e)
    return np.asarray(np.where(u[:, :1] < 0.0, p, 0.0))


def _newton(W: FloatArray, u: FloatArray, mu: float, e: FloatArray) -> FloatArray:
    """u_n+ = -e u_n-; stick where the cone allows it, else slip against the impulse that would have stuck."""
    target = np.stack((-e * u[:, 0], np.zeros(len(u))), axis=1) - u
    stuck = np.linalg.solve(W, target[:, :, None])[:, :, 0]
    side = np.sign(stuck[:, 1])
    rate = W[:, 0, 0] + mu * side * W[:, 0, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        normal = np.where(rate > 0.0, target[:, 0] / rate, np.nan)
    slipped = np.stack((normal, mu * side * normal), axis=1)
    return np.where((np.abs(stuck[:, 1]) <= mu * stuck[:, 0])[:, None], stuck, slipped)


def _routh(law: Law, W: FloatArray, u: FloatArray, mu: float, e: FloatArray) -> FloatArray:
    """Follow u over the normal impulse p: rates a until the slip stops at p_s, then rates b."""
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
        else:
            end = _energetic_end(u[:, 0], a_n, b_n, stop, at_stop, compressed, e)
    before = np.minimum(end, stop)
    tangential = first * before + rest * (end - before)
    return np.stack((end, tangential), axis=1)


def _energetic_end(
    u_n: FloatArray,
    a: FloatArray,
    b: FloatArray,
    stop: FloatArray,
    at_stop: FloatArray,
    compressed: FloatArray,
    e: FloatArray,
) -> FloatArray:
    """Return p at which the normal work of restitution is e^2 times that of compression."""
    early = compressed <= stop  # the compression ends while the contact still slips
    done = np.where(early, stop, 0.0)
    work = np.where(
        early,
        0.5 * u_n * compressed,
        0.5 * (u_n + at_stop) * np.where(np.isfinite(stop), stop, 0.0) + 0.5 * at_stop * (compressed - stop),
    )
    back = -e * e * work
    # Restitution: triangles u_n = rate (p - compressed), with a kink at the stop where that comes later.
    alone = compressed + np.sqrt(2.0 * back / np.where(early, a, b))
    left = back - 0.5 * at_stop * (done - compressed)  # work still to come at the stop, at the speed at_stop
    kinked = done + (np.sqrt(at_stop * at_stop + 2.0 * b * left) - at_stop) / b
    return np.where(early & (alone > stop), kinked, alone)
