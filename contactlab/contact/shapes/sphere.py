"""Ball."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from contactlab.contact.errors import ContactError
from contactlab.contact.kernels.layout import SPHERE
from contactlab.contact.shapes.shape import Packed, Shape, Vector, ball_volume, positive_number
from contactlab.contact.shapes.solid import Solid, ball
from contactlab.spatial import RigidInertia
from contactlab.spatial.arrays import FloatArray, finite_array, read_only


@dataclass(frozen=True, eq=False, init=False)
class Sphere(Shape):
    """Ball of a positive ``radius`` [m] about ``center`` (3,) [m] in body axes; a `ContactError` names a bad value."""

    radius: float
    center: Vector

    def __init__(self, radius: float, center: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        object.__setattr__(self, "radius", positive_number(radius, "radius"))
        object.__setattr__(self, "center", read_only(finite_array(center, "center", (3,), ContactError)))

    def support_points(self) -> tuple[FloatArray, FloatArray]:
        """The centre (1, 3) and the radius (1,), as new arrays."""
        return self.center.reshape(1, 3).copy(), np.array([self.radius])

    def packed(self, *, faces: bool = True) -> Packed:
        """The radius, about the centre."""
        return Packed(SPHERE, [self.radius], center=self.center if self.center.any() else None)

    def solid(self) -> Solid:
        """A ball with three great circles."""
        return ball(self.radius).moved(np.eye(3), self.center)

    def inertia(self) -> RigidInertia:
        """The inertia at a density of 1 kg/m^3, about the body's axes."""
        about = RigidInertia.solid_sphere(ball_volume(self.radius), self.radius)
        return RigidInertia(about.mass, self.center, inertia=about.inertia)
