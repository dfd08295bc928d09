"""Routh's impulse diagram of one contact: the course in the plane of its impulses, and the lines that govern it.

In the coordinates (p_t, p_n) of a planar contact: the line of sticking u_t = 0, the line of greatest compression
u_n = 0, the two edges of friction, and the course from the origin. The laws differ only in where they end it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contactlab.impact.collision import Collision, ImpactProblem
from contactlab.impact.errors import ImpactError
from contactlab.impact.impulse_path import Stopped
from contactlab.impact.restitution import Restitution, coefficients
from contactlab.impact.single import Ending, SingleImpact, single_impact
from contactlab.spatial.arrays import FloatArray
from problem_data import ConstraintVelProblemData

_ENDINGS: tuple[Ending, ...] = ("newton", "poisson", "stronge")


@dataclass(frozen=True, eq=False)
class RouthDiagram:
    """The course of a single impact and its end under each law.

    Parameters
    ----------
    contact : Collision
        The contact in its own coordinates.
    u_minus : ndarray, shape (1 + m,)
        Its velocity before the impact [m/s].
    restitution : float
        Coefficient.
    courses : dict
        `SingleImpact` by law: "newton", "poisson", "stronge".
    failures : dict
        Why a law has no end, by law.
    """

    contact: Collision
    u_minus: FloatArray
    restitution: float
    courses: dict[str, SingleImpact]
    failures: dict[str, str]

    @property
    def planar(self) -> bool:
        """Whether the diagram can be drawn in the plane."""
        return len(self.u_minus) == 2

    def sticking_line(self, p_n: FloatArray) -> FloatArray:
        """Tangential impulse at which the contact sticks, for normal impulses [N s]; planar contacts.

        NaN where it cannot be reached, W_tt being 0.
        """
        W, u = self._planar()
        if W[1, 1] == 0.0:
            return np.full(np.shape(p_n), np.nan)
        return np.asarray(-(u[1] + W[1, 0] * np.asarray(p_n)) / W[1, 1])

    def compression_line(self, p_t: FloatArray) -> FloatArray:
        """Normal impulse at which compression is greatest, for tangential impulses [N s]; planar contacts."""
        W, u = self._planar()
        return np.asarray(-(u[0] + W[0, 1] * np.asarray(p_t)) / W[0, 0])

    def path(self, law: str = "stronge") -> FloatArray:
        """Return the course under a law, normal impulse first, shape (k, 1 + m) [N s]."""
        states = [s.p for segment in self.courses[law].segments for s in segment.states[:-1]]
        return np.array([*states, self.courses[law].impulse])

    def _planar(self) -> tuple[FloatArray, FloatArray]:
        if not self.planar:
            raise ImpactError("contact", f"has {len(self.u_minus) - 1} tangents: lines are those of a planar contact")
        return self.contact.W, self.u_minus


def routh_diagram(data: ConstraintVelProblemData, contact: int = 0, *, restitution: Restitution = 0.0) -> RouthDiagram:
    """Follow the impact of one contact of a problem, the others not acting.

    Raises
    ------
    ImpactError
        There is no such contact, or it does not approach.
    """
    problem = ImpactProblem(data, "Routh's diagram")
    if not 0 <= contact < data.nc:
        raise ImpactError("contact", f"{contact} is none of the {data.nc}")
    collision = problem.collisions[contact]
    u = collision.velocity(problem.v_minus)
    if u[0] >= 0.0:
        raise ImpactError("contact", f"{contact} does not approach: its normal velocity is {u[0]:.6g} m/s")
    e = float(coefficients(restitution, np.full(data.nc, -float(u[0])))[contact])
    courses: dict[str, SingleImpact] = {}
    failures: dict[str, str] = {}
    for law in _ENDINGS:
        try:
            courses[law] = single_impact(collision, u, e, law)
        except Stopped as error:
            failures[law] = str(error)
    return RouthDiagram(collision, u, e, courses, failures)
