"""Compiled arithmetic of `lcp`, and the one decorator every kernel of the project goes through.

A kernel is a plain function of arrays and scalars. It returns an integer or fills arrays it was handed, never raises
and, unless it says ``allocates=True``, never allocates: reference counting is then compiled out, which is worth a
factor 1.4 to 2.5 where small array helpers are called inside branches.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from lcp.compiler import kernel, on_first_compilation

__all__ = [
    "ITERATION_LIMIT", "NOT_FINITE", "PORTION", "RAY", "RUNNING", "SINGULAR_BASIS", "SOLVED", "STALLED", "Floats",
    "Ints", "kernel", "on_first_compilation",
]  # fmt: skip

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Outcomes that kernels return; `lcp.status` maps them to `lcp.Status`. RUNNING is no outcome: the kernel has used up
# the pivots of this call and wants to be called again.
SOLVED, RAY, ITERATION_LIMIT, SINGULAR_BASIS, STALLED, NOT_FINITE, RUNNING = range(7)

#: Multiply-adds between two looks at Ctrl-C and limits of time: about a tenth of a second.
PORTION: Final = 200_000_000
