"""Cylinder."""

from __future__ import annotations

import numpy as np

from contactlab.contact.kernels.layout import CYLINDER
from contactlab.contact.shapes.shape import Packed, Tube
from contactlab.contact.shapes.solid import AROUND, Solid, circle, faces, join_solids, lathe
from contactlab.spatial import RigidInertia


class Cylinder(Tube):
    """Cylinder along the z axis, its middle at the origin.

    Parameters
    ----------
    radius
        Radius [m], positive.
    half_length
        Half the length along z [m], positive.

    Raises
    ------
    ContactError
        A value that is not positive, or not finite.
    """

    def packed(self, *, faces: bool = True) -> Packed:
        """Radius and half length."""
        return Packed(CYLINDER, [self.radius, self.half_length])

    def solid(self) -> Solid:
        """The mantle with its caps, and lines that show the spin."""
        r, half = self.radius, self.half_length
        mantle = lathe([(r, half), (r, -half)])
        rims = [circle(r) + (0.0, 0.0, z) for z in (half, -half)]
        caps = faces([rims[0], rims[1][::-1]])
        quarters = range(0, AROUND, AROUND // 4)
        up = np.array([(rims[0][k], rims[1][k]) for k in quarters])
        spokes = np.array([(rim[k], rim[(k + AROUND // 2) % AROUND]) for rim in rims for k in (0, AROUND // 4)])
        body = join_solids([mantle, caps])
        return Solid(body.vertices, body.triangles, np.concatenate((caps.lines, up, spokes)))

    def inertia(self) -> RigidInertia:
        """The inertia at a density of 1 kg/m^3."""
        volume = 2.0 * np.pi * self.radius**2 * self.half_length
        return RigidInertia.solid_cylinder(volume, self.radius, self.half_length)
