"""The frame of one solve that iterates: clock, trace, limits and the best candidate; and paths of pivots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.interruptible import cpu_seconds
from lcp.kernels import PORTION, RUNNING
from lcp.method import SolveRequest
from lcp.problem import LCP, BoxLCP, bounds_of
from lcp.residuals import Residuals, measure
from lcp.result import Claim, TraceRecorder
from lcp.status import Status


def pivots_per_call(n: int, most: int) -> int:
    """Return the pivots, each of up to n^2 multiply-adds, that take about a tenth of a second; at most ``most``."""
    return max(1, min(most, PORTION // max(1, n * n)))


def artificial_value(x: Vector, basis: NDArray[np.int64]) -> float:
    """Return the value of the artificial variable 2 n from the values and numbers of the basic variables."""
    row = np.flatnonzero(basis == 2 * basis.shape[0])
    return float(x[row[0]]) if row.size else 0.0


class SolveState:
    """Clock, trace, number of iterations and best candidate of one solve.

    In a solve by pivoting a kernel makes a number of pivots per call, and one path follows another.
    """

    def __init__(
        self,
        problem: LCP | BoxLCP,
        request: SolveRequest,
        time_limit: float,
        limit: int = 0,
        quantity: str = "natural map",
    ) -> None:
        """Start the clock, with the admissible point nearest to zero as the candidate.

        ``limit`` is on the pivots of all paths.
        """
        self.problem, self.tolerance = problem, request.tolerance
        self.recorder = TraceRecorder(request.trace, quantity)
        self.deadline = cpu_seconds() + time_limit
        # Writable copies: read-only arrays are another type to the kernels.
        self.lo, self.hi = (bound.copy() for bound in bounds_of(problem))
        self.best: Vector = np.clip(np.zeros(problem.n), self.lo, self.hi)
        self.least = np.inf
        self.iterations, self.pivot_limit, self.detail = 0, limit, ""
        self.first_status: Status | None = None

    def keep_best(self, z: Vector, *, record: bool = True) -> Residuals:
        """Measure z; it becomes ``best`` if it solves, or has the least backward error so far. Return the measures."""
        residual = measure(self.problem, z)[0]
        if record:
            self.recorder.add(self.iterations, residual.natural_map)
        if residual.solved(self.tolerance) or residual.backward_error < self.least:
            self.best, self.least = z, residual.backward_error
        return residual

    def timed_out(self) -> bool:
        """Return True if the time limit has passed."""
        return cpu_seconds() > self.deadline

    def claim(self, status: Status, detail: str = "", evidence: Any = None) -> Claim:
        """Return the claim on the best candidate."""
        return Claim(self.best, status, self.iterations, detail, evidence, trace=self.recorder.trace())

    def run(self, advance: Callable[[int], int], budget: int, record: Callable[[], None]) -> int:
        """Call a kernel, with a budget of pivots, until it ends or the time is over; return its last code.

        The code is `lcp.kernels.RUNNING` only at the deadline. ``record`` is called after every call. With a trace the
        budget is one pivot.
        """
        while True:
            code = advance(1 if self.recorder.wanted else budget)
            record()
            if code != RUNNING or self.timed_out():
                return code

    def share(self, last: bool) -> int:
        """Return the limit on the pivots of the next path: half of the remaining ones, or all for the last path."""
        remaining = self.pivot_limit - self.iterations
        return remaining if last else remaining // 2

    def end_path(self, pivots: int, status: Status, solved: bool, detail: str) -> Claim | None:
        """Add the pivots of a path; return the claim if it solved the problem or reached a limit, otherwise None.

        ``status`` is the code of a path without a verified solution; the first one is kept in ``first_status``.
        """
        self.iterations, self.detail = self.iterations + pivots, detail
        if solved:
            return self.claim(Status.SOLVED, detail)
        self.first_status = self.first_status or (Status.STALLED if status is Status.SOLVED else status)
        exhausted = self.iterations >= self.pivot_limit or self.timed_out()
        return self.claim(Status.ITERATION_LIMIT, detail) if exhausted else None
