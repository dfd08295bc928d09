"""Drawing kernels: rasterisation and shading of triangles."""

from __future__ import annotations

import math
from typing import NamedTuple

from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


class Materials(NamedTuple):
    """Colours of the drawn items."""

    color: FloatArray  # (k, 3), 0 to 1
    ambient: FloatArray  # (k,) light from everywhere
    ground: IntArray  # (k,) whether the item fades out towards its rim
    middle: FloatArray  # (k, 3) [m] of a ground's box
    half: FloatArray  # (k, 3) [m] half its sides, infinite across a flat one


class Light(NamedTuple):
    """A light at infinity, with its shadow map."""

    towards: FloatArray  # (3,) unit
    share: float  # fraction of all light
    eye: FloatArray  # (3,) [m]
    axes: FloatArray  # (3, 3) rows: right, up, forwards
    per_metre: float  # pixels
    far: float  # nearness of the eye itself [m]
    near: FloatArray  # (size, size) shadow map: nearness of the first surface; empty without shadows


@kernel
def fill(screen: FloatArray, near: FloatArray, seen: IntArray) -> None:
    """Rasterise triangles (m, 3, 3): fill nearness and number of the nearest triangle of each pixel."""
    height, width = near.shape
    for m in range(screen.shape[0]):
        t = screen[m]
        if t[0, 2] <= 0.0 or t[1, 2] <= 0.0 or t[2, 2] <= 0.0:
            continue
        ux, uy, uz = t[1, 0] - t[0, 0], t[1, 1] - t[0, 1], t[1, 2] - t[0, 2]
        vx, vy, vz = t[2, 0] - t[0, 0], t[2, 1] - t[0, 1], t[2, 2] - t[0, 2]
        area = ux * vy - uy * vx
        if not abs(area) > 1e-12:
            continue
        # Change of nearness per pixel.
        slope_x, slope_y = (uz * vy - vz * uy) / area, (vz * ux - uz * vx) / area
        low, high = min(t[0, 1], t[1, 1], t[2, 1]), max(t[0, 1], t[1, 1], t[2, 1])
        top, bottom = math.ceil(max(low - 0.5, 0.0)), math.floor(min(high - 0.5, height - 1.0))
        for line in range(top, bottom + 1):
            y = line + 0.5
            left, right = math.inf, -math.inf
            for k in range(3):
                a, b = t[k], t[(k + 1) % 3]
                if (a[1] <= y) != (b[1] <= y):
                    x = a[0] + (y - a[1]) / (b[1] - a[1]) * (b[0] - a[0])
                    left, right = min(left, x), max(right, x)
            if left > right:
                continue
            first, last = math.ceil(max(left - 0.5, 0.0)), math.floor(min(right - 0.5, width - 1.0))
            for column in range(first, last + 1):
                value = t[0, 2] + slope_x * (column + 0.5 - t[0, 0]) + slope_y * (y - t[0, 1])
                if value > 0.0 and value >= near[line, column]:
                    near[line, column] = value
                    seen[line, column] = m


@kernel(inner=True)
def blocked(light: Light, x: float, y: float, near: float, reach: float, count: int, work: FloatArray) -> float:
    """Return the fraction of places within ``reach`` of a pixel that are shadowed; their distance goes to ``work``."""
    size, front, hits = light.near.shape[0], 0.0, 0
    for i in range(-count, count + 1):
        for j in range(-count, count + 1):
            column, row = math.floor(x + reach * i / count), math.floor(y + reach * j / count)
            if 0 <= column < size and 0 <= row < size and light.near[row, column] > near:
                front += light.near[row, column] - near
                hits += 1
    work[0] = front / max(hits, 1)
    return hits / (2 * count + 1) ** 2


