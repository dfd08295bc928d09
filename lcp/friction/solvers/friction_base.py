"""Base of the friction solvers: units, limits, best iterate, trace and claim; a method only moves r."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lcp.arrays import Vector
from lcp.friction.problem import FrictionProblem
from lcp.friction.residuals import DEFAULT_FRICTION_TOLERANCE, measure
from lcp.friction.result import FrictionClaim
from lcp.interruptible import cpu_seconds
from lcp.method import Options, SolveRequest, Traits
from lcp.result import TraceRecorder
from lcp.status import Status


@dataclass(frozen=True, eq=False)
class ScaledProblem:
    """W / w and q / p of a problem: r here is (w / p) r there. Coulomb's problem is homogeneous in both."""

    problem: FrictionProblem
    #: W, q: The matrix and the rows (nc, 3) of the vector.
    W: Any
    q: Vector
    #: w, p: Powers of two.
    w: float
    p: float

    def original(self, rows: Vector) -> Vector:
        """Return r (m,) of the problem for rows (nc, 3) of the scaled one."""
        return self.problem.flat(rows * (self.p / self.w))

    def start(self, r: Vector | None) -> Vector:
        """Return rows (nc, 3) of the scaled problem for a start r (m,), zeros if there is none."""
        if r is None:
            return np.zeros((self.problem.nc, 3))
        return self.problem.contacts(r) / (self.p / self.w)


def scaled(problem: FrictionProblem) -> ScaledProblem:
    """Return the problem with W and q divided by powers of two, to a median diagonal and a largest q near 1."""
    diagonal = np.abs(problem._W.diagonal())
    diagonal = diagonal[diagonal > 0.0]
    w = float(np.median(diagonal)) if diagonal.size else float(abs(problem._W).max()) if problem.m else 1.0
    p = float(np.abs(problem._q).max(initial=0.0))
    w, p = _power_of_two(w), _power_of_two(p)
    # One factor after the other: their quotient may be beyond double precision where r is not.
    return ScaledProblem(problem, problem._W / w, problem.contacts(problem._q / p), w, p)


def _power_of_two(value: float) -> float:
    return float(2.0 ** np.round(np.log2(value))) if 0.0 < value < np.inf else 1.0


class FrictionSolverBase(Options):
    """A solver of friction problems; a method has its options as fields, its ``traits``, and `_claim`."""

    traits: ClassVar[Traits] = Traits.CONE | Traits.WARM_START | Traits.SPARSE

    def solve(
        self,
        problem: FrictionProblem,
        *,
        z0: Vector | None = None,
        tolerance: float = DEFAULT_FRICTION_TOLERANCE,
        trace: bool = False,
    ) -> FrictionClaim:
        """Return the claim on a problem from a start; `lcp.solve` checks the arguments and verifies the claim."""
        return self._claim(problem, SolveRequest(z0, tolerance, trace))

    @abstractmethod
    def _claim(self, problem: FrictionProblem, request: SolveRequest) -> FrictionClaim: ...


class IterateMonitor:
    """Measures of iterates by the verdict's residuals, in units of the scaled problem; it keeps the best iterate."""

    def __init__(self, problem: FrictionProblem, tolerance: float, time_limit: float, trace: bool) -> None:
        self.problem, self.tolerance = problem, tolerance
        self.units: ScaledProblem = scaled(problem)
        self.deadline = cpu_seconds() + time_limit
        self.recorder = TraceRecorder(trace, "fclib residual")
        self.best = np.zeros(problem.m)
        self.best_merit, self.best_at = np.inf, 0
        self.finite = True

    @property
    def timed_out(self) -> bool:
        """Return True if the time limit has passed."""
        return cpu_seconds() > self.deadline

    @property
    def seconds_left(self) -> float:
        """Return the seconds until the time limit, at least a millisecond."""
        return max(1e-3, self.deadline - cpu_seconds())

    def record_iterate(self, rows: Vector, iteration: int) -> float:
        """Measure ``rows`` (nc, 3) in scaled units, and keep them if they are the best.

        Return the largest residual in units of its bound: at most 1 if solved, infinite if it is not finite.
        """
        r = self.units.original(rows)
        residual, _ = measure(self.problem, r)
        self.recorder.add(iteration, residual.fclib)
        if not np.isfinite(residual.fclib):
            self.finite = False
            return np.inf
        merit = residual.excess(self.tolerance)
        if merit < self.best_merit:
            self.best, self.best_merit, self.best_at = r, merit, iteration
        return merit

    def claim(self, iteration: int, detail: str = "", status: Status | None = None) -> FrictionClaim:
        """Return the claim on the best iterate.

        The status is SOLVED if an iterate was within its bounds, else NOT_FINITE if one was not finite. Otherwise it is
        ``status``, by default ITERATION_LIMIT.
        """
        if self.best_merit <= 1.0:
            status = Status.SOLVED
        elif not self.finite:
            status = Status.NOT_FINITE
        elif status is None:
            status = Status.ITERATION_LIMIT
        said = [detail] if detail else []
        if status is Status.ITERATION_LIMIT and self.timed_out:
            said.append("time limit")
        return FrictionClaim(self.best, status, iteration, "; ".join(said), trace=self.recorder.trace())
