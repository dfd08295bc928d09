"""Solvers made of other solvers: on M + s I for growing s, polished on an active set, or one after another."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from lcp.claims import NO_SOLUTION_STATUSES, attempt_from_claim, verified_status
from lcp.dispatch import call_any_solver, project_zero
from lcp.errors import ProblemError
from lcp.interruptible import cpu_seconds
from lcp.method import SolverBase, SolveRequest, Traits, with_time_limit
from lcp.options import bool_option, check_positive, check_solver, integer_option, number, positive_option
from lcp.polish.active_set import refine
from lcp.problem import LCP
from lcp.residuals import Problem, measure, verified
from lcp.result import Attempt, Claim
from lcp.solvers.lemke import Lemke
from lcp.status import Status


@dataclass(frozen=True)
class Regularized(SolverBase[LCP]):
    """Solve with M + 10^e max|M| I for one exponent e after another until the answer solves the original problem.

    The shift makes singular pivots small ones and a positive semidefinite M definite. Its solution is only a start:
    unchanged, or polished on its active set from the original data, it must solve the original problem. Otherwise the
    next exponent is tried. ``Result.regularization`` is the shift with which z was found.

    Parameters
    ----------
    inner
        Solver of the shifted problems.
    exponents
        Powers of ten, in units of the largest |M_ij| (1 for M = 0), tried in this order.
    plain_first
        Try without a shift first.
    polish
        Polish on the active set, see `Refined`.
    time_limit
        Seconds after which no further shift is tried; each try has the limit of the inner solver.

    References
    ----------
    R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), section 5.6 (Tikhonov).
    """

    inner: Any = field(default_factory=Lemke)
    exponents: tuple[float, ...] = (-14.0, -12.0, -10.0, -8.0, -6.0, -4.0, -2.0, 0.0)
    plain_first: bool = bool_option(True)
    polish: bool = bool_option(True)
    time_limit: float = positive_option(120.0)

    traits: ClassVar[Traits] = Traits.WARM_START | Traits.SPARSE

    def __post_init__(self) -> None:
        super().__post_init__()
        check_solver("Regularized.inner", self.inner)
        given: Any = self.exponents  # whatever the caller's types say
        if not isinstance(given, Iterable):
            raise ProblemError(f"Regularized.exponents must be numbers, got {given!r}")
        given = tuple(given)
        exponents = tuple(number(e) for e in given)
        for i, (e, value) in enumerate(zip(exponents, given, strict=True)):
            if not isinstance(value, numbers.Real):
                raise ProblemError(f"Regularized.exponents must be numbers, got {given!r}")
            if not abs(e) <= 100.0:
                raise ProblemError(f"Regularized.exponents[{i}] = {value} must lie in [-100, 100]")
        if not exponents:
            raise ProblemError("Regularized.exponents is empty")
        object.__setattr__(self, "exponents", exponents)

    def _claim(self, problem: LCP, request: SolveRequest) -> Claim:
        size = float(abs(problem._M).max()) if problem.n else 0.0
        scale = size if size > 0.0 else 1.0
        shifts = [0.0] if self.plain_first else []
        shifts += [10.0**e * scale for e in self.exponents]
        deadline = cpu_seconds() + self.time_limit
        spent = 0
        best: Claim | None = None
        least = math.inf
        for tried, shift in enumerate(shifts):
            if best is not None and cpu_seconds() > deadline:
                # A proof for the plain problem stays valid.
                status = best.status if best.evidence is not None else Status.ITERATION_LIMIT
                detail = f"time limit; no answer under {tried} of {len(shifts)} shifts"
                return replace(best, status=status, iterations=spent, detail=detail, attempts=())
            claim = call_any_solver(
                _shifted(problem, shift), with_time_limit(self.inner, deadline - cpu_seconds()), request
            )
            spent += claim.iterations
            answer = self._verified(problem, claim, shift, request.tolerance)
            if answer is not None:
                detail = "no shift needed" if shift == 0.0 else f"shift {shift:.1e}"
                return replace(answer, iterations=spent, detail=detail, regularization=shift, attempts=())
            # A proof for a shifted problem is not a proof for the original one.
            status = claim.status if shift == 0.0 or claim.status in _OF_THE_PATH else Status.STALLED
            evidence = claim.evidence if shift == 0.0 else None
            # An answer of size 1 / shift leaves a residual within rounding of M z: it must not pass for a solution.
            drowned = not np.isfinite(claim.z).all() or measure(problem, claim.z)[0].solved(request.tolerance)
            z = np.zeros(problem.n) if drowned else claim.z
            natural = measure(problem, z)[0].natural_map
            if best is None or natural < least:
                best, least = replace(claim, z=z, status=status, evidence=evidence, regularization=shift), natural
        assert best is not None
        return replace(best, iterations=spent, detail=f"no answer under {len(shifts)} shifts", attempts=())

    def _verified(self, problem: LCP, claim: Claim, shift: float, tolerance: float) -> Claim | None:
        """Return the claim if it solves the original problem, polished if necessary, or None."""
        if shift == 0.0 and np.isfinite(claim.z).all() and measure(problem, claim.z)[0].solved(tolerance):
            return replace(claim, status=Status.SOLVED)
        if shift == 0.0 and claim.status not in (Status.SOLVED, Status.STALLED):
            return None
        if verified(problem, claim.z, tolerance):
            return replace(claim, status=Status.SOLVED)
        z = refine(problem, claim.z, tolerance) if self.polish else None
        return None if z is None else replace(claim, z=z, status=Status.SOLVED)


_OF_THE_PATH = (
    Status.RAY_TERMINATION,
    Status.ITERATION_LIMIT,
    Status.SINGULAR_BASIS,
    Status.NOT_FINITE,
    Status.UNSUITABLE,
)


def _shifted(problem: LCP, shift: float) -> LCP:
    if shift == 0.0:
        return problem
    if problem.sparse:
        from scipy import sparse

        return LCP(problem._M + shift * sparse.eye_array(problem.n, format="csr"), problem._q, problem._q_uncertainty)
    return LCP(problem._M + shift * np.eye(problem.n), problem._q, problem._q_uncertainty)


@dataclass(frozen=True)
class Refined(SolverBase[Problem]):
    """Polish the answer of a first-order or interior method to the last digits.

    The unknowns with z_i > w_i (in equilibrated units) are assumed positive and their rows are solved from the original
    data, in a few rounds. If the result is not a verified solution, it is discarded and the inner claim is returned.

    Parameters
    ----------
    inner
        Solver whose solution is polished.
    rounds
        Limit on active sets.
    """

    inner: Any = field(default_factory=Lemke)
    rounds: int = integer_option(5, least=1)

    traits: ClassVar[Traits] = Traits.WARM_START | Traits.MIXED | Traits.BOXED | Traits.SPARSE

    def __post_init__(self) -> None:
        super().__post_init__()
        check_solver("Refined.inner", self.inner)

    def _claim(self, problem: Problem, request: SolveRequest) -> Claim:
        claim = call_any_solver(problem, self.inner, request)
        better = refine(problem, claim.z, request.tolerance, self.rounds)
        if better is None or better is claim.z:
            return claim
        detail = "; ".join(part for part in (claim.detail, "polished on the active set") if part)
        return replace(claim, z=better, status=Status.SOLVED, detail=detail, attempts=())


@dataclass(frozen=True, init=False)
class Fallback(SolverBase[Problem]):
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

    def _claim(self, problem: Problem, request: SolveRequest) -> Claim:
        deadline = cpu_seconds() + self.time_limit
        attempts: list[Attempt] = []
        spent = 0
        kept: Claim | None = None
        for solver in self.solvers:
            claim = call_any_solver(problem, with_time_limit(solver, deadline - cpu_seconds()), request)
            status, residual, z, _ = verified_status(problem, solver, claim, request.tolerance)
            spent += claim.iterations
            attempts.extend(claim.attempts or (attempt_from_claim(solver, claim, status, residual),))
            # Proofs: no other solver can do better.
            done = status is Status.SOLVED or status in NO_SOLUTION_STATUSES
            if done or kept is None or kept.status is Status.UNSUITABLE:
                by = solver if claim.solver is None else claim.solver
                kept = Claim(z, status, 0, claim.detail, claim.evidence, claim.regularization, claim.trace, (), by)
            if done or cpu_seconds() > deadline:
                break
            if status is Status.NOT_FINITE and not measure(problem, project_zero(problem))[0].finite:
                kept = replace(kept, detail=f"{kept.detail}; numbers beyond double precision".removeprefix("; "))
                break
        assert kept is not None
        return replace(kept, iterations=spent, attempts=tuple(attempts))
