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


def de_saxce(u: Vector, mu: Vector) -> Vector:
    """u_hat = (u_N + mu |u_T|, u_T), rows (nc, 3)."""
    hat = u.copy()
    hat[:, 0] += mu * np.hypot(u[:, 1], u[:, 2])
    return hat


def natural_map(r: Vector, u: Vector, mu: Vector) -> Vector:
    """r - P_K(r - u_hat), rows (nc, 3): zero exactly at solutions."""
    hat = de_saxce(u, mu)
    z = r - hat
    t = np.hypot(z[:, 1], z[:, 2])
    out = r - project(z, mu)
    # Inside the cone r - (r - u_hat) is u_hat, of which the difference would leave nothing where r is large.
    inside = (t <= mu * z[:, 0]) & (z[:, 0] >= 0.0)
    out[inside] = hat[inside]
    return out
