"""Where rays first meet shapes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from contactlab.contact.detection.broad_phase import world_bounds
from contactlab.contact.detection.packing import PackedShapes
from contactlab.contact.errors import ContactError
from contactlab.spatial.arrays import FloatArray, IntArray, finite_array

# What rounding may take from the bounds of shapes [m].
SLACK = 1e-9


def first_hits(
    shapes: PackedShapes, poses: FloatArray, origins: ArrayLike, directions: ArrayLike, reach: float = np.inf
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Distances (n,) [m], shapes (n,) and outward unit normals (n, 3) where rays first cross the surface of a shape.

    Parameters
    ----------
    shapes
        From `pack_shapes`.
    poses
        (m, POSE) of the bodies that the shapes are on.
    origins, directions
        (n, 3) or, for all rays, (3,); directions of any length but zero.
    reach
        How far is looked [m].

    Returns
    -------
    tuple
        A ray that meets nothing has the distance infinity, the shape -1 and the normal 0.

    Raises
    ------
    ContactError
        Rays of another shape, a direction without length, a negative reach.
    """
    from contactlab.contact.detection.kernels.rays import first_hits as fill

    begin, along = _rays(origins, "origins"), _rays(directions, "directions")
    if 1 not in (len(begin), len(along)) and len(begin) != len(along):
        raise ContactError("directions", f"{len(along)} given for {len(begin)} origins")
    largest = np.abs(along).max(axis=1, initial=0.0, keepdims=True)
    if not np.all(largest > 0.0):
        raise ContactError("directions", f"entry [{int(np.argmin(largest))}] has no length")
    # By the largest entry first: squares of tiny ones would vanish.
    along = along / largest
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    if not reach >= 0.0:
        raise ContactError("reach", f"must not be negative, got {reach}")
    n = max(len(begin), len(along)) if len(begin) and len(along) else 0
    begin, along = (np.ascontiguousarray(np.broadcast_to(rays, (n, 3))).copy() for rays in (begin, along))
    distance, number, normal = np.empty(n), np.empty(n, dtype=np.int64), np.empty((n, 3))
    world = _in_world(poses, shapes.place)
    boxes = world_bounds(shapes, world, SLACK)
    fixed = (shapes.kind, shapes.size, world, shapes.data, shapes.loops, boxes)
    fill(*fixed, begin, along, float(reach), distance, number, normal)
    return distance, number, normal


def _in_world(bodies: FloatArray, places: FloatArray) -> FloatArray:
    """Poses (m, POSE) in the world of shapes, from those of their bodies and their places in these."""
    R, p = bodies[:, :9].reshape(-1, 3, 3), bodies[:, 9:]
    turned = (R @ places[:, :9].reshape(-1, 3, 3)).reshape(-1, 9)
    return np.concatenate((turned, p + (R @ places[:, 9:, None])[:, :, 0]), axis=1)


def _rays(value: ArrayLike, field: str) -> FloatArray:
    given = finite_array(value, field, (3,) if np.ndim(value) == 1 else (None, 3), ContactError)
    return given.reshape(-1, 3)
