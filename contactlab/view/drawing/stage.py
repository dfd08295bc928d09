"""A world as parts to draw: solids on its bodies, and the visible pieces of its half-spaces.

A half-space has no edges. Its drawn piece is a rectangle around the motion, without the parts inside other half-spaces.
It has a square grid, because without lines the eye cannot distinguish rolling from sliding.

The camera projects the world to the screen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contactlab.collision import HalfSpace
from contactlab.collision.shapes import SurfaceMesh
from contactlab.collision.shapes.convex_points import directions
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.simulation import World
from contactlab.view.drawing.parts import Part, parts_of

FAR = 1e6  # [m]
VIEW = (-0.38, -0.85, 0.42)  # direction from the scene towards the eye


@dataclass(frozen=True, eq=False)
class Camera:
    """Position, axes and zoom of a camera."""

    eye: FloatArray  # (3,) [m]
    axes: FloatArray  # (3, 3) rows: to the right, upwards, forwards, world axes
    # Pixels per unit of lateral distance over distance ahead; unused if ``per_metre`` is given.
    zoom: float
    # Size of the picture [pixels].
    width: int
    height: int
    per_metre: float | None = None  # pixels per metre for an eye at infinity; None for perspective

    @classmethod
    def at(
        cls,
        points: FloatArray,
        width: int,
        height: int,
        *,
        view: tuple[float, float, float] = VIEW,
        fill: float = 0.9,
        lens: float = 1.6,
    ) -> Camera:
        """Place the eye in the direction ``view`` so that all points (n, 3) fill the fraction ``fill`` of the picture.

        ``lens`` is the focal length divided by the larger side of the picture.
        """
        axes = _axes(np.asarray(view, dtype=np.float64))
        zoom = lens * max(width, height)
        reach = np.array([width, height]) * 0.5 * fill / zoom
        inner = (points - points.mean(axis=0)) @ axes.T
        middle = np.array([0.0, 0.0])
        distance = 1.0
        for _ in range(8):
            # The eye moves back until all points are visible; then the picture is centred on them.
            sides = np.abs(inner[:, :2] - middle)
            distance = float((sides / reach - inner[:, 2:]).max())
            seen = (inner[:, :2] - middle) / (distance + inner[:, 2:])
            middle = middle + 0.5 * (seen.min(axis=0) + seen.max(axis=0)) * distance
        return cls(points.mean(axis=0) + middle @ axes[:2] - distance * axes[2], axes, zoom, width, height)

    @classmethod
    def far(cls, points: FloatArray, direction: FloatArray, size: int) -> Camera:
        """Return the camera of a light at infinity in a direction (3,), with all points (n, 3) in ``size`` pixels."""
        axes = _axes(direction)
        inner = points @ axes.T
        low, high = inner.min(axis=0), inner.max(axis=0)
        extent = float((high - low)[:2].max()) * 1.02 + 1e-9
        middle = 0.5 * (low + high)
        eye = (np.array([middle[0], middle[1], low[2] - extent])) @ axes
        return cls(eye, axes, 0.0, size, size, per_metre=size / extent)

    def project(self, points: FloatArray) -> FloatArray:
        """Return x to the right, y downwards [pixels], and nearness, (..., 3), of points (..., 3).

        Nearness is 1/depth, or linear in depth for an eye at infinity. At most 0 means behind the eye.
        """
        inner = (points - self.eye) @ self.axes.T
        ahead = inner[..., 2]
        if self.per_metre is not None:
            # Linear on the screen, and positive for all visible points.
            near, factor = FAR - ahead, np.full_like(ahead, self.per_metre)
        else:
            near = np.where(ahead > 1e-9, 1.0 / np.where(ahead > 1e-9, ahead, 1.0), -1.0)
            factor = self.zoom * near
        x = 0.5 * self.width + inner[..., 0] * factor
        return np.stack((x, 0.5 * self.height - inner[..., 1] * factor, near), axis=-1)


def _axes(towards_eye: FloatArray) -> FloatArray:
    """Return rows right, up, forward of an eye that looks opposite to a direction, with world z upwards."""
    forward = -towards_eye / np.linalg.norm(towards_eye)
    up = np.array([0.0, 0.0, 1.0]) if abs(forward[2]) < 0.999 else np.array([0.0, 1.0, 0.0])
    right = np.cross(forward, up)
    right /= np.linalg.norm(right)
    return np.stack((right, np.cross(right, forward), forward))


MAX_OF_TIME = (15.0, 85.0)  # percentiles
MAX_POSES = 40
AROUND = 64  # number of directions for a part's outermost points
NEARBY = 2.0  # fixed parts within this many radii of moving parts are visible


@dataclass(frozen=True, eq=False)
class Ground:
    """The drawn piece of a half-space: convex polygon (n, 3), its outward normal, grid lines (m, 2, 3), world axes."""

    polygon: FloatArray
    normal: FloatArray
    lines: FloatArray

    @property
    def solid(self) -> SurfaceMesh:
        """Return the piece as triangles with its grid."""
        return SurfaceMesh(self.polygon, fan(self.polygon).astype(np.int64), self.lines)


@dataclass(frozen=True, eq=False)
class SceneGeometry:
    """Parts of a world to draw, and the region to look at.

    Attributes
    ----------
    parts
        Parts, in the order of the bodies.
    bodies_without_shape
        Indices of the bodies without parts that should have some; their axes are drawn instead.
    grounds
        Drawn pieces of the half-spaces.
    low, high
        Corners (3,) of the bounding box of the bodies during the given states [m].
    points
        (n, 3) points that a camera must see: outermost points of moving parts, in some of the given states, and of
        fixed parts around them, except half-spaces.
    usual_points
        The same, with moving parts limited to the usual positions of the bodies; a first fall does not count.
    size
        Radius of a typical body [m], by which arrows and marks are scaled.
    """

    parts: tuple[Part, ...]
    bodies_without_shape: frozenset[int]
    grounds: tuple[Ground, ...]
    low: FloatArray
    high: FloatArray
    points: FloatArray
    usual_points: FloatArray
    size: float

    @property
    def middles(self) -> dict[int, FloatArray]:
        """Return the middle (3,) of each body's drawing, by its index, in its axes: the position of its name."""
        points: dict[int, list[FloatArray]] = {}
        for part in self.parts:
            points.setdefault(part.body, []).append(part.points)
        boxes = {body: np.concatenate(some) for body, some in points.items()}
        return {body: 0.5 * (one.min(axis=0) + one.max(axis=0)) for body, one in boxes.items() if len(one)}

    @classmethod
    def of(cls, world: World, rotations: FloatArray, origins: FloatArray, *, collision: bool = False) -> SceneGeometry:
        """Return the geometry of a world whose bodies have the poses (n, nb, 3, 3) and (n, nb, 3).

        With ``collision`` bodies are drawn by their collision shapes.
        """
        parts, bare = parts_of(world, collision=collision)
        moving = [part for part in parts if world.body_trees[part.body] >= 0 and len(part.points)]
        shown = moving or [part for part in parts if len(part.points)]
        spheres = [_sphere(part.points) for part in shown]
        radii = [radius for _, radius in spheres]
        low, high, focus = np.zeros(3), np.zeros(3), np.zeros((2, 3))
        if spheres:
            centres = np.array(
                [
                    rotations[:, part.body] @ middle + origins[:, part.body]
                    for part, (middle, _) in zip(shown, spheres, strict=True)
                ]
            )
            reach = np.array(radii)[:, None]
            low, high = (centres.min(axis=1) - reach).min(axis=0), (centres.max(axis=1) + reach).max(axis=0)
            least, most = np.percentile(centres, MAX_OF_TIME, axis=1)
            focus = np.array([(least - reach).min(axis=0), (most + reach).max(axis=0)])
        elif origins.size:
            low, high = origins.min(axis=(0, 1)) - 0.1, origins.max(axis=(0, 1)) + 0.1
            focus = np.array([low, high])
        # Shapes determine the scale, if there are any, including the link of a shape at its tip.
        bones = {part.body: r for part, r in zip(moving, radii, strict=False) if not part.shape}
        solid = [(p, r) for p, r in zip(moving, radii, strict=False) if len(p.solid.vertices)]
        touching = [max(r, bones.get(part.body, 0.0)) for part, r in solid if part.shape]
        size = float(np.median(touching or [r for _, r in solid] or radii or [0.1]))
        moved, standing = _outermost(world, parts, rotations, origins)
        if not len(moved) and not len(standing):
            moved = np.array([low, high])
        points, often = np.concatenate((moved, standing)), np.concatenate((moved.clip(*focus), standing))
        grounds = _grounds(world, rotations, origins, low, high, size)
        return cls(parts, bare, grounds, low, high, points, often, size)


