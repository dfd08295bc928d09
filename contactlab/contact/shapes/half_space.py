"""Half-space: floors, walls, inclines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from contactlab.contact.errors import ContactError
from contactlab.contact.kernels.layout import HALF_SPACE
from contactlab.contact.shapes.shape import Packed, Shape, Vector
from contactlab.contact.shapes.solid import Solid, join_solids
from contactlab.spatial.arrays import FloatArray, finite_array, finite_number, read_only


@dataclass(frozen=True, eq=False, init=False)
class HalfSpace(Shape):
    """Solid that fills all points y with n . y <= offset, n the outward unit normal.

    Parameters
    ----------
    normal
        Outward normal (3,) in world axes, of any length but zero; it is normalised.
    offset
        Distance [m] of the surface from the world origin along the UNIT normal: ``HalfSpace((0, 0, 2), 1)`` ends at
        z = 1.

    Raises
    ------
    ContactError
        A zero normal, or an entry that is not finite.
    """

    normal: Vector
    offset: float

    def __init__(self, normal: ArrayLike = (0.0, 0.0, 1.0), offset: float = 0.0) -> None:
        object.__setattr__(self, "normal", read_only(unit_vector(normal, "normal")))
        object.__setattr__(self, "offset", finite_number(offset, "offset", ContactError))

    @classmethod
    def through(cls, point: ArrayLike, normal: ArrayLike) -> HalfSpace:
        """Half-space whose surface passes through ``point`` (3,) [m], with the outward ``normal`` (3,)."""
        n = unit_vector(normal, "normal")
        return cls(n, float(n @ finite_array(point, "point", (3,), ContactError)))

    def packed(self, *, faces: bool = True) -> Packed:
        """Normal and offset."""
        return Packed(HALF_SPACE, [*self.normal.tolist(), self.offset])

    def solid(self) -> Solid:
        """Nothing: it has no end, and `contactlab.drawing.Ground` draws the piece that matters."""
        return join_solids([])


def unit_vector(value: ArrayLike, field: str) -> FloatArray:
    """``value`` (3,) divided by its length; a `ContactError` when it has none."""
    vector = finite_array(value, field, (3,), ContactError)
    largest = float(np.max(np.abs(vector)))
    if largest == 0.0:
        raise ContactError(field, "is zero and gives no direction")
    # A vector that is a unit vector already keeps its bits: normalising twice must not move a surface.
    if largest < 2.0 and abs(float(vector @ vector) - 1.0) <= 4.0 * np.finfo(np.float64).eps:
        return vector
    # Scaled by the largest entry first: squares of tiny or huge entries would underflow or overflow.
    vector = vector / largest
    return np.asarray(vector / np.linalg.norm(vector))
