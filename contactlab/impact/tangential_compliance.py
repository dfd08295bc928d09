"""Stronge's law with a tangential spring: slip may turn round, as of rubber balls, and friction comes and goes.

Contacts give way along the normal and along the tangent. While the tangential spring pulls by less than mu times the
push it holds, and gives back what it took; else it slides. Normal restitution is energetic, so that no geometry makes
the law gain energy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from contactlab.impact.collision import Collision
from contactlab.impact.impulse_path import NoSeparationError
from contactlab.impact.law import SequentialLaw
from contactlab.impact.single import SingleImpact
from contactlab.spatial.arrays import FloatArray, finite_number
from contactlab.spatial.errors import ImpactError

# Part of the springs' own time that a step takes: the energy is then right to the accuracy below.
_RESOLUTION, _MOST_STEPS = 1e-3, 2_000_000


@dataclass(frozen=True, eq=False)
class TangentialCompliance(SequentialLaw):
    """Energetic restitution and a tangential spring, several contacts one after the other.

    Parameters
    ----------
    restitution : float, (nc,) or RestitutionLaw, optional
        Root of the ratio of normal works. Without it, the one of the materials.
    stiffness_ratio : float
        eta^2, normal over tangential stiffness: (2 - nu) / (2 (1 - nu)) between bodies of Poisson's ratio nu, 1.21 for
        nu = 0.3. Large, the spring takes little; at 0 friction would hold at once, as of Coulomb.
    max_collisions : int
        As of the sequential laws.

    Raises
    ------
    ImpactError
        A parameter out of its range.

    References
    ----------
    W. J. Stronge, Planar impact of rough compliant bodies, Int. J. Impact Engineering 15 (1994); Impact Mechanics
    (2000), chapter 5; N. Maw, J. R. Barber, J. N. Fawcett, The oblique impact of elastic spheres, Wear 38 (1976).

    Examples
    --------
    A ball, whose slip W_tt / W_nn = 7/2 makes 7/2 times as easy to change as its fall: with the same ratio of
    stiffnesses both springs swing together, and the ball is a superball.

    >>> import numpy as np
    >>> from problem_data import ConstraintVelProblemData
    >>> M = np.diag([1.0, 1.0, 0.4])
    >>> ball = ConstraintVelProblemData(M=M, Mv=M @ [0.5, -1, 0], N=[[0, 1, 0]], F=[[1, 0, 1]], mu=[2.0], r=[1])
    >>> after = TangentialCompliance(1.0, 3.5).solve(ball).v_plus
    >>> float((after[0] + after[2]).round(5)), float(after[1].round(5))
    (-0.5, 1.0)
    """

    stiffness_ratio: float = 1.21

    title: ClassVar[str] = "Tangential compliance"
    accuracy: ClassVar[float] = 1e-5

    def __post_init__(self) -> None:
        super().__post_init__()
        ratio = finite_number(self.stiffness_ratio, "stiffness_ratio", ImpactError, positive=True)
        object.__setattr__(self, "stiffness_ratio", ratio)

    def collide(self, collision: Collision, u: FloatArray, e: float) -> SingleImpact:
        """Return the impact of one contact alone."""
        from contactlab.impact.kernels.tangential_compliance import solve_two_springs

        n = len(u)
        W, after, p, work = np.zeros((1, 3, 3)), np.zeros((1, 3)), np.zeros((1, 3)), np.zeros(1)
        W[0, :n, :n], after[0, :n] = collision.W, u
        if W[0, 0, 0] <= 0.0 or solve_two_springs(
            W, collision.mu, np.array([e]), self.stiffness_ratio, _RESOLUTION, _MOST_STEPS, after, p, work
        ):
            raise NoSeparationError("no impulse, however large, separates the bodies")
        P = p[0, :n]
        total = 0.5 * float(P @ (u + after[0, :n]))
        return SingleImpact(collision.index, e, u, after[0, :n], P, float(work[0]), total - float(work[0]))
