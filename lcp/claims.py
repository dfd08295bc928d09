"""From a solver's claim to a result: the residuals on the original data decide on solved and on unsolved."""

from __future__ import annotations

import time
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lcp.arrays import Vector
from lcp.friction.global_problem import FrictionReduction
from lcp.friction.problem import FrictionProblem
from lcp.friction.residuals import FrictionAttempt, FrictionClaim, FrictionResiduals, FrictionResult
from lcp.friction.residuals import measure as measure_friction
from lcp.nonlinear.problem import MCP
from lcp.problem import LCP, MLCP, BoxLCP
from lcp.residuals import NOT_FINITE, Judged, Residuals, measure, measure_nonlinear
from lcp.result import Attempt, Claim, MCPResult, MLCPResult, Parts, ResidualsLike, Result, lazy_result
from lcp.status import DomainError, ProblemError, Status

# Statuses that a solver can claim only with evidence.
NO_SOLUTION_STATUSES = (Status.INFEASIBLE, Status.UNSOLVABLE, Status.INCONSISTENT)


def claim_size(problem: Judged) -> int:
    """Return the length of the vector of a claim on ``problem``: (u, y) in one vector for an `MLCP`."""
    return problem.n + problem.n_free if isinstance(problem, MLCP) else problem.n


def status_of(claimed: Status, residual: ResidualsLike, tolerance: float) -> Status:
    """Return the status of a claim, from its residuals."""
    if not isinstance(claimed, Status):
        raise ProblemError(f"a claim's status must be an lcp.Status, got {claimed!r}; write lcp.Status.SOLVED")
    if residual.solved(tolerance):
        return Status.SOLVED
    if not residual.finite:
        return Status.NOT_FINITE
    return Status.STALLED if claimed is Status.SOLVED else claimed


def verified_status(
    problem: Judged, claim: Claim, tolerance: float
) -> tuple[Status, Residuals, NDArray[np.float64], NDArray[np.float64]]:
    """Return status, residuals, z and w of a claim, from the data of ``problem`` only."""
    z = _owned(claim.z)
    residual, w = measure(problem, z)
    return _require_evidence(problem, status_of(claim.status, residual, tolerance), claim.evidence), residual, z, w


def _require_evidence(problem: Judged | MCP, status: Status, evidence: Any) -> Status:
    """Return the status, or STALLED for a claim of no solution without evidence that is true for ``problem``."""
    if status not in NO_SOLUTION_STATUSES:
        return status
    # These imports load linear programs and factorisations of scipy.
    from lcp.enumeration import EnumerationResult
    from lcp.farkas import Farkas

    proven = False
    if isinstance(evidence, Farkas) and isinstance(problem, LCP | MLCP | BoxLCP):
        proven = status is not Status.UNSOLVABLE and evidence.proves(problem) and evidence.status(problem) is status
    elif isinstance(evidence, EnumerationResult) and isinstance(problem, LCP | MLCP | BoxLCP):
        proven = status is Status.UNSOLVABLE and evidence.proves(problem)
    return status if proven else Status.STALLED


def result_from_claim(
    problem: Judged, solver: Any, claim: Claim, tolerance: float, clock: float
) -> Result | MLCPResult:
    """Return the result of a claim; ``clock`` is the start time of the solve."""
    status, residual, z, w = verified_status(problem, claim, tolerance)
    z.flags.writeable = False
    w.flags.writeable = False
    if isinstance(problem, MLCP):
        attempts = claim.attempts or (attempt_from_claim(solver, claim, status, residual),)
        account = _account(solver, claim, status, residual, attempts, tolerance, clock)
        m = problem.n_free
        return MLCPResult(u=z[:m], y=z[m:], w=w, regularization=claim.regularization, **account)
    known = {
        "z": z,
        "w": w,
        "status": status,
        "iterations": claim.iterations,
        "residual": residual,
        "solver": solver if claim.solver is None else claim.solver,
        "regularization": claim.regularization,
        "evidence": None if status is Status.SOLVED else claim.evidence,
        "tolerance": tolerance,
        "trace": claim.trace,
    }
    if claim.attempts:
        known["attempts"] = claim.attempts
    return lazy_result(_ONLY_ATTEMPT, (solver, claim), known, clock)


_ONLY_ATTEMPT: Parts = {
    "attempts": lambda result, packed: (attempt_from_claim(packed[0], packed[1], result.status, result.residual),)
}


