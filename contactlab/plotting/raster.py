"""Triangles and lines into pixels with a depth buffer.

A pixel keeps the number of the triangle seen there and its nearness, which is linear on the screen (1/depth under
perspective); everything else is computed afterwards for the triangles that are seen.
"""

from __future__ import annotations

import numpy as np

from contactlab.spatial.arrays import FloatArray, IntArray


def rasterize(screen: FloatArray, width: int, height: int) -> tuple[FloatArray, IntArray]:
    """Return nearness (height, width), 0 where nothing is seen, and the number of the triangle there, -1 for none.

    ``screen`` (m, 3, 3) holds the corners of the triangles: x to the right, y downwards [pixels], nearness > 0, the
    largest wins. A triangle with a corner of nearness <= 0 (behind the eye) is left out.
    """
    from contactlab.plotting.kernels.shading import fill

    near, seen = np.zeros((height, width)), np.full((height, width), -1, dtype=np.int64)
    fill(np.ascontiguousarray(screen, dtype=np.float64), near, seen)
    return near, seen


def line_pixels(ends: FloatArray, width: int, height: int, thickness: float) -> tuple[IntArray, FloatArray, IntArray]:
    """Return the pixels of lines: place in the flat picture, nearness, number of the line; one row per pixel tried.

    The ``ends`` (k, 2, 3) are as the corners of `rasterize`; the thickness is in pixels.
    """
    ahead = (ends[:, :, 2] > 0.0).all(axis=1)
    ahead &= (np.abs(ends[:, :, :2]) < 8.0 * max(width, height)).all(axis=(1, 2))
    numbers = np.flatnonzero(ahead)
    a, b = ends[numbers, 0], ends[numbers, 1]
    count = np.ceil(np.abs(b - a)[:, :2].max(axis=1, initial=0.0)).astype(np.int64) + 1
    line = np.repeat(np.arange(len(numbers)), count)
    along = (np.arange(len(line)) - np.repeat(np.cumsum(count) - count, count)) / np.maximum(count[line] - 1, 1)
    points = a[line] + along[:, None] * (b - a)[line]
    reach = np.arange(-int(thickness), int(thickness) + 1)
    dx, dy = (grid.ravel() for grid in np.meshgrid(reach, reach))
    round_ = dx**2 + dy**2 <= (0.5 * thickness) ** 2 + 0.25
    x = (np.floor(points[:, 0]).astype(np.int64)[:, None] + dx[round_]).ravel()
    y = (np.floor(points[:, 1]).astype(np.int64)[:, None] + dy[round_]).ravel()
    near, line = np.repeat(points[:, 2], round_.sum()), np.repeat(line, round_.sum())
    on = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    return (y * width + x)[on], near[on], numbers[line[on]]
