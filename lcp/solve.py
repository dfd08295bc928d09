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
from lcp.judge import judged
from lcp.mixed import MLCP
from lcp.problem import LCP, checked_vector
from lcp.residuals import DEFAULT_TOLERANCE, Problem
from lcp.result import MLCPResult, Result
from lcp.solvers import Cascade

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
    tolerance: float = ...,
    trace: bool = ...,
) -> Result: ...
@overload
def solve(
    problem: MLCP,
    solver: Solver | None = ...,
    *,
    z0: ArrayLike | Result | MLCPResult | None = ...,
    tolerance: float = ...,
    trace: bool = ...,
) -> MLCPResult: ...
def solve(
    problem: Problem,
    solver: Solver | None = None,
    *,
    z0: ArrayLike | Result | MLCPResult | None = None,
    tolerance: float = DEFAULT_TOLERANCE,
    trace: bool = False,
) -> Result | MLCPResult:
    """Solve a complementarity problem and verify the answer on its original data.

    Parameters
    ----------
    problem
        The `LCP`, `MLCP` or `BoxLCP`. A solver of plain problems meets a mixed one reduced (`reduce`; where a singular
        A loses something, with the rest of the free unknowns split), a boxed one converted (`box_to_mlcp`).
    solver
        A solver object, its options being its fields; None for `default_solver`.
    z0
        Start (n,), e.g. the solution of a neighbouring problem (the y of an `MLCP`), or the previous result, whose z
        or y it then is (one that is not finite is no start). Solvers without warm start ignore it.
    tolerance
        Bound on the scaled residual under which the result is called solved.
    trace
        Keep one number per iteration where the solver can.

    Returns
    -------
    Result
        With z and w; for an `MLCP` an `MLCPResult` with u, y and w.

    Raises
    ------
    ProblemError
        For ill-formed arguments. A numerical failure does not raise: it is the result's status.
    """
    check_kind(problem)
    if solver is None:
        solver = default_solver()
    elif isinstance(solver, type) or not hasattr(solver, "solve"):
        raise ProblemError(f"solver must be a solver object such as Lemke(), got {solver!r}")
    check_tolerance(tolerance)
    start = _start(z0, problem.n)
    clock = time.perf_counter()
    # Data near the ends of double precision overflow somewhere; that is a status, not a warning.
    with np.errstate(all="ignore"):
        claim = claim_of(problem, solver, z0=start, tolerance=tolerance, trace=trace)
        return judged(problem, solver, claim, tolerance, clock)


def _start(z0: ArrayLike | Result | MLCPResult | None, n: int) -> NDArray[np.float64] | None:
    if isinstance(z0, (Result, MLCPResult)):
        z0 = z0.y if isinstance(z0, MLCPResult) else z0.z
        if not np.isfinite(z0).all():
            # A solve that failed must not make the next one raise.
            z0 = None
    return None if z0 is None else checked_vector("z0", z0, n)
