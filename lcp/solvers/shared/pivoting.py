"""The frame of the pivoting solvers: calls of a kernel until it ends, and principal pivoting on a dense tableau."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.farkas import Farkas
from lcp.interruptible import cpu_seconds
from lcp.kernels import codes
from lcp.method import SolverBase, SolveRequest
from lcp.problem import LCP, BoxLCP, bounds_of, kernel_arrays
from lcp.residuals import measure, verified
from lcp.result import Claim, TraceRecorder
from lcp.status import STATUS_OF_CODE, Status

# Pivots between two returns to Python, which check Ctrl-C and the time limit; fewer for large problems.
_BUDGET = 128
# How often a final basis that is not a solution is formed again, with sharper eyes, and pivoting continues from there.
_ROUNDS = 3
#: Details of paths that end without a solution.
TOO_LONG = "problem too long: max_pivots reached"
_DETAIL = {
    codes.SOLVED: "the final basis is no solution of the original data",
    codes.RUNNING: "time limit",
    codes.ITERATION_LIMIT: TOO_LONG,
}


def pivot_to_end(advance: Callable[[int], int], budget: int, deadline: float, record: Callable[[], None]) -> int:
    """Call a kernel, with a budget of pivots, until it ends or the time is over; return its last code.

    The code is `lcp.kernels.codes.RUNNING` only at the deadline. ``record`` is called after every call, for a trace.
    """
    while True:
        code = advance(budget)
        record()
        if code != codes.RUNNING or cpu_seconds() > deadline:
            return code


def artificial_value(x: Vector, basis: NDArray[np.int64]) -> float:
    """Return the value of the artificial variable 2 n from the values and numbers of the basic variables."""
    row = np.flatnonzero(basis == 2 * basis.shape[0])
    return float(x[row[0]]) if row.size else 0.0


class PivotingState:
    """Workspace and data of one solve on a tableau of principal transforms (`lcp.kernels.principal_tableau`)."""

    def __init__(self, problem: LCP | BoxLCP, request: SolveRequest, time_limit: float) -> None:
        """Scale the data and choose no basis yet."""
        from lcp.kernels.equilibrate import equilibrate
        from lcp.kernels.portions import pivots_at_once
        from lcp.kernels.principal_tableau import INFO_SIZE, PrincipalTableau

        n = problem.n
        self.problem = problem
        self.tolerance = request.tolerance
        self.budget = 1 if request.trace else int(pivots_at_once(n, _BUDGET))
        self.recorder = TraceRecorder(request.trace)
        self.deadline = cpu_seconds() + time_limit
        M, self.q = kernel_arrays(problem) if isinstance(problem, LCP) else (problem._M, problem._q)
        self.M: NDArray[np.float64] = M
        # Writable copies: read-only arrays are another type to the kernels.
        self.lo, self.hi = (bound.copy() for bound in bounds_of(problem))
        self.best: Vector = np.clip(np.zeros(n), self.lo, self.hi)
        self.least, self.warm = np.inf, False
        self.info = np.zeros(INFO_SIZE, dtype=np.int64)
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
        return cpu_seconds() > self.deadline

    @property
    def pivots(self) -> int:
        """Pivots since the basis of a start was chosen."""
        from lcp.kernels.principal_tableau import PIVOTS

        return int(self.info[PIVOTS])

    def choose(self, start: Vector | None) -> None:
        """Choose the basis of a start: unknowns between their bounds, and all unknowns without bounds."""
        self.best, self.least = np.clip(np.zeros(self.problem.n), self.lo, self.hi), np.inf
        self.warm = start is not None
        self.info[:] = 0
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

    def solution(self) -> Claim | None:
        """Return the claim of the present basis, from the original data, if it solves the original problem.

        Otherwise keep its z if it is the best.
        """
        from lcp.kernels.principal_tableau import resolve

        z = np.empty(self.problem.n)
        resolve(self.tableau, self.lo, self.hi, self.active, self.perm, self.A, self.load, self.work, z)
        residual = measure(self.problem, z)[0]
        if residual.solved(self.tolerance):
            detail = "warm basis accepted" if self.warm and self.pivots == 0 else ""
            return Claim(z, Status.SOLVED, self.pivots, detail, trace=self.recorder.trace())
        if residual.backward_error < self.least:
            self.best, self.least = z, residual.backward_error
        return None

    def claim(self, status: Status, detail: str = "", evidence: Farkas | None = None) -> Claim:
        """Return the claim on the best z."""
        return Claim(self.best, status, self.pivots, detail, evidence, trace=self.recorder.trace())

    def record(self) -> None:
        """Add one number to the trace."""
        if self.recorder.wanted:
            z = np.clip(np.where(self.inside == 1, self.b, self.y) * self.column, self.lo, self.hi)
            self.recorder.add(self.pivots, measure(self.problem, z)[0].natural_map)


class PrincipalPivoting(SolverBase[LCP | BoxLCP]):
    """Base class of the principal pivoting solvers on a dense tableau: `_advance` names the kernel."""

    #: The default of ``max_pivots`` is this number or 50 n, if more.
    least_limit: ClassVar[int]
    #: What it means if a basis of the method is singular.
    singular: ClassVar[str] = ""
    max_pivots: int | None
    zero_tolerance: float
    time_limit: float

    @abstractmethod
    def _advance(self, run: PivotingState, zero_tolerance: float, limit: int) -> Callable[[int], int]:
        """Return a function that makes at most so many pivots from the present tableau, and returns a code."""

    def _proof(self, run: PivotingState, code: int) -> Farkas | None:
        """Return a proof that there is no solution, if the path has ended with one."""
        return None

    def _claim(self, problem: LCP | BoxLCP, request: SolveRequest) -> Claim:
        """Pivot until a verified solution, a proof that there is none, or a limit."""
        run = PivotingState(problem, request, self.time_limit)
        if verified(problem, run.best, run.tolerance):
            return run.claim(Status.SOLVED)
        return self._from(run, request.z0)

    def _from(self, run: PivotingState, start: Vector | None) -> Claim:
        """Pivot from the basis of a start; a final basis that is not a solution is formed again with sharper eyes."""
        limit = max(self.least_limit, 50 * run.problem.n) if self.max_pivots is None else self.max_pivots
        run.choose(start)
        for attempt in range(_ROUNDS):
            run.build()
            advance = self._advance(run, self.zero_tolerance * 100.0**-attempt, limit)
            code = pivot_to_end(advance, run.budget, run.deadline, run.record)
            solution = run.solution()
            if solution is not None:
                return solution
            proof = self._proof(run, code)
            if proof is not None:
                return run.claim(Status.INFEASIBLE, evidence=proof)
            status = STATUS_OF_CODE[code]
            if status is Status.ITERATION_LIMIT:
                break
            run.keep()
        detail = self.singular if status is Status.SINGULAR_BASIS else _DETAIL.get(code, "")
        return run.claim(Status.STALLED if status is Status.SOLVED else status, detail)
