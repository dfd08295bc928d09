"""Shapes as triangles and lines."""

from __future__ import annotations

from contactlab.contact import BodyShape, Shape
from contactlab.contact.shapes import Solid, balls, join_solids

__all__ = ["Solid", "join_solids", "solid_of"]


def solid_of(shape: object) -> Solid:
    """A shape's surface in its own axes; of one of the user's own the balls it touches half-spaces with.

    A half-space has no end: its solid is empty, and `contactlab.drawing.Ground` draws the piece that matters.
    """
    if isinstance(shape, Shape):
        return shape.solid()
    if isinstance(shape, BodyShape):
        return balls(*shape.support_points())
    raise TypeError(f"{type(shape).__name__} is no shape")
