"""Scales of violations of mechanical conditions, from a componentwise backward error.

With (Oettli and Prager 1964)

    u_p   = |v_free_p| + h sum_i max(|f_i|, MIN_FORCE_FRACTION max_j |f_j|) |responses_ip|
                                                              size of each velocity before cancellation
    s_i   = sum_p |J_ip| u_p + |k_i| + gamma_i |f_i|          rate scale of row i, at least
            MIN_RELATIVE_SCALE sqrt(J_i Y_i  v_free' M v_free)
                                                              this fraction of the largest rate of such a motion
    phi_i = s_i / (h J_i Y_i + gamma_i)                       force that would move row i by that rate

a rate is compared with s_i, a force with phi_i, and a product of a force and a rate with the larger of |f_i| s_i and
phi_i |rate_i|. So a scaled product is small only if the force or the rate is small. Rounding gives a few eps, for any
units and mass ratios.

A condition is reported for the row with the largest ratio: cert[2 c] is the violation, cert[2 c + 1] the scale.
"""

from __future__ import annotations

import math
from typing import Final

from lcp.contacts.kernels.column_ranges import abs_dot_range, delassus_diagonal_entry, row_ranges, sparse_dot
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.kernels import Floats, kernel

# Minimum of every row's scale, as a fraction of the largest rate that a motion of this energy can have: factors of M
# and products with its inverse are rounded as a whole, too.
MIN_RELATIVE_SCALE: Final = 1e-4


@kernel(inline=True)
def ratio(violation: float, scale: float) -> float:
    """Return violation / scale; a row of scale 0 is satisfied exactly or not at all."""
    if scale > 0.0:
        return violation / scale
    return 0.0 if violation == 0.0 else float("inf")


@kernel(inner=True)
def keep_worst(cert: Floats, condition: int, violation: float, scale: float) -> None:
    """Store violation and scale of a condition if their ratio is the largest; the certificate array starts as zeros."""
    at = 2 * condition
    unset = cert[at] == 0.0 and cert[at + 1] == 0.0
    if violation == 0.0 and not unset:
        return
    if unset or ratio(violation, scale) > ratio(cert[at], cert[at + 1]):
        cert[at] = violation
        cert[at + 1] = scale


@kernel(inner=True)
def begin_certificate(z: Floats, f: Floats, v_plus: Floats, cert: Floats) -> bool:
    """Set the certificate to zeros; if a value is not finite, make every violation infinite, and return False."""
    total = 0.0
    for i in range(z.shape[0]):
        total += abs(z[i])
    for i in range(f.shape[0]):
        total += abs(f[i])
    for p in range(v_plus.shape[0]):
        total += abs(v_plus[p])
    finite = total < float("inf")
    for c in range(cert.shape[0] // 2):
        cert[2 * c], cert[2 * c + 1] = (0.0, 0.0) if finite else (float("inf"), 1.0)
    return finite


@kernel(inner=True)
def worst_scaled(cert: Floats) -> float:
    """Return the largest violation over scale of a filled certificate."""
    worst = 0.0
    for c in range(cert.shape[0] // 2):
        worst = max(worst, ratio(cert[2 * c], cert[2 * c + 1]))
    return worst


@kernel(inline=True)
def min_rate_scale(own: float, speed: float) -> float:
    """Return the minimum scale of a row's rate; own = J_i Y_i, speed = sqrt(v' M v) of the free motion.

    |J_i v| <= sqrt(own) speed for any motion of that energy: a rate far below is rounding of the whole motion.
    """
    return MIN_RELATIVE_SCALE * math.sqrt(max(0.0, own)) * speed


@kernel(inline=True)
def row_rate(
    rows: ContactSystem, i: int, f: Floats, v_plus: Floats, rates: Floats, u: Floats
) -> tuple[float, float, float]:
    """Return the rate J_i v+ + k_i of row i, its scale s_i and its force scale phi_i.

    ``rates`` are the rates of the rows, or of length 0 if they are to be summed.
    """
    a, b, c, d = row_ranges(rows.column_ranges, i, v_plus.shape[0])
    own = delassus_diagonal_entry(rows, i)
    rate = rates[i] if i < rates.shape[0] else sparse_dot(a, b, c, d, rows.J[i], v_plus) + rows.k[i]
    scale = abs_dot_range(a, b, rows.J[i], u, 0.0)
    if c < d:
        scale = abs_dot_range(c, d, rows.J[i], u, scale)
    scale = scale + abs(rows.k[i]) + rows.gamma[i] * abs(f[i])
    speed = u[v_plus.shape[0]]
    # Most are much larger, which shows without a square root.
    if scale * scale <= 2.0 * MIN_RELATIVE_SCALE * MIN_RELATIVE_SCALE * own * speed * speed:
        scale = max(scale, min_rate_scale(own, float(speed)))
    softness = rows.h * own + rows.gamma[i]
    force = scale / softness if softness > 0.0 else abs(f[i])
    return rate, scale, force
