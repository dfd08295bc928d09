"""The entry point `solve`: calls a solver, and verifies the result on the original data."""

from __future__ import annotations

import numbers
import time
from typing import Any, Protocol, cast, overload, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lcp.arrays import checked_vector
from lcp.claims import friction_result, horizontal_result, nonlinear_result, result_from_claim
from lcp.conversions import HorizontalLCP, check_kind, horizontal_to_mlcp
from lcp.dispatch import NO_TRAITS, Solver, call_any_solver, call_friction_solver, call_solver
from lcp.friction.global_problem import GlobalFrictionProblem
from lcp.friction.problem import FrictionProblem
from lcp.friction.residuals import DEFAULT_FRICTION_TOLERANCE, FrictionClaim, FrictionResult
from lcp.friction.solvers import ContactStrategies
from lcp.interruptible import run_interruptibly
from lcp.method import SolveRequest, Traits, check_solver
from lcp.nonlinear.josephy_newton import JosephyNewton
from lcp.nonlinear.problem import MCP
from lcp.problem import LCP, MLCP, BoxLCP, CoupledBoxLCP
from lcp.residuals import DEFAULT_TOLERANCE, Judged
from lcp.result import MCPResult, MLCPResult, Result
from lcp.solvers import Cascade
from lcp.status import ProblemError, Status

#: Smallest accepted tolerance: a few units of rounding.
MIN_TOLERANCE = 1e-14
_OTHER_KINDS = Traits.CONE | Traits.NONLINEAR
#: Unknowns from which on single pieces of compiled code, mostly factorisations, take so long that Ctrl-C would wait.
LARGE = 1000


@runtime_checkable
class FrictionSolver(Protocol):
    """Any object with this method solves friction problems; no base class is needed."""

    def solve(
        self, problem: FrictionProblem, *, z0: NDArray[np.float64] | None, tolerance: float, trace: bool
    ) -> FrictionClaim:
        """Try to solve ``problem``, from ``z0`` if given, and return a claim."""
        ...


def default_friction_solver() -> ContactStrategies:
    """Return the default solver for friction; see `ContactStrategies`."""
    return ContactStrategies()


def default_solver() -> Cascade:
    """Return the default solver: a sequence of solvers chosen by the form, size and structure of the problem.

    See `Cascade`; ``default_solver().solver_sequence(problem)`` shows the choice for a problem.
    """
    return Cascade()


def check_tolerance(tolerance: float) -> None:
    """Refuse a tolerance that is not a number between `MIN_TOLERANCE` and 1."""
    value: object = tolerance  # whatever the caller's types say
    if not isinstance(value, numbers.Real) or not MIN_TOLERANCE <= tolerance < 1.0:
        # Below this limit only rounding decides, and "no basis is a solution" would not be a proof.
        raise ProblemError(f"tolerance must lie between {MIN_TOLERANCE:.0e} and 1, got {tolerance!r}")


