"""Integer outcomes that kernels return; `lcp.status` maps them to `lcp.Status`."""

from __future__ import annotations

from typing import Final

SOLVED: Final = 0
RAY: Final = 1
ITERATION_LIMIT: Final = 2
SINGULAR_BASIS: Final = 3
STALLED: Final = 4
NOT_FINITE: Final = 5
# Not an outcome: the kernel used up the pivots of this call and wants to be called again.
RUNNING: Final = 6
