"""Queries about many shapes: bounding boxes, pairs that may touch, and rays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from contactlab.contact.shapes.shape import PackedShapes, pose_row
from contactlab.spatial.arrays import FloatArray, IntArray, finite_array, finite_number
from contactlab.spatial.errors import ContactError, check_type
from contactlab.spatial.transform import Transform


def bounds(shapes: PackedShapes, poses: Sequence[Transform]) -> FloatArray:
    """Return the bounding boxes (n, 6) of shapes of bodies at ``poses``: lowest x, y, z, then highest [m]."""
    return world_bounds(shapes, _world_poses(shapes, poses), 0.0)


def candidate_pairs(
    shapes: PackedShapes,
    poses: Sequence[Transform],
    *,
    margin: float = 0.0,
    body: ArrayLike | None = None,
    category: ArrayLike | None = None,
    mask: ArrayLike | None = None,
) -> list[tuple[int, int]]:
    """Return the pairs (i, j), i < j, of shapes with bounding boxes within ``margin`` of each other, ascending.

    Parameters
    ----------
    shapes
        From `pack_shapes`.
    poses
        Pose of the body of every shape.
    margin
        [m], at least 0.
    body
        Number of the body of every shape, negative for fixed ones; by default each has its own. Shapes of one body make
        no pairs, nor do fixed ones.
    category, mask
        Bits of every shape, all set by default: a pair needs ``category[i] & mask[j]`` and ``category[j] & mask[i]``.

    Raises
    ------
    ContactError
        An argument of another length, or a bad margin.
    """
    from contactlab.contact.detection.kernels.sweep_and_prune import candidates

    n = len(shapes.kind)
    limit = finite_number(margin, "margin", ContactError, least=0.0)
    world = _world_poses(shapes, poses)
    boxes = world_bounds(shapes, world, 0.5 * limit)
    owner = np.arange(n) if body is None else _integers(body, "body", n)
    bits = [
        np.full(n, -1, dtype=np.int64) if given is None else _integers(given, name, n)
        for given, name in ((category, "category"), (mask, "mask"))
    ]
    order, keys = np.argsort(boxes[:, 0], kind="stable").astype(np.int64), np.empty(n)
    capacity = 16 * n + 64
    while True:
        pairs = np.empty(capacity, dtype=np.int64)
        count = candidates(
            shapes.kind, shapes.size, world, boxes, 0.5 * limit, owner, bits[0], bits[1], order, keys, pairs
        )
        if count <= capacity:
            return [(int(pair) // n, int(pair) % n) for pair in pairs[:count]]
        capacity = count


def _world_poses(shapes: PackedShapes, poses: Sequence[Transform]) -> FloatArray:
    """Return the world poses (n, 12) of shapes on bodies at ``poses``: R by rows, and p."""
    if len(poses) != len(shapes.kind):
        raise ContactError("poses", f"{len(poses)} given for {len(shapes.kind)} shapes")
    for i, pose in enumerate(poses):
        check_type(pose, Transform, "poses", ContactError, f"Transforms, entry [{i}] too")
    return _shape_poses(np.array([pose_row(pose) for pose in poses]).reshape(-1, 12), shapes.place)


def world_bounds(shapes: PackedShapes, world: FloatArray, enlarged: float) -> FloatArray:
    """Return the bounding boxes (n, 6) of shapes at poses (n, POSE) in the world, each side moved out [m]."""
    from contactlab.contact.detection.kernels.support import all_bounds

    boxes = np.empty((len(world), 6))
    all_bounds(shapes.kind, shapes.size, world, shapes.data, enlarged, boxes)
    return boxes


def _integers(value: ArrayLike, field: str, n: int) -> IntArray:
    """Return a value as an int64 copy (n,); another shape or type raises."""
    array = np.asarray(value)
    if array.shape != (n,) or array.dtype.kind not in "iu":
        raise ContactError(field, f"must be ({n},) integers, got {array.dtype} of shape {array.shape}")
    return array.astype(np.int64)


# Margin for rounding in the bounds of shapes [m].
SLACK = 1e-9


def first_hits(
    shapes: PackedShapes, poses: FloatArray, origins: ArrayLike, directions: ArrayLike, reach: float = np.inf
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return distances (n,) [m], shapes (n,) and outward unit normals (n, 3) of the first shapes on rays.

    Parameters
    ----------
    shapes
        From `pack_shapes`.
    poses
        (m, POSE) of the bodies that the shapes are on.
    origins, directions
        (n, 3) or, for all rays, (3,); directions of any length but zero.
    reach
        Length of the rays [m].

    Returns
    -------
    tuple
        Distances (n,), shapes (n,) and normals (n, 3). A ray without a hit has distance infinity, shape -1, normal 0.

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
    # Divide by the largest entry first, because squares of tiny entries would underflow.
    along = along / largest
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    if not reach >= 0.0:
        raise ContactError("reach", f"must not be negative, got {reach}")
    n = max(len(begin), len(along)) if len(begin) and len(along) else 0
    begin, along = (np.ascontiguousarray(np.broadcast_to(rays, (n, 3))).copy() for rays in (begin, along))
    distance, number, normal = np.empty(n), np.empty(n, dtype=np.int64), np.empty((n, 3))
    world = _shape_poses(poses, shapes.place)
    boxes = world_bounds(shapes, world, SLACK)
    fixed = (shapes.kind, shapes.size, world, shapes.data, shapes.loops, boxes)
    fill(*fixed, begin, along, float(reach), distance, number, normal)
    return distance, number, normal


def _shape_poses(bodies: FloatArray, places: FloatArray) -> FloatArray:
    """Return the poses (m, POSE) of shapes in the world: poses of bodies times poses of shapes on their bodies."""
    R, p = bodies[:, :9].reshape(-1, 3, 3), bodies[:, 9:]
    turned = (R @ places[:, :9].reshape(-1, 3, 3)).reshape(-1, 9)
    return np.concatenate((turned, p + (R @ places[:, 9:, None])[:, :, 0]), axis=1)


def _rays(value: ArrayLike, field: str) -> FloatArray:
    given = finite_array(value, field, (3,) if np.ndim(value) == 1 else (None, 3), ContactError)
    return given.reshape(-1, 3)
