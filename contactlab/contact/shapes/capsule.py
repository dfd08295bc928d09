"""Capsule: a cylinder with round ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contactlab.contact.shapes.positive import positive_number
from contactlab.spatial.arrays import FloatArray

__all__ = ["Capsule"]


@dataclass(frozen=True)
class Capsule:
    """Cylinder along the z axis with half balls on its ends, its middle at the origin.

    Parameters
    ----------
    radius
        Radius [m], positive.
    half_length
        Half the distance between the centres of the half balls [m], positive: the whole capsule is
        2 (half_length + radius) long.

    Raises
    ------
    ContactError
        A value that is not positive, or not finite.
    """

    radius: float
    half_length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive_number(self.radius, "radius"))
        object.__setattr__(self, "half_length", positive_number(self.half_length, "half_length"))

    def support_points(self) -> tuple[FloatArray, FloatArray]:
        """Return the centres (2, 3) of the half balls, at -z and +z, and their radii (2,), as new arrays."""
        half = self.half_length
        return np.array([[0.0, 0.0, -half], [0.0, 0.0, half]]), np.full(2, self.radius)
