"""One collision by Routh's method, up to the end that a law of restitution sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from contactlab.impact.collision import Collision
from contactlab.impact.impulse_path import Segment, State, impulse_path, normal_impulse, normal_velocity, normal_work
from contactlab.spatial.arrays import FloatArray

#: What restitution is a ratio of: normal velocities, normal impulses, or the root of the ratio of normal works.
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
    It is `Stopped` where no impulse, however large, separates the bodies.
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
    return SingleImpact(
        contact=collision.index,
        restitution=e,
        u_minus=u,
        u_plus=last.u,
        impulse=last.p,
        work_normal=last.work,
        work_tangential=total - last.work,
        segments=tuple(course),
    )
