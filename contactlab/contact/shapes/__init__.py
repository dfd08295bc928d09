"""Shapes that can touch."""

from __future__ import annotations

from contactlab.contact.shapes.box import Box
from contactlab.contact.shapes.capsule import Capsule
from contactlab.contact.shapes.convex_points import ConvexPoints
from contactlab.contact.shapes.cylinder import Cylinder
from contactlab.contact.shapes.half_space import HalfSpace
from contactlab.contact.shapes.height_field import HeightField
from contactlab.contact.shapes.mesh import Mesh
from contactlab.contact.shapes.placed import Placed
from contactlab.contact.shapes.shape import BodyShape, Shape
from contactlab.contact.shapes.solid import Solid, balls, join_solids
from contactlab.contact.shapes.sphere import Sphere

#: Every shape there is; what is read from a file, written or tested for each of them follows from this.
ALL_SHAPES: tuple[type[Shape], ...] = (Sphere, Capsule, Cylinder, Box, ConvexPoints, HalfSpace, HeightField, Mesh)

__all__ = [
    "ALL_SHAPES", "BodyShape", "Box", "Capsule", "ConvexPoints", "Cylinder", "HalfSpace", "HeightField", "Mesh",
    "Placed", "Shape", "Solid", "Sphere", "balls", "join_solids",
]  # fmt: skip
