"""Chatterjee and Ruina's law: an algebraic one with a coefficient for each direction, which never gains energy.

In a contact's impulse space P_I stops the approach without friction, and P_II stops approach and slip, W P_II = -u-.
The impulse is (1 + e) P_I + (1 + e_t) (P_II - P_I), or, if this is outside the friction cone, its point on the
line from (1 + e) P_I towards it.
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


@dataclass(frozen=True, eq=False)
class ChatterjeeRuina(SequentialLaw):
    """Normal and tangential restitution of each collision, several contacts one after the other.

    Parameters
    ----------
    restitution : float, (nc,) or RestitutionLaw, optional
        Coefficient of the normal velocity, u_n+ = -e u_n-. Without it, the one of the materials, which event-driven
        runs know.
    tangential : float
        Coefficient of tangential restitution, -1 (no friction) to 1 (slip turns round): u_t+ = -e_t u_t-, as far as
        friction goes, where normal and tangent do not move one another; then -e_t u_t- + (e - e_t) W_tn P_I.
    max_collisions : int
        As of the sequential laws.

    Raises
    ------
    ImpactError
        A parameter out of its range.

    References
    ----------
    A. Chatterjee, A. Ruina, A new algebraic rigid-body collision law based on impulse space considerations, J. Applied
    Mechanics 65 (1998).

    Examples
    --------
    A ball of rubber in the plane, inertia 2/5, that skids forward: half of its slip comes back.

    >>> from problem_data import ConstraintVelProblemData
    >>> M = np.diag([1.0, 1.0, 0.4])
    >>> ball = ConstraintVelProblemData(M=M, Mv=M @ [1, -1, 0], N=[[0, 1, 0]], F=[[1, 0, 1]], mu=[2.0], r=[1])
    >>> after = ChatterjeeRuina(0.8, 0.5).solve(ball).v_plus
    >>> float((after[0] + after[2]).round(9)), float(after[1].round(9))
    (-0.5, 0.8)
    """

    tangential: float = 0.0

    title: ClassVar[str] = "Chatterjee and Ruina"

    def __post_init__(self) -> None:
        super().__post_init__()
        tangential = finite_number(self.tangential, "tangential", ImpactError, least=-1.0, most=1.0)
        object.__setattr__(self, "tangential", tangential)

    def collide(self, collision: Collision, u: FloatArray, e: float) -> SingleImpact:
        """Return the impact of one contact alone."""
        W, mu = collision.W, collision.mu
        if W[0, 0] <= 0.0:
            raise NoSeparationError("no impulse, however large, separates the bodies")
        P = np.zeros(len(u))
        P[0] = -(1.0 + e) * u[0] / W[0, 0]
        if mu > 0.0:
            stop = np.linalg.lstsq(W, -u, rcond=None)[0]
            stop[0] += u[0] / W[0, 0]  # P_II - P_I
            slip, share = float(np.linalg.norm(stop[1:])), 1.0 + self.tangential
            if share * slip > mu * (P[0] + share * stop[0]):
                share = mu * P[0] / (slip - mu * stop[0])
            P += share * stop
        return SingleImpact.of_impulse(collision, u, e, P)
