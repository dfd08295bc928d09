"""What a body's shape must offer to touch a half-space."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from contactlab.spatial.arrays import FloatArray

__all__ = ["BodyShape"]


@runtime_checkable
class BodyShape(Protocol):
    """A convex shape fixed to a body, as points with a radius: its deepest point is always that of one of them."""

    def support_points(self) -> tuple[FloatArray, FloatArray]:
        """Return new arrays: points (n, 3) [m] in body axes, radii (n,) [m]; their fixed order numbers the contacts."""
        ...
