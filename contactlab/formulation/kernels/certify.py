"""Mechanical conditions of one step, checked on the forces and velocities themselves.

Each condition is reported as a violation in its own unit and a scale in the same unit; their ratio is dimensionless.
The scales are those of a componentwise backward error (Oettli and Prager 1964): with

    u_p   = |v_free_p| + h sum_i max(|f_i|, NOTHING max_j |f_j|) |responses_ip|
                                                              how large each velocity was before cancellation
    s_i   = sum_p |J_ip| u_p + |k_i| + gamma_i |f_i|          rate scale of row i, at least
            FAINT sqrt(J_i Y_i  v_free' M v_free)             this share of the largest rate such a motion can have
    phi_i = s_i / (h J_i Y_i + gamma_i)                       force that would move row i by that rate

a rate is compared with s_i, a force with phi_i, and a product of a force and a rate with the larger of |f_i| s_i and
phi_i |rate_i|, so that a scaled product is small only if the force or the rate is. Rounding alone gives a few eps
whatever the units and mass ratios; nothing else is small by construction.

A condition is kept for the row where its ratio is largest: cert[2 c] is the violation, cert[2 c + 1] the scale.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from contactlab.formulation.kernels.spans import columns
from lcp.kernels import kernel

__all__ = [
    "CERT_SIZE",
    "CONE",
    "DISSIPATION",
    "FORCE_SIGN",
    "LIMIT_COMPLEMENTARITY",
    "LIMIT_GAP",
    "MAXIMUM_DISSIPATION",
    "NORMAL_COMPLEMENTARITY",
    "NORMAL_GAP",
    "certify",
    "certify_responses",
    "keep_worst",
    "least_rate",
    "row_rate",
    "worst_scaled",
]

# Condition numbers, in the order of contactlab.certificate.CONDITIONS.
NORMAL_GAP: Final = 0
NORMAL_COMPLEMENTARITY: Final = 1
CONE: Final = 2
DISSIPATION: Final = 3
MAXIMUM_DISSIPATION: Final = 4
LIMIT_GAP: Final = 5
LIMIT_COMPLEMENTARITY: Final = 6
FORCE_SIGN: Final = 7
CERT_SIZE: Final = 16

# Share of the largest unilateral force that every other one counts with in u: a solution is rounded as a whole.
NOTHING: Final = 1e-6
# Share of the largest rate a motion of its energy can have that every row's scale has at least: factors of M and
# products with its inverse are rounded as a whole, too.
FAINT: Final = 1e-4


@kernel(inline=True)
def _ratio(violation: float, scale: float) -> float:
    """Dimensionless violation; a row with nothing in it (scale 0) is satisfied exactly or not at all."""
    if scale > 0.0:
        return violation / scale
    return 0.0 if violation == 0.0 else float("inf")


@kernel(inner=True)
def keep_worst(cert: NDArray[np.float64], condition: int, violation: float, scale: float) -> None:
    """Keep of a condition the row with the largest ratio, in a certificate array that starts as zeros."""
    at = 2 * condition
    unset = cert[at] == 0.0 and cert[at + 1] == 0.0
    if unset or _ratio(violation, scale) > _ratio(cert[at], cert[at + 1]):
        cert[at] = violation
        cert[at + 1] = scale


@kernel(inline=True)
def least_rate(own: float, speed: float) -> float:
    """Least scale of a row's rate; own = J_i Y_i, speed = sqrt(v' M v) of the motion without constraint forces.

    |J_i v| <= sqrt(own) speed for any motion of that energy: what is far below is the rounding of the whole.
    """
    return FAINT * math.sqrt(max(0.0, own)) * speed


@kernel(inner=True)
def row_rate(
    h: float,
    i: int,
    J: NDArray[np.float64],
    Y: NDArray[np.float64],
    k: NDArray[np.float64],
    gamma: NDArray[np.float64],
    f: NDArray[np.float64],
    v_plus: NDArray[np.float64],
    u: NDArray[np.float64],
    spans: NDArray[np.int64],
) -> tuple[float, float, float]:
    """Rate J_i v+ + k_i of row i, its scale s_i and its force scale phi_i."""
    rate = 0.0
    scale = 0.0
    own = 0.0
    a, b, c, d = columns(spans, i, v_plus.shape[0])
    row = J[i]
    response = Y[i]
    for p in range(a, b):
        rate += row[p] * v_plus[p]
        scale += abs(row[p]) * u[p]
        own += row[p] * response[p]
    for p in range(c, d):
        rate += row[p] * v_plus[p]
        scale += abs(row[p]) * u[p]
        own += row[p] * response[p]
    rate += k[i]
    scale = max(scale + abs(k[i]) + gamma[i] * abs(f[i]), least_rate(own, float(u[v_plus.shape[0]])))
    softness = h * own + gamma[i]
    force = scale / softness if softness > 0.0 else abs(f[i])
    return rate, scale, force


@kernel(inner=True)
def _unilateral(
    cert: NDArray[np.float64], gap: int, complementarity: int, f: float, slack: float, scale: float, force: float
) -> None:
    """0 <= f _|_ slack >= 0 of one row."""
    keep_worst(cert, gap, max(0.0, -slack), scale)
    keep_worst(cert, FORCE_SIGN, max(0.0, -f), force)
    keep_worst(cert, complementarity, abs(f * slack), max(abs(f) * scale, force * abs(slack)))


@kernel
def certify_responses(
    h: float,
    nc: int,
    nr: int,
    nl: int,
    r: NDArray[np.int64],
    mu: NDArray[np.float64],
    J: NDArray[np.float64],
    Y: NDArray[np.float64],
    responses: NDArray[np.float64],
    k: NDArray[np.float64],
    gamma: NDArray[np.float64],
    gammaE: NDArray[np.float64],
    v_free: NDArray[np.float64],
    Mv: NDArray[np.float64],
    z: NDArray[np.float64],
    f: NDArray[np.float64],
    v_plus: NDArray[np.float64],
    spans: NDArray[np.int64],
    work: NDArray[np.float64],
    cert: NDArray[np.float64],
) -> None:
    """Fill cert with the worst violation and its scale for each condition.

    Parameters
    ----------
    h, nc, nr, nl, r, mu, J, Y, k, gamma, gammaE, v_free
        The problem, as for `assemble_lcp`. With bilateral rows: the original Y_i = M^-1 J_i and v_free, all m rows.
    responses
        (>= size of f, nv) what a unit of each force does to v: Y, but for sliding contacts, whose normal force brings
        friction with it.
    z
        (>= 2 nc + 2 nr + nl,) LCP solution.
    f
        Forces [fN | fF | fL], followed by fG and fB where bilateral and boxed rows act.
    v_plus
        (nv,) velocity after the step.
    spans
        Columns of the rows, see `spans`; of length 0 for all.
    Mv
        (nv,) M v_free.
    work
        (>= nv + 1,) workspace.
    cert
        (16,) output: violation and scale by condition.

    Notes
    -----
    Conditions, with s = F v+ + kF over the directions of a contact and lambda the least slack its edges allow::

        NORMAL_GAP              N v+ + kN + gammaN fN >= 0
        NORMAL_COMPLEMENTARITY  fN (N v+ + kN + gammaN fN) = 0
        CONE                    sum |fF| and sum(fF+ + fF-) <= mu fN + gammaE lambda
        DISSIPATION             fF . s <= 0
        MAXIMUM_DISSIPATION     fF . s + mu fN lambda + gammaF |fF+-|^2 + gammaE lambda^2 = 0
                                (unsoftened: friction dissipates mu fN max|s|, the most the cone allows)
        LIMIT_GAP               L v+ + kL + gammaL fL >= 0
        LIMIT_COMPLEMENTARITY   fL (L v+ + kL + gammaL fL) = 0
        FORCE_SIGN              fN, fF+, fF-, fL >= 0

    The size of a velocity before cancellation counts every unilateral force with at least NOTHING of the largest one:
    an LCP's solution is rounded as a whole, and rows that carry nothing feel that.

    The slack is recomputed from the rates, so a solver's own lambda is not trusted. Values that are not finite make
    every violation infinite.
    """
    total = 0.0
    for i in range(z.shape[0]):
        total += abs(z[i])
    for i in range(f.shape[0]):
        total += abs(f[i])
    for p in range(v_plus.shape[0]):
        total += abs(v_plus[p])
    if not total < float("inf"):
        for c in range(CERT_SIZE // 2):
            cert[2 * c] = float("inf")
            cert[2 * c + 1] = 1.0
        return
    for c in range(CERT_SIZE):
        cert[c] = 0.0

    u = work
    energy = 0.0
    for p in range(v_plus.shape[0]):
        u[p] = abs(v_free[p])
        energy += v_free[p] * Mv[p]
    u[v_plus.shape[0]] = math.sqrt(max(0.0, energy))
    largest = 0.0
    for i in range(nc + nr + nl):
        largest = max(largest, abs(f[i]))
    for i in range(f.shape[0]):
        force = abs(f[i])
        if i < nc + nr + nl:
            force = max(force, NOTHING * largest)
        impulse = h * force
        if impulse > 0.0:
            a, b, c, d = columns(spans, i, v_plus.shape[0])
            response = responses[i]
            for p in range(a, b):
                u[p] += impulse * abs(response[p])
            for p in range(c, d):
                u[p] += impulse * abs(response[p])

    first = nc
    for c in range(nc):
        rate, scale_n, force_n = row_rate(h, c, J, Y, k, gamma, f, v_plus, u, spans)
        _unilateral(cert, NORMAL_GAP, NORMAL_COMPLEMENTARITY, f[c], rate + gamma[c] * f[c], scale_n, force_n)

        physical = 0.0  # sum |fF|
        edges = 0.0  # sum (fF+ + fF-)
        power = 0.0  # fF . s
        softening = 0.0  # gammaF (fF+^2 + fF-^2)
        slack = 0.0  # lambda
        fastest = 0.0
        scale_f = 0.0
        force_f = 0.0
        for i in range(first, first + r[c]):
            rate, scale, force = row_rate(h, i, J, Y, k, gamma, f, v_plus, u, spans)
            plus = z[i]
            minus = z[i + nr]
            keep_worst(cert, FORCE_SIGN, max(0.0, -plus, -minus), force)
            physical += abs(f[i])
            edges += plus + minus
            power += f[i] * rate
            softening += gamma[i] * (plus * plus + minus * minus)
            slack = max(slack, -rate - gamma[i] * plus, rate - gamma[i] * minus)
            fastest = max(fastest, abs(rate))
            scale_f = max(scale_f, scale)
            force_f = max(force_f, force)
        if r[c] > 0:
            bound = mu[c] * f[c]
            largest = abs(bound) + max(physical, edges)
            force_scale = force_f + mu[c] * force_n
            # N and F of a contact share one unit: slip far below the terms of N is rounding, even where F has none.
            power_scale = max(largest * max(scale_f, scale_n), force_scale * fastest)
            keep_worst(cert, CONE, max(0.0, max(physical, edges) - bound - gammaE[c] * slack), force_scale)
            keep_worst(cert, DISSIPATION, max(0.0, power), power_scale)
            gap = power + bound * slack + softening + gammaE[c] * slack * slack
            keep_worst(cert, MAXIMUM_DISSIPATION, abs(gap), power_scale)
        first += r[c]

    for i in range(nc + nr, nc + nr + nl):
        rate, scale, force = row_rate(h, i, J, Y, k, gamma, f, v_plus, u, spans)
        _unilateral(cert, LIMIT_GAP, LIMIT_COMPLEMENTARITY, f[i], rate + gamma[i] * f[i], scale, force)


@kernel
def certify(
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
    z: NDArray[np.float64],
    f: NDArray[np.float64],
    v_plus: NDArray[np.float64],
    spans: NDArray[np.int64],
    work: NDArray[np.float64],
    cert: NDArray[np.float64],
) -> None:
    """Fill cert for forces that act along their own rows; parameters as for `certify_responses`."""
    certify_responses(h, nc, nr, nl, r, mu, J, Y, Y, k, gamma, gammaE, v_free, Mv, z, f, v_plus, spans, work, cert)


@kernel
def worst_scaled(cert: NDArray[np.float64]) -> float:
    """Largest violation over scale of a filled certificate."""
    worst = 0.0
    for c in range(CERT_SIZE // 2):
        worst = max(worst, _ratio(cert[2 * c], cert[2 * c + 1]))
    return worst
