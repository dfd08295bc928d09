"""Collision detection: contacts and distances of shapes, and the pairs of shapes that may touch."""

from __future__ import annotations

from contactlab.collision.detection.collide import CollisionPoint, Distance, bounds, candidate_pairs, collide, distance
from contactlab.collision.shapes.shape import PackedShapes, pack_shapes

__all__ = [
    "CollisionPoint", "Distance", "PackedShapes", "bounds", "candidate_pairs", "collide", "distance", "pack_shapes",
]  # fmt: skip
