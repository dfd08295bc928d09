"""A shape at a pose of its own in its body."""

from __future__ import annotations

from dataclasses import dataclass, field

from contactlab.contact.errors import ContactError
from contactlab.contact.shapes.box import Box
from contactlab.contact.shapes.capsule import Capsule
from contactlab.contact.shapes.convex_points import ConvexPoints
from contactlab.contact.shapes.cylinder import Cylinder
from contactlab.contact.shapes.half_space import HalfSpace
from contactlab.contact.shapes.height_field import HeightField
from contactlab.contact.shapes.mesh import Mesh
from contactlab.contact.shapes.sphere import Sphere
from contactlab.spatial.transform import Transform

__all__ = ["Placed", "Shape"]

#: Every shape there is.
Shape = Sphere | Capsule | Box | Cylinder | ConvexPoints | HalfSpace | HeightField | Mesh


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
