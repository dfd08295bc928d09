"""Renderer of a stage: solids with light and shadow, ground, and force arrows that are visible through bodies.

A pixel of the depth buffer stores the number of its triangle and its nearness, which is linear on the screen (1/depth
for perspective). All other quantities are computed afterwards, for the visible triangles only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from contactlab.collision.shapes import join_surfaces
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.view.drawing import SurfaceMesh
from contactlab.view.drawing.parts import EDGE, Color
from contactlab.view.drawing.stage import FAR, Camera

if TYPE_CHECKING:
    from contactlab.view.plotting.kernels import Light, Materials


FINE = 2  # number of rendered pixels per picture pixel, in each direction
LIGHT = np.array([-0.3, -0.75, 1.1]) / np.linalg.norm((-0.3, -0.75, 1.1))
AMBIENT, AMBIENT_GROUND, AMBIENT_MARK = 0.62, 0.74, 0.8  # a mark keeps its colour, which has a meaning
DIRECT = 0.38
SHADOW_PIXELS = 1200
HIDDEN = 0.35  # opacity of an arrow behind a body
LINE = 0.65  # opacity of a line


@dataclass(frozen=True, eq=False)
class Item:
    """A solid in world axes."""

    solid: SurfaceMesh  # world axes
    # Colours of its surface and its lines.
    color: Color
    line_color: Color = EDGE
    ground: bool = False  # visible from outside only, without shadow, and fading out towards its rim
    mark: bool = False  # drawn over all other items: arrows and points


def render(items: list[Item], camera: Camera) -> NDArray[np.uint8]:
    """Return the picture (height, width, 3) of the items on white."""
    fine = Camera(camera.eye, camera.axes, FINE * camera.zoom, FINE * camera.width, FINE * camera.height)
    bodies = [item for item in items if not item.mark]
    marks = [item for item in items if item.mark]
    picture, near = _surfaces(bodies, fine, shadows=True)
    _lines(picture, near, bodies, fine)
    if marks:
        over, over_near = _surfaces(marks, fine, shadows=False)
        share = np.where(over_near >= near, 1.0, HIDDEN) * (over_near > 0.0)
        picture += share[..., None] * (over - picture)
    mean = picture.reshape(camera.height, FINE, camera.width, FINE, 3).mean(axis=(1, 3))
    return np.asarray(255.0 * mean.clip(0.0, 1.0) + 0.5, dtype=np.uint8)


def _surfaces(items: list[Item], camera: Camera, *, shadows: bool) -> tuple[FloatArray, FloatArray]:
    """Return colours (height, width, 3) and nearness of the triangles."""
    from contactlab.view.plotting.kernels import shade

    picture = np.ones((camera.height, camera.width, 3))
    solid = join_surfaces([item.solid for item in items])
    owner = np.repeat(np.arange(len(items)), [len(item.solid.triangles) for item in items])
    if not len(owner):
        return picture, np.zeros(picture.shape[:2])
    corners, normals = solid.vertices[solid.triangles], solid.normals[solid.triangles]
    ground = np.array([item.ground for item in items])[owner]
    facing = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    away = ground & (np.einsum("mi,mi->m", facing, corners[:, 0] - camera.eye) >= 0.0)
    screen = camera.project(corners)
    screen[away, :, 2] = -1.0
    near, seen = rasterize(screen, camera.width, camera.height)
    light = _light(corners[~ground] if shadows else corners[:0])
    shade(screen, corners, normals, owner, _things(items), light, camera.eye, seen, np.zeros((3, 3)), picture)
    return picture, near


def _things(items: list[Item]) -> Materials:
    """Return the colours of the drawn items as kernel arrays."""
    from contactlab.view.plotting.kernels import Materials

    boxes = [_box(item.solid) if item.ground else (np.zeros(3), np.ones(3)) for item in items]
    return Materials(
        color=np.array([item.color for item in items]) / 255.0,
        ambient=np.array([AMBIENT_MARK if i.mark else AMBIENT_GROUND if i.ground else AMBIENT for i in items]),
        ground=np.array([item.ground for item in items], dtype=np.int64),
        middle=np.array([middle for middle, _ in boxes]),
        half=np.array([half for _, half in boxes]),
    )


def _light(casters: FloatArray) -> Light:
    """Return the light, with the shadows of triangles (m, 3, 3)."""
    from contactlab.view.plotting.kernels import Light

    if not len(casters):
        return Light(LIGHT, DIRECT, np.zeros(3), np.eye(3), 1.0, FAR, np.zeros((0, 0)))
    eye = Camera.far(casters.reshape(-1, 3), LIGHT, SHADOW_PIXELS)
    near, _ = rasterize(eye.project(casters), SHADOW_PIXELS, SHADOW_PIXELS)
    assert eye.per_metre is not None
    return Light(LIGHT, DIRECT, eye.eye, eye.axes, eye.per_metre, FAR, near)


def _box(ground: SurfaceMesh) -> tuple[FloatArray, FloatArray]:
    """Return middle and half sides of a ground's box, infinite along its normal."""
    low, high = ground.vertices.min(axis=0), ground.vertices.max(axis=0)
    flat = (high - low) < 1e-6 * float((high - low).max())
    return 0.5 * (low + high), np.where(flat, np.inf, np.maximum(0.5 * (high - low), 1e-9))