def center_of_mass(world: World, rotations: FloatArray, origins: FloatArray) -> FloatArray | None:
    """Return the centre of mass (3,) of the moving bodies at poses (nb, 3, 3) and (nb, 3); None without mass."""
    total, moment = 0.0, np.zeros(3)
    for i, body in enumerate(world.model.bodies):
        if body.inertia is not None and world.body_trees[i] >= 0:
            total += body.inertia.mass
            moment += body.inertia.mass * (rotations[i] @ body.inertia.com + origins[i])
    return moment / total if total > 0.0 else None


def _sphere(points: FloatArray) -> tuple[FloatArray, float]:
    """Return a ball around points: the middle of their box, and the largest distance from it."""
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    return middle, float(np.linalg.norm(points - middle, axis=1).max())


def _outermost(
    world: World, parts: tuple[Part, ...], rotations: FloatArray, origins: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return points (n, 3) of moving parts at some of the states, and (m, 3) of nearby fixed parts, world axes."""
    shown = np.unique(np.linspace(0, len(origins) - 1, MAX_POSES).astype(np.int64))
    some: dict[bool, list[FloatArray]] = {True: [np.zeros((0, 3))], False: [np.zeros((0, 3))]}
    for part in parts:
        vertices, moves = part.points, bool(world.body_trees[part.body] >= 0)
        if len(vertices):
            outer = vertices[np.unique((vertices @ directions(AROUND).T).argmax(axis=0))]
            # A body with prescribed motion does not move the focus, but its path is visible.
            at = shown if moves or np.ptp(origins[:, part.body], axis=0).any() else shown[:1]
            places = np.einsum("nij,kj->nki", rotations[at, part.body], outer) + origins[at, part.body][:, None]
            some[moves].append(places.reshape(-1, 3))
    moving, standing = np.concatenate(some[True]), np.concatenate(some[False])
    if len(moving):
        middle, reach = _sphere(moving)
        standing = standing[np.linalg.norm(standing - middle, axis=1) <= NEARBY * reach]
    return moving, standing


def _grounds(
    world: World, rotations: FloatArray, origins: FloatArray, low: FloatArray, high: FloatArray, size: float
) -> tuple[Ground, ...]:
    """Return the visible pieces of all half-spaces around the motion, also on fixed bodies.

    Parts inside other half-spaces are cut off; a half-space without a visible part has no piece.
    """
    planes = [(half_space.normal, half_space.offset) for half_space in world.half_spaces]
    for surface, body in zip(world.surfaces, world.surface_bodies, strict=True):
        if isinstance(surface.shape, HalfSpace):
            R, p = rotations[0, body], origins[0, body]
            normal = R @ surface.placement.R @ surface.shape.normal
            planes.append((normal, surface.shape.offset + float(normal @ (p + R @ surface.placement.p))))
    margin = 0.12 * float(np.linalg.norm(high - low)) + 2.0 * size
    corners: FloatArray = np.array([[(low, high)[b >> k & 1][k] for k in range(3)] for b in range(8)])
    spacing = float(10.0 ** np.floor(np.log10(0.6 * (float(np.ptp(corners, axis=0).max()) + 2.0 * margin))))
    grounds = []
    for i, (normal, offset) in enumerate(planes):
        polygon = patch(normal, offset, corners, margin, planes[:i] + planes[i + 1 :])
        if len(polygon) >= 3:
            fine = spacing if np.linalg.norm(np.ptp(polygon, axis=0)) > 4.0 * spacing else 0.5 * spacing
            lines = grid_lines(polygon, normal, fine, lift=2e-3 * margin).astype(np.float64)
            grounds.append(Ground(polygon, normal, lines))
    return tuple(grounds)


def patch(
    normal: FloatArray, offset: float, around: FloatArray, margin: float, others: Iterable[tuple[FloatArray, float]]
) -> FloatArray:
    """Return the corners (n, 3) of the drawn part of the plane normal.x = offset, in order (n can be 0).

    The normal is the outward unit one. The rectangle contains the projections of all points ``around`` (m, 3), with a
    margin [m] on each side. Parts inside one of the ``others``, given by normals and offsets, are cut off.
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
    """Return two unit axes of the plane; the first is horizontal, so that grids follow slopes."""
    across = np.cross((0.0, 1.0, 0.0) if abs(normal[1]) < 0.9 else (1.0, 0.0, 0.0), normal)
    t1 = across / np.linalg.norm(across)
    return t1, np.cross(normal, t1)


def clip(polygon: FloatArray, normal: FloatArray, offset: float) -> FloatArray:
    """Return the part of a convex polygon (n, 3) with normal.x >= offset (Sutherland and Hodgman 1974, one plane)."""
    heights = polygon @ normal - offset
    inside = np.flatnonzero(heights >= 0.0)
    at, crossings = _crossings(polygon, heights)
    # A corner on the plane is inside already, and no crossing besides.
    fresh = ~np.isin(at % max(len(polygon), 1), inside)
    order = np.argsort(np.concatenate((inside, at[fresh])))
    return np.asarray(np.concatenate((polygon[inside], crossings[fresh]))[order])


def fan(polygon: FloatArray) -> NDArray[np.uint32]:
    """Return the triangles (n - 2, 3) of a convex polygon of n corners."""
    return np.array([(0, i, i + 1) for i in range(1, len(polygon) - 1)], dtype=np.uint32).reshape(-1, 3)


def grid_lines(polygon: FloatArray, normal: FloatArray, spacing: float, lift: float) -> NDArray[np.float32]:
    """Return grid lines (m, 2, 3) on a convex polygon, ``lift`` above it, so that they do not flicker."""
    segments: list[FloatArray] = []
    for axis in plane_axes(normal):
        along = polygon @ axis
        for level in np.arange(np.ceil(along.min() / spacing), np.floor(along.max() / spacing) + 1.0) * spacing:
            _, crossings = _crossings(polygon, along - level)
            if len(crossings) == 2:
                segments.append(crossings)
    return (np.array(segments).reshape(-1, 2, 3) + lift * normal).astype(np.float32)


def _crossings(polygon: FloatArray, heights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the places (k,) of changes of sign along an outline, in numbers of corners, and their points (k, 3)."""
    after, following = np.roll(heights, -1), np.roll(polygon, -1, axis=0)
    cut = np.flatnonzero((heights < 0.0) != (after < 0.0))
    share = heights[cut] / (heights[cut] - after[cut])
    return cut + share, polygon[cut] + share[:, None] * (following[cut] - polygon[cut])
