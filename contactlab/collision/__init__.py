"""Shapes, materials and the geometry of contacts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contactlab.collision.material import (
    Material,
    PowerLaw,
    RestitutionLaw,
    check_edges,
    combine,
    combine_compliance,
    combine_moments,
    edge_directions,
    tangent_frame,
)
from contactlab.collision.mesh_files import load_hull, load_mesh
from contactlab.collision.shapes import (
    BodyShape,
    Box,
    Capsule,
    ConvexPoints,
    Cylinder,
    HalfSpace,
    HeightField,
    Mesh,
    PlacedShape,
    Shape,
    Sphere,
)
from contactlab.multibody.spatial.arrays import ContactError
from contactlab.naming import module_hooks

__all__ = [
    "BodyShape", "Box", "Capsule", "ContactError", "ConvexPoints", "Cylinder", "HalfSpace", "HeightField", "Material",
    "Mesh", "PlacedShape", "PowerLaw", "RestitutionLaw", "Shape", "Sphere", "check_edges", "combine",
    "combine_compliance", "combine_moments", "edge_directions", "load_hull", "load_mesh", "tangent_frame",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__)
