"""Cylinder."""

from __future__ import annotations

from dataclasses import dataclass

from contactlab.contact.shapes.positive import positive_number

__all__ = ["Cylinder"]


@dataclass(frozen=True)
class Cylinder:
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

    radius: float
    half_length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive_number(self.radius, "radius"))
        object.__setattr__(self, "half_length", positive_number(self.half_length, "half_length"))
