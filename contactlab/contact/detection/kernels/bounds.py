"""Axis-aligned bounding boxes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from contactlab.contact.detection.kernels.layout import (
    BOX,
    CAPSULE,
    CONVEX,
    CYLINDER,
    HALF_SPACE,
    HEIGHT_FIELD,
    MESH,
    SPHERE,
)
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

__all__ = ["all_bounds", "shape_bounds"]


@kernel
def shape_bounds(kind: int, size: FloatArray, pose: FloatArray, data: FloatArray, box: FloatArray) -> None:
    """Fill ``box`` (6,) with the lowest and the highest x, y, z of a shape; a half-space is infinite."""
    for i in range(3):
        u, v, w = pose[3 * i], pose[3 * i + 1], pose[3 * i + 2]
        center, low, high = pose[9 + i], 0.0, 0.0
        if kind == SPHERE:
            high = size[0]
            low = -high
        elif kind == CAPSULE:
            high = size[0] + abs(w) * size[1]
            low = -high
        elif kind == BOX:
            high = abs(u) * size[0] + abs(v) * size[1] + abs(w) * size[2]
            low = -high
        elif kind == CYLINDER:
            high = size[0] * math.sqrt(u * u + v * v) + abs(w) * size[1]
            low = -high
        elif kind in (CONVEX, MESH):
            low, high = math.inf, -math.inf
            first = int(size[1])
            for j in range(int(size[0])):
                at = first + 3 * j
                along = u * data[at] + v * data[at + 1] + w * data[at + 2]
                low, high = min(low, along), max(high, along)
        elif kind == HEIGHT_FIELD:
            # The solid has no bottom: what has sunk through the surface is still inside.
            x, y = u * size[3] * (size[1] - 1.0), v * size[4] * (size[2] - 1.0)
            low, high = min(x, 0.0) + min(y, 0.0), max(x, 0.0) + max(y, 0.0)
            low += w * size[6] if w < 0.0 else (-math.inf if w > 0.0 else 0.0)
            high += w * size[6] if w > 0.0 else (math.inf if w < 0.0 else 0.0)
        elif kind == HALF_SPACE:
            low, high = -math.inf, math.inf
        box[i] = center + low
        box[3 + i] = center + high


@kernel
def all_bounds(
    kind: NDArray[np.int64],
    size: FloatArray,
    poses: FloatArray,
    data: FloatArray,
    enlarged: float,
    boxes: FloatArray,
) -> None:
    """Fill ``boxes`` (n, 6) for n shapes at ``poses`` (n, POSE), each side moved out by ``enlarged`` [m]."""
    for i in range(kind.shape[0]):
        shape_bounds(kind[i], size[i], poses[i], data, boxes[i])
        for j in range(3):
            boxes[i, j] -= enlarged
            boxes[i, 3 + j] += enlarged
