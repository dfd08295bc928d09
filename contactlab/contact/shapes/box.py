"""Box."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from contactlab.contact.errors import ContactError
from contactlab.contact.kernels.layout import BOX
from contactlab.contact.shapes.shape import Packed, Shape, Vector
from contactlab.contact.shapes.solid import Solid, faces
from contactlab.spatial import RigidInertia
from contactlab.spatial.arrays import FloatArray, finite_array, read_only


@dataclass(frozen=True, eq=False, init=False)
class Box(Shape):
    """Box along the body axes about the body origin.

    Parameters
    ----------
    half_extents
        Half side lengths (3,) [m], positive; a `ContactError` names the entry that is not.
    """

    half_extents: Vector

    def __init__(self, half_extents: ArrayLike) -> None:
        half = finite_array(half_extents, "half_extents", (3,), ContactError)
        for i in range(3):
            if half[i] <= 0.0:
                raise ContactError("half_extents", f"entry [{i}] must be positive, got {half[i]}")
        object.__setattr__(self, "half_extents", read_only(half))

    @classmethod
    def cube(cls, half_width: float) -> Box:
        """Cube of half side length ``half_width`` [m]."""
        return cls((half_width, half_width, half_width))

    def support_points(self) -> tuple[FloatArray, FloatArray]:
        """The corners (8, 3) and zero radii (8,), as new arrays.

        Corner 4 i + 2 j + k, with i, j, k = 0 or 1 on the negative or positive side along x, y, z: z changes fastest.
        """
        signs = np.array([(i, j, k) for i in (-1.0, 1.0) for j in (-1.0, 1.0) for k in (-1.0, 1.0)])
        return signs * self.half_extents, np.zeros(8)

    def packed(self, *, faces: bool = True) -> Packed:
        """The half extents."""
        return Packed(BOX, self.half_extents.tolist())

    def solid(self) -> Solid:
        """Six faces."""
        h = self.half_extents
        loops = []
        for axis in range(3):
            u, v = (axis + 1) % 3, (axis + 2) % 3
            for side in (1.0, -1.0):
                corners = np.zeros((4, 3))
                corners[:, axis] = side
                corners[:, u], corners[:, v] = (-1.0, 1.0, 1.0, -1.0), (-1.0, -1.0, 1.0, 1.0)
                loops.append((corners if side > 0.0 else corners[::-1]) * h)
        return faces(loops)

    def inertia(self) -> RigidInertia:
        """The inertia at a density of 1 kg/m^3."""
        return RigidInertia.solid_box(8.0 * float(np.prod(self.half_extents)), self.half_extents)