@overload
def solve(
    problem: LCP | BoxLCP | CoupledBoxLCP | HorizontalLCP,
    solver: Solver | None = ...,
    *,
    z0: ArrayLike | Result | MLCPResult | None = ...,
    tolerance: float | None = ...,
    trace: bool = ...,
) -> Result: ...
@overload
def solve(
    problem: MLCP,
    solver: Solver | None = ...,
    *,
    z0: ArrayLike | Result | MLCPResult | None = ...,
    tolerance: float | None = ...,
    trace: bool = ...,
) -> MLCPResult: ...
@overload
def solve(
    problem: FrictionProblem | GlobalFrictionProblem,
    solver: FrictionSolver | None = ...,
    *,
    z0: ArrayLike | FrictionResult | None = ...,
    tolerance: float | None = ...,
    trace: bool = ...,
) -> FrictionResult: ...
@overload
def solve(
    problem: MCP,
    solver: Any = ...,
    *,
    z0: ArrayLike | MCPResult | None = ...,
    tolerance: float | None = ...,
    trace: bool = ...,
) -> MCPResult: ...
def solve(
    problem: Judged | HorizontalLCP | FrictionProblem | GlobalFrictionProblem | MCP,
    solver: Solver | FrictionSolver | None = None,
    *,
    z0: ArrayLike | Result | MLCPResult | FrictionResult | MCPResult | None = None,
    tolerance: float | None = None,
    trace: bool = False,
) -> Result | MLCPResult | FrictionResult | MCPResult:
    """Solve a complementarity or friction problem and verify the result on its original data.

    Parameters
    ----------
    problem
        The `LCP`, `MLCP` or `BoxLCP`. For a solver of plain problems a mixed one is reduced (`reduce`; if this is not
        exact for a singular A, the remaining free unknowns are split), and a boxed one converted (`box_to_mlcp`). A
        `CoupledBoxLCP` is converted by `coupled_to_box`, a `HorizontalLCP` by `horizontal_to_mlcp`. Or a
        `FrictionProblem` or `GlobalFrictionProblem` with exact cones, for separate solvers (`ALL_FRICTION_SOLVERS`); a
        global one is reduced for them. Or an `NCP` or `MCP`, for `JosephyNewton`.
    solver
        A solver object, whose fields are its options; None for `default_solver` or `default_friction_solver`.
    z0
        Start (n,), e.g. the solution of a neighbouring problem (the y of an `MLCP`), or the previous result, whose z, y
        or r is used if it is finite. Solvers without warm start ignore it.
    tolerance
        Bound on the backward error of a solved result; 1e-9 by default. For friction problems the bound on their
        measures (`lcp.friction.residuals`); 1e-8 by default.
    trace
        Keep one number per iteration if the solver can.

    Returns
    -------
    Result
        With z and w; for an `MLCP` an `MLCPResult` with u, y and w, for friction a `FrictionResult` with r and u.

    Raises
    ------
    ProblemError
        For ill-formed arguments. A numerical failure does not raise: it is the result's status.
    """
    if tolerance is not None:
        check_tolerance(tolerance)
    if type(problem) is LCP and not trace and not (z0 is not None and isinstance(z0, FrictionResult)):
        solver = default_solver() if solver is None else solver
        judged = getattr(type(solver), "_solve_and_verify", None)
        if judged is not None:
            start = None if z0 is None else _start(z0, problem.n)
            found: Result | None = judged(solver, problem, start, DEFAULT_TOLERANCE if tolerance is None else tolerance)
            if found is not None:
                return found
    if not isinstance(problem, LCP):
        if isinstance(problem, FrictionProblem | GlobalFrictionProblem):
            if isinstance(z0, Result | MLCPResult | MCPResult):
                raise ProblemError(
                    "z0 is the result of another kind of problem; a friction problem starts from its own"
                )
            return _solve_friction(problem, solver, z0, tolerance, trace)
        if isinstance(problem, MCP):
            return _solve_nonlinear(problem, solver, z0, tolerance, trace)
        if isinstance(problem, HorizontalLCP):
            clock = time.perf_counter()
            linear, start = cast(Any, solver), cast(Any, z0)
            mixed = solve(horizontal_to_mlcp(problem).problem, linear, z0=start, tolerance=tolerance, trace=trace)
            return horizontal_result(mixed, clock)
        if not isinstance(problem, CoupledBoxLCP):
            check_kind(problem)
    if isinstance(z0, FrictionResult):
        raise ProblemError("z0 is a FrictionResult; a complementarity problem starts from z or a result of its own")
    solver = default_solver() if solver is None else solver
    check_method(solver)
    bound = DEFAULT_TOLERANCE if tolerance is None else tolerance
    return solve_checked(problem, solver, SolveRequest(_start(z0, problem.n), bound, trace))


def check_method(solver: Any) -> None:
    """Refuse an object that does not solve problems without cones and nonlinear functions."""
    check_solver("solver", solver)
    if (abilities := getattr(solver, "traits", NO_TRAITS)) & _OTHER_KINDS:
        kind = "friction" if abilities & Traits.CONE else "nonlinear"
        raise ProblemError(f"{type(solver).__name__} solves {kind} problems alone; lcp.ALL_SOLVERS solve this one")


