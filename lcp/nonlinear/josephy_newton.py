"""The method of Josephy and Newton: solve the linearised complementarity problem in each step, with a line search."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lcp.arrays import Vector, scaled_matrix
from lcp.dispatch import call_any_solver
from lcp.interruptible import cpu_seconds
from lcp.method import (
    SolverBase,
    SolveRequest,
    Traits,
    check_solver,
    integer_option,
    positive_option,
    real_option,
    with_time_limit,
)
from lcp.nonlinear.problem import MCP
from lcp.polish import refine_boxed
from lcp.problem import BoxLCP
from lcp.residuals import Residuals, measure_nonlinear
from lcp.result import MCPClaim, Step, TraceRecorder
from lcp.scaling import ScaledBox, entrywise_scales
from lcp.solvers.cascade import Cascade
from lcp.solvers.nonsmooth_newton import Equations, direction, fischer_burmeister, gradient
from lcp.status import DomainError, Status

_INNER_TOLERANCE = 1e-9
# Shortest fraction of a Newton step, and of a gradient, that is tried.
_SHORTEST = {"newton": 2.0**-12, "semismooth": 2.0**-12, "gradient": 2.0**-50}
# Smallest relative decrease of the merit within a number of iterations with which the method continues.
_HEADWAY, _STRETCH = 1e-3, 20
# Backward error that is rounding, and the relative distance at which unknowns are set to a bound.
_ROUNDING, _LEFT = 1e-14, 2.0**-26


@dataclass(frozen=True)
class JosephyNewton(SolverBase[MCP]):
    """Newton's method for generalised equations (Josephy 1979) with a nonmonotone line search and gradient steps.

    Each step solves the linearised problem, a `BoxLCP`, by a solver of this package, and moves towards its solution.
    The length is limited by a merit function: half the squares of the Fischer-Burmeister equations with two bounds
    (Billups 1995), in units that equilibrate the first Jacobian. The merit may exceed its previous value, but not the
    largest of the last ``memory`` values. If the linearised problem has no solution, or none that descends, a
    semismooth Newton step on these equations is tried, and then the projected gradient of the merit. The gradient
    always descends unless the point is stationary. From a stationary point the method restarts near the first start, up
    to ``restarts`` times. All points stay between the bounds. Steps to points at which F is not defined are shortened.

    Near a strongly regular solution every linearised problem is locally uniquely solvable. There convergence is
    quadratic, and the last steps have full length. If the tolerance is met but the residual is not yet rounding, one
    more step is made, so that F itself is small. Unknowns very near a bound or zero are set to it if this solves (for
    F = z^3 no Newton step reaches zero).

    Parameters
    ----------
    solver
        Solver of the linearised problems: any that `lcp.solve` accepts for a `BoxLCP`; None for the default cascade.
    memory
        Number of previous merits whose maximum bounds a step's merit; 1 for a monotone search.
    decrease
        Fraction of the slope that a step must achieve.
    restarts
        Limit on new starts after stationary points that are not solutions.
    max_iterations
        Limit on the steps of all starts together.
    time_limit
        Seconds, checked between steps.

    References
    ----------
    N. H. Josephy, Newton's method for generalized equations, MRC report 1965, Wisconsin (1979).
    M. C. Ferris, C. Kanzow, T. S. Munson, Feasible descent algorithms for mixed complementarity problems, Mathematical
    Programming 86 (1999): the descent used here in place of the path search of D. Ralph (1994) and of S. P. Dirkse and
    M. C. Ferris, The PATH solver (1995).
    L. Grippo, F. Lampariello, S. Lucidi, A nonmonotone line search technique for Newton's method, SIAM J. Numer. Anal.
    23 (1986).
    """

    solver: Any = None
    memory: int = integer_option(10, least=1)
    decrease: float = real_option(1e-4, least=0.0, most=0.5, open_ends=True)
    restarts: int = integer_option(3)
    max_iterations: int = integer_option(500)
    time_limit: float = positive_option(300.0)

    traits: ClassVar[Traits] = Traits.NONLINEAR | Traits.WARM_START | Traits.SPARSE

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        super().__post_init__()
        if self.solver is not None:
            check_solver("JosephyNewton.solver", self.solver)

    def _claim(self, problem: MCP, request: SolveRequest) -> MCPClaim:
        """Run Newton's method from ``z0`` or 0, clipped to the bounds."""
        start = np.clip(np.zeros(problem.n) if request.z0 is None else request.z0, problem.lo, problem.hi)
        if problem.n == 0:
            return MCPClaim(start, Status.SOLVED, 0, "no unknowns")
        try:
            search = _NewtonSolve(problem, self, request, start)
        except DomainError as error:
            return MCPClaim(start, Status.NOT_FINITE, 0, f"at the start {error}; give a z0 where F is defined")
        return search.run()


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    """Point with the values computed there."""

    z: Vector
    w: Vector
    J: Any
    residual: Residuals
    box: ScaledBox
    equations: Equations


