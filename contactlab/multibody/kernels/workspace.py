"""The scratch memory of one call: one flat buffer, cut into views inside the kernels, for nothing; or one on the stack.

Its head always holds the kinematics of the instant (`Frames`), so that a finished head can be copied from a
`Kinematics` value instead of being computed. Lengths are in `contactlab.multibody.kernels.sizes`.
"""

from __future__ import annotations

from typing import NamedTuple

from contactlab.multibody.kernels.sizes import MATRICES, SCRATCH, STACK
from contactlab.spatial.arrays import FloatArray
from lcp.compiler.views import part_at, rows_at, stack_of
from lcp.kernels import kernel

__all__ = ["Frames", "frames", "part_at", "rows_at", "stack"]

stack = stack_of(STACK)


class Frames(NamedTuple):
    """Kinematics of nl links with nv degrees of freedom; see `poses` and `velocities`."""

    R: FloatArray  # (nl, 9) link axes to world axes, by rows
    p: FloatArray  # (nl, 3) origins
    S: FloatArray  # (nv, 6) motion columns
    V: FloatArray  # (nl, 6) spatial velocities
    C: FloatArray  # (nl, 6) sums of (dS/dt) v
    scratch: FloatArray  # (18,)
    turns: FloatArray  # (2 nl + 14,) sines and cosines of the joints, while poses are computed
    start: int  # offset in the workspace of the algorithm's other arrays


@kernel
def frames(W: FloatArray, nl: int, nv: int) -> Frames:
    """Views of the head of a workspace."""
    a = SCRATCH + 2 * nl
    b = a + 6 * nv
    return Frames(
        rows_at(W, b, nl, 9),
        rows_at(W, b + 9 * nl, nl, 3),
        rows_at(W, a, nv, 6),
        rows_at(W, b + 12 * nl, nl, 6),
        rows_at(W, b + 18 * nl, nl, 6),
        part_at(W, 0, MATRICES),
        part_at(W, MATRICES, a - MATRICES),
        b + 24 * nl,
    )
