"""The frame of the Newton and interior methods: scaled data, limits, the best candidate, the trace."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from lcp.arrays import Vector, row_sizes
from lcp.box import BoxLCP, bounds_of
from lcp.clock import processor_seconds
from lcp.method import Method, Request
from lcp.problem import LCP
from lcp.residuals import measure
from lcp.result import Claim
from lcp.solvers.shared.scaled_box import ScaledBox, scaled_box
from lcp.status import Status
from lcp.trace import TraceRecorder

# What counts as accurate, as a fraction of the tolerance or at the latest, and the iterations
# after the first solution in which it may become so.
_ACCURATE, _ROUNDING, _EXTRA = 1e-3, 1e-13, 60


class Progress:
    """The account of one solve; every candidate is measured on the original data."""

    def __init__(
        self,
        problem: LCP | BoxLCP,
        box: ScaledBox,
        tolerance: float,
        max_iterations: int,
        time_limit: float,
        trace: bool,
    ) -> None:
        """Begin the clock, with the nearest point to zero as the candidate."""
        self.problem, self.box, self.tolerance, self.max_iterations = problem, box, tolerance, max_iterations
        self.iterations = 0
        self.z = box.original(box.start(None))
        if not np.isfinite(self.z).all():
            self.z = np.clip(np.zeros(problem.n), *bounds_of(problem))
        # The choice of active bounds whose basic point was tried last.
        self.tried = b""
        # Unknowns in no row: the bound that the sign of w admits is right, and what is left short of it has no size to
        # be judged by.
        self._unseen = np.flatnonzero(row_sizes(problem._M.T) == 0.0)
        self._solved, self._solved_at, self._accurate, self._worst = False, 0, False, np.inf
        self._recorder = TraceRecorder(trace)
        self._deadline = processor_seconds() + time_limit

    def done(self) -> bool:
        """Whether to stop: a candidate solves, and is accurate or has had time to become so.

        The last, quadratic steps take out errors that the tolerance lets pass.
        """
        return self._accurate or (self._solved and self.iterations >= self._solved_at + _EXTRA)

    def accurate(self) -> bool:
        """Whether a candidate solves far within the tolerance."""
        return self._accurate

    def begin_phase(self) -> None:
        """Give a solution that is not accurate yet as many more iterations: another method takes over."""
        self._solved_at = self.iterations

    def any_solution(self) -> bool:
        """Whether a candidate solves, accurate or not."""
        return self._solved

    def start(self, z0: Vector | None) -> Vector:
        """The x to begin at; `done` where it, or the point of the box nearest to zero, solves as it is.

        A z0 so large that its residual overflows is no help and is left out.
        """
        box = self.box
        x = nearest = box.start(None)
        if z0 is not None:
            given = box.start(z0)
            gap = box.natural(given, box.rows(given))
            if np.isfinite(gap @ gap):
                x = given
        self.solved(x)
        if not self._solved and x is not nearest:
            self.solved(nearest, record=False)
        self._accurate = self._solved
        return x

    def solved(self, x: Vector, *, record: bool = True) -> bool:
        """Whether the work is `done`, after x was measured on the original problem and kept if it is the best."""
        z = self.box.original(x)
        if not np.isfinite(z).all():
            return False
        if self._unseen.shape[0]:
            w = self.problem._M[self._unseen] @ z + self.problem._q[self._unseen]
            bound = np.where(w > 0.0, *(bound[self._unseen] for bound in bounds_of(self.problem)))
            z[self._unseen] = np.where((w != 0.0) & np.isfinite(bound), bound, z[self._unseen])
        residual = measure(self.problem, z)[0]
        if record:
            self._recorder.add(self.iterations, residual.natural_map)
        solved = residual.solved(self.tolerance)
        worst = residual.backward_error / max(_ACCURATE * self.tolerance, _ROUNDING)
        if solved >= self._solved and (solved > self._solved or worst < self._worst):
            if not self._solved:
                self._solved_at = self.iterations
            self._solved, self._worst, self.z = solved, worst, z
            self._accurate = solved and worst <= 1.0
        return self.done()

    @property
    def exhausted(self) -> bool:
        """Whether a limit is reached."""
        return self.iterations >= self.max_iterations or processor_seconds() > self._deadline

    @property
    def left(self) -> float:
        """Seconds until the limit."""
        return self._deadline - processor_seconds()

    def limit(self, detail: str = "") -> Claim:
        """The claim after a limit."""
        which = "iteration limit" if self.iterations >= self.max_iterations else "time limit"
        return self.claim(Status.ITERATION_LIMIT, f"{which}; {detail}" if detail else which)

    def claim(self, status: Status, detail: str = "", evidence: Any = None) -> Claim:
        """The claim, with the best candidate met; SOLVED where that solves, whatever came later."""
        if self._solved:
            status, evidence = Status.SOLVED, None
            detail = detail if self._accurate else ""
        return Claim(self.z, status, self.iterations, detail, evidence=evidence, trace=self._recorder.trace())


class NewtonMethod(Method[LCP | BoxLCP]):
    """The frame of a method on a `ScaledBox`: its fields are the limits, `_from_start` goes on from a start."""

    #: Whether the scaling has to keep M positive semidefinite.
    congruent: ClassVar[bool] = False
    max_iterations: int
    time_limit: float

    @abstractmethod
    def _from_start(self, progress: Progress, start: Vector) -> Claim:
        """Iterate from a start until a verified solution, a point of no headway or a limit."""

    @np.errstate(all="ignore")
    def _claim(self, problem: LCP | BoxLCP, request: Request) -> Claim:
        box = scaled_box(problem, congruent=self.congruent, balanced=not self.congruent)
        progress = Progress(problem, box, request.tolerance, self.max_iterations, self.time_limit, request.trace)
        start = progress.start(request.z0)
        return progress.claim(Status.SOLVED) if progress.done() else self._from_start(progress, start)
