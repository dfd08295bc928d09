"""Shapes of bodies and grounds."""

from __future__ import annotations

from contactlab.collision.shapes.convex_points import ConvexPoints, Mesh
from contactlab.collision.shapes.primitives import Box, Capsule, Cylinder, HalfSpace, HeightField, Sphere
from contactlab.collision.shapes.shape import BodyShape, PlacedShape, Shape, SurfaceMesh, balls, join_surfaces

#: Every shape; readers, writers and tests of shapes use this list.
ALL_SHAPES: tuple[type[Shape], ...] = (Sphere, Capsule, Cylinder, Box, ConvexPoints, HalfSpace, HeightField, Mesh)

__all__ = [
    "ALL_SHAPES", "BodyShape", "Box", "Capsule", "ConvexPoints", "Cylinder", "HalfSpace", "HeightField", "Mesh",
    "PlacedShape", "Shape", "SurfaceMesh", "Sphere", "balls", "join_surfaces",
]  # fmt: skip