def solve_checked(problem: Judged, solver: Any, request: SolveRequest) -> Result | MLCPResult:
    """Call the solver on a problem without friction, and verify its claim; the arguments are checked already.

    Large problems run on a worker thread, so that Ctrl-C works.
    """
    return (
        _solved(problem, solver, request)
        if problem.n < LARGE
        else run_interruptibly(lambda: _solved(problem, solver, request))
    )


def _solved(problem: Judged, solver: Any, request: SolveRequest) -> Result | MLCPResult:
    clock = time.perf_counter()
    # Data near the ends of double precision overflow somewhere; the result is a status, not a warning.
    with np.errstate(all="ignore"):
        return result_from_claim(problem, solver, call_any_solver(problem, solver, request), request.tolerance, clock)


def _solve_friction(
    problem: FrictionProblem | GlobalFrictionProblem,
    solver: Any,
    z0: ArrayLike | FrictionResult | None,
    tolerance: float | None,
    trace: bool,
) -> FrictionResult:
    """Solve a friction problem as `solve` does; a global problem is first reduced to a local one."""
    solver = default_friction_solver() if solver is None else solver
    check_solver("solver", solver, "NSGS()")
    if not getattr(solver, "traits", Traits.CONE) & Traits.CONE:
        raise ProblemError(f"{type(solver).__name__} solves no friction problems; lcp.ALL_FRICTION_SOLVERS do")
    bound = DEFAULT_FRICTION_TOLERANCE if tolerance is None else tolerance
    request = SolveRequest(_start(z0, problem.m), bound, trace)

    def solved() -> FrictionResult:
        clock = time.perf_counter()
        with np.errstate(all="ignore"):
            reduction = problem.reduce() if isinstance(problem, GlobalFrictionProblem) else None
            local = cast(FrictionProblem, problem if reduction is None else reduction.problem)
            if reduction is not None and not reduction.consistent:
                detail = "the equations M v = H r + f + G lambda, G' v + b = 0 have no solution"
                claim = FrictionClaim(np.zeros(local.m), Status.INCONSISTENT, 0, detail)
            elif not local._q.any():
                # r = 0 solves it for any W, because the problem is homogeneous.
                claim = FrictionClaim(np.zeros(local.m), Status.SOLVED, 0, "q = 0" if local.m else "no contact")
            else:
                claim = call_friction_solver(local, solver, request)
            return friction_result(local, reduction, solver, claim, bound, clock)

    return solved() if problem.m < LARGE else run_interruptibly(solved)


def _solve_nonlinear(problem: MCP, solver: Any, z0: Any, tolerance: float | None, trace: bool) -> MCPResult:
    """Solve a nonlinear problem as `solve` does, by default with `JosephyNewton`."""
    if isinstance(z0, FrictionResult | MLCPResult):
        raise ProblemError(f"z0 is a {type(z0).__name__}; a nonlinear problem starts from z or a result of its own")
    solver = JosephyNewton() if solver is None else solver
    check_solver("solver", solver, "JosephyNewton()")
    if not getattr(solver, "traits", Traits.NONLINEAR) & Traits.NONLINEAR:
        name = type(solver).__name__
        raise ProblemError(f"{name} solves no nonlinear problems; JosephyNewton(solver={name}()) linearises for it")
    bound = DEFAULT_TOLERANCE if tolerance is None else tolerance
    start = _start(z0, problem.n)
    clock = time.perf_counter()
    with np.errstate(all="ignore"):
        claim = call_solver(problem, solver, SolveRequest(start, bound, trace))
        return nonlinear_result(problem, solver, claim, bound, clock)


def _start(
    z0: ArrayLike | Result | MLCPResult | FrictionResult | MCPResult | None, n: int
) -> NDArray[np.float64] | None:
    """Return a start (n,) from a vector or a previous result, or None if that result is not finite."""
    if z0 is None:
        return None
    if isinstance(z0, Result | MLCPResult | FrictionResult | MCPResult):
        z0 = z0.y if isinstance(z0, MLCPResult) else z0.z
        if not np.isfinite(z0).all():
            # A failed solve must not make the next one raise an error.
            return None
    return checked_vector("z0", z0, n)
