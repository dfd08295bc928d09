"""Not a method of solution but of proof: one linear program that asks whether anything is feasible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lcp.farkas import infeasibility_proof
from lcp.judge import unknowns
from lcp.method import Method, Request
from lcp.options import positive, whole
from lcp.residuals import Problem
from lcp.result import Claim
from lcp.status import Status
from lcp.traits import Traits


@dataclass(frozen=True)
class Feasibility(Method[Problem]):
    """Ask one linear program whether any z >= 0 has M z + q >= 0, and prove it where none has.

    Ends in INFEASIBLE (of an `MLCP` also INCONSISTENT) with a Farkas vector that was checked on the problem's own data,
    otherwise in UNSUITABLE: feasible, or not decided. It belongs behind a solver that ended in a ray.

    Parameters
    ----------
    max_n
        Pairs beyond which it is not tried.
    time_limit
        Seconds for the linear program, by the clock of its solver.

    References
    ----------
    R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), theorem 2.7.9 (Farkas).
    """

    max_n: int = whole(3000)
    time_limit: float = positive(60.0)

    traits: ClassVar[Traits] = Traits.MIXED | Traits.BOXED

    def _claim(self, problem: Problem, request: Request) -> Claim:
        """Solve the linear program; ``z0``, ``tolerance`` and ``trace`` are ignored."""
        zero = np.zeros(unknowns(problem))
        if problem.n > self.max_n:
            return Claim(zero, Status.UNSUITABLE, 0, f"n = {problem.n} exceeds max_n = {self.max_n} of the proof")
        proof = infeasibility_proof(problem, self.time_limit)
        if proof is None:
            return Claim(zero, Status.UNSUITABLE, 0, "not proved infeasible")
        return Claim(zero, proof.status(problem), 0, "linear program", evidence=proof)
