"""What a body touches with: a shape, where it stands in the body, what it is made of."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from contactlab.contact import BodyShape, ContactError, HalfSpace, HeightField, Material, Placed, Shape
from contactlab.spatial import Transform
from contactlab.spatial.arrays import FloatArray, finite_array
from contactlab.world.errors import SimulationConfigError, check_type

#: Every bit of a filter.
ALL = (1 << 32) - 1


@dataclass(frozen=True, eq=False)
class Surface:
    """One shape of a body.

    Attributes
    ----------
    shape
        One of `contactlab.contact.shapes`; or one of the user's own, which touches half-spaces alone.
    material
        Of the surface.
    placement
        From the shape's axes to the body's.
    category, mask
        32 bits each: two shapes may touch where the category of either has a bit in common with the other's mask.
    shown
        Whether pictures show it; False where visuals stand for it.
    """

    shape: Shape | BodyShape
    material: Material
    placement: Transform
    category: int = 1
    mask: int = ALL
    shown: bool = True

    def support_points(self) -> tuple[FloatArray, FloatArray]:
        """Return the points (n, 3) in body axes and radii (n,) that touch half-spaces; none of a shape without."""
        if not isinstance(self.shape, BodyShape):
            return np.zeros((0, 3)), np.zeros(0)
        points, radii = self.shape.support_points()
        place = self.placement
        if place.p.any() or not np.array_equal(place.R, np.eye(3)):
            points = place.apply(points)
        return points, radii


def is_ground(shape: object) -> bool:
    """Whether a shape is one that cannot move: it has no end."""
    return isinstance(shape, HalfSpace | HeightField)


def check_filter(category: object, mask: object) -> tuple[int, int]:
    """Return category and mask as ints of 32 bits; a `SimulationConfigError` names the one that is not."""
    values = []
    for field, value in (("category", category), ("mask", mask)):
        try:
            number = operator.index(value)  # type: ignore[arg-type]  # checked by doing
        except TypeError as error:
            raise SimulationConfigError(field, f"must be a whole number, got {value!r}") from error
        if not 0 <= number <= ALL:
            raise SimulationConfigError(field, f"must lie between 0 and 2^32 - 1, got {number}")
        values.append(number)
    return values[0], values[1]


def as_surfaces(
    shape: object,
    material: object,
    placement: Transform | None,
    most_points: int,
    category: int = 1,
    mask: int = ALL,
) -> tuple[Surface, ...]:
    """Check a shape, bare or `Placed`, or a sequence of them; a `SimulationConfigError` names what is wrong."""
    if not isinstance(material, Material):
        raise SimulationConfigError("material", f"must be a Material, got {type(material).__name__}")
    if placement is not None:
        check_type("placement", placement, Transform)
    if isinstance(shape, Sequence) and not isinstance(shape, str):
        if not shape:
            raise SimulationConfigError("shape", "is an empty sequence")
        parts = (as_surfaces(part, material, placement, most_points, category, mask) for part in shape)
        return tuple(one for part in parts for one in part)
    place = Transform() if placement is None else placement
    if isinstance(shape, Placed):
        place = shape.pose if placement is None else place @ shape.pose
        shape = shape.shape
    if isinstance(shape, Shape):
        from contactlab.contact.detection import pack_shapes

        try:
            pack_shapes([shape], faces=False)
        except ContactError as error:
            raise SimulationConfigError("shape", error.detail) from error
    elif isinstance(shape, BodyShape):
        _check_points(shape, most_points)
    else:
        raise SimulationConfigError("shape", f"must be a shape or offer support_points(), got {type(shape).__name__}")
    return (Surface(shape, material, place, *check_filter(category, mask)),)


def _check_points(shape: BodyShape, most_points: int) -> None:
    """Refuse support points that are no numbers."""
    points, radii = shape.support_points()
    radii = finite_array(radii, "shape.radii", (None,), SimulationConfigError)
    finite_array(points, "shape.points", (radii.size, 3), SimulationConfigError)
    if radii.size == 0:
        raise SimulationConfigError("shape", "has no support point")
    if np.any(radii < 0.0):
        raise SimulationConfigError("shape.radii", f"entry [{int(np.argmin(radii))}] is negative: {radii.min()}")
    if radii.size > most_points:
        raise SimulationConfigError("shape", f"at most {most_points} points per body fit a contact id")
