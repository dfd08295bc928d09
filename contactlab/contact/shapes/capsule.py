"""Capsule: a cylinder with round ends."""

from __future__ import annotations

import numpy as np

from contactlab.contact.kernels.layout import CAPSULE
from contactlab.contact.shapes.shape import Packed, Tube, ball_volume
from contactlab.contact.shapes.solid import AROUND, Solid, circle, lathe, outlines
from contactlab.spatial import RigidInertia
from contactlab.spatial.arrays import FloatArray


class Capsule(Tube):
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

    def support_points(self) -> tuple[FloatArray, FloatArray]:
        """The centres (2, 3) of the half balls, at -z and +z, and their radii (2,), as new arrays."""
        half = self.half_length
        return np.array([[0.0, 0.0, -half], [0.0, 0.0, half]]), np.full(2, self.radius)

    def packed(self, *, faces: bool = True) -> Packed:
        """Radius and half length."""
        return Packed(CAPSULE, [self.radius, self.half_length])

    def solid(self) -> Solid:
        """The mantle with its round ends, two meridians and two rims."""
        r, half = self.radius, self.half_length
        quarter = np.linspace(0.0, 0.5 * np.pi, AROUND // 4 + 1)
        top = [(r * np.sin(a), half + r * np.cos(a)) for a in quarter]
        outline = [*top, *((x, -z) for x, z in top[::-1])]
        side = np.array([*outline, *((-x, z) for x, z in outline[-2:0:-1])])
        flat = np.zeros(len(side))
        meridians = [np.stack((side[:, 0], flat, side[:, 1]), axis=1), np.stack((flat, side[:, 0], side[:, 1]), axis=1)]
        rims = [circle(r) + (0.0, 0.0, z) for z in (half, -half)]
        body = lathe(outline)
        return Solid(body.vertices, body.triangles, outlines([*meridians, *rims]))

    def inertia(self) -> RigidInertia:
        """The inertia at a density of 1 kg/m^3."""
        volume = 2.0 * np.pi * self.radius**2 * self.half_length + ball_volume(self.radius)
        return RigidInertia.solid_capsule(volume, self.radius, self.half_length)
