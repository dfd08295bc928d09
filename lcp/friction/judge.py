"""From a friction solver's claim to a result: the residuals on the original data decide, in both directions."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcp.errors import ProblemError
from lcp.friction.global_problem import FrictionReduction
from lcp.friction.problem import FrictionProblem
from lcp.friction.residuals import FrictionResiduals, measure
from lcp.friction.result import FrictionAttempt, FrictionClaim, FrictionResult
from lcp.status import Status

Vector = NDArray[np.float64]


def decided(claimed: Status, residual: FrictionResiduals, tolerance: float) -> Status:
    """The status of a claim, by its residuals."""
    if residual.solved(tolerance):
        return Status.SOLVED
    if not (np.isfinite(residual.fclib) and np.isfinite(residual.scaled)):
        return Status.NOT_FINITE
    return Status.STALLED if claimed is Status.SOLVED else claimed


def attempt_of(problem: FrictionProblem, solver: Any, claim: FrictionClaim, tolerance: float) -> FrictionAttempt:
    """A claim, judged."""
    r = checked_forces(problem, solver, claim)
    residual, _ = measure(problem, r)
    status = decided(claim.status, residual, tolerance)
    return FrictionAttempt(solver, status, claim.iterations, residual, claim.detail)


def checked_forces(problem: FrictionProblem, solver: Any, claim: FrictionClaim) -> Vector:
    """The claim's r, of the right shape."""
    r = np.array(claim.r, dtype=np.float64)
    if r.shape != (problem.m,):
        raise ProblemError(f"{type(solver).__name__} returned r of shape {r.shape}, expected ({problem.m},)")
    return r


def judged(
    problem: FrictionProblem,
    reduction: FrictionReduction | None,
    solver: Any,
    claim: FrictionClaim,
    tolerance: float,
    clock: float,
) -> FrictionResult:
    """The result of a claim on ``problem``, of a global one the reduced; ``clock`` is when the solve began."""
    r = checked_forces(problem, solver, claim)
    v = lam = None
    if reduction is None:
        residual, u = measure(problem, r)
    else:
        v, lam, u, equations = reduction.motion(r)
        residual, u = measure(problem, r, u, equations)
    status = decided(claim.status, residual, tolerance)
    if reduction is not None and not reduction.consistent:
        status = Status.INCONSISTENT
    attempts = claim.attempts or (FrictionAttempt(solver, status, claim.iterations, residual, claim.detail),)
    for vector in (r, u, v, lam):
        if vector is not None:
            vector.flags.writeable = False
    return FrictionResult(
        r=r,
        u=u,
        v=v,
        lam=lam if lam is not None and lam.size else None,
        status=status,
        iterations=claim.iterations,
        residual=residual,
        solver=solver if claim.solver is None else claim.solver,
        attempts=attempts,
        solve_time=time.perf_counter() - clock,
        evidence=None if status is Status.SOLVED else claim.evidence,
        tolerance=tolerance,
        trace=claim.trace,
    )
