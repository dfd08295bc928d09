"""The frame of every solver of complementarity problems: one signature, options checked at construction."""

from __future__ import annotations

from abc import abstractmethod
from typing import Generic, NamedTuple, TypeVar

from lcp.arrays import Vector
from lcp.options import Options
from lcp.residuals import DEFAULT_TOLERANCE
from lcp.result import Claim

#: Kind of problem.
P_contra = TypeVar("P_contra", contravariant=True)


class Request(NamedTuple):
    """What is asked of one solve: the start or None, the bound on the scaled residual, whether to keep a trace."""

    z0: Vector | None
    tolerance: float
    trace: bool


class Method(Options, Generic[P_contra]):
    """A solver of problems of one kind; a method has its options as fields, its ``traits``, and `_claim`.

    One that has a plain problem's whole solve compiled in one piece, verdict included, has it as ``_solve_and_verify``
    beside: of a problem, a start or None and a tolerance the result, or None where `_claim` is to be asked.
    """

    def solve(
        self,
        problem: P_contra,
        *,
        z0: Vector | None = None,
        tolerance: float = DEFAULT_TOLERANCE,
        trace: bool = False,
    ) -> Claim:
        """The method's claim on a problem; `lcp.solve` checks the arguments and verifies the claim.

        Parameters
        ----------
        problem
            Of the kind that the method is for.
        z0
            Start; methods whose ``traits`` do not say WARM_START ignore it.
        tolerance
            Bound on the scaled residual of a solution.
        trace
            Keep one number per iteration, where the method can.
        """
        return self._claim(problem, Request(z0, tolerance, trace))

    @abstractmethod
    def _claim(self, problem: P_contra, request: Request) -> Claim: ...
