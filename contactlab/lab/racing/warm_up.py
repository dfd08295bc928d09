"""Before the clock runs: imports and kernels, on a small problem."""

from __future__ import annotations

import contextlib
from typing import Any

import lcp
from contactlab.lab.racing.kinds import Kind

__all__ = ["warm_up"]

_warm: set[tuple[str, str, bool]] = set()


def warm_up(text: str, solver: Any, kind: Kind, sparse: bool, tolerance: float) -> None:
    """Solve small problems of the kind, once per solver and process: imports and kernels are not timed."""
    if (text, kind.name, sparse) in _warm:
        return
    _warm.add((text, kind.name, sparse))
    for problem in kind.warm_up(sparse):
        # What it raises here it will raise on the problem, and there it counts.
        with contextlib.suppress(Exception):
            lcp.solve(problem, solver, tolerance=tolerance)
