"""Linear programs by HiGHS, with a time limit and immediate Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from typing import Any

from lcp.arrays import Vector
from lcp.interruptible import run_interruptibly

Bounds = Sequence[tuple[float | None, float | None]] | tuple[float, float]

# Entries up to which a program takes some milliseconds, and no separate thread.
_SMALL = 20_000
# Seconds that HiGHS can take beyond its limit before it is abandoned.
_EXTRA_SECONDS = 0.25


def linear_program(
    cost: Vector,
    A_ub: Any = None,
    A_eq: Any = None,
    *,
    b_ub: Vector | None = None,
    b_eq: Vector | None = None,
    bounds: Bounds,
    time_limit: float = 60.0,
) -> Any:
    """Minimise cost . x with A_ub x <= b_ub, A_eq x = b_eq and bounds; return the result of `scipy.optimize.linprog`.

    Returns None if HiGHS returns no point, as at the end of ``time_limit`` seconds. These are wall seconds, extended by
    the load of the machine, so that they are about CPU seconds.
    """
    from scipy.optimize import linprog

    def solved(limit: float) -> Any:
        given: Any = {"b_ub": b_ub, "A_eq": A_eq, "b_eq": b_eq, "bounds": bounds}
        program: Any = linprog(cost, A_ub, **given, method="highs", options={"time_limit": max(limit, 1e-3)})
        return None if program.x is None else program

    if time_limit <= 0.0:
        return None
    if sum(0 if A is None else A.shape[0] * A.shape[1] for A in (A_ub, A_eq)) <= _SMALL:
        return solved(time_limit)
    seconds = time_limit * _load_per_cpu()
    end = time.monotonic() + seconds
    try:
        return run_interruptibly(lambda: solved(end - time.monotonic()), seconds + _EXTRA_SECONDS)
    except TimeoutError:
        return None


def _load_per_cpu() -> float:
    """Return the number of processes per processor, if the system reports it, because HiGHS counts wall seconds."""
    with contextlib.suppress(AttributeError, OSError):
        return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    return 1.0
