"""The conditions of friction with Coulomb's exact cone, for rows that `certify` has seen without friction.

For a contact with tangents t1, t2 (or t1 alone, in the plane), s = F v+ + kF + gammaF fF over them::

    CONE                    |fF| <= mu fN
    DISSIPATION             fF . s <= 0
    MAXIMUM_DISSIPATION     fF . s + mu fN |s| = 0: at the bound and opposite to s where it slides, in every direction

with lengths in place of the sums and maxima over the edges of a pyramid; scales as in `certify`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from contactlab.formulation.kernels.certify import (
    CONE,
    DISSIPATION,
    MAXIMUM_DISSIPATION,
    certify,
    keep_worst,
    row_rate,
)
from lcp.kernels import kernel

__all__ = ["certify_cones", "certify_with_cones"]


@kernel
def certify_cones(
    h: float,
    nc: int,
    r: NDArray[np.int64],
    mu: NDArray[np.float64],
    J: NDArray[np.float64],
    Y: NDArray[np.float64],
    k: NDArray[np.float64],
    gamma: NDArray[np.float64],
    f: NDArray[np.float64],
    v_plus: NDArray[np.float64],
    spans: NDArray[np.int64],
    u: NDArray[np.float64],
    cert: NDArray[np.float64],
) -> None:
    """Add the worst violation of each condition of friction to ``cert``.

    Parameters
    ----------
    h, nc, r, mu, J, Y, k, gamma, f, v_plus, spans
        As for `certify`; f = [fN | fF | ...].
    u
        (nv + 1,) what `certify`, called with r = 0 for every contact, left in its workspace.
    cert
        (16,) what it left there; forces that are not finite have made it infinite, and it stays so.
    """
    if cert[0] == float("inf"):
        return
    first = nc
    for c in range(nc):
        square_f = 0.0
        square_s = 0.0
        power = 0.0
        scale_f = 0.0
        force_f = 0.0
        for i in range(first, first + r[c]):
            rate, scale, force = row_rate(h, i, J, Y, k, gamma, f, v_plus, u, spans)
            s = rate + gamma[i] * f[i]
            square_f += f[i] * f[i]
            square_s += s * s
            power += f[i] * s
            scale_f = max(scale_f, scale)
            force_f = max(force_f, force)
        if r[c] > 0:
            _, scale_n, force_n = row_rate(h, c, J, Y, k, gamma, f, v_plus, u, spans)
            friction = math.sqrt(square_f)
            speed = math.sqrt(square_s)
            bound = mu[c] * f[c]
            force_scale = force_f + mu[c] * force_n
            power_scale = max((abs(bound) + friction) * max(scale_f, scale_n), force_scale * speed)
            keep_worst(cert, CONE, max(0.0, friction - bound), force_scale)
            keep_worst(cert, DISSIPATION, max(0.0, power), power_scale)
            keep_worst(cert, MAXIMUM_DISSIPATION, abs(power + bound * speed), power_scale)
        first += r[c]


@kernel
def certify_with_cones(
    h: float,
    nc: int,
    nr: int,
    nl: int,
    r: NDArray[np.int64],
    mu: NDArray[np.float64],
    J: NDArray[np.float64],
    Y: NDArray[np.float64],
    k: NDArray[np.float64],
    gamma: NDArray[np.float64],
    gammaE: NDArray[np.float64],
    v_free: NDArray[np.float64],
    Mv: NDArray[np.float64],
    f: NDArray[np.float64],
    v_plus: NDArray[np.float64],
    spans: NDArray[np.int64],
    none: NDArray[np.int64],
    work: NDArray[np.float64],
    cert: NDArray[np.float64],
) -> None:
    """Fill cert as `certify` does, with the exact cone in place of the pyramid; ``none`` (nc,) is scratch."""
    for c in range(nc):
        none[c] = 0
    certify(h, nc, nr, nl, none, mu, J, Y, k, gamma, gammaE, v_free, Mv, f, f, v_plus, spans, work, cert)
    certify_cones(h, nc, r, mu, J, Y, k, gamma, f, v_plus, spans, work, cert)
