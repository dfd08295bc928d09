"""Coulomb's cone in plain numpy, contacts in rows (N, T1, T2)."""

from __future__ import annotations

import numpy as np

from lcp.arrays import Vector


def project(z: Vector, mu: Vector) -> Vector:
    """Nearest point of K = {|r_T| <= mu r_N}, rows (nc, 3)."""
    n = z[:, 0]
    t = np.hypot(z[:, 1], z[:, 2])
    inside = (t <= mu * n) & (n >= 0.0)
    polar = mu * t <= -n
    s = (n + mu * t) / (1.0 + mu * mu)
    out = np.empty_like(z)
    out[:, 0] = s
    along = np.divide(mu * s, t, out=np.zeros_like(t), where=t > 0.0)
    out[:, 1:] = z[:, 1:] * along[:, None]
    out[polar] = 0.0
    out[inside] = z[inside]
    return out
