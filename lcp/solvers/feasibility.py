"""One linear program that decides feasibility: it proves, but does not solve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lcp.farkas import infeasibility_proof
from lcp.judge import unknowns
from lcp.method import Method, Request, Traits
from lcp.options import positive, whole
from lcp.residuals import Problem
from lcp.result import Claim
from lcp.status import Status


@dataclass(frozen=True)
class Feasibility(Method[Problem]):
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
