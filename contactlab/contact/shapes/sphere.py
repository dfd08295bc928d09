"""Ball."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from contactlab.contact.errors import ContactError
from contactlab.spatial.arrays import FloatArray, finite_array, finite_number, read_only

__all__ = ["Sphere"]


@dataclass(frozen=True, eq=False, init=False)
class Sphere:
    """Ball of a positive ``radius`` [m] about ``center`` (3,) [m] in body axes; a `ContactError` names a bad value."""

    radius: float
    center: FloatArray

    def __init__(self, radius: float, center: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        checked = finite_number(radius, "radius", ContactError)
        if checked <= 0.0:
            raise ContactError("radius", f"must be positive, got {checked}")
        object.__setattr__(self, "radius", checked)
        object.__setattr__(self, "center", read_only(finite_array(center, "center", (3,), ContactError)))

    def support_points(self) -> tuple[FloatArray, FloatArray]:
        """Return the centre (1, 3) and the radius (1,), as new arrays."""
        return self.center.reshape(1, 3).copy(), np.array([self.radius])
