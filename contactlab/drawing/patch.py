"""The piece of an unbounded plane that is worth drawing.

A half-space has no edges. What is drawn is a rectangle around the motion, less what lies inside the other half-spaces,
with a square grid on it: without lines the eye cannot tell rolling from sliding.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from contactlab.spatial.arrays import FloatArray


def patch(
    normal: FloatArray, offset: float, around: FloatArray, margin: float, others: Iterable[tuple[FloatArray, float]]
) -> FloatArray:
    """Corners (n, 3) of the drawn part of the plane normal.x = offset, in order around it (n may be 0).

    The normal is the outward unit one. The rectangle lies under all points ``around`` (m, 3), with a margin [m] on each
    side; what lies inside one of the ``others``, by their normals and offsets, is cut away.
    """
    t1, t2 = plane_axes(normal)
    a, b = around @ t1, around @ t2
    low = (a.min() - margin, b.min() - margin)
    high = (a.max() + margin, b.max() + margin)
    square = [(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1])]
    polygon = np.array([offset * normal + x * t1 + y * t2 for x, y in square])
    for other_normal, other_offset in others:
        polygon = clip(polygon, other_normal, other_offset)
    return polygon


def plane_axes(normal: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two unit axes of the plane; the first is horizontal, so that grids follow slopes."""
    across = np.cross((0.0, 1.0, 0.0) if abs(normal[1]) < 0.9 else (1.0, 0.0, 0.0), normal)
    t1 = across / np.linalg.norm(across)
    return t1, np.cross(normal, t1)


def clip(polygon: FloatArray, normal: FloatArray, offset: float) -> FloatArray:
    """Part of a convex polygon (n, 3) with normal.x >= offset (Sutherland and Hodgman 1974, one plane)."""
    kept: list[FloatArray] = []
    heights = polygon @ normal - offset
    for i in range(len(polygon)):
        j = (i + 1) % len(polygon)
        if heights[i] >= 0.0:
            kept.append(polygon[i])
        if heights[i] * heights[j] < 0.0:
            share = heights[i] / (heights[i] - heights[j])
            kept.append(polygon[i] + share * (polygon[j] - polygon[i]))
    return np.array(kept).reshape(-1, 3)


def fan(polygon: FloatArray) -> NDArray[np.uint32]:
    """Triangles (n - 2, 3) of a convex polygon of n corners."""
    return np.array([(0, i, i + 1) for i in range(1, len(polygon) - 1)], dtype=np.uint32).reshape(-1, 3)


def grid_lines(polygon: FloatArray, normal: FloatArray, spacing: float, lift: float) -> NDArray[np.float32]:
    """Grid lines (m, 2, 3) on a convex polygon, ``lift`` above it (else they flicker)."""
    segments: list[tuple[FloatArray, FloatArray]] = []
    for axis in plane_axes(normal):
        along = polygon @ axis
        for level in np.arange(np.ceil(along.min() / spacing), np.floor(along.max() / spacing) + 1.0) * spacing:
            crossings = _crossings(polygon, along - level)
            if len(crossings) == 2:
                segments.append((crossings[0], crossings[1]))
    lines = np.array(segments).reshape(-1, 2, 3) + lift * normal
    return lines.astype(np.float32)


def _crossings(polygon: FloatArray, heights: FloatArray) -> list[FloatArray]:
    """Points where the outline changes sign of ``heights`` (two, for a convex polygon cut in its inside)."""
    points = []
    for i in range(len(polygon)):
        j = (i + 1) % len(polygon)
        if (heights[i] < 0.0) != (heights[j] < 0.0):
            points.append(polygon[i] + heights[i] / (heights[i] - heights[j]) * (polygon[j] - polygon[i]))
    return points
