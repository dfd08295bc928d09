"""Shapes of a world as nodes of a viser scene."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from contactlab.contact import BodyShape, Box, ConvexPoints, Cylinder, HeightField, Shape, Sphere
from contactlab.spatial import quaternion
from contactlab.viewer.patch import fan, grid_lines, patch

if TYPE_CHECKING:
    import viser

    from contactlab.simulation import Recording

__all__ = ["add_bodies", "add_half_spaces"]

Color = tuple[int, int, int]

# Told apart with any kind of colour vision (Okabe and Ito 2008), less the two that stand for contact modes.
PALETTE: tuple[Color, ...] = ((86, 180, 233), (240, 228, 66), (204, 121, 167), (0, 114, 178), (200, 200, 200))
GROUND: Color = (206, 204, 198)
GRID: Color = (150, 148, 142)
EDGE: Color = (40, 40, 40)


def add_half_spaces(scene: viser.SceneApi, recording: Recording, origins: NDArray[np.float64]) -> None:
    """Draw the surface of each half-space around the motion of the origins (n, nb, 3), with a grid on it."""
    half_spaces = recording.world.half_spaces
    centres = origins.reshape(-1, 3)
    margin = 0.1 * float(np.linalg.norm(np.ptp(centres, axis=0))) + 0.2
    spacing = float(10.0 ** np.floor(np.log10(4.0 * margin)))
    planes = [(half_space.normal, half_space.offset) for half_space in half_spaces]
    for i in range(len(planes)):
        normal, offset = planes[i]
        polygon = patch(normal, offset, centres, margin, planes[:i] + planes[i + 1 :])
        if len(polygon) < 3:
            continue
        scene.add_mesh_simple(
            f"/half_spaces/{i}",
            polygon.astype(np.float32),
            fan(polygon),
            color=GROUND,
            side="double",
            cast_shadow=False,
        )
        lines = grid_lines(polygon, normal, spacing, lift=1e-3 * margin)
        if len(lines):
            scene.add_line_segments(f"/half_spaces/{i}/grid", lines, GRID, thickness=1.0, thickness_units="screen")


def add_bodies(scene: viser.SceneApi, recording: Recording) -> list[viser.FrameHandle]:
    """Add a frame per body with its shape, if any, under it; return the frames, in the order of the world's bodies."""
    world = recording.world
    frames = []
    for i, name in enumerate(world.model.names):
        # The number keeps names apart that differ in slashes only; viser reads those as levels of its tree.
        node = f"/bodies/{i} {name.replace('/', ' ')}"
        frames.append(scene.add_frame(node, show_axes=False))
        own = [s for s, body in zip(world.surfaces, world.surface_bodies, strict=True) if body == i]
        for k, surface in enumerate(own):
            place = f"{node}/{k}"
            turn = quaternion.from_matrix(surface.placement.R)
            scene.add_frame(place, show_axes=False, wxyz=turn, position=surface.placement.p)
            add_shape(surface.shape, scene, f"{place}/shape", PALETTE[i % len(PALETTE)])
    return frames


@singledispatch
def add_shape(shape: Shape | BodyShape, scene: viser.SceneApi, name: str, color: Color) -> None:
    """Add a shape in its body's frame. A shape not known here is drawn as the balls it touches with."""
    if not isinstance(shape, BodyShape):
        return
    points, radii = shape.support_points()
    smallest = 0.01 * (1.0 + float(np.abs(points).max()))
    for i, (point, radius) in enumerate(zip(points, radii, strict=True)):
        scene.add_icosphere(f"{name}/{i}", max(float(radius), smallest), color, subdivisions=2, position=point)


@add_shape.register(Box)
def _(shape: Box, scene: viser.SceneApi, name: str, color: Color) -> None:
    x, y, z = (2.0 * float(half) for half in shape.half_extents)
    scene.add_box(name, color, (x, y, z))
    corners, _ = shape.support_points()
    # Two corners share an edge when they differ along one axis: one bit of their number.
    edges = [(i, i | bit) for i in range(8) for bit in (1, 2, 4) if not i & bit]
    _add_lines(scene, f"{name}/edges", corners[np.array(edges)])


@add_shape.register(Sphere)
def _(shape: Sphere, scene: viser.SceneApi, name: str, color: Color) -> None:
    scene.add_icosphere(name, shape.radius, color, position=shape.center)
    # Great circles: a ball in one colour does not show its spin.
    turn = np.linspace(0.0, 2.0 * np.pi, 49)
    zero, cosine, sine = np.zeros_like(turn), np.cos(turn), np.sin(turn)
    circles = [np.stack(axes, axis=1) for axes in ((zero, cosine, sine), (sine, zero, cosine), (cosine, sine, zero))]
    lines = np.concatenate([np.stack((circle[:-1], circle[1:]), axis=1) for circle in circles])
    _add_lines(scene, f"{name}/circles", 1.005 * shape.radius * lines)


@add_shape.register(Cylinder)
def _(shape: Cylinder, scene: viser.SceneApi, name: str, color: Color) -> None:
    turn = np.linspace(0.0, 2.0 * np.pi, 32, endpoint=False)
    rim = np.stack((shape.radius * np.cos(turn), shape.radius * np.sin(turn), np.full(32, shape.half_length)), axis=1)
    add_shape(ConvexPoints(np.concatenate((rim, rim * (1.0, 1.0, -1.0)))), scene, name, color)


@add_shape.register(HeightField)
def _(shape: HeightField, scene: viser.SceneApi, name: str, color: Color) -> None:
    nx, ny = shape.heights.shape
    x, y = np.meshgrid(shape.spacing[0] * np.arange(nx), shape.spacing[1] * np.arange(ny), indexing="ij")
    corner = (np.arange(nx - 1)[:, None] * ny + np.arange(ny - 1)).ravel()
    faces = np.concatenate([corner[:, None] + np.array([0, ny, ny + 1]), corner[:, None] + np.array([0, ny + 1, 1])])
    points = np.stack((x, y, shape.heights), axis=-1).reshape(-1, 3)
    scene.add_mesh_simple(name, points.astype(np.float32), faces.astype(np.uint32), color=GROUND, flat_shading=True)


@add_shape.register(ConvexPoints)
def _(shape: ConvexPoints, scene: viser.SceneApi, name: str, color: Color) -> None:
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(shape.points)
    except (QhullError, ValueError):
        # Flat or too few points: there is no solid to draw, only what touches.
        add_shape.dispatch(object)(shape, scene, name, color)
        return
    faces = _outward(shape.points, hull.simplices, hull.equations[:, :3])
    scene.add_mesh_simple(name, shape.points.astype(np.float32), faces, color=color, flat_shading=True)
    sides = np.sort(np.concatenate((faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]])), axis=1)
    _add_lines(scene, f"{name}/edges", shape.points[np.unique(sides, axis=0)])


def _outward(
    points: NDArray[np.float64], faces: NDArray[np.integer], normals: NDArray[np.float64]
) -> NDArray[np.uint32]:
    """Return the triangles, each turned so that its corners run anticlockwise seen from outside."""
    a, b, c = (points[faces[:, i]] for i in range(3))
    inward = np.sum(np.cross(b - a, c - a) * normals, axis=1) < 0.0
    turned = faces.astype(np.uint32)
    turned[inward] = turned[inward][:, [0, 2, 1]]
    return turned


def _add_lines(scene: viser.SceneApi, name: str, lines: NDArray[np.float64]) -> None:
    scene.add_line_segments(name, lines.astype(np.float32), EDGE, thickness=1.5, thickness_units="screen")
