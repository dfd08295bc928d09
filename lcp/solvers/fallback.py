"""Try one solver after another until a solution is verified or proven not to exist."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from lcp.clock import processor_seconds, within
from lcp.dispatch import claim_of, nearest_zero
from lcp.errors import ProblemError
from lcp.judge import DENIALS, attempt_of, verdict
from lcp.method import Method, Request
from lcp.options import check_positive, check_solver
from lcp.residuals import Problem, measure
from lcp.result import Attempt, Claim
from lcp.status import Status
from lcp.traits import Traits


@dataclass(frozen=True, init=False)
class Fallback(Method[Problem]):
    """Try solvers in order; the first verified solution, or the first proof that there is none, ends it.

    Every attempt is measured on the original data and kept in ``Result.attempts``. Without a solution the result is the
    one of the first solver that applied to the problem (was not UNSUITABLE). Each kind of problem is passed to each
    solver as by `lcp.solve`.

    Parameters
    ----------
    *solvers
        One or more solver objects.
    time_limit
        CPU seconds for all solvers together; each may use the remaining time, if this is less than its limit.
    """

    solvers: tuple[Any, ...]
    time_limit: float

    traits: ClassVar[Traits] = Traits.WARM_START | Traits.MIXED | Traits.BOXED | Traits.SPARSE

    def __init__(self, *solvers: Any, time_limit: float = 600.0) -> None:
        if not solvers:
            raise ProblemError("Fallback needs at least one solver")
        for i, solver in enumerate(solvers):
            check_solver(f"Fallback: solver {i}", solver)
        object.__setattr__(self, "solvers", solvers)
        object.__setattr__(self, "time_limit", time_limit)
        check_positive(self, "time_limit")

    def _claim(self, problem: Problem, request: Request) -> Claim:
        deadline = processor_seconds() + self.time_limit
        attempts: list[Attempt] = []
        spent = 0
        kept: Claim | None = None
        for solver in self.solvers:
            claim = claim_of(problem, within(solver, deadline - processor_seconds()), request)
            status, residual, z, _ = verdict(problem, solver, claim, request.tolerance)
            spent += claim.iterations
            attempts.extend(claim.attempts or (attempt_of(solver, claim, status, residual),))
            # Proofs: no other solver can do better.
            done = status is Status.SOLVED or status in DENIALS
            if done or kept is None or kept.status is Status.UNSUITABLE:
                by = solver if claim.solver is None else claim.solver
                kept = Claim(z, status, 0, claim.detail, claim.evidence, claim.regularization, claim.trace, (), by)
            if done or processor_seconds() > deadline:
                break
            if status is Status.NOT_FINITE and not measure(problem, nearest_zero(problem))[0].finite:
                kept = replace(kept, detail=f"{kept.detail}; numbers beyond double precision".removeprefix("; "))
                break
        assert kept is not None
        return replace(kept, iterations=spent, attempts=tuple(attempts))
