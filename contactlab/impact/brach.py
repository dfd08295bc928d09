"""Brach's law: two coefficients, of restitution and a ratio of impulses, both bounded by physics.

The impulse is P_n (1, -mu d) with d the direction of slip before and u_n+ = -e u_n-. Its ratio mu begins at 0 and ends
at the first of three: the coefficient of friction, with either sign; mu_0, with which slip has stopped at the end; and
the ratio with which nothing is lost, beyond which the bodies would gain energy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from contactlab.impact.collision import Collision
from contactlab.impact.impulse_path import NoSeparationError
from contactlab.impact.law import SequentialLaw
from contactlab.impact.single import SingleImpact
from contactlab.spatial.arrays import FloatArray

# Slip that is none, of the contact's speed.
_STILL = 1e-12


@dataclass(frozen=True, eq=False)
class Brach(SequentialLaw):
    """Kinematic restitution and a bounded ratio of impulses, several contacts one after the other.

    In the plane it is Newton's law with friction on the velocity after the impact, unless this would gain energy:
    there the ratio is the one that keeps it. In space friction acts along the slip before alone.

    References
    ----------
    R. M. Brach, Friction, restitution, and energy loss in planar collisions, J. Applied Mechanics 51 (1984); Mechanical
    Impact Dynamics (1991).

    Examples
    --------
    A rod whose end slides as it strikes; Newton's law gains energy:

    >>> import numpy as np
    >>> from contactlab.impact import Newton
    >>> from problem_data import ConstraintVelProblemData
    >>> M, c, s = np.diag([1.0, 1.0, 1.0 / 3.0]), np.cos(0.9), np.sin(0.9)
    >>> rod = ConstraintVelProblemData(M=M, Mv=M @ [1, -1, 0], N=[[0, 1, -c]], F=[[1, 0, s]], mu=[0.5], r=[1])
    >>> round(Newton(0.9).solve(rod).energy_ratio, 4), round(Brach(0.9).solve(rod).energy_ratio, 4)
    (1.0278, 1.0)
    """

    title: ClassVar[str] = "Brach"

    def collide(self, collision: Collision, u: FloatArray, e: float) -> SingleImpact:
        """Return the impact of one contact alone."""
        W, mu, bounce = collision.W, collision.mu, -(1.0 + e) * float(u[0])
        if W[0, 0] <= 0.0:
            raise NoSeparationError("no impulse, however large, separates the bodies")
        direction = slip_direction(collision, u)
        nn, nd, dd = float(W[0, 0]), float(W[0, 1:] @ direction), float(direction @ W[1:, 1:] @ direction)
        slip = float(u[1:] @ direction)
        stops, per_ratio = slip * nn + bounce * nd, slip * nd + bounce * dd
        target = mu if per_ratio <= 0.0 else float(np.clip(stops / per_ratio, -mu, mu))
        # Energy loss times 2 (nn - x nd) / P_n at the ratio x t: c + b t + a t^2, from c >= 0 at t = 0.
        c = -(1.0 - e) * float(u[0]) * nn
        b = target * ((1.0 - e) * float(u[0]) * nd + 2.0 * slip * nn + bounce * nd)
        a = -(target**2) * (2.0 * slip * nd + bounce * dd)
        if (inside := b * b - 4.0 * a * c) >= 0.0:
            half = -0.5 * (b + np.copysign(np.sqrt(inside), b))
            ends = [t for t in (half / a if a else np.inf, c / half if half else np.inf) if b + 2.0 * a * t < 0.0 <= t]
            target *= min(1.0, *ends) if ends else 1.0
        normal = bounce / (nn - target * nd)
        return SingleImpact.of_impulse(collision, u, e, normal * np.concatenate(([1.0], -target * direction)))


def slip_direction(collision: Collision, u: FloatArray) -> FloatArray:
    """Unit direction (m,) of the slip before; without slip, the one in which the normal impulse would start it."""
    W = collision.W
    for way, least in ((u[1:], _STILL * float(np.linalg.norm(u))), (W[1:, 0], _STILL * float(W[0, 0]))):
        size = float(np.linalg.norm(way))
        if size > least:
            return np.asarray(way / size)
    return np.zeros(len(u) - 1)
