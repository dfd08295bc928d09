"""Shapes of a scene file: their keys, the values of `contactlab.contact` they become, and what they weigh."""

from __future__ import annotations

import numpy as np

from contactlab.contact import Box, Capsule, ConvexPoints, Cylinder, HalfSpace, HeightField, Shape, Sphere
from contactlab.simulation.scene.schema import ShapeEntry
from contactlab.simulation.scene.table import Table, suggestion
from contactlab.spatial import RigidInertia

__all__ = ["SHAPE_KEYS", "AnyShape", "build_shape", "parse_shape", "solid"]

AnyShape = Box | Capsule | ConvexPoints | Cylinder | HalfSpace | HeightField | Sphere

MOST_POINTS = 1000
MOST_ROWS = 500

#: Kinds of shapes with their keys. Another kind is a row here and a case in the functions below.
SHAPES: dict[str, tuple[str, ...]] = {
    "box": ("half_extents", "size"),
    "sphere": ("radius", "center"),
    "capsule": ("radius", "half_length"),
    "cylinder": ("radius", "half_length"),
    "points": ("points",),
    "half_space": ("normal", "offset"),
    "height_field": ("heights", "grid"),
}
SHAPE_KEYS = ("shape", *dict.fromkeys(key for keys in SHAPES.values() for key in keys))


def parse_shape(table: Table) -> ShapeEntry:
    """Return the shape a table speaks of; keys of another kind of shape are refused."""
    kind = table.text("shape")
    if kind not in SHAPES:
        raise table.error("shape", f"unknown shape '{kind}'{suggestion(kind, SHAPES)}")
    for key in SHAPE_KEYS[1:]:
        if key in table and key not in SHAPES[kind]:
            raise table.error(key, f"does not belong to a {kind}")
    if kind == "box":
        key = table.one_of("half_extents", "size")
        half = tuple((1.0 if key == "half_extents" else 0.5) * value for value in table.vector(key, 3))
        return ShapeEntry(kind, {"half_extents": half})
    if kind == "sphere":
        return ShapeEntry(kind, {"radius": table.number("radius"), "center": table.vector("center", 3, (0.0,) * 3)})
    if kind == "points":
        return ShapeEntry(kind, {"points": table.vectors("points", 3, MOST_POINTS)})
    if kind == "half_space":
        return ShapeEntry(kind, {"normal": table.vector("normal", 3), "offset": table.number("offset", 0.0)})
    if kind == "height_field":
        columns = len(table.vectors("heights", None, MOST_ROWS)[0])
        heights = table.vectors("heights", columns, MOST_ROWS)
        return ShapeEntry(kind, {"heights": heights, "spacing": table.vector("grid", 2)})
    return ShapeEntry(kind, {"radius": table.number("radius"), "half_length": table.number("half_length")})


def build_shape(entry: ShapeEntry) -> AnyShape:
    """Return the shape."""
    classes: dict[str, type[AnyShape]] = {
        "box": Box,
        "sphere": Sphere,
        "capsule": Capsule,
        "cylinder": Cylinder,
        "points": ConvexPoints,
        "half_space": HalfSpace,
        "height_field": HeightField,
    }
    return classes[entry.kind](**entry.numbers)


def solid(shape: Shape) -> RigidInertia | None:
    """Return the inertia about the shape's axes of a body of it with density 1 kg/m^3; None where it has no volume."""
    if isinstance(shape, Box):
        return RigidInertia.solid_box(8.0 * float(np.prod(shape.half_extents)), shape.half_extents)
    if isinstance(shape, Sphere):
        ball = RigidInertia.solid_sphere(_ball(shape.radius), shape.radius)
        return RigidInertia(ball.mass, shape.center, inertia=ball.inertia)
    if isinstance(shape, Capsule | Cylinder):
        r, half = shape.radius, shape.half_length
        tube = 2.0 * np.pi * r**2 * half
        across, along = tube * (r**2 / 4.0 + half**2 / 3.0), tube * r**2 / 2.0
        if isinstance(shape, Cylinder):
            return RigidInertia(tube, inertia=np.diag([across, across, along]))
        # Two half balls: each with its mass centre 3/8 r from its face, its inertia there from that of the whole ball.
        ends = _ball(r)
        across += ends * (0.4 * r**2 + half**2 + 0.75 * r * half)
        return RigidInertia(tube + ends, inertia=np.diag([across, across, along + 0.4 * ends * r**2]))
    return None


def _ball(radius: float) -> float:
    return 4.0 / 3.0 * float(np.pi) * radius**3
