"""Shapes that can touch."""

from __future__ import annotations

from contactlab.contact.shapes.body_shape import BodyShape
from contactlab.contact.shapes.box import Box
from contactlab.contact.shapes.capsule import Capsule
from contactlab.contact.shapes.convex_points import ConvexPoints
from contactlab.contact.shapes.cylinder import Cylinder
from contactlab.contact.shapes.half_space import HalfSpace
from contactlab.contact.shapes.height_field import HeightField
from contactlab.contact.shapes.mesh import Mesh
from contactlab.contact.shapes.placed import Placed, Shape
from contactlab.contact.shapes.sphere import Sphere

__all__ = [
    "BodyShape",
    "Box",
    "Capsule",
    "ConvexPoints",
    "Cylinder",
    "HalfSpace",
    "HeightField",
    "Mesh",
    "Placed",
    "Shape",
    "Sphere",
]
