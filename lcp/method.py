"""The frame of every solver of complementarity problems: one signature, checked options, traits and limits of time."""

from __future__ import annotations

import dataclasses
import enum
from abc import abstractmethod
from typing import Any, Generic, NamedTuple, TypeVar

from lcp.arrays import Vector
from lcp.options import Options, replace_fields
from lcp.residuals import DEFAULT_TOLERANCE
from lcp.result import Claim


class Traits(enum.Flag):
    """Classes of problems a solver is proven for, and abilities.

    BIMATRIX_GAME is M = [[0, A], [B^T, 0]] with A, B > 0 and q < 0, FINITE_BOX a `BoxLCP` with finite bounds and any M,
    which both have solutions always; the other classes are of M alone. A solver proven for a class finds a solution of
    every solvable problem with such an M (of copositive ones where q lies in the dual range, as in frictional contact),
    rounding and iteration limits apart.
    """

    POSITIVE_DEFINITE = enum.auto()
    POSITIVE_SEMIDEFINITE = enum.auto()
    P_MATRIX = enum.auto()
    COPOSITIVE = enum.auto()
    SYMMETRIC_POSITIVE_DEFINITE = enum.auto()
    SYMMETRIC_POSITIVE_SEMIDEFINITE = enum.auto()
    H_PLUS = enum.auto()
    BIMATRIX_GAME = enum.auto()
    FINITE_BOX = enum.auto()
    WARM_START = enum.auto()
    SPARSE = enum.auto()
    MIXED = enum.auto()
    BOXED = enum.auto()
    # Solves friction problems (exact cones), and nothing else.
    CONE = enum.auto()
    # Solves nonlinear problems (`NCP`, `MCP`), and nothing else.
    NONLINEAR = enum.auto()


#: Classes that solvers are often proven for together.
MONOTONE = Traits.POSITIVE_DEFINITE | Traits.POSITIVE_SEMIDEFINITE
SYMMETRIC_MONOTONE = Traits.SYMMETRIC_POSITIVE_DEFINITE | Traits.SYMMETRIC_POSITIVE_SEMIDEFINITE

_CONTAINED_IN = {
    Traits.SYMMETRIC_POSITIVE_DEFINITE: Traits.SYMMETRIC_POSITIVE_SEMIDEFINITE | Traits.POSITIVE_DEFINITE,
    Traits.SYMMETRIC_POSITIVE_SEMIDEFINITE: Traits.POSITIVE_SEMIDEFINITE,
    Traits.POSITIVE_DEFINITE: Traits.POSITIVE_SEMIDEFINITE | Traits.P_MATRIX,
    Traits.POSITIVE_SEMIDEFINITE: Traits.COPOSITIVE,
    Traits.H_PLUS: Traits.P_MATRIX,
}


def implied(classes: Traits) -> Traits:
    """The classes a matrix of the given classes belongs to, those included (Cottle, Pang and Stone 1992, chapter 3)."""
    closed = Traits(0)
    while closed != classes:
        closed = classes
        for inner, outer in _CONTAINED_IN.items():
            if closed & inner:
                classes |= outer
    return closed


#: Kind of problem.
P_contra = TypeVar("P_contra", contravariant=True)


class SolveRequest(NamedTuple):
    """What is asked of one solve: the start or None, the bound on the scaled residual, whether to keep a trace."""

    z0: Vector | None
    tolerance: float
    trace: bool


class SolverBase(Options, Generic[P_contra]):
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
        return self._claim(problem, SolveRequest(z0, tolerance, trace))

    @abstractmethod
    def _claim(self, problem: P_contra, request: SolveRequest) -> Claim: ...


def with_time_limit(solver: Any, seconds: float) -> Any:
    """The solver, and those in its fields, with limits of time of at most so many seconds; itself where they are."""
    if not dataclasses.is_dataclass(solver) or not hasattr(solver, "solve"):
        return solver
    changed: dict[str, Any] = {}
    for field in dataclasses.fields(solver):
        value = getattr(solver, field.name)
        if field.name == "time_limit":
            if isinstance(value, float) and value > seconds:
                changed[field.name] = max(seconds, 1e-9)
        elif (inner := with_time_limit(value, seconds)) is not value:
            changed[field.name] = inner
    return replace_fields(solver, changed) if changed else solver