def _fade(ground: SurfaceMesh, places: FloatArray) -> FloatArray:
    """Return 1 in the middle of a ground and 0 at its rim, because a visible edge would suggest that it ends there."""
    middle, half = _box(ground)
    share = ((1.0 - np.abs((places - middle) / half).max(axis=1)) / 0.35).clip(0.0, 1.0)
    return np.asarray(share * share * (3.0 - 2.0 * share))


def _lines(picture: FloatArray, near: FloatArray, items: list[Item], camera: Camera) -> None:
    """Draw the visible lines of the items."""
    flat, depth = picture.reshape(-1, 3), near.ravel()
    for item in items:
        lines = item.solid.lines
        if (
            item.ground
            and item.solid.normals.size
            and item.solid.normals[0] @ (item.solid.vertices[0] - camera.eye) >= 0.0
        ):
            continue
        at, value, number = line_pixels(camera.project(lines), camera.width, camera.height, 0.75 * FINE)
        # A line is drawn nearer to the eye by a thousandth, because rounding would interrupt it on its surface.
        shown = value * (1.0 + 4e-3) >= depth[at]
        at, number = at[shown], number[shown]
        share = np.full(len(at), LINE)
        if item.ground:
            share *= _fade(item.solid, lines[number].mean(axis=1))
        _, first = np.unique(at, return_index=True)
        at, share = at[first], share[first]
        flat[at] += share[:, None] * (np.array(item.line_color) / 255.0 - flat[at])


def rasterize(screen: FloatArray, width: int, height: int) -> tuple[FloatArray, IntArray]:
    """Return nearness (height, width), 0 for empty pixels, and the number of the triangle there, -1 for none.

    ``screen`` (m, 3, 3) holds the corners of the triangles: x to the right, y downwards [pixels], nearness > 0; the
    largest nearness wins. A triangle with a corner of nearness <= 0 (behind the eye) is omitted.
    """
    from contactlab.view.plotting.kernels import fill

    near, seen = np.zeros((height, width)), np.full((height, width), -1, dtype=np.int64)
    fill(np.ascontiguousarray(screen, dtype=np.float64), near, seen)
    return near, seen


def line_pixels(ends: FloatArray, width: int, height: int, thickness: float) -> tuple[IntArray, FloatArray, IntArray]:
    """Return the pixels of lines: index in the flat picture, nearness, number of the line; one row per tried pixel.

    The ``ends`` (k, 2, 3) are given like the corners for `rasterize`; the thickness is in pixels.
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
