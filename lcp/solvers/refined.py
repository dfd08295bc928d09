"""Polish the result of any solver on its active set."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from lcp.dispatch import claim_of
from lcp.method import Method, Request
from lcp.options import check_solver, whole
from lcp.polish.active_set import refine
from lcp.residuals import Problem
from lcp.result import Claim
from lcp.solvers.lemke import Lemke
from lcp.status import Status
from lcp.traits import Traits


@dataclass(frozen=True)
class Refined(Method[Problem]):
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
    rounds: int = whole(5, least=1)

    traits: ClassVar[Traits] = Traits.WARM_START | Traits.MIXED | Traits.BOXED | Traits.SPARSE

    def __post_init__(self) -> None:
        super().__post_init__()
        check_solver("Refined.inner", self.inner)

    def _claim(self, problem: Problem, request: Request) -> Claim:
        claim = claim_of(problem, self.inner, request)
        better = refine(problem, claim.z, request.tolerance, self.rounds)
        if better is None or better is claim.z:
            return claim
        detail = "; ".join(part for part in (claim.detail, "polished on the active set") if part)
        return replace(claim, z=better, status=Status.SOLVED, detail=detail, attempts=())
