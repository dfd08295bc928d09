"""The scratch memory of one call: one flat buffer, cut into views inside the kernels.

Its head always holds the kinematics of the instant (`Frames`), so that a finished head can be copied from a
`Kinematics` value instead of being computed. Lengths are in `contactlab.multibody.kernels.sizes`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contactlab.multibody.kernels.sizes import SCRATCH
from lcp.kernels import kernel


class Frames(NamedTuple):
    """Kinematics of nl links with nv degrees of freedom; see `poses` and `velocities`."""

    R: NDArray[np.float64]  # (nl, 9) link axes to world axes, by rows
    p: NDArray[np.float64]  # (nl, 3) origins
    S: NDArray[np.float64]  # (nv, 6) motion columns
    V: NDArray[np.float64]  # (nl, 6) spatial velocities
    C: NDArray[np.float64]  # (nl, 6) sums of (dS/dt) v
    scratch: NDArray[np.float64]  # (18,)


@kernel(inline=True)
def frames(W: NDArray[np.float64], nl: int, nv: int) -> Frames:
    """Views of the head of a workspace."""
    a = SCRATCH
    b = a + 6 * nv
    return Frames(
        W[b : b + 9 * nl].reshape((nl, 9)),
        W[b + 9 * nl : b + 12 * nl].reshape((nl, 3)),
        W[a:b].reshape((nv, 6)),
        W[b + 12 * nl : b + 18 * nl].reshape((nl, 6)),
        W[b + 18 * nl : b + 24 * nl].reshape((nl, 6)),
        W[0:a],
    )


@kernel(inline=True)
def rows_at(W: NDArray[np.float64], start: int, n: int, width: int) -> NDArray[np.float64]:
    """View (n, width) of a workspace from ``start`` on."""
    return W[start : start + n * width].reshape((n, width))
