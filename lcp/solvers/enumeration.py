"""Enumeration of all complementary bases, for small problems, and the linear program that decides feasibility."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from lcp.analysis.exact import Branching
from lcp.claims import claim_size
from lcp.conversions import box_to_mlcp
from lcp.dispatch import inconsistent_claim
from lcp.enumeration import BasisSearch
from lcp.farkas import EXACT, feasible_point, infeasibility_proof, solve_integer_program, to_mlcp
from lcp.method import MONOTONE, SolverBase, SolveRequest, Traits, integer_option, positive_option
from lcp.polish import at_bounds, refine_boxed
from lcp.problem import LCP, MLCP, BoxLCP
from lcp.reduction import reduce
from lcp.residuals import Problem
from lcp.result import Claim
from lcp.status import Status

# Limit on linear programs in integers, after which a basis is called undecided.
_SECONDS = 5.0


@dataclass(frozen=True)
class Enumeration(SolverBase[Problem]):
    """Try all 2^n complementary bases; find a solution of any problem of few pairs, or prove that it has none.

    The result is SOLVED with the first solution; regular bases are tried before singular ones. Otherwise it is
    INFEASIBLE with a verified Farkas vector, or UNSOLVABLE with the `EnumerationResult` list as evidence. For a larger
    problem only infeasibility is decided, by one linear program; otherwise it is UNSUITABLE. `lcp.enumerate_solutions`
    returns all solutions.

    Parameters
    ----------
    max_n
        Largest number of pairs, at most 24; an unknown with two bounds counts twice.
    time_limit
        Seconds for each linear program.

    References
    ----------
    K. G. Murty, Linear Complementarity, Linear and Nonlinear Programming (1988), section 1.4.
    """

    max_n: int = integer_option(16, most=24)
    time_limit: float = positive_option(60.0)

    traits: ClassVar[Traits] = MONOTONE | Traits.P_MATRIX | Traits.COPOSITIVE | Traits.MIXED | Traits.BOXED

    def _claim(self, problem: Problem, request: SolveRequest) -> Claim:
        """Try the bases until one is a solution; ``z0`` and ``trace`` are ignored."""
        if isinstance(problem, BoxLCP):
            conversion = box_to_mlcp(problem)
            claim = self.solve(conversion.problem, tolerance=request.tolerance)
            z = at_bounds(problem, conversion.recover(claim.z), request.tolerance)
            better = refine_boxed(problem, z, request.tolerance) if claim.status is Status.SOLVED else None
            return replace(claim, z=z if better is None else better)
        if isinstance(problem, MLCP) and not (reduction := reduce(problem)).consistent:
            return inconsistent_claim(reduction)
        if problem.n > self.max_n:
            detail = f"2^n bases: n = {problem.n} exceeds max_n = {self.max_n}"
            return _by_linear_program(problem, self.time_limit, detail)
        search = BasisSearch(problem, request.tolerance)
        for stage in (search.regular, search.singular):
            for z in stage():
                return Claim(z.copy(), Status.SOLVED, 1 << problem.n)
        size = claim_size(problem)
        exact = solve_integer_program(to_mlcp(problem), min(_SECONDS, self.time_limit)) if size <= EXACT else None
        if exact is not None and exact.found is not None:
            return Claim(exact.found, Status.SOLVED, exact.nodes, "in exact arithmetic")
        return self._none(problem, search, exact)

    def _none(self, problem: LCP | MLCP, search: BasisSearch, exact: Branching | None) -> Claim:
        """Return the claim after no basis was a solution.

        It has a proof of infeasibility if a linear program gives one. It is UNSOLVABLE, with the feasible point as z,
        if the enumeration was complete and the problem is feasible. Otherwise it is STALLED.
        """
        enumerated = search.summary()
        proof = infeasibility_proof(problem, self.time_limit)
        if proof is not None:
            return Claim(np.zeros(claim_size(problem)), proof.status(problem), enumerated.bases, evidence=proof)
        if exact is not None and exact.complete:
            point = exact.feasible
            enumerated = replace(enumerated, complete=True)
        else:
            point = feasible_point(problem, self.time_limit)
        if point is not None and enumerated.complete:
            return Claim(point, Status.UNSOLVABLE, enumerated.bases, evidence=enumerated)
        detail = (
            "feasibility undecided to working precision"
            if enumerated.complete
            else "a basis within rounding of a solution, or too many singular ones"
        )
        return Claim(np.zeros(claim_size(problem)), Status.STALLED, enumerated.bases, detail, evidence=enumerated)


@dataclass(frozen=True)
class Feasibility(SolverBase[Problem]):
    """Solve one linear program to decide whether any z >= 0 has M z + q >= 0, with a proof if there is none.

    The status is INFEASIBLE (for an `MLCP` also INCONSISTENT) with a Farkas vector that was verified on the data of the
    problem. Otherwise it is UNSUITABLE: the problem is feasible, or not decided. Use it after a solver that ended in a
    ray.

    Parameters
    ----------
    max_n
        Largest number of pairs.
    time_limit
        Seconds for the linear program, in wall time of its solver.

    References
    ----------
    R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), theorem 2.7.9 (Farkas).
    """

    max_n: int = integer_option(3000)
    time_limit: float = positive_option(60.0)

    traits: ClassVar[Traits] = Traits.MIXED | Traits.BOXED

    def _claim(self, problem: Problem, request: SolveRequest) -> Claim:
        """Solve the linear program; ``z0``, ``tolerance`` and ``trace`` are ignored."""
        if problem.n > self.max_n:
            detail = f"n = {problem.n} exceeds max_n = {self.max_n} of the proof"
            return Claim(np.zeros(claim_size(problem)), Status.UNSUITABLE, 0, detail)
        return _by_linear_program(problem, self.time_limit, "not proved infeasible")


def _by_linear_program(problem: Problem, time_limit: float, otherwise: str) -> Claim:
    """Return the claim with a proof by a linear program, or UNSUITABLE with the detail ``otherwise``."""
    proof, zero = infeasibility_proof(problem, time_limit), np.zeros(claim_size(problem))
    if proof is None:
        return Claim(zero, Status.UNSUITABLE, 0, otherwise)
    return Claim(zero, proof.status(problem), 0, "linear program", evidence=proof)
