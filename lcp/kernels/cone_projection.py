"""The nearest point of Coulomb's cone K = {|r_T| <= mu r_N}."""

from __future__ import annotations

import math

from lcp.kernels import Floats, kernel


@kernel(inner=True)
def in_cone(mu: float, n: float, x: float, y: float) -> bool:
    """Whether a point, components normal and tangential, is in the cone."""
    return n >= 0.0 and math.sqrt(x * x + y * y) <= mu * n


@kernel(inner=True)
def to_cone(mu: float, n: float, x: float, y: float) -> tuple[float, float, float]:
    """The point of the cone nearest to one outside it."""
    t = math.sqrt(x * x + y * y)
    if mu * t <= -n:
        return 0.0, 0.0, 0.0
    s = (n + mu * t) / (1.0 + mu * mu)
    along = mu * s / t if t > 0.0 else 0.0
    return s, along * x, along * y


@kernel
def project_cones(mu: Floats, points: Floats) -> None:
    """Move points (nc, 3) to their cones."""
    for c in range(mu.shape[0]):
        z = points[c]
        if not in_cone(mu[c], z[0], z[1], z[2]):
            z[0], z[1], z[2] = to_cone(mu[c], z[0], z[1], z[2])
