"""The frame of the iterative solvers: start, portions, limits, trace, best iterate and verdict; a method moves z."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np

from lcp.arrays import Vector
from lcp.box import BoxLCP
from lcp.clock import processor_seconds
from lcp.method import Method, Request
from lcp.problem import LCP
from lcp.residuals import measure
from lcp.result import Claim
from lcp.solvers.shared.boxed_rows import BoxedRows, boxed_rows, opening
from lcp.status import Status
from lcp.trace import TraceRecorder

#: Carries z, changed in place, through so many iterations.
Advance = Callable[[Vector, int], None]

# Multiply-adds between two returns to Python, where Ctrl-C and the time limit are heeded: some hundredths of a second.
_PORTION = 20_000_000
# Those worth waiting for before a check that costs Python's own time.
_CHECK = 500_000
# Iterations over which a z that keeps every digit is called a fixed point.
_STILL = 8
_EPS = float(np.finfo(np.float64).eps)


def next_check(iteration: int, work: int, interval: int | None) -> int:
    """The iteration at which to look next: 1, 2, 4, 8, 16, then so seldom that looking costs less than a tenth.

    A look costs one or two sweeps and a fixed time; the sum of both decides the gap, which never exceeds a quarter of
    what has been done. The schedule does not depend on the clock, so that a solve can be repeated.
    """
    if interval is not None:
        return iteration + interval
    if iteration < 16:
        return max(1, 2 * iteration)
    return iteration + max(16, min(iteration // 4, _CHECK // max(1, work)))


class Motion(NamedTuple):
    """How a method moves: the function, multiply-adds of one iteration, and what it has to say at the end."""

    advance: Advance
    work: int
    note: Callable[[], str]


class IterativeMethod(Method[LCP | BoxLCP]):
    """The frame of a method that moves z: its fields are the limits, `_motion` prepares how it moves."""

    #: Whether the method divides by M_ii.
    by_diagonal: ClassVar[bool]
    max_iterations: int
    time_limit: float
    check_interval: int | None

    @abstractmethod
    def _motion(self, rows: BoxedRows, start: Vector) -> Motion | Claim:
        """How the method moves from a start, or the claim that it does not apply."""

    def _claim(self, problem: LCP | BoxLCP, request: Request) -> Claim:
        rows = boxed_rows(problem)
        start = opening(problem, rows, request.z0, by_diagonal=self.by_diagonal)
        if isinstance(start, Claim):
            return start
        motion = self._motion(rows, start)
        return motion if isinstance(motion, Claim) else _iterate(problem, rows, start, motion, self, request)


def _iterate(
    problem: LCP | BoxLCP, rows: BoxedRows, z: Vector, motion: Motion, limits: IterativeMethod, request: Request
) -> Claim:
    """Advance z, in place, until `lcp.residuals` calls it solved, it no longer moves, or a limit is met.

    The claim has the best of the iterates looked at, finite in any case.
    """
    advance, work, note = motion
    _, tolerance, trace = request
    max_iterations = limits.max_iterations
    recorder = TraceRecorder(trace)
    deadline = processor_seconds() + limits.time_limit
    portion = max(1, _PORTION // max(1, work))
    iteration, target = 0, 0
    best, best_merit, best_at = z.copy(), np.inf, 0
    still, still_at = z.copy(), 0
    status = Status.ITERATION_LIMIT
    reason = ""
    while True:
        residual = measure(problem, z)[0]
        merit, natural = residual.backward_error, residual.natural_map
        recorder.add(iteration, natural)
        if not np.isfinite(natural):
            status, reason = Status.NOT_FINITE, f"overflow within {iteration} iterations"
            break
        if merit < best_merit or iteration == 0:
            best[:], best_merit, best_at = z, merit, iteration
        if residual.solved(tolerance):
            return Claim(z, Status.SOLVED, iteration, note(), trace=recorder.trace())
        if iteration - still_at >= _STILL:
            if (np.abs(z - still) <= 4.0 * _EPS * np.abs(z)).all():
                reason = f"iterations {still_at} and {iteration} gave the same z: a fixed point of rounding, or a cycle"
                status = Status.STALLED
                break
            still[:], still_at = z, iteration
        if iteration >= max_iterations:
            break
        target = iteration + 1 if trace else min(max_iterations, next_check(iteration, work, limits.check_interval))
        while iteration < target and processor_seconds() <= deadline:
            count = min(portion, target - iteration)
            advance(z, count)
            iteration += count
        if iteration < target:
            reason = "time limit"
            break
    detail = "; ".join(part for part in (reason, note(), f"best iterate: {best_at} of {iteration}") if part)
    return Claim(best, status, iteration, detail, trace=recorder.trace())
