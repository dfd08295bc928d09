"""Compiled arithmetic of `lcp`, and the decorator of all kernels of the project.

A kernel is a plain function of arrays and scalars. It returns an integer or fills arrays that are arguments, and never
raises. It never allocates, unless it has ``allocates=True``: reference counting is then compiled out, which is a factor
of 1.4 to 2.5 if small array helpers are called inside branches.
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

# Outcomes that kernels return; `lcp.status` maps them to `lcp.Status`. RUNNING is not an outcome: the kernel has used
# the pivots of this call and must be called again.
SOLVED, RAY, ITERATION_LIMIT, SINGULAR_BASIS, STALLED, NOT_FINITE, RUNNING = range(7)

#: Multiply-adds between two checks of Ctrl-C and of time limits: about a tenth of a second.
PORTION: Final = 200_000_000
