"""One collision by Routh's method, up to the end that a law of restitution sets; and its diagram.

In the coordinates (p_t, p_n) of a planar contact: the line of sticking u_t = 0, the line of greatest compression
u_n = 0, the two edges of friction, and the path from the origin. The laws differ only in its end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from contactlab.impact.collision import Collision, ImpactProblem, Restitution, coefficients
from contactlab.impact.impulse_path import (
    NoSeparationError,
    Segment,
    State,
    impulse_path,
    normal_impulse,
    normal_velocity,
    normal_work,
)
from contactlab.spatial.arrays import FloatArray
from contactlab.spatial.errors import ImpactError
from problem_data import ConstraintVelProblemData

#: Definition of restitution: ratio of normal velocities, of normal impulses, or root of the ratio of normal works.
Ending = Literal["newton", "poisson", "stronge"]


@dataclass(frozen=True, eq=False)
class SingleImpact:
    """The impact of one contact on its own.

    Parameters
    ----------
    contact : int
        Number of the contact; nc + i is limit i.
    restitution : float
        Coefficient used.
    u_minus, u_plus : ndarray, shape (1 + m,)
        Velocity of the contact before and after, normal and tangential [m/s].
    impulse : ndarray, shape (1 + m,)
        [N s], in the same coordinates.
    work_normal, work_tangential : float
        Work of the normal and of the friction impulse [J].
    segments : tuple of Segment
        The course, compression first; empty for algebraic laws.
    """

    contact: int
    restitution: float
    u_minus: FloatArray
    u_plus: FloatArray
    impulse: FloatArray
    work_normal: float
    work_tangential: float
    segments: tuple[Segment, ...] = ()

    @classmethod
    def of_impulse(cls, collision: Collision, u: FloatArray, e: float, P: FloatArray) -> SingleImpact:
        """Return the impact of an algebraic law from its impulse P (1 + m,): works are P times the mean velocity."""
        u_plus = u + collision.W @ P
        mean = 0.5 * P * (u + u_plus)
        return cls(collision.index, e, u, u_plus, P, float(mean[0]), float(mean[1:].sum()))


def single_impact(collision: Collision, u: FloatArray, e: float, ending: Ending) -> SingleImpact:
    """Follow a collision from its velocity u (1 + m,), u[0] < 0, through compression and restitution.

    Its end: u_n+ = -e u_n-; p = (1 + e) p_c; or W_r = -e^2 W_c (Stronge 1990), c for compression and r for restitution.
    It raises `NoSeparationError` if no impulse, however large, separates the bodies.
    """
    zero = np.zeros(len(u))
    course = list(impulse_path(collision.W, collision.mu, State(zero, u, 0.0), normal_velocity, 0.0))
    compressed = course[-1].states[-1]
    if e > 0.0:
        quantity, end = {
            "newton": (normal_velocity, -e * float(u[0])),
            "poisson": (normal_impulse, (1.0 + e) * float(compressed.p[0])),
            "stronge": (normal_work, (1.0 - e * e) * compressed.work),
        }[ending]
        course += impulse_path(collision.W, collision.mu, compressed, quantity, end)
    last = course[-1].states[-1]
    total = 0.5 * float(last.p @ (u + last.u))
    return SingleImpact(collision.index, e, u, last.u, last.p, last.work, total - last.work, tuple(course))


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
    impulse_paths : dict
        `SingleImpact` by law: "newton", "poisson", "stronge".
    failures : dict
        Why a law has no end, by law.
    """

    contact: Collision
    u_minus: FloatArray
    restitution: float
    impulse_paths: dict[str, SingleImpact]
    failures: dict[str, str]

    @property
    def planar(self) -> bool:
        """Whether the diagram can be drawn in the plane."""
        return len(self.u_minus) == 2

    def sticking_line(self, p_n: FloatArray) -> FloatArray:
        """Return the tangential impulse at which the contact sticks, for normal impulses [N s]; planar contacts.

        NaN if it cannot be reached because W_tt is 0.
        """
        W, u = self._planar()
        if W[1, 1] == 0.0:
            return np.full(np.shape(p_n), np.nan)
        return np.asarray(-(u[1] + W[1, 0] * np.asarray(p_n)) / W[1, 1])

    def compression_line(self, p_t: FloatArray) -> FloatArray:
        """Return the normal impulse of greatest compression, for tangential impulses [N s]; planar contacts."""
        W, u = self._planar()
        return np.asarray(-(u[0] + W[0, 1] * np.asarray(p_t)) / W[0, 0])

    def path(self, law: str = "stronge") -> FloatArray:
        """Return the course under a law, normal impulse first, shape (k, 1 + m) [N s]."""
        states = [s.p for segment in self.impulse_paths[law].segments for s in segment.states[:-1]]
        return np.array([*states, self.impulse_paths[law].impulse])

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
        except NoSeparationError as error:
            failures[law] = str(error)
    return RouthDiagram(collision, u, e, courses, failures)
