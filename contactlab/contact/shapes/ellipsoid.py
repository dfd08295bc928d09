"""Ellipsoid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from contactlab.contact.errors import ContactError
from contactlab.contact.kernels.layout import ELLIPSOID
from contactlab.contact.shapes.shape import Packed, Shape, Vector, ball_volume, positive_number
from contactlab.contact.shapes.solid import Solid, ball
from contactlab.spatial import RigidInertia
from contactlab.spatial.arrays import finite_array, read_only

__all__ = ["Ellipsoid"]


@dataclass(frozen=True, eq=False, init=False)
class Ellipsoid(Shape):
    """Ellipsoid along the body axes about the body origin.

    Parameters
    ----------
    half_axes
        Lengths of the half axes (3,) [m], positive; a `ContactError` names the entry that is not.
    """

    half_axes: Vector

    def __init__(self, half_axes: ArrayLike) -> None:
        half = finite_array(half_axes, "half_axes", (3,), ContactError)
        for i in range(3):
            positive_number(half[i], f"half_axes[{i}]")
        object.__setattr__(self, "half_axes", read_only(half))

    def packed(self, *, faces: bool = True) -> Packed:
        """The half axes."""
        return Packed(ELLIPSOID, self.half_axes.tolist())

    def solid(self) -> Solid:
        """A ball drawn out along the axes."""
        unit = ball(1.0)
        return Solid(unit.vertices * self.half_axes, unit.triangles, unit.lines * self.half_axes)

    def inertia(self) -> RigidInertia:
        """The inertia at a density of 1 kg/m^3."""
        a, b, c = self.half_axes**2
        mass = ball_volume(1.0) * float(np.prod(self.half_axes))
        return RigidInertia(mass, inertia=0.2 * mass * np.diag([b + c, c + a, a + b]))
