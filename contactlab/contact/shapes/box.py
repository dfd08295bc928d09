"""Box."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from contactlab.contact.errors import ContactError
from contactlab.spatial.arrays import FloatArray, finite_array, read_only

__all__ = ["Box"]


@dataclass(frozen=True, eq=False, init=False)
class Box:
    """Box along the body axes about the body origin.

    Parameters
    ----------
    half_extents
        Half side lengths (3,) [m], positive; a `ContactError` names the entry that is not.
    """

    half_extents: FloatArray

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
        """Return the corners (8, 3) and zero radii (8,), as new arrays.

        Corner 4 i + 2 j + k, with i, j, k = 0 or 1 on the negative or positive side along x, y, z: z changes fastest.
        """
        signs = np.array([(i, j, k) for i in (-1.0, 1.0) for j in (-1.0, 1.0) for k in (-1.0, 1.0)])
        return signs * self.half_extents, np.zeros(8)
