"""Base classes of impact laws, checks of their parameters, and problem data with other normal terms."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Protocol, Self, runtime_checkable

import numpy as np

import lcp
from contactlab.impact.collision import Collision, ImpactProblem, Restitution, check_restitution, coefficients
from contactlab.impact.outcome import ImpactOutcome, solve_in_sequence
from contactlab.impact.single import Ending, SingleImpact
from contactlab.spatial.arrays import FloatArray
from contactlab.spatial.errors import ImpactError
from problem_data import ConstraintVelProblemData


@runtime_checkable
class ImpactLaw(Protocol):
    """An impact law: a frozen value that turns problem data into an outcome.

    A law of your own that takes no restitution of materials may derive from this class and write `title` and `solve`
    alone; one of a single collision derives from `SequentialLaw`.
    """

    @property
    def title(self) -> str:
        """Name for tables and messages."""
        ...

    def of_materials(self, restitution: Restitution) -> ImpactLaw:
        """Return the law for contacts whose materials have this restitution; itself if it does not use theirs."""
        return self

    def solve(self, data: ConstraintVelProblemData) -> ImpactOutcome:
        """Return velocity and impulses after the impact."""
        ...


@dataclass(frozen=True, eq=False)
class RestitutedLaw(ABC):
    """A law with coefficients of restitution; by default the coefficients of the materials."""

    restitution: Restitution | None = None

    title: ClassVar[str]

    def of_materials(self, restitution: Restitution) -> Self:
        """Return the law with the restitution of materials; itself if it has its own."""
        return self if self.restitution is not None else replace(self, restitution=restitution)

    @abstractmethod
    def solve(self, data: ConstraintVelProblemData) -> ImpactOutcome:
        """Return velocity and impulses after the impact of ``data``, whose Mv is the momentum before."""


@dataclass(frozen=True, eq=False)
class SequentialLaw(RestitutedLaw):
    """A law of a single collision, several contacts one after the other, the fastest first: `collide` is the law.

    Parameters
    ----------
    restitution : float, (nc,) or RestitutionLaw, optional
        Coefficient. Without it, the one of the materials, which event-driven runs know.
    max_collisions : int
        After which the outcome is `SEQUENCE_LIMIT`.
    """

    max_collisions: int = field(default=10_000, kw_only=True)

    #: Error of the energy that the arithmetic of ``collide`` explains, of the energy before.
    accuracy: ClassVar[float] = 1e-12

    def __post_init__(self) -> None:
        check_law(self.restitution, "sequential", self.max_collisions)

    def solve(self, data: ConstraintVelProblemData) -> ImpactOutcome:
        """Return velocity and impulses after the impact of ``data``, whose Mv is the momentum before.

        Raises `ImpactError`: data that the law does not fit.
        """
        restitution = given_restitution(self.restitution, self.title)
        found = solve_in_sequence(ImpactProblem(data, self.title), restitution, self.collide, self.max_collisions)
        return replace(found, accuracy=self.accuracy)

    @abstractmethod
    def collide(self, collision: Collision, u: FloatArray, e: float) -> SingleImpact:
        """Return the impact of one contact alone from its velocity u (1 + m,), u[0] < 0."""


@dataclass(frozen=True, eq=False)
class OrderedLaw(RestitutedLaw):
    """A law for all contacts together, or for one after the other, with the fields of `Newton` and `Poisson`."""

    order: Literal["simultaneous", "sequential"] = "simultaneous"
    solver: lcp.Solver | None = None
    max_collisions: int = 10_000

    ending: ClassVar[Ending]

    def solve(self, data: ConstraintVelProblemData) -> ImpactOutcome:
        """Return velocity and impulses after the impact of ``data``, whose Mv is the momentum before.

        Raises
        ------
        ImpactError
            Data that the law does not fit.
        ConstraintSolveError
            An LCP of the simultaneous law was not solved.
        """
        problem = ImpactProblem(data, f"{self.title}, {self.order}")
        if self.order == "simultaneous":
            return self._at_once(problem)
        restitution = given_restitution(self.restitution, self.title)
        return solve_in_sequence(problem, restitution, self.ending, self.max_collisions)

    @abstractmethod
    def _at_once(self, problem: ImpactProblem) -> ImpactOutcome:
        """Return the outcome of the simultaneous law."""


def check_law(restitution: Restitution | None, order: str, max_collisions: int) -> None:
    """Check the parameters that every law has."""
    if order not in ("simultaneous", "sequential"):
        raise ImpactError("order", f"must be 'simultaneous' or 'sequential', got {order!r}")
    if restitution is not None:
        check_restitution(restitution)
    try:
        count = operator.index(max_collisions)
    except TypeError as error:
        raise ImpactError("max_collisions", f"must be a whole number, got {max_collisions!r}") from error
    if count < 1:
        raise ImpactError("max_collisions", f"must be at least 1, got {count}")


def given_restitution(restitution: Restitution | None, title: str) -> Restitution:
    """Return the restitution of a law; raise if it has none because only materials would have one."""
    if restitution is None:
        detail = "event-driven runs take that of the materials, and only Newton's simultaneous law kN of the data"
        raise ImpactError("restitution", f"{title}'s law was given none: {detail}")
    return restitution


def with_normal_terms(
    data: ConstraintVelProblemData, kN: FloatArray, Mv: FloatArray | None = None, v_free: FloatArray | None = None
) -> ConstraintVelProblemData:
    """Return the problem with other normal terms kN (nc,) and, if given, another momentum and its velocity."""
    blocks = data.blocks()
    k = blocks.k.copy()
    k[: blocks.nc] = kN
    changed = blocks._replace(k=k)
    if Mv is not None and v_free is not None:
        changed = changed._replace(Mv=Mv, v_free=v_free)
    return ConstraintVelProblemData.from_blocks(changed, solve_inertia=data.solve_inertia, friction=data.friction)


def with_newtons_terms(problem: ImpactProblem, restitution: Restitution) -> ConstraintVelProblemData:
    """Return the problem with kN = e N v- of the contacts that approach."""
    u = problem.blocks.J[: problem.data.nc] @ problem.v_minus
    e = coefficients(restitution, np.maximum(0.0, -u))
    return with_normal_terms(problem.data, e * np.minimum(0.0, u))
