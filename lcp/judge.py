"""From a solver's claim to a result: the residual on the original data decides, in both directions."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcp.errors import ProblemError
from lcp.mixed import MLCP
from lcp.residuals import Problem, Residuals, measure
from lcp.result import Attempt, Claim, MLCPResult, Result
from lcp.status import Status


def unknowns(problem: Problem) -> int:
    """Length of the vector a claim on ``problem`` carries: (u, y) in one for an `MLCP`."""
    return problem.n + problem.n_free if isinstance(problem, MLCP) else problem.n


def verdict(
    problem: Problem, solver: Any, claim: Claim, tolerance: float
) -> tuple[Status, Residuals, NDArray[np.float64], NDArray[np.float64]]:
    """Status, residuals, z and w of a claim, by the data of ``problem`` alone."""
    z = np.ascontiguousarray(claim.z, dtype=np.float64)
    if z.shape != (unknowns(problem),):
        raise ProblemError(f"{type(solver).__name__} returned z of shape {z.shape}, expected ({unknowns(problem)},)")
    residual, w = measure(problem, z)
    status = claim.status
    if residual.solved(tolerance):
        status = Status.SOLVED
    elif not (np.isfinite(residual.natural_map) and np.isfinite(residual.equations)):
        status = Status.NOT_FINITE
    elif status is Status.SOLVED:
        status = Status.STALLED
    return status, residual, z, w


def judged(problem: Problem, solver: Any, claim: Claim, tolerance: float, clock: float) -> Result | MLCPResult:
    """The result of a claim; ``clock`` is when the solve began."""
    status, residual, z, w = verdict(problem, solver, claim, tolerance)
    z.flags.writeable = False
    w.flags.writeable = False
    attempts = claim.attempts or (Attempt(solver, status, claim.iterations, residual, claim.detail),)
    solver = solver if claim.solver is None else claim.solver
    seconds = time.perf_counter() - clock
    evidence = None if status is Status.SOLVED else claim.evidence
    if isinstance(problem, MLCP):
        return MLCPResult(
            u=z[: problem.n_free],
            y=z[problem.n_free :],
            w=w,
            status=status,
            iterations=claim.iterations,
            residual=residual,
            solver=solver,
            attempts=attempts,
            solve_time=seconds,
            regularization=claim.regularization,
            evidence=evidence,
            tolerance=tolerance,
            trace=claim.trace,
        )
    return Result(
        z=z,
        w=w,
        status=status,
        iterations=claim.iterations,
        residual=residual,
        solver=solver,
        attempts=attempts,
        solve_time=seconds,
        regularization=claim.regularization,
        evidence=evidence,
        tolerance=tolerance,
        trace=claim.trace,
    )