@kernel(inner=True)
def measure_light(light: Light, place: FloatArray, normal: FloatArray, soft: bool, work: FloatArray) -> float:
    """Return the fraction of light, 0 to 1, that reaches a point (3,) of a surface; ``work`` (3,) is scratch.

    On a ground, ``soft``, the light source has a width: the half shadow grows with the distance of the shape, so
    shadows are sharp only near contacts. Another point is moved slightly off its surface, along the normal (3,), which
    would otherwise be in its own shadow.
    """
    size = light.near.shape[0]
    if size == 0:
        return 1.0
    # Pixel x, y on the shadow map, and the distance ahead of the light's eye.
    pixel = 1.0 / light.per_metre
    for row in range(3):
        work[row] = 0.0
        for k in range(3):
            moved = place[k] if soft else place[k] + 2.5 * pixel * normal[k]
            work[row] += (moved - light.eye[k]) * light.axes[row, k]
    x, y, near = (
        0.5 * size + work[0] * light.per_metre,
        0.5 * size - work[1] * light.per_metre,
        light.far - work[2] + pixel,
    )
    most = 0.02 * size if soft else 2.0
    if not (-most < x < size + most and -most < y < size + most):
        return 1.0
    if not soft:
        return 1.0 - blocked(light, x, y, near, 1.5, 1, work)
    if blocked(light, x, y, near, most, 3, work) == 0.0:
        return 1.0
    wide = min(max(0.18 * work[0] * light.per_metre, 1.5), most)
    return 1.0 - blocked(light, x, y, near, wide, 4, work)


@kernel(inner=True)
def fade(things: Materials, thing: int, place: FloatArray) -> float:
    """Return 1 in the middle of a ground and 0 at its rim, because a visible edge would suggest that it ends there."""
    away = 0.0
    for k in range(3):
        away = max(away, abs(place[k] - things.middle[thing, k]) / things.half[thing, k])
    share = min(max((1.0 - away) / 0.35, 0.0), 1.0)
    return share * share * (3.0 - 2.0 * share)


@kernel
def shade(
    screen: FloatArray,
    corners: FloatArray,
    normals: FloatArray,
    owner: IntArray,
    things: Materials,
    light: Light,
    eye: FloatArray,
    seen: IntArray,
    work: FloatArray,
    picture: FloatArray,
) -> None:
    """Write the colours of the visible triangles to the picture (height, width, 3); ``work`` is (3, 3) scratch."""
    height, width = seen.shape
    place, normal = work[0], work[1]
    for row in range(height):
        for column in range(width):
            m = seen[row, column]
            if m < 0:
                continue
            x, y, t = column + 0.5, row + 0.5, screen[m]
            area = (t[1, 0] - t[0, 0]) * (t[2, 1] - t[0, 1]) - (t[1, 1] - t[0, 1]) * (t[2, 0] - t[0, 0])
            a = ((t[1, 0] - x) * (t[2, 1] - y) - (t[1, 1] - y) * (t[2, 0] - x)) / area
            b = ((t[2, 0] - x) * (t[0, 1] - y) - (t[2, 1] - y) * (t[0, 0] - x)) / area
            # Weights on the screen apply to 1/depth; weights in the world follow.
            a, b, c = a * t[0, 2], b * t[1, 2], (1.0 - a - b) * t[2, 2]
            total = a + b + c
            length = facing = direct = 0.0
            for k in range(3):
                place[k] = (a * corners[m, 0, k] + b * corners[m, 1, k] + c * corners[m, 2, k]) / total
                normal[k] = (a * normals[m, 0, k] + b * normals[m, 1, k] + c * normals[m, 2, k]) / total
                length += normal[k] * normal[k]
                facing += normal[k] * (place[k] - eye[k])
            # The visible side, because a mesh may be open.
            length = max(math.sqrt(length), 1e-12) * (-1.0 if facing > 0.0 else 1.0)
            for k in range(3):
                normal[k] /= length
                direct += normal[k] * light.towards[k]
            if direct > 0.0:
                direct *= measure_light(light, place, normal, things.ground[owner[m]] != 0, work[2])
            thing = owner[m]
            bright = things.ambient[thing] * (0.92 + 0.08 * normal[2]) + light.share * max(direct, 0.0)
            share = fade(things, thing, place) if things.ground[thing] != 0 else 1.0
            for k in range(3):
                picture[row, column, k] = 1.0 + share * (things.color[thing, k] * bright - 1.0)
