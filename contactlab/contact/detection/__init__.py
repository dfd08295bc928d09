"""Collision detection: contacts and distances of shapes, and which of many shapes may touch."""

from __future__ import annotations

from contactlab.contact.detection.broad_phase import bounds, candidate_pairs
from contactlab.contact.detection.collide import ContactPoint, Distance, collide, distance
from contactlab.contact.detection.packing import PackedShapes, pack_shapes

__all__ = [
    "ContactPoint", "Distance", "PackedShapes", "bounds", "candidate_pairs", "collide", "distance", "pack_shapes",
]  # fmt: skip
