"""A stage as a picture: solids with light and shadow, ground, and force arrows that shine through what hides them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contactlab.contact.shapes import join_solids
from contactlab.drawing import Solid
from contactlab.drawing.camera import Camera
from contactlab.drawing.palette import EDGE, Color
from contactlab.plotting.raster import line_pixels, rasterize, shares
from contactlab.spatial.arrays import FloatArray

FINE = 2  # pixels across that are averaged into one
LIGHT = np.array([-0.3, -0.75, 1.1]) / np.linalg.norm((-0.3, -0.75, 1.1))
AMBIENT, AMBIENT_GROUND, AMBIENT_MARK = 0.62, 0.74, 0.8  # a mark keeps its colour: that is its meaning
DIRECT = 0.38
SHADOW_PIXELS = 1200
HIDDEN = 0.35  # how much of an arrow shows through a body
LINE = 0.65  # how much of a line covers what is below


@dataclass(frozen=True, eq=False)
class Item:
    """A solid in world axes."""

    solid: Solid  # world axes
    # Of its surface and its lines.
    color: Color
    line_color: Color = EDGE
    ground: bool = False  # seen from outside only, throws no shadow, and fades out towards its rim
    mark: bool = False  # lies over everything: arrows and points


def render(items: list[Item], camera: Camera) -> NDArray[np.uint8]:
    """Return the picture (height, width, 3) of the items; what is empty is white."""
    fine = Camera(camera.eye, camera.axes, FINE * camera.zoom, FINE * camera.width, FINE * camera.height)
    bodies = [item for item in items if not item.mark]
    marks = [item for item in items if item.mark]
    picture, near = _surfaces(bodies, fine, shadows=True)
    _lines(picture, near, bodies, fine)
    if marks:
        over, over_near = _surfaces(marks, fine, shadows=False)
        share = np.where(over_near >= near, 1.0, HIDDEN) * (over_near > 0.0)
        picture += share[..., None] * (over - picture)
    rows, columns = camera.height, camera.width
    small = picture.reshape(rows, FINE, columns, FINE, 3).mean(axis=(1, 3))
    return np.asarray(255.0 * small.clip(0.0, 1.0) + 0.5).astype(np.uint8)


def _surfaces(items: list[Item], camera: Camera, *, shadows: bool) -> tuple[FloatArray, FloatArray]:
    """Colours (height, width, 3) and nearness of the triangles."""
    picture = np.ones((camera.height, camera.width, 3))
    solid = join_solids([item.solid for item in items])
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
    rows, columns = np.nonzero(seen >= 0)
    triangle = seen[rows, columns]
    # Weights on the screen belong to 1/depth; those in the world follow.
    weights = (
        shares(screen[triangle], columns.astype(np.float64) + 0.5, rows.astype(np.float64) + 0.5)
        * screen[triangle][:, :, 2]
    )
    weights /= weights.sum(axis=1, keepdims=True)
    place = np.einsum("pk,pki->pi", weights, corners[triangle])
    normal = np.einsum("pk,pki->pi", weights, normals[triangle])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
    # The side that is seen: a mesh may be open.
    normal *= np.where(np.einsum("pi,pi->p", normal, place - camera.eye) > 0.0, -1.0, 1.0)[:, None]
    direct = np.maximum(normal @ LIGHT, 0.0)
    if shadows:
        direct *= _lit(corners[~ground], place, normal)
    ambient = np.array([AMBIENT_MARK if i.mark else AMBIENT_GROUND if i.ground else AMBIENT for i in items])
    light = ambient[owner[triangle]] * (0.92 + 0.08 * normal[:, 2]) + DIRECT * direct
    color = np.array([item.color for item in items])[owner[triangle]] / 255.0 * light[:, None]
    for number in np.flatnonzero([item.ground for item in items]):
        mine = owner[triangle] == number
        share = _fade(items[number].solid, place[mine])
        color[mine] = 1.0 + share[:, None] * (color[mine] - 1.0)
    picture[rows, columns] = color
    return picture, near


def _lit(casters: FloatArray, place: FloatArray, normal: FloatArray) -> FloatArray:
    """How much of the light reaches each place (p,): none where something is in front of it."""
    if not len(casters):
        return np.ones(len(place))
    eye = Camera.far(casters.reshape(-1, 3), LIGHT, SHADOW_PIXELS)
    near, _ = rasterize(eye.project(casters), SHADOW_PIXELS, SHADOW_PIXELS)
    assert eye.per_metre is not None
    pixel = 1.0 / eye.per_metre
    # Taken a little off the surface: else it would lie in its own shadow.
    spot = eye.project(place + 2.5 * pixel * normal)
    total = np.zeros(len(place))
    offsets = [(dx, dy) for dx in (-1.5, 0.0, 1.5) for dy in (-1.5, 0.0, 1.5)]
    for dx, dy in offsets:
        x, y = np.floor(spot[:, 0] + dx).astype(np.int64), np.floor(spot[:, 1] + dy).astype(np.int64)
        inside = (x >= 0) & (x < SHADOW_PIXELS) & (y >= 0) & (y < SHADOW_PIXELS)
        front = np.zeros(len(place))
        front[inside] = near[y[inside], x[inside]]
        total += front <= spot[:, 2] + pixel
    return np.asarray(total / len(offsets))


def _fade(ground: Solid, places: FloatArray) -> FloatArray:
    """1 in the middle of a ground, 0 at its rim: an edge would say that it ends there."""
    low, high = ground.vertices.min(axis=0), ground.vertices.max(axis=0)
    half = np.maximum(0.5 * (high - low), 1e-9)
    flat = (high - low) < 1e-6 * float((high - low).max())
    away = np.where(flat, 0.0, (places - 0.5 * (low + high)) / half)
    share = ((1.0 - np.abs(away).max(axis=1)) / 0.35).clip(0.0, 1.0)
    return np.asarray(share * share * (3.0 - 2.0 * share))


def _lines(picture: FloatArray, near: FloatArray, items: list[Item], camera: Camera) -> None:
    """Draw the lines of the items where nothing hides them."""
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
        # A line lies on its surface: a thousandth nearer to the eye it is not cut up by rounding.
        shown = value * (1.0 + 4e-3) >= depth[at]
        at, number = at[shown], number[shown]
        share = np.full(len(at), LINE)
        if item.ground:
            share *= _fade(item.solid, lines[number].mean(axis=1))
        _, first = np.unique(at, return_index=True)
        at, share = at[first], share[first]
        flat[at] += share[:, None] * (np.array(item.line_color) / 255.0 - flat[at])
