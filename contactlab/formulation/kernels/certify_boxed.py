"""Mechanical conditions of boxed rows, on the scales of `certify`: s_i of a rate, phi_i of a force.

With s = B v+ + kB + gammaB fB of a row::

    BOX_BOUNDS           lo <= fB <= hi
    BOX_GAP              s >= 0 where hi = inf, s <= 0 where lo = -inf
    BOX_COMPLEMENTARITY  (fB - lo) max(s, 0) = 0, (hi - fB) max(-s, 0) = 0, of finite bounds

A power is compared with the larger of (distance to the bound) s_i and phi_i |s|: small only if one of the two is.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from contactlab.formulation.kernels.certify import keep_worst, row_rate
from lcp.kernels import kernel

__all__ = ["BOXED_CERT_SIZE", "BOX_BOUNDS", "BOX_COMPLEMENTARITY", "BOX_GAP", "certify_boxed"]

# Condition numbers, in the order of contactlab.certificate.BOXED_CONDITIONS.
BOX_BOUNDS: Final = 0
BOX_GAP: Final = 1
BOX_COMPLEMENTARITY: Final = 2
BOXED_CERT_SIZE: Final = 6


@kernel
def certify_boxed(
    h: float,
    first: int,
    J: NDArray[np.float64],
    Y: NDArray[np.float64],
    k: NDArray[np.float64],
    gamma: NDArray[np.float64],
    lo: NDArray[np.float64],
    hi: NDArray[np.float64],
    f: NDArray[np.float64],
    v_plus: NDArray[np.float64],
    u: NDArray[np.float64],
    spans: NDArray[np.int64],
    cert: NDArray[np.float64],
) -> None:
    """Fill cert with the worst violation of each condition and its scale.

    Parameters
    ----------
    h
        Step [s].
    first
        Place of the first boxed row in J, Y, k, gamma and f.
    J, Y, k, gamma
        All rows of the problem, Y_i = M^-1 J_i.
    lo, hi
        (nbox,) bounds.
    f, v_plus
        Forces of all rows and (nv,) velocity after the step.
    u
        (nv,) size of each velocity before cancellation: the workspace that `certify` filled.
    spans
        Columns of the rows, see `spans`; of length 0 for all.
    cert
        (6,) output: violation and scale by condition; infinite where a value is not finite.
    """
    for c in range(BOXED_CERT_SIZE):
        cert[c] = 0.0
    total = 0.0
    for i in range(f.shape[0]):
        total += abs(f[i])
    for p in range(v_plus.shape[0]):
        total += abs(v_plus[p])
    if not total < float("inf"):
        for c in range(BOXED_CERT_SIZE // 2):
            cert[2 * c] = float("inf")
            cert[2 * c + 1] = 1.0
        return

    for b in range(lo.shape[0]):
        i = first + b
        rate, scale, force = row_rate(h, i, J, Y, k, gamma, f, v_plus, u, spans)
        s = rate + gamma[i] * f[i]
        keep_worst(cert, BOX_BOUNDS, max(0.0, lo[b] - f[i], f[i] - hi[b]), force)
        if lo[b] > -float("inf"):
            up = max(0.0, s)
            room = abs(f[i] - lo[b])
            keep_worst(cert, BOX_COMPLEMENTARITY, up * room, max(room * scale, force * up))
        else:
            keep_worst(cert, BOX_GAP, max(0.0, s), scale)
        if hi[b] < float("inf"):
            down = max(0.0, -s)
            room = abs(hi[b] - f[i])
            keep_worst(cert, BOX_COMPLEMENTARITY, down * room, max(room * scale, force * down))
        else:
            keep_worst(cert, BOX_GAP, max(0.0, -s), scale)
