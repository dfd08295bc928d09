"""A shape at a pose of its own in its body."""

from __future__ import annotations

from dataclasses import dataclass, field

from contactlab.contact.errors import ContactError
from contactlab.contact.shapes.shape import Shape
from contactlab.spatial.transform import Transform


@dataclass(frozen=True, eq=False)
class Placed:
    """A shape whose axes stand at ``pose`` in its body: a body of several shapes is a list of them.

    Parameters
    ----------
    shape
        Any shape but another `Placed`.
    pose
        `Transform` from the shape's axes to the body's.

    Raises
    ------
    ContactError
        Something else.
    """

    shape: Shape
    pose: Transform = field(default_factory=Transform)

    def __post_init__(self) -> None:
        if not isinstance(self.shape, Shape):
            raise ContactError("shape", f"must be one of contactlab.contact.shapes, got {type(self.shape).__name__}")
        if not isinstance(self.pose, Transform):
            raise ContactError("pose", f"must be a Transform, got {type(self.pose).__name__}")
