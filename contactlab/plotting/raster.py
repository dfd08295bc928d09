"""Triangles and lines into pixels with a depth buffer, in plain numpy.

A pixel keeps the number of the triangle seen there and its nearness, which is linear on the screen (1/depth under
perspective); everything else is computed afterwards for the triangles that are seen.
"""

from __future__ import annotations

import numpy as np

from contactlab.spatial.arrays import FloatArray, IntArray

PORTION = 1 << 20  # pixels tried at once


def rasterize(screen: FloatArray, width: int, height: int) -> tuple[FloatArray, IntArray]:
    """Return nearness (height, width), 0 where nothing is seen, and the number of the triangle there, -1 for none.

    ``screen`` (m, 3, 3) holds the corners of the triangles: x to the right, y downwards [pixels], nearness > 0, the
    largest wins. A triangle with a corner of nearness <= 0 (behind the eye) is left out.
    """
    near, seen = np.zeros(width * height), np.full(width * height, -1, dtype=np.int64)
    group = np.flatnonzero((screen[:, :, 2] > 0.0).all(axis=1) & (np.abs(_areas(screen)) > 1e-12))
    # Rows of pixels whose middle a triangle crosses, then in each row the pixels between its two sides.
    y = screen[group][:, :, 1]
    top = np.ceil(y.min(axis=1) - 0.5).clip(0.0, height).astype(np.int64)
    bottom = np.floor(y.max(axis=1) - 0.5).clip(-1.0, height - 1).astype(np.int64)
    which, row = _ranges(top, bottom)
    triangle = group[which]
    left, right = _sides(screen, triangle, row.astype(np.float64) + 0.5)
    first = np.ceil(left - 0.5).clip(0.0, width).astype(np.int64)
    last = np.floor(right - 0.5).clip(-1.0, width - 1).astype(np.int64)
    slope = _slopes(screen)
    ends = np.cumsum(np.maximum(last - first + 1, 0))
    for portion in np.split(np.arange(len(row)), np.searchsorted(ends, np.arange(PORTION, ends[-1:].sum(), PORTION))):
        span, x = _ranges(first[portion], last[portion])
        lines = portion[span]
        number, line = triangle[lines], row[lines]
        base = screen[number, 0]
        gradient = slope[number]
        value = base[:, 2] + gradient[:, 0] * (x + 0.5 - base[:, 0]) + gradient[:, 1] * (line + 0.5 - base[:, 1])
        at = line * width + x
        nearer = value > near[at]
        at, value, number = at[nearer], value[nearer], number[nearer]
        # Of several for one pixel the last written stays: the nearest comes last.
        order = np.argsort(value, kind="stable")
        near[at[order]], seen[at[order]] = value[order], number[order]
    return near.reshape(height, width), seen.reshape(height, width)


def _ranges(first: IntArray, last: IntArray) -> tuple[IntArray, IntArray]:
    """All whole numbers first[i] .. last[i], one after the other, each with its i."""
    count = np.maximum(last - first + 1, 0)
    which = np.repeat(np.arange(len(first)), count)
    return which, first[which] + np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)


def _areas(screen: FloatArray) -> FloatArray:
    u, v = screen[:, 1, :2] - screen[:, 0, :2], screen[:, 2, :2] - screen[:, 0, :2]
    return u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]


def _slopes(screen: FloatArray) -> FloatArray:
    """Change of nearness per pixel in x and y over each triangle (m, 2); 0 over one without area."""
    u, v, area = screen[:, 1] - screen[:, 0], screen[:, 2] - screen[:, 0], _areas(screen)
    across = np.stack((u[:, 2] * v[:, 1] - v[:, 2] * u[:, 1], v[:, 2] * u[:, 0] - u[:, 2] * v[:, 0]), axis=1)
    return np.divide(across, area[:, None], out=np.zeros_like(across), where=np.abs(area)[:, None] > 1e-12)


def _sides(screen: FloatArray, triangle: IntArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Where a horizontal line enters and leaves a triangle; nowhere: (inf, -inf)."""
    left, right = np.full(len(y), np.inf), np.full(len(y), -np.inf)
    for k in range(3):
        a, b = screen[triangle, k, :2], screen[triangle, (k + 1) % 3, :2]
        crossed = (a[:, 1] <= y) != (b[:, 1] <= y)
        rise = np.where(crossed, b[:, 1] - a[:, 1], 1.0)
        x = a[:, 0] + (y - a[:, 1]) / rise * (b[:, 0] - a[:, 0])
        left, right = np.where(crossed, np.minimum(left, x), left), np.where(crossed, np.maximum(right, x), right)
    return left, right


def shares(screen: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the weights (..., 3) of a triangle's corners at points of the screen: all >= 0 inside.

    ``screen`` (..., 3, 3) broadcasts against ``x`` and ``y`` (...). A triangle without area on the screen is nowhere.
    """
    (ax, ay), (bx, by), (cx, cy) = ((screen[..., k, 0], screen[..., k, 1]) for k in range(3))
    area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    scale = np.divide(1.0, area, out=np.full_like(area, -np.inf), where=np.abs(area) > 1e-12)
    with np.errstate(invalid="ignore"):
        a = ((bx - x) * (cy - y) - (by - y) * (cx - x)) * scale
        b = ((cx - x) * (ay - y) - (cy - y) * (ax - x)) * scale
        weights = np.stack((a, b, 1.0 - a - b), axis=-1)
    return np.where(np.isfinite(weights), weights, -1.0)


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
