"""The entry point: a problem and a solver in, a judged result out."""

from __future__ import annotations

import time
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lcp.errors import ProblemError
from lcp.problem import LCP, checked_vector
from lcp.residuals import DEFAULT_TOLERANCE, measure
from lcp.result import Attempt, Claim, Result
from lcp.solvers import Lemke
from lcp.status import Status


@runtime_checkable
class Solver(Protocol):
    """Anything with this method is a solver; nothing needs to be subclassed."""

    def solve(self, problem: LCP, *, z0: NDArray[np.float64] | None, tolerance: float, trace: bool) -> Claim:
        """Try ``problem``, perhaps from ``z0``, and say how it ended."""
        ...


def default_solver() -> Solver:
    """The solver used where none is named: Lemke's method with its restarts."""
    return Lemke()


def solve(
    problem: LCP,
    solver: Solver | None = None,
    *,
    z0: ArrayLike | None = None,
    tolerance: float = DEFAULT_TOLERANCE,
    trace: bool = False,
) -> Result:
    """Solve an LCP and verify the answer on its original data.

    Parameters
    ----------
    problem
        The `LCP`.
    solver
        A solver object, its options being its fields; None for `default_solver`.
    z0
        Start (n,), e.g. the solution of a neighbouring problem. Solvers without warm start ignore it.
    tolerance
        Bound on the scaled residual under which the result is called solved.
    trace
        Keep one number per iteration where the solver can.

    Raises
    ------
    ProblemError
        For ill-formed arguments. A numerical failure does not raise: it is the result's status.
    """
    if not isinstance(problem, LCP):
        raise ProblemError(f"problem must be an lcp.LCP, got {type(problem).__name__}; write solve(LCP(M, q))")
    if solver is None:
        solver = default_solver()
    elif isinstance(solver, type) or not hasattr(solver, "solve"):
        raise ProblemError(f"solver must be a solver object such as Lemke(), got {solver!r}")
    if not 0.0 < tolerance < 1.0:
        raise ProblemError(f"tolerance must lie between 0 and 1, got {tolerance}")
    start = checked_vector("z0", z0, problem.n) if z0 is not None else None
    clock = time.perf_counter()
    claim = solver.solve(problem, z0=start, tolerance=tolerance, trace=trace)
    return judged(problem, solver, claim, tolerance, clock)


def judged(problem: LCP, solver: Any, claim: Claim, tolerance: float, clock: float) -> Result:
    """Turn a claim into a result: the residual on the original data decides, in both directions."""
    z = np.ascontiguousarray(claim.z, dtype=np.float64)
    if z.shape != (problem.n,):
        raise ProblemError(f"{type(solver).__name__} returned z of shape {z.shape}, expected ({problem.n},)")
    residual, w = measure(problem, z)
    status = claim.status
    if residual.solved(tolerance):
        status = Status.SOLVED
    elif not np.isfinite(residual.natural_map):
        status = Status.NOT_FINITE
    elif status is Status.SOLVED:
        status = Status.STALLED
    z.flags.writeable = False
    w.flags.writeable = False
    return Result(
        z=z,
        w=w,
        status=status,
        iterations=claim.iterations,
        residual=residual,
        solver=solver,
        attempts=(Attempt(solver, status, claim.iterations, residual, claim.detail),),
        solve_time=time.perf_counter() - clock,
        regularization=claim.regularization,
        evidence=None if status is Status.SOLVED else claim.evidence,
        tolerance=tolerance,
        trace=claim.trace,
    )
