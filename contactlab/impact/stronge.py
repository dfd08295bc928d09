"""Stronge's law: the normal work of restitution is e^2 times that of compression, with the other sign.

One contact by its impulse course, several one after the other. No friction and no geometry makes it gain energy: what
restitution gives back, compression has taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from contactlab.impact.collision import ImpactProblem
from contactlab.impact.errors import ImpactError
from contactlab.impact.law import check_law
from contactlab.impact.outcome import ImpactOutcome
from contactlab.impact.restitution import Restitution
from contactlab.impact.sequence import solve_in_sequence
from problem_data import ConstraintVelProblemData


@dataclass(frozen=True, eq=False)
class Stronge:
    """Energetic restitution.

    Parameters
    ----------
    restitution : float, (nc,) or RestitutionLaw
        Coefficient; a contact that does not approach has none. The data's kN is not used.
    order : {"sequential"}
        Contacts collide one after the other, the fastest first.
    max_collisions : int
        Collisions in all.

    Raises
    ------
    ImpactError
        A parameter out of its range.

    References
    ----------
    W. J. Stronge, Rigid body collisions with friction, Proc. R. Soc. A 431 (1990); Impact Mechanics (2000), chapter 3.
    """

    restitution: Restitution
    order: Literal["sequential"] = "sequential"
    max_collisions: int = 10_000

    title: ClassVar[str] = "Stronge"

    def __post_init__(self) -> None:
        check_law(self.restitution, self.order, self.max_collisions)
        if self.order != "sequential":
            raise ImpactError("order", "must be 'sequential': the work of compression is that of one contact's course")

    def solve(self, data: ConstraintVelProblemData) -> ImpactOutcome:
        """Return velocity and impulses after the impact of ``data``, whose Mv is the momentum before.

        Raises
        ------
        ImpactError
            Data that the law does not fit.
        """
        problem = ImpactProblem(data, f"{self.title}, {self.order}")
        return solve_in_sequence(problem, self.restitution, "stronge", self.max_collisions)