def attempt_from_claim(solver: Any, claim: Claim, status: Status, residual: Residuals) -> Attempt:
    """Return the attempt of a claim: its verified status and details, with a note if it denied a solution wrongly."""
    detail = claim.detail
    if claim.status in NO_SOLUTION_STATUSES and status is Status.STALLED:
        detail = f"{detail}; {claim.status.name} without evidence that holds".removeprefix("; ")
    return Attempt(solver, status, claim.iterations, residual, detail, _false(claim, status))


def _false(claim: Claim | FrictionClaim, status: Status) -> bool:
    return claim.status is Status.SOLVED and status is not Status.SOLVED


def horizontal_result(mixed: MLCPResult, clock: float) -> Result:
    """Return the result of a horizontal problem from its mixed form, with the same residuals and attempts.

    ``clock`` is the `time.perf_counter` at which the solution began.
    """
    account = {field.name: getattr(mixed, field.name) for field in fields(mixed) if field.name not in ("u", "y", "w")}
    return Result(z=mixed.y, w=mixed.u, **(account | {"solve_time": time.perf_counter() - clock}))


def nonlinear_result(problem: MCP, solver: Any, claim: Claim, tolerance: float, clock: float) -> MCPResult:
    """Return the result of a claim on a nonlinear problem; ``clock`` is the start time of the solve."""
    z = _owned(claim.z)
    w, residual = np.zeros(0), NOT_FINITE
    try:
        if np.isfinite(z).all():
            w = problem.value(z)
            residual = measure_nonlinear(problem, z, w, problem.derivative(z, w))
    except DomainError:
        pass  # the residual reports this
    status = _require_evidence(problem, status_of(claim.status, residual, tolerance), claim.evidence)
    z.flags.writeable = False
    w.flags.writeable = False
    attempts = (attempt_from_claim(solver, claim, status, residual),)
    account = _account(solver, claim, status, residual, attempts, tolerance, clock)
    return MCPResult(z=z, w=w, steps=getattr(claim, "steps", ()), **account)


def friction_attempt(problem: FrictionProblem, solver: Any, claim: FrictionClaim, tolerance: float) -> FrictionAttempt:
    """Return the attempt of a claim on a friction problem, with the status from its residuals."""
    residual = measure_friction(problem, _owned(claim.r))[0]
    return _friction_attempt(solver, claim, status_of(claim.status, residual, tolerance), residual)


def _friction_attempt(
    solver: Any, claim: FrictionClaim, status: Status, residual: FrictionResiduals
) -> FrictionAttempt:
    return FrictionAttempt(solver, status, claim.iterations, residual, claim.detail, _false(claim, status))


def friction_result(
    problem: FrictionProblem,
    reduction: FrictionReduction | None,
    solver: Any,
    claim: FrictionClaim,
    tolerance: float,
    clock: float,
) -> FrictionResult:
    """Return the result of a claim on ``problem`` (a global one reduced); ``clock`` is the start time of the solve."""
    r = _owned(claim.r)
    v = lam = None
    if reduction is None:
        residual, u = measure_friction(problem, r)
    else:
        v, lam, u, equations = reduction.motion(r)
        residual, u = measure_friction(problem, r, u, equations)
    status = status_of(claim.status, residual, tolerance)
    if reduction is not None and not reduction.consistent:
        status = Status.INCONSISTENT
    attempts = claim.attempts or (_friction_attempt(solver, claim, status, residual),)
    for vector in (r, u, v, lam):
        if vector is not None:
            vector.flags.writeable = False
    account = _account(solver, claim, status, residual, attempts, tolerance, clock)
    return FrictionResult(r=r, u=u, v=v, lam=lam if lam is not None and lam.size else None, **account)


def _owned(value: ArrayLike) -> Vector:
    """Return a copy of the vector of a claim, for a result."""
    return np.array(value, dtype=np.float64, order="C")


def _account(
    solver: Any,
    claim: Claim | FrictionClaim,
    status: Status,
    residual: ResidualsLike,
    attempts: tuple[Any, ...],
    tolerance: float,
    clock: float,
) -> dict[str, Any]:
    """Return the fields that results of all kinds have."""
    return {
        "status": status,
        "residual": residual,
        "attempts": attempts,
        "iterations": claim.iterations,
        "solver": solver if claim.solver is None else claim.solver,
        "solve_time": time.perf_counter() - clock,
        "evidence": None if status is Status.SOLVED else claim.evidence,
        "tolerance": tolerance,
        "trace": claim.trace,
    }
