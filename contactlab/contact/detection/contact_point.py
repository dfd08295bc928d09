"""One point where two shapes touch, or are about to."""

from __future__ import annotations

from dataclasses import dataclass

from contactlab.spatial.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class ContactPoint:
    """Contact of shape A with shape B; arrays are read-only.

    Attributes
    ----------
    point
        (3,) [m], world axes, midway between the two surfaces along the normal.
    normal
        Unit vector (3,), world axes, from A into B.
    gap
        Distance of the surfaces along the normal [m], negative where they overlap.
    feature
        Number of the corners, edges or points that touch: the same as long as the same ones do. -1 where unknown.
    """

    point: FloatArray
    normal: FloatArray
    gap: float
    feature: int

    @property
    def point_a(self) -> FloatArray:
        """(3,) [m]: where the contact is on the surface of A."""
        return self.point - 0.5 * self.gap * self.normal

    @property
    def point_b(self) -> FloatArray:
        """(3,) [m]: where the contact is on the surface of B."""
        return self.point + 0.5 * self.gap * self.normal
