"""Common part of the principal pivoting solvers on a dense tableau: scaled data, workspace, basis, values, claim."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.box import BoxLCP, bounds_of
from lcp.clock import processor_seconds
from lcp.farkas import Farkas
from lcp.method import Request
from lcp.problem import LCP, kernel_arrays
from lcp.residuals import measure, verified
from lcp.result import Claim
from lcp.status import Status
from lcp.trace import TraceRecorder


class PivotingState:
    """Workspace and data of one solve on a tableau of principal transforms (`lcp.kernels.principal_tableau`)."""

    def __init__(self, problem: LCP | BoxLCP, request: Request, time_limit: float) -> None:
        """Scale the data and choose no basis yet."""
        from lcp.kernels.equilibrate import equilibrate
        from lcp.kernels.principal_tableau import PrincipalTableau

        n = problem.n
        self.problem = problem
        self.tolerance = request.tolerance
        self.recorder = TraceRecorder(request.trace)
        self.deadline = processor_seconds() + time_limit
        M, self.q = kernel_arrays(problem) if isinstance(problem, LCP) else (problem._M, problem._q)
        self.M: NDArray[np.float64] = M
        # Writable copies: read-only arrays are another type to the kernels.
        self.lo, self.hi = (bound.copy() for bound in bounds_of(problem))
        self.best: Vector = np.clip(np.zeros(n), self.lo, self.hi)
        self.least, self.warm = np.inf, False
        self.row, self.column = np.empty(n), np.empty(n)
        self.work = np.empty(3 * n)
        equilibrate(self.M, self.row, self.column, 4, self.work)
        # Powers of two: no bound loses a digit.
        self.low, self.high = self.lo / self.column, self.hi / self.column
        self.A = np.empty((n, n))
        self.x, self.b, self.y, self.size = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
        self.direction, self.load, self.rest = np.zeros(n), np.empty(n), np.empty(n)
        self.inside, self.wanted = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self.active, self.perm = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        self.tableau = PrincipalTableau(
            self.M, self.q, self.row, self.column, np.empty((n, n)), self.x, self.b, self.y, self.inside, self.low,
            self.high, self.size, np.empty(n), np.empty(n + 1),
        )  # fmt: skip

    def timed_out(self) -> bool:
        """Return True if the time limit has passed."""
        return processor_seconds() > self.deadline

    def choose(self, start: Vector | None) -> None:
        """Choose the basis of a start: unknowns between their bounds, and all unknowns without bounds."""
        self.best, self.least = np.clip(np.zeros(self.problem.n), self.lo, self.hi), np.inf
        self.warm = start is not None
        free = np.isinf(self.lo) & np.isinf(self.hi)
        self.rest[:] = np.where(np.isfinite(self.low), self.low, np.where(np.isfinite(self.high), self.high, 0.0))
        self.wanted[:] = free
        if start is not None:
            self.wanted[:] = free | ((start > self.lo) & (start < self.hi))
            self.rest[:] = np.where((start >= self.hi) & np.isfinite(self.high), self.high, self.rest)

    def keep(self) -> None:
        """Choose the present basis."""
        self.wanted[:] = self.inside
        resting = self.inside == 0
        nearest = np.where(np.abs(self.y - self.high) < np.abs(self.y - self.low), self.high, self.low)
        self.rest[resting] = np.where(np.isfinite(nearest), nearest, 0.0)[resting]

    def build(self) -> None:
        """Form the tableau of the chosen basis from the original data."""
        from lcp.kernels.principal_tableau import enter_basis

        enter_basis(self.tableau, self.wanted, self.rest)
        self.size[:] = np.maximum(np.abs(self.b), np.abs(self.x))

    def resolved(self) -> Vector:
        """Return z of the present basis, computed from the original data."""
        from lcp.kernels.principal_tableau import resolve

        z = np.empty(self.problem.n)
        resolve(self.tableau, self.lo, self.hi, self.active, self.perm, self.A, self.load, self.work, z)
        return z

    def zero_is_solution(self) -> bool:
        """Return True if the admissible point nearest to zero solves the problem."""
        return verified(self.problem, self.best, self.tolerance)

    def solution(self, pivots: int) -> Claim | None:
        """Return the claim of the present basis if it solves the original problem.

        Otherwise keep its z if it is the best.
        """
        z = self.resolved()
        residual = measure(self.problem, z)[0]
        if residual.solved(self.tolerance):
            detail = "warm basis accepted" if self.warm and pivots == 0 else ""
            return Claim(z, Status.SOLVED, pivots, detail, trace=self.recorder.trace())
        if residual.backward_error < self.least:
            self.best, self.least = z, residual.backward_error
        return None

    def claim(self, status: Status, pivots: int, detail: str = "", evidence: Farkas | None = None) -> Claim:
        """Return the claim on the best z."""
        return Claim(self.best, status, pivots, detail, evidence, trace=self.recorder.trace())

    def record(self, pivots: int) -> None:
        """Add one number to the trace."""
        if self.recorder.wanted:
            z = np.clip(np.where(self.inside == 1, self.b, self.y) * self.column, self.lo, self.hi)
            self.recorder.add(pivots, measure(self.problem, z)[0].natural_map)
