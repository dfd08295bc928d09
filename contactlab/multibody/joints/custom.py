"""A joint of the user's own making."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from contactlab.multibody.joints.elementary import Elementary
from contactlab.multibody.kernels import codes
from contactlab.spatial.arrays import FloatArray
from contactlab.spatial.transform import Transform


class CustomJoint(ABC):
    """Subclass, set ``nq`` and ``nv`` (1 to 6), and say how the child moves.

    The functions of `contactlab.multibody` evaluate the three methods once per call; compiled loops cannot.
    """

    nq: int
    nv: int

    @abstractmethod
    def transform(self, q: FloatArray) -> Transform:
        """Pose of the child body in the joint frame at q (nq,)."""

    @abstractmethod
    def motion_subspace(self, q: FloatArray) -> FloatArray:
        """S (6, nv): S v is the velocity of the child relative to the joint frame, child axes, angular first."""

    @abstractmethod
    def velocity_product(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """c (6,) = (dS/dt) v in child axes, with the entries of S differentiated as numbers."""

    def neutral(self) -> FloatArray:
        """Return the configuration (nq,) that `neutral` gives; zeros unless overridden."""
        return np.zeros(self.nq)

    def integrate(self, q: FloatArray, v: FloatArray, dt: float) -> FloatArray:
        """Return the configuration after moving at constant v for dt; q + v dt if nq = nv, otherwise override it."""
        return q + v * dt

    def difference(self, q0: FloatArray, q1: FloatArray) -> FloatArray:
        """Return the v (nv,) that takes q0 to q1 in unit time; q1 - q0 if nq = nv, otherwise override it."""
        return q1 - q0

    def chain(self) -> tuple[Elementary, ...]:
        """One motion whose numbers come from outside."""
        return (Elementary(codes.CUSTOM, np.zeros(3), np.zeros(3)),)
