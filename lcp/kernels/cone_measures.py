"""The natural map of Coulomb's cone, contact by contact: sums from which `lcp.friction.residuals` has its measures.

Of r and u = W r + q with De Saxce's u_hat, the map w r - P_K(w r - u_hat) with a weight w of the contact.
"""

from __future__ import annotations

import math
from typing import Final

from lcp.kernels import Floats, kernel
from lcp.kernels.cone_projection import in_cone, to_cone

# Places of the sums of squares: the map with weight 1, and with the contact's; sizes of the terms of u and r in both.
PLAIN: Final = 0
WEIGHTED: Final = 1
PLAIN_SIZE: Final = 2
WEIGHTED_SIZE: Final = 3
SUMS: Final = 4


@kernel(inner=True)
def natural_square(mu: float, r0: float, r1: float, r2: float, u0: float, u1: float, u2: float) -> float:
    """|r - P_K(r - u_hat)|^2 of one contact, components normal and tangential."""
    hat = u0 + mu * math.sqrt(u1 * u1 + u2 * u2)
    n = r0 - hat
    x = r1 - u1
    y = r2 - u2
    if in_cone(mu, n, x, y):
        # r - (r - u_hat): the difference would leave nothing of u_hat where r is large.
        return hat * hat + u1 * u1 + u2 * u2
    n, x, y = to_cone(mu, n, x, y)
    return (r0 - n) ** 2 + (r1 - x) ** 2 + (r2 - y) ** 2


@kernel(inner=True)
def add_contact(
    sums: Floats, mu: float, weight: float, r0: float, r1: float, r2: float, u0: float, u1: float, u2: float
) -> None:
    """Add the two maps of a contact to the sums."""
    sums[PLAIN] += natural_square(mu, r0, r1, r2, u0, u1, u2)
    sums[WEIGHTED] += natural_square(mu, weight * r0, weight * r1, weight * r2, u0, u1, u2)


@kernel(inner=True)
def add_size(sums: Floats, weight: float, size: float, force: float) -> None:
    """Add how large the terms of a component of u were, and those of its force."""
    sums[PLAIN_SIZE] += (size + abs(force)) ** 2
    sums[WEIGHTED_SIZE] += (size + weight * abs(force)) ** 2


@kernel
def cone_sums(mu: Floats, weight: Floats, r: Floats, u: Floats, size: Floats, sums: Floats) -> None:
    """Fill the sums (SUMS,) of contacts (nc, 3)."""
    for i in range(SUMS):
        sums[i] = 0.0
    for c in range(mu.shape[0]):
        add_contact(sums, mu[c], weight[c], r[c, 0], r[c, 1], r[c, 2], u[c, 0], u[c, 1], u[c, 2])
        for i in range(3):
            add_size(sums, weight[c], size[c, i], r[c, i])
