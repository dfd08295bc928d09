"""From the LCP's variables to constraint forces and the velocity after the step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lcp.kernels import kernel

__all__ = ["recover"]


@kernel
def recover(
    h: float,
    nc: int,
    nr: int,
    nl: int,
    z: NDArray[np.float64],
    Y: NDArray[np.float64],
    v_free: NDArray[np.float64],
    f: NDArray[np.float64],
    v_plus: NDArray[np.float64],
) -> None:
    """Fill f = [fN | fF+ - fF- | fL] and v+ = v_free + h sum_i f_i Y_i.

    Parameters
    ----------
    h
        Step [s].
    nc, nr, nl
        Numbers of contacts, friction directions and limits.
    z
        (2 nc + 2 nr + nl,) solution of the LCP, in the order of `discretized_lcp`.
    Y
        (>= nu, nv) rows C J_i.
    v_free
        (nv,) velocity without unilateral forces.
    f, v_plus
        (nu,) forces [N, N m] and (nv,) velocity after the step: output.
    """
    limit = 2 * nc + 2 * nr
    for i in range(nc):
        f[i] = z[i]
    for i in range(nr):
        f[nc + i] = z[nc + i] - z[nc + nr + i]
    for i in range(nl):
        f[nc + nr + i] = z[limit + i]

    nv = v_free.shape[0]
    for p in range(nv):
        v_plus[p] = v_free[p]
    for i in range(nc + nr + nl):
        impulse = h * f[i]
        if impulse != 0.0:
            for p in range(nv):
                v_plus[p] += impulse * Y[i, p]
