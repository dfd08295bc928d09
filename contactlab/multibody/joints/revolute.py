"""Rotation about one axis."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from contactlab.multibody.joints.elementary import Elementary, unit_axis
from contactlab.spatial.arrays import FloatArray


@dataclass(frozen=True, eq=False, init=False)
class Revolute:
    """Rotation by q [rad] about an axis through the joint's origin.

    Parameters
    ----------
    axis
        Direction (3,) in joint axes, normalised here; z by default.
    """

    axis: FloatArray
    nq = 1
    nv = 1

    def __init__(self, axis: ArrayLike = (0.0, 0.0, 1.0)) -> None:
        object.__setattr__(self, "axis", unit_axis(self, axis))

    def chain(self) -> tuple[Elementary, ...]:
        """One rotation."""
        return (Elementary.revolute(self.axis),)
