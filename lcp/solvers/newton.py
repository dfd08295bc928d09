"""Base of the Newton and interior-point solvers: scaled data, limits, the best candidate, the trace.

The module also has the basic point of an active set, and principal pivoting between active sets, which is finite for
P-matrices.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector, row_abs_max
from lcp.factors import block, solution
from lcp.interruptible import cpu_seconds
from lcp.method import SolverBase, SolveRequest
from lcp.problem import LCP, BoxLCP
from lcp.residuals import measure
from lcp.result import Claim
from lcp.scaling import BETWEEN, LOWER, UPPER, ScaledBox, States, scaled_box
from lcp.solvers.frame import SolveState
from lcp.status import Status

# A solution is accurate below this fraction of the tolerance, or below this residual. The last number is the limit on
# iterations after the first solution.
_ACCURATE, _ROUNDING, _EXTRA = 1e-3, 1e-13, 60
# Solutions of 1e10 with loads of one have to be right to the last bit. Each step of refinement multiplies the error by
# the condition times the unit of rounding. Steps are made while they help; more than two are rare.
_REFINEMENTS = 40
# Limit on proximal steps towards the nearest solution of singular equations.
_PROXIMAL = 3
# Signs within this fraction of their terms are rounding and count as satisfied.
_SIGN = 1e-13
# Limit on successive exchanges of all wrong signs that do not reduce their number (Judice and Pires use 10).
_PATIENCE = 10


class SolveMonitor(SolveState):
    """The frame of a solve on a `ScaledBox`; every candidate is measured on the original data."""

    def __init__(
        self,
        problem: LCP | BoxLCP,
        box: ScaledBox,
        tolerance: float,
        max_iterations: int,
        time_limit: float,
        trace: bool,
    ) -> None:
        """Start the clock, with the point of the box nearest to zero as the candidate."""
        super().__init__(problem, SolveRequest(None, tolerance, trace), time_limit)
        self.box, self.max_iterations = box, max_iterations
        nearest = box.original(box.start(None))
        self.best = nearest if np.isfinite(nearest).all() else self.best
        # The active set whose basic point was tried last.
        self.tried = b""
        # Unknowns in no row: the sign of w decides their bound. A distance from this bound could not be judged, because
        # no other number has its unit.
        self._unseen = np.flatnonzero(row_abs_max(problem._M.T) == 0.0)
        # Whether a candidate solves, and whether it solves far within the tolerance.
        self.solved, self.accurate, self._since, self._worst = False, False, 0, np.inf

    def should_stop(self) -> bool:
        """Return True if a candidate solves, and is accurate or has had enough further iterations.

        The last, quadratic steps remove errors that the tolerance permits.
        """
        return self.accurate or (self.solved and self.iterations >= self._since + _EXTRA)

    def begin_phase(self) -> None:
        """Allow a solution that is not accurate yet the same number of iterations again, because the method changes."""
        self._since = self.iterations

    def start(self, z0: Vector | None) -> Vector:
        """Return the x to begin at; `should_stop` is true if it, or the point of the box nearest to zero, solves.

        A z0 so large that its residual overflows is no help and is left out.
        """
        box = self.box
        x = nearest = box.start(None)
        if z0 is not None:
            given = box.start(z0)
            gap = box.natural(given, box.rows(given))
            if np.isfinite(gap @ gap):
                x = given
        self.check_iterate(x)
        if not self.solved and x is not nearest:
            self.check_iterate(nearest, record=False)
        self.accurate = self.solved
        return x

    def check_iterate(self, x: Vector, *, record: bool = True) -> bool:
        """Measure x on the original problem, keep it if it is the best, and return `should_stop`.

        An x that is not finite in the original units is ignored, and False is returned.
        """
        z = self.box.original(x)
        if not np.isfinite(z).all():
            return False
        if self._unseen.shape[0]:
            w = self.problem._M[self._unseen] @ z + self.problem._q[self._unseen]
            bound = np.where(w > 0.0, *(bound[self._unseen] for bound in (self.lo, self.hi)))
            z[self._unseen] = np.where((w != 0.0) & np.isfinite(bound), bound, z[self._unseen])
        residual = measure(self.problem, z)[0]
        if record:
            self.recorder.add(self.iterations, residual.natural_map)
        solved = residual.solved(self.tolerance)
        worst = residual.backward_error / max(_ACCURATE * self.tolerance, _ROUNDING)
        if solved >= self.solved and (solved > self.solved or worst < self._worst):
            if not self.solved:
                self._since = self.iterations
            self.solved, self._worst, self.best = solved, worst, z
            self.accurate = solved and worst <= 1.0
        return self.should_stop()

    @property
    def exhausted(self) -> bool:
        """Return True if a limit is reached."""
        return self.iterations >= self.max_iterations or self.timed_out()

    @property
    def seconds_left(self) -> float:
        """Seconds until the limit."""
        return self.deadline - cpu_seconds()

    def limit(self, detail: str = "") -> Claim:
        """Return the claim ITERATION_LIMIT, or SOLVED if a candidate solves; the detail names the limit reached."""
        which = "iteration limit" if self.iterations >= self.max_iterations else "time limit"
        return self.claim(Status.ITERATION_LIMIT, f"{which}; {detail}" if detail else which)

    def claim(self, status: Status, detail: str = "", evidence: Any = None) -> Claim:
        """Return the claim with the best candidate. Its status is SOLVED if this candidate solves."""
        if self.solved:
            status, evidence = Status.SOLVED, None
            detail = detail if self.accurate else ""
        return super().claim(status, detail, evidence)


class NewtonMethod(SolverBase[LCP | BoxLCP]):
    """Base class of solvers on a `ScaledBox`: its fields are the limits, and `_from_start` iterates from a start."""

    #: Whether the scaling must keep M positive semidefinite.
    congruent: ClassVar[bool] = False
    max_iterations: int
    time_limit: float

    @abstractmethod
    def _from_start(self, progress: SolveMonitor, start: Vector) -> Claim:
        """Iterate from a start until a verified solution, a point of no headway or a limit."""

    @np.errstate(all="ignore")
    def _claim(self, problem: LCP | BoxLCP, request: SolveRequest) -> Claim:
        """Scale the problem; claim the start if it is a solution, otherwise iterate with `_from_start`."""
        box = scaled_box(problem, congruent=self.congruent, balanced=not self.congruent)
        progress = SolveMonitor(problem, box, request.tolerance, self.max_iterations, self.time_limit, request.trace)
        start = progress.start(request.z0)
        return progress.claim(Status.SOLVED) if progress.should_stop() else self._from_start(progress, start)


def basic_point(box: ScaledBox, states: States, *, accurate: bool = False, near: Vector | None = None) -> Vector | None:
    """Return x with the unknowns on bounds of ``states``, and the other rows solved: M_bb x_b = -(q + M x_bounds)_b.

    The system has the size of the rows between bounds, and its solution is refined. Return None if its block is
    singular. If a point ``near`` is given and the block is semidefinite, return a solution near this point instead
    (R. T. Rockafellar, Monotone operators and the proximal point algorithm, SIAM J. Control Optim. 14, 1976). With
    ``accurate``, residuals are always summed in twice the precision.
    """
    x = box.at_bounds(states)
    between = np.flatnonzero(states == BETWEEN)
    if between.shape[0] == 0:
        return x
    rows = box.rows(x)[between]
    matrix = block(box.M, between)
    inner = solution(
        matrix, -rows, symmetric_pattern=box.symmetric_pattern, refinements=_REFINEMENTS, accurate=accurate
    )
    if inner is not None:
        x[between] = inner
        return x
    if near is None:
        return None
    x[between] = near[between]
    for _ in range(_PROXIMAL):
        step = solution(matrix, -box.rows(x)[between], symmetric_pattern=box.symmetric_pattern, shifts=True)
        if step is None:
            return None
        x[between] += step
    return x


def polished(progress: SolveMonitor, x: Vector, former: States | None, *, solved: bool) -> States:
    """Try the basic point of x's active set if x solves, or if the previous point has the same set; return the states.

    ``progress`` keeps a candidate that solves. Of two solutions it keeps the one with the smaller residual.
    """
    box = progress.box
    states = box.states(x, box.rows(x))
    agree = solved or (former is not None and np.array_equal(former, states))
    if agree and states.tobytes() != progress.tried:
        progress.tried = states.tobytes()
        candidate = basic_point(box, states)
        if candidate is not None:
            progress.check_iterate(candidate, record=False)
    return states


def wrong_signs(box: ScaledBox, states: States, x: Vector) -> tuple[NDArray[np.bool_], States]:
    """Return a mask of the sign conditions violated by a basic point, and the states after exchanging them."""
    w = box.rows(x)
    sizes = np.abs(x)
    x_slack = _SIGN * float(sizes.max(initial=0.0))
    w_slack = _SIGN * (abs(box.M) @ sizes + np.abs(box.q))
    inside = states == BETWEEN
    below, above = inside & (x < box.lo - x_slack), inside & (x > box.hi + x_slack)
    # An unknown whose bounds coincide is fixed: its row may have any sign.
    leaves = (((states == LOWER) & (w < -w_slack)) | ((states == UPPER) & (w > w_slack))) & (box.lo < box.hi)
    following = np.where(below, LOWER, np.where(above, UPPER, np.where(leaves, BETWEEN, states)))
    return below | above | leaves, following.astype(np.int8)


def exchange_wrong_signs(progress: SolveMonitor, states: States) -> Claim:
    """Exchange wrong signs until all are right: all together while this helps, otherwise the one of least index.

    Exchanging all is the undamped Newton step of the natural map. After ten such steps without a new minimum of the
    number of wrong signs, exchanges are made by least index until there is one (J. J. Judice and F. M. Pires, A block
    principal pivoting algorithm for large-scale strictly monotone linear complementarity problems, Computers and
    Operations Research 21, 1994). The least-index rule ends for every P-matrix from any start (K. G. Murty, Note on a
    Bard-type scheme for solving the complementarity problem, Opsearch 11, 1974), and so does the combination. Murty's
    induction also holds for bounds on both sides: with the unknowns before it solved, w_n is a strictly increasing
    function of x_n, which therefore changes its bound at most twice.
    """
    box = progress.box
    progress.begin_phase()
    fewest, patience = box.n + 1, _PATIENCE
    # If an active set is met again under the least-index rule, M is not a P-matrix. Brent's marks are at 1, 2, 4, ...
    mark, steps, following_mark = b"", 0, 1
    while not progress.exhausted:
        progress.iterations += 1
        x = basic_point(box, states)
        if x is None:
            return progress.claim(Status.SINGULAR_BASIS, "the block of the active rows is singular")
        if progress.check_iterate(x):
            return progress.claim(Status.SOLVED, "by principal pivoting")
        wrong, following = wrong_signs(box, states, x)
        count = int(wrong.sum())
        if count == 0:
            # A residual in working precision may not show an error of 1e-10 in the largest unknown, large against a
            # load.
            x = basic_point(box, states, accurate=True)
            if x is not None and progress.check_iterate(x):
                return progress.claim(Status.SOLVED, "by principal pivoting")
            return progress.claim(Status.STALLED, "all signs are right to rounding, the answer is not")
        if count < fewest:
            fewest, patience, mark = count, _PATIENCE, b""
        if patience > 0:
            patience -= 1
            states = following
        else:
            first = int(np.flatnonzero(wrong)[0])
            states = states.copy()
            states[first] = following[first]
            if states.tobytes() == mark:
                return progress.claim(Status.STALLED, "principal pivoting cycles: M is no P-matrix")
            steps += 1
            if steps == following_mark:
                mark, following_mark = states.tobytes(), 2 * following_mark
    return progress.limit("principal pivoting")
