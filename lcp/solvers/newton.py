"""Base of the Newton and interior-point solvers: scaled data, limits, the best candidate, the trace.

The module also has the basic point of an active set, and principal pivoting between active sets, which is finite for
P-matrices. At the end is Newton's method with a line search on F(x) = 0, J = D_a + D_b M, for reformulations of
complementarity problems.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
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
        self._solved, self._solved_at, self._accurate, self._worst = False, 0, False, np.inf

    def should_stop(self) -> bool:
        """Return True if a candidate solves, and is accurate or has had enough further iterations.

        The last, quadratic steps remove errors that the tolerance permits.
        """
        return self._accurate or (self._solved and self.iterations >= self._solved_at + _EXTRA)

    def accurate(self) -> bool:
        """Return True if a candidate solves far within the tolerance."""
        return self._accurate

    def begin_phase(self) -> None:
        """Allow a solution that is not accurate yet the same number of iterations again, because the method changes."""
        self._solved_at = self.iterations

    def any_solution(self) -> bool:
        """Return True if a candidate solves, accurate or not."""
        return self._solved

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
        if not self._solved and x is not nearest:
            self.check_iterate(nearest, record=False)
        self._accurate = self._solved
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
        if solved >= self._solved and (solved > self._solved or worst < self._worst):
            if not self._solved:
                self._solved_at = self.iterations
            self._solved, self._worst, self.best = solved, worst, z
            self._accurate = solved and worst <= 1.0
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
        if self._solved:
            status, evidence = Status.SOLVED, None
            detail = detail if self._accurate else ""
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

    A candidate that solves is kept by ``progress``, of two solutions the one with the smaller residual.
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


_DECREASE = 1e-4
_SHORTEST = 2.0**-40
# Smoothing: the root of the parameter is multiplied by the first factor after a full Newton step. It is multiplied by
# the second factor if the third number of shortened steps brought no full one. The path ends when the root has fallen
# to the fourth number times its first value, or after the fifth number of steps.
_FALL, _SLOW_FALL, _VISITS, _LEAST, _STEPS = 0.1, 0.5, 40, 1e-13, 300


@dataclass(frozen=True, slots=True, eq=False)
class Equations:
    """F(x) and the diagonals of an element D_a + D_b M of its generalised Jacobian, all (n,)."""

    F: Vector
    a: Vector
    b: Vector

    @property
    def merit(self) -> float:
        """Return 1/2 |F|^2."""
        return 0.5 * float(self.F @ self.F)


Reformulation = Callable[[ScaledBox, Vector, Vector], Equations]
#: A step from x, where the equations are given, to the next x and the equations there.
Step = Callable[[ScaledBox, Vector, Equations], tuple[Vector, Equations] | None]


def gradient(box: ScaledBox, at: Equations) -> Vector:
    """Return J^T F, the gradient of the merit function."""
    slope: Vector = at.a * at.F + box.M.T @ (at.b * at.F)
    return slope


def direction(box: ScaledBox, at: Equations) -> Vector | None:
    """Return d with J d = -F. Rows without D_b are solved separately, and a singular J is regularised."""
    coupled = np.flatnonzero(at.b != 0.0)
    alone = at.b == 0.0
    d = np.zeros(box.n)
    d[alone] = -at.F[alone] / at.a[alone]
    if coupled.shape[0] == 0:
        return d
    right = -at.F[coupled] - at.b[coupled] * (box.M @ d)[coupled]
    matrix = box.M if coupled.shape[0] == box.n else block(box.M, coupled)
    inner = solution(_jacobian(matrix, at.a[coupled], at.b[coupled]), right,
                     symmetric_pattern=box.symmetric_pattern, shifts=True)  # fmt: skip
    if inner is None:
        return None
    d[coupled] = inner
    return d


def _jacobian(M: Any, a: Vector, b: Vector) -> Any:
    """Return diag(a) + diag(b) M, sparse if M is."""
    if isinstance(M, np.ndarray):
        J = b[:, None] * M
        J[np.diag_indices_from(J)] += a
        return J
    from scipy import sparse

    return sparse.diags_array(b) @ M + sparse.diags_array(a)


def line_search(
    box: ScaledBox, function: Reformulation, x: Vector, d: Vector, at: Equations, slope: float
) -> tuple[Vector, float, Equations] | None:
    """Return the longest step 1, 1/2, 1/4, ... with merit(x + t d) <= merit(x) + 1e-4 t slope (Armijo), or None."""
    w, change = box.rows(x), box.M @ d
    t = 1.0
    while t >= _SHORTEST:
        trial = x + t * d
        there = function(box, trial, w + t * change)
        if there.merit <= at.merit + _DECREASE * t * slope:
            return trial, t, there
        t *= 0.5
    return None


def damped_steps(
    progress: SolveMonitor, function: Reformulation, step_from: Step, x: Vector, patience: int, *, polish: bool = False
) -> Vector:
    """Make steps until a verified solution, or until ``patience`` steps did not halve F; return the last iterate.

    With ``polish`` the basic points of active sets are tried as well.
    """
    box = progress.box
    at = function(box, x, box.rows(x))
    states: States | None = None
    best, left = np.inf, patience
    while left > 0 and not progress.exhausted:
        progress.iterations += 1
        step = step_from(box, x, at)
        if step is None:
            return x
        x, at = step
        solved = progress.check_iterate(x)
        if polish:
            states = polished(progress, x, states, solved=solved)
        if progress.should_stop():
            return x
        left -= 1
        size = float(np.abs(at.F).max())
        if size <= 0.5 * best:
            best, left = size, patience
    return x


def smoothed(root_of_mu: float) -> Reformulation:
    """Return the smoothed natural map x - p(x - w).

    Its zeros for an LCP, x_i w_i = mu, x > 0, w > 0, are the central path.

    p(t) = lo + h(t - lo) - h(t - hi) with h(s) = (s + sqrt(s^2 + 4 mu)) / 2. B. Chen and P. T. Harker, A
    non-interior-point continuation method for linear complementarity problems, SIAM J. Matrix Anal. Appl. 14 (1993);
    S. A. Gabriel and J. J. More, Smoothing of mixed complementarity problems (1997), for the box.
    """
    width = 2.0 * root_of_mu

    def function(box: ScaledBox, x: Vector, w: Vector) -> Equations:
        t = x - w
        low, high = np.isfinite(box.lo), np.isfinite(box.hi)
        s = np.where(low, t - np.where(low, box.lo, 0.0), np.where(high, np.where(high, box.hi, 0.0) - t, t))
        # Two-sided: lo + h(t - lo) - h(t - hi); one-sided: lo + h(t - lo) or hi - h(hi - t); free: t.
        h, slope = _smooth_max(s, width)
        both = low & high
        r = t - np.where(both, box.hi, 0.0)
        k, k_slope = _smooth_max(r, width)
        p = np.where(both, box.lo + h - k, np.where(low, box.lo + h, np.where(high, box.hi - h, t)))
        b = np.where(both, slope - k_slope, np.where(low | high, slope, 1.0))
        return Equations(x - p, 1.0 - b, b)

    return function


def _smooth_max(s: Vector, width: float) -> tuple[Vector, Vector]:
    """Return (s + sqrt(s^2 + width^2)) / 2 and its derivative, without cancellation for negative s."""
    root = np.hypot(s, width)
    sum_ = root + np.abs(s)
    small = np.divide(0.5 * width * width, sum_, out=np.zeros_like(s), where=sum_ > 0.0)
    value = np.where(s > 0.0, 0.5 * sum_, small)
    return value, np.divide(value, root, out=np.full_like(s, 0.5), where=root > 0.0)


def follow_smoothing(progress: SolveMonitor, x: Vector) -> Vector | None:
    """Return a point near the end of the smoothing path from x, or a solution that the monitor has kept.

    None at limits.

    Newton's method on the natural map moves the free boundary of an obstacle problem by one node per step; the path
    moves it as a whole. If two successive points agree which unknowns are on bounds, the basic point of this active set
    is tried.
    """
    box = progress.box
    progress.begin_phase()
    w = box.rows(x)
    root = max(float(np.abs(box.natural(x, w)).max(initial=0.0)), 1e-3)
    end = _LEAST * root
    states: States | None = None
    visits, steps = 0, 0
    while root > end and steps < _STEPS:
        if progress.exhausted:
            return None
        progress.iterations += 1
        visits, steps = visits + 1, steps + 1
        function = smoothed(root)
        at = function(box, x, box.rows(x))
        d = direction(box, at)
        step = None if d is None else line_search(box, function, x, d, at, -2.0 * at.merit)
        if step is not None:
            x = step[0]
            states = polished(progress, x, states, solved=progress.check_iterate(x))
            if progress.should_stop():
                return x
        full = step is not None and step[1] == 1.0
        if full or step is None or visits >= _VISITS:
            root *= _FALL if full else _SLOW_FALL
            visits = 0
    return x
