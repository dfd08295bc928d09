"""The clock of a race: solves that are timed, what was compiled in them left out, after a warm-up."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import lcp
from contactlab.lab.racing.kinds import Kind
from lcp.compiler import watch_compilation

__all__ = ["Timed", "timed", "warm_up"]

#: Solves that may be spoilt by compilation before one counts all the same.
SPOILT = 3

_warm: set[tuple[str, str, bool]] = set()


class Timed(NamedTuple):
    """The last result of some solves, their least times by the clock and of the processor, their sum, their number."""

    result: Any
    least: float
    cpu: float
    total: float
    runs: int


def warm_up(text: str, solver: Any, kind: Kind, sparse: bool, tolerance: float) -> None:
    """Solve small problems of the kind, once per solver and process: imports and kernels are not timed."""
    if (text, kind.name, sparse) in _warm:
        return
    _warm.add((text, kind.name, sparse))
    for problem in kind.warm_up(sparse):
        # What it raises here it will raise on the problem, and there it counts.
        with contextlib.suppress(Exception):
            lcp.solve(problem, solver, tolerance=tolerance)


def timed(problem: Any, solver: Any, tolerance: float, again: Callable[[int, float], bool]) -> Timed:
    """Solve, and once more while ``again`` says so of the number and the seconds of the solves that count."""
    least, cpu, total, runs, spoilt = math.inf, math.inf, 0.0, 0, 0
    while runs == 0 or again(runs, total):
        with watch_compilation() as watch:
            clock, processor = time.perf_counter(), time.process_time()
            result = lcp.solve(problem, solver, tolerance=tolerance)
            seconds, worked = time.perf_counter() - clock, time.process_time() - processor
        if watch.compiled and spoilt < SPOILT:
            spoilt += 1
            continue
        least, cpu, total, runs = min(least, seconds), min(cpu, worked), total + seconds, runs + 1
    return Timed(result, least, cpu, total, runs)
