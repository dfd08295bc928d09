"""The contact problem of one island with Coulomb's exact cone, in plain numpy: how far the recorded forces miss it."""

from __future__ import annotations

import numpy as np

from contactlab.spatial.arrays import FloatArray
from contactlab.verification.contacts import ContactRows

__all__ = ["cone_residual"]


def cone_residual(
    rows: ContactRows, Y: FloatArray, v_free: FloatArray, z: FloatArray, k: FloatArray, h: float
) -> tuple[str, int, float]:
    """Return the worst contact and its |r - P_K(r - u_hat)|, u_hat = (u_N + mu |u_T|, u_T).

    r = (fN, fF) is taken in units of the largest force, u in units of |q_i| + max_j |W_ij| max |r|.
    """
    nc, nr = rows.N.shape[0], rows.F.shape[0]
    d = nr // nc
    fN, fF = z[:nc], z[nc : nc + nr] - z[nc + nr : nc + 2 * nr]
    J = np.vstack((rows.N, rows.F))
    W = h * J @ Y.T
    W[range(nc), range(nc)] += rows.gamma
    q = J @ v_free + np.concatenate((k, rows.kF))
    force = np.concatenate((fN, fF))
    size = float(np.abs(force).max(initial=0.0)) or 1.0
    u = q + W @ force
    unit = np.abs(q) + np.abs(W).max(axis=1) * size
    unit_c = np.maximum(unit[:nc], unit[nc:].reshape(nc, d).max(axis=1))
    worst, value = 0, 0.0
    for c in range(nc):
        scale, mu = unit_c[c] if unit_c[c] > 0.0 else 1.0, rows.mu[c]
        own, slip = fF[d * c : d * c + d] / size, u[nc + d * c : nc + d * c + d] / scale
        normal = fN[c] / size - (u[c] / scale + mu * np.linalg.norm(slip))
        across = own - slip
        t = float(np.linalg.norm(across))
        if normal >= 0.0 and t <= mu * normal:
            nearest, along = normal, across
        elif mu * t <= -normal:
            nearest, along = 0.0, 0.0 * across
        else:
            nearest = (normal + mu * t) / (1.0 + mu * mu)
            along = mu * nearest * across / t
        off = float(np.hypot(fN[c] / size - nearest, np.linalg.norm(own - along)))
        if not off <= value:
            worst, value = c, off
    return "lcp", worst, value
