"""The projection onto Coulomb's cone K = {|r_T| <= mu r_N}, and the natural map of its complementarity conditions.

For r and u = W r + q with De Saxce's u_hat, the natural map is w r - P_K(w r - u_hat) with a weight w of the contact.
`lcp.friction.residuals` computes its measures from the sums.
"""

from __future__ import annotations

import math

from lcp.kernels import Floats, kernel


@kernel(inner=True)
def in_cone(mu: float, n: float, x: float, y: float) -> bool:
    """Return True if a point, components normal and tangential, is in the cone."""
    return n >= 0.0 and math.sqrt(x * x + y * y) <= mu * n


@kernel(inner=True)
def to_cone(mu: float, n: float, x: float, y: float) -> tuple[float, float, float]:
    """Return the point of the cone nearest to one outside it."""
    t = math.sqrt(x * x + y * y)
    if mu * t <= -n:
        return 0.0, 0.0, 0.0
    s = (n + mu * t) / (1.0 + mu * mu)
    along = mu * s / t if t > 0.0 else 0.0
    return s, along * x, along * y


@kernel
def project_cones(mu: Floats, points: Floats) -> None:
    """Project points (nc, 3) to their cones."""
    for c in range(mu.shape[0]):
        z = points[c]
        if not in_cone(mu[c], z[0], z[1], z[2]):
            z[0], z[1], z[2] = to_cone(mu[c], z[0], z[1], z[2])


# Indices of the sums of squares: the map with weight 1, and with the contact's; sizes of the terms of u and r in both.
PLAIN, WEIGHTED, PLAIN_SIZE, WEIGHTED_SIZE, SUMS = range(5)


@kernel(inner=True)
def natural_square(mu: float, r0: float, r1: float, r2: float, u0: float, u1: float, u2: float) -> float:
    """Return |r - P_K(r - u_hat)|^2 of one contact, components normal and tangential."""
    hat = u0 + mu * math.sqrt(u1 * u1 + u2 * u2)
    n = r0 - hat
    x = r1 - u1
    y = r2 - u2
    if in_cone(mu, n, x, y):
        # r - (r - u_hat): the difference would lose u_hat if r is large.
        return hat * hat + u1 * u1 + u2 * u2
    n, x, y = to_cone(mu, n, x, y)
    return (r0 - n) ** 2 + (r1 - x) ** 2 + (r2 - y) ** 2


@kernel(inner=True)
def add_contact(
    sums: Floats, mu: float, weight: float, r0: float, r1: float, r2: float, u0: float, u1: float, u2: float
) -> None:
    """Add the squares of the natural map of a contact to ``sums``: PLAIN, and WEIGHTED with r times ``weight``."""
    sums[PLAIN] += natural_square(mu, r0, r1, r2, u0, u1, u2)
    sums[WEIGHTED] += natural_square(mu, weight * r0, weight * r1, weight * r2, u0, u1, u2)


@kernel(inner=True)
def add_size(sums: Floats, weight: float, size: float, force: float) -> None:
    """Add the squares of a component's ``size`` plus its force to ``sums``: PLAIN_SIZE, and with the weighted force."""
    sums[PLAIN_SIZE] += (size + abs(force)) ** 2
    sums[WEIGHTED_SIZE] += (size + weight * abs(force)) ** 2


@kernel
def cone_sums(mu: Floats, weight: Floats, r: Floats, u: Floats, size: Floats, sums: Floats) -> None:
    """Fill the sums (SUMS,) of contacts (nc, 3)."""
    sums[:SUMS] = 0.0
    for c in range(mu.shape[0]):
        add_contact(sums, mu[c], weight[c], r[c, 0], r[c, 1], r[c, 2], u[c, 0], u[c, 1], u[c, 2])
        for i in range(3):
            add_size(sums, weight[c], size[c, i], r[c, i])
