"""Stronge's law: the normal work of restitution is e^2 times that of compression, with the other sign.

One contact by its impulse course; several compressed all at once, by stiffness, or one after the other. No friction and
no geometry makes it gain energy: what restitution gives back, compression has taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from contactlab.impact.collision import ImpactProblem
from contactlab.impact.compression import solve_compressed
from contactlab.impact.errors import ImpactError
from contactlab.impact.law import RestitutedLaw, check_law, given_restitution
from contactlab.impact.outcome import ImpactOutcome
from contactlab.impact.sequence import separate_course, solve_in_sequence
from contactlab.spatial.arrays import FloatArray, finite_number
from problem_data import ConstraintVelProblemData


@dataclass(frozen=True, eq=False)
class Stronge(RestitutedLaw):
    """Energetic restitution.

    Parameters
    ----------
    restitution : float, (nc,) or RestitutionLaw, optional
        Coefficient. Without it, that of the materials, which event-driven runs know. The data's kN is not used.
    order : {"simultaneous", "sequential"}
        All contacts are compressed at once and share the work by their stiffness (Liu, Zhao and Brogliato); or they
        collide one after the other, the fastest first, which breaks what symmetry the contacts have.
    max_collisions : int
        Of the sequential law.
    stiffness : float or (nc,)
        Stiffness of the contacts relative to one another, of the simultaneous law.
    exponent : float
        Of force over compression: 3/2 for round bodies (Hertz), 1 for springs. A chain of steel balls is
        ``Stronge(1.0)``.

    Raises
    ------
    ImpactError
        A parameter out of its range.

    References
    ----------
    W. J. Stronge, Rigid body collisions with friction, Proc. R. Soc. A 431 (1990); Impact Mechanics (2000), chapter 3.
    C. Liu, Z. Zhao, B. Brogliato, Frictionless multiple impacts in multibody systems, Proc. R. Soc. A 464 (2008).

    Examples
    --------
    Three steel balls in a row, the first arriving at 1 m/s: it comes back a little, and the second follows the third.

    >>> import numpy as np
    >>> from problem_data import ConstraintVelProblemData
    >>> row = ConstraintVelProblemData(M=np.eye(3), Mv=[1, 0, 0], N=[[-1, 1, 0], [0, -1, 1]], kN=[0, 0])
    >>> Stronge(1.0).solve(row).v_plus.round(6)
    array([-0.070952,  0.076403,  0.994549])
    """

    order: Literal["simultaneous", "sequential"] = "simultaneous"
    max_collisions: int = 10_000
    stiffness: ArrayLike = 1.0
    exponent: float = 1.5

    title: ClassVar[str] = "Stronge"

    def __post_init__(self) -> None:
        check_law(self.restitution, self.order, self.max_collisions)
        stiffness = np.array(self.stiffness, dtype=np.float64)
        if stiffness.ndim > 1 or not (np.isfinite(stiffness).all() and (stiffness > 0.0).all()):
            raise ImpactError("stiffness", f"must be positive, a number or one per contact, got {self.stiffness!r}")
        object.__setattr__(self, "exponent", finite_number(self.exponent, "exponent", ImpactError))
        if self.exponent < 1.0:
            raise ImpactError("exponent", f"must be at least 1, got {self.exponent}")

    def solve(self, data: ConstraintVelProblemData) -> ImpactOutcome:
        """Return velocity and impulses after the impact of ``data``, whose Mv is the momentum before.

        Raises
        ------
        ImpactError
            Data that the law does not fit.
        """
        restitution = given_restitution(self.restitution, self.title)
        problem = ImpactProblem(data, f"{self.title}, {self.order}")
        if self.order == "sequential":
            return solve_in_sequence(problem, restitution, "stronge", self.max_collisions)
        stiffness = self._stiffness(problem.blocks.nc)
        alone = separate_course(problem, restitution, "stronge", self.max_collisions)
        return solve_compressed(problem, restitution, stiffness, self.exponent) if alone is None else alone

    def _stiffness(self, nc: int) -> FloatArray:
        stiffness = np.array(self.stiffness, dtype=np.float64)
        if stiffness.ndim and stiffness.size != nc:
            raise ImpactError("stiffness", f"has {stiffness.size} entries for {nc} contacts")
        return np.full(nc, float(stiffness)) if stiffness.ndim == 0 else stiffness / stiffness.max(initial=1e-300)
