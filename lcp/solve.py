"""The entry point: a problem and a solver in, a judged result out."""

from __future__ import annotations

import numbers
import time
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lcp.box import BoxLCP
from lcp.conversions import check_kind
from lcp.dispatch import Solver, claim_of
from lcp.errors import ProblemError
from lcp.friction.global_problem import GlobalFrictionProblem
from lcp.friction.problem import FrictionProblem
from lcp.friction.result import FrictionResult
from lcp.friction.solve import FrictionSolver, solve_friction
from lcp.judge import judged
from lcp.mixed import MLCP
from lcp.problem import LCP, checked_vector
from lcp.residuals import DEFAULT_TOLERANCE, Problem
from lcp.result import MLCPResult, Result
from lcp.solvers import Cascade
from lcp.traits import Traits

#: Smallest tolerance that can be asked for: a few units of rounding.
LEAST_TOLERANCE = 1e-14


def default_solver() -> Cascade:
    """The solver used where none is named: a line-up chosen by the problem's form, size and structure.

    See `Cascade`; ``default_solver().line_up(problem)`` shows the choice for a problem.
    """
    return Cascade()


def check_tolerance(tolerance: float) -> None:
    """Refuse a tolerance that is no number between `LEAST_TOLERANCE` and 1."""
    value: object = tolerance  # whatever the caller's types say
    if not isinstance(value, numbers.Real) or not LEAST_TOLERANCE <= tolerance < 1.0:
        # Below, rounding alone decides, and "no basis is a solution" would be no proof of anything.
        raise ProblemError(f"tolerance must lie between {LEAST_TOLERANCE:.0e} and 1, got {tolerance!r}")


@overload
def solve(
    problem: LCP | BoxLCP,
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
def solve(
    problem: Problem | FrictionProblem | GlobalFrictionProblem,
    solver: Solver | FrictionSolver | None = None,
    *,
    z0: ArrayLike | Result | MLCPResult | FrictionResult | None = None,
    tolerance: float | None = None,
    trace: bool = False,
) -> Result | MLCPResult | FrictionResult:
    """Solve a complementarity or friction problem and verify the answer on its original data.

    Parameters
    ----------
    problem
        The `LCP`, `MLCP` or `BoxLCP`. A solver of plain problems meets a mixed one reduced (`reduce`; where a singular
        A loses something, with the rest of the free unknowns split), a boxed one converted (`box_to_mlcp`). Or a
        `FrictionProblem` or `GlobalFrictionProblem`, whose exact cones ask for solvers of their own
        (`ALL_FRICTION_SOLVERS`); they meet a global one reduced.
    solver
        A solver object, its options being its fields; None for `default_solver` or `default_friction_solver`.
    z0
        Start (n,), e.g. the solution of a neighbouring problem (the y of an `MLCP`), or the previous result, whose z
        y or r it then is (one that is not finite is no start). Solvers without warm start ignore it.
    tolerance
        Bound on the scaled residual under which the result is called solved; 1e-9 if not given. Of friction problems
        that on both of their measures (`lcp.friction.residuals`); 1e-8 if not given.
    trace
        Keep one number per iteration where the solver can.

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
    if isinstance(problem, FrictionProblem | GlobalFrictionProblem):
        if isinstance(z0, Result | MLCPResult):
            raise ProblemError("z0 is the result of another kind of problem; a friction problem starts from its own")
        return solve_friction(problem, solver, z0, tolerance, trace)
    check_kind(problem)
    if isinstance(z0, FrictionResult):
        raise ProblemError("z0 is a FrictionResult; a complementarity problem starts from z or a result of its own")
    if solver is None:
        solver = default_solver()
    elif isinstance(solver, type) or not hasattr(solver, "solve"):
        raise ProblemError(f"solver must be a solver object such as Lemke(), got {solver!r}")
    elif getattr(solver, "traits", Traits(0)) & Traits.CONE:
        raise ProblemError(f"{type(solver).__name__} solves friction problems alone; lcp.ALL_SOLVERS solve this one")
    bound = DEFAULT_TOLERANCE if tolerance is None else tolerance
    start = _start(z0, problem.n)
    clock = time.perf_counter()
    # Data near the ends of double precision overflow somewhere; that is a status, not a warning.
    with np.errstate(all="ignore"):
        claim = claim_of(problem, solver, z0=start, tolerance=bound, trace=trace)
        return judged(problem, solver, claim, bound, clock)


def _start(z0: ArrayLike | Result | MLCPResult | None, n: int) -> NDArray[np.float64] | None:
    if isinstance(z0, (Result, MLCPResult)):
        z0 = z0.y if isinstance(z0, MLCPResult) else z0.z
        if not np.isfinite(z0).all():
            # A solve that failed must not make the next one raise.
            z0 = None
    return None if z0 is None else checked_vector("z0", z0, n)