class _NewtonSolve:
    """State of one solve."""

    def __init__(self, problem: MCP, method: JosephyNewton, request: SolveRequest, start: Vector) -> None:
        self._problem, self._method, self._request = problem, method, request
        self._inner = Cascade(time_limit=10.0) if method.solver is None else method.solver
        self._evaluations = self._shortened = self._unsolved = 0
        self._function = fischer_burmeister()
        w = self._value(start)
        J = problem.derivative(start, w)
        self._row, self._column = entrywise_scales(J)
        self._start, self._farthest, self._tried = start, np.zeros_like(start), b""
        self._recorder = TraceRecorder(request.trace)
        self._steps: list[Step] = []
        self._deadline = cpu_seconds() + method.time_limit
        self._at = self._point(start, w, J)
        self._recorder.add(0, self._at.residual.natural_map)

    def run(self) -> MCPClaim:
        """Iterate from one start after another until a solution is found or a limit is reached."""
        best = self._at
        rng = np.random.default_rng(0)
        for restart in range(self._method.restarts + 1):
            if restart and not self._restart(rng, restart):
                break
            ended = self._descend()
            if ended is Status.SOLVED or self._at.equations.merit < best.equations.merit:
                best = self._at
            if ended is not Status.STALLED:
                break
        detail = [f"{self._evaluations} evaluations"]
        if self._shortened:
            detail.append(f"{self._shortened} steps shortened where F is not defined")
        if self._unsolved:
            detail.append(f"{self._unsolved} linearised problems without solution")
        if ended is Status.STALLED:
            detail.append("stationary points of the merit function that solve nothing")
        count, trace = len(self._steps), self._recorder.trace()
        return MCPClaim(best.z, ended, count, "; ".join(detail), trace=trace, steps=tuple(self._steps))

    def _value(self, z: Vector) -> Vector:
        self._evaluations += 1
        return self._problem.value(z)

    def _point_at(self, z: Vector) -> _Point:
        w = self._value(z)
        return self._point(z, w, self._problem.derivative(z, w))

    def _equations(self, z: Vector, w: Vector, box: ScaledBox) -> Equations:
        return self._function(box, z / self._column, w * self._row)

    def _point(self, z: Vector, w: Vector, J: Any) -> _Point:
        M = scaled_matrix(J, self._row, self._column)
        unit, lo, hi = self._column, self._problem.lo, self._problem.hi
        box = ScaledBox(M, np.zeros_like(z), lo / unit, hi / unit, unit, False, False)
        return _Point(z, w, J, measure_nonlinear(self._problem, z, w, J), box, self._equations(z, w, box))

    def _descend(self) -> Status:
        """Make steps from the present point until it is solved, and return the status.

        It is SOLVED, ITERATION_LIMIT, or STALLED if no direction descends or the merit function hardly falls any more.
        """
        merits: deque[float] = deque([self._at.equations.merit], maxlen=self._method.memory)
        marks = [self._at.equations.merit]
        while not self._at.residual.solved(self._request.tolerance):
            if len(self._steps) >= self._method.max_iterations or cpu_seconds() > self._deadline:
                return Status.ITERATION_LIMIT
            step = next((found for found in self._candidates(max(merits)) if found is not None), None)
            if step is None:
                return Status.STALLED
            kind, length, self._at = step
            merits.append(self._at.equations.merit)
            self._keep(kind, length)
            if self._snap_to_bounds():
                break
            marks.append(min(marks[-1], self._at.equations.merit))
            if len(marks) > _STRETCH and marks[-1] > (1.0 - _HEADWAY) * marks[-1 - _STRETCH]:
                return Status.STALLED
        self._last_step()
        return Status.SOLVED

    def _snap_to_bounds(self) -> bool:
        """Set unknowns very near a bound, or zero, to it, and return True if this solves.

        Newton's method for F = z^3 reduces z only by a third in each step, and F stays large relative to its terms.
        """
        z, lo, hi = self._at.z, self._problem.lo, self._problem.hi
        to = np.where(np.abs(z - lo) < np.abs(z), lo, np.where(np.abs(z - hi) < np.abs(z), hi, 0.0))
        distance = np.abs(z - to)
        self._farthest = np.maximum(self._farthest, distance)
        near = (distance > 0.0) & (distance <= _LEFT * self._farthest)
        key = near.tobytes()
        if not near.any() or key == self._tried or self._at.residual.solved(self._request.tolerance):
            return False
        self._tried = key
        try:
            there = self._point_at(np.clip(np.where(near, to, z), lo, hi))
        except DomainError:
            return False
        if not there.residual.solved(self._request.tolerance):
            return False
        self._at = there
        return True

    def _last_step(self) -> None:
        """Make one more Newton step unless the residual is rounding: a small backward error need not mean a small F."""
        at = self._at
        if at.residual.backward_error <= _ROUNDING or len(self._steps) >= self._method.max_iterations:
            return
        d = self._newton()
        step = None if d is None else self._searched("newton", d, at.equations.merit, 0.0)
        if step is not None and step[2].residual.solved(self._request.tolerance):
            kind, length, self._at = step
            self._keep(kind, length)

    def _candidates(self, reference: float) -> Iterator[tuple[str, float, _Point] | None]:
        """Yield the step, or None, along one direction after another: Newton, semismooth Newton, projected gradient.

        Each direction is formed only if the previous ones failed.
        """
        at = self._at
        d = self._newton()
        if d is not None:
            yield self._searched("newton", d, reference, 2.0 * at.equations.merit)
        scaled = direction(at.box, at.equations)
        if scaled is not None and np.isfinite(scaled).all():
            yield self._searched("semismooth", scaled * self._column, reference, 2.0 * at.equations.merit)
        down = -gradient(at.box, at.equations)
        yield self._searched("gradient", down * self._column, at.equations.merit, None)

    def _newton(self) -> Vector | None:
        """Return the step to the solution of the linearised problem, or None if it was not solved.

        The step is the unknown, so that it keeps its digits.
        """
        at, problem = self._at, self._problem
        linearised = BoxLCP(at.J, at.w, problem.lo - at.z, problem.hi - at.z)
        zero = np.zeros(problem.n)
        claim = call_any_solver(
            linearised,
            with_time_limit(self._inner, self._deadline - cpu_seconds()),
            SolveRequest(zero, _INNER_TOLERANCE, False),
        )
        d = np.array(claim.z, dtype=np.float64)
        # Solvers that measure from the bounds lose digits if bounds are one and the step is 1e-11.
        refined = refine_boxed(linearised, d, _INNER_TOLERANCE) if d.shape == zero.shape else None
        self._unsolved += refined is None
        return refined

    def _searched(self, kind: str, d: Vector, reference: float, fall: float | None) -> tuple[str, float, _Point] | None:
        """Return the longest step 1, 1/2, 1/4, ... along d, projected onto the bounds, with enough descent, or None.

        The required descent is ``decrease`` times ``fall`` below the reference, if ``fall`` is given. Otherwise it is
        ``decrease`` times the slope along the projected step (Bertsekas' rule for projected gradients).
        """
        at, problem = self._at, self._problem
        slope = gradient(at.box, at.equations) / self._column
        t = 1.0
        while t >= _SHORTEST[kind]:
            z = np.clip(at.z + t * d, problem.lo, problem.hi)
            if np.array_equal(z, at.z):
                return None
            bound = reference - self._method.decrease * (t * fall if fall is not None else float(slope @ (at.z - z)))
            try:
                w = self._value(z)
                if self._equations(z, w, at.box).merit <= bound:
                    return kind, t, self._point(z, w, problem.derivative(z, w))
            except DomainError:
                self._shortened += 1
            t *= 0.5
        return None

    def _restart(self, rng: np.random.Generator, restart: int) -> bool:
        """Choose a start near the first one, farther in each restart; return False if F is not defined at several."""
        lo, hi = self._problem.lo, self._problem.hi
        for _ in range(10):
            size = restart * np.maximum(1.0, np.abs(self._start))
            z = np.clip(self._start + size * rng.uniform(-1.0, 1.0, lo.shape[0]), lo, hi)
            try:
                self._at = self._point_at(z)
            except DomainError:
                continue
            self._keep("restart", 1.0)
            return True
        return False

    def _keep(self, kind: str, length: float) -> None:
        natural, merit = self._at.residual.natural_map, self._at.equations.merit
        self._steps.append(Step(kind, length, natural, merit, self._evaluations))
        self._recorder.add(len(self._steps), natural)
