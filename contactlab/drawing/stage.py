"""A world as parts to draw: solids on its bodies, and the pieces of its half-spaces that lie around the action."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contactlab.contact import BodyShape, Box, HalfSpace, Shape
from contactlab.contact.shapes import Solid, balls
from contactlab.contact.shapes.coarse_hull import directions
from contactlab.drawing.looks import Looks, looks_of
from contactlab.drawing.palette import BODIES, FIXED, Color
from contactlab.drawing.patch import fan, grid_lines, patch
from contactlab.multibody import workspace
from contactlab.multibody.model import WORLD
from contactlab.simulation import Surface, World
from contactlab.spatial.arrays import FloatArray
from contactlab.stepping import arrays_of

MOST_OF_TIME = (15.0, 85.0)  # percentiles
MOST_POSES = 40
AROUND = 64  # directions in which a part's outermost points are looked for
NEARBY = 2.0  # of what stands, that within so many radii of what moves is to be seen


@dataclass(frozen=True, eq=False)
class Part:
    """A solid fixed to a body.

    Attributes
    ----------
    body
        Its number.
    solid
        In body axes.
    color, opacity
        Of its surface.
    shape
        Whether it is what touches or is to be seen; else it stands for the inertia or the bones of a body without any.
    """

    body: int
    solid: Solid
    color: Color
    shape: bool = True
    opacity: float = 1.0


@dataclass(frozen=True, eq=False)
class Ground:
    """The drawn piece of a half-space: convex polygon (n, 3), its outward normal, grid lines (m, 2, 3), world axes."""

    polygon: FloatArray
    normal: FloatArray
    lines: FloatArray

    @property
    def solid(self) -> Solid:
        """The piece as triangles with its grid."""
        return Solid(self.polygon, fan(self.polygon).astype(np.int64), self.lines)


@dataclass(frozen=True, eq=False)
class Stage:
    """Parts of a world to draw, and where to look.

    Attributes
    ----------
    parts
        In the order of the bodies.
    grounds
        Pieces of the half-spaces.
    low, high
        Corners (3,) of the box in which the bodies were during the states given [m].
    focus
        The same two corners (2, 3) of where each body was most of the time: a first fall does not count.
    points
        (n, 3) what a camera has to see: outermost points of what moves, at a number of the states given, and of what
        stands around it, half-spaces excepted.
    size
        Radius of a typical body [m], by which arrows and marks are scaled.
    """

    parts: tuple[Part, ...]
    grounds: tuple[Ground, ...]
    low: FloatArray
    high: FloatArray
    focus: FloatArray
    points: FloatArray
    size: float

    @classmethod
    def of(cls, world: World, rotations: FloatArray, origins: FloatArray, *, collision: bool = False) -> Stage:
        """Set the stage for a world whose bodies take the poses (n, nb, 3, 3) and (n, nb, 3).

        With ``collision`` bodies are drawn by the shapes they touch with, whatever they look like.
        """
        parts = _all_parts(world, looks_of(world) if world.visuals and not collision else ())
        moving = [part for part in parts if world.body_trees[part.body] >= 0 and len(part.solid.vertices)]
        spheres = [_sphere(part.solid) for part in (moving or [p for p in parts if len(p.solid.vertices)])]
        low, high, focus = np.zeros(3), np.zeros(3), np.zeros((2, 3))
        bodies = [part.body for part in (moving or parts)]
        radii = [radius for _, radius in spheres]
        if spheres:
            centres = [
                np.einsum("nij,j->ni", rotations[:, i], c) + origins[:, i]
                for i, (c, _) in zip(bodies, spheres, strict=False)
            ]
            low = np.min([c.min(axis=0) - r for c, r in zip(centres, radii, strict=True)], axis=0)
            high = np.max([c.max(axis=0) + r for c, r in zip(centres, radii, strict=True)], axis=0)
            usual = [np.percentile(c, MOST_OF_TIME, axis=0) for c in centres]
            edges = [(u[0] - r, u[1] + r) for u, r in zip(usual, radii, strict=True)]
            focus = np.array([np.min([e[0] for e in edges], axis=0), np.max([e[1] for e in edges], axis=0)])
        elif origins.size:
            low, high = origins.min(axis=(0, 1)) - 0.1, origins.max(axis=(0, 1)) + 0.1
            focus = np.array([low, high])
        # Shapes decide the scale, if there are any.
        touching = [r for part, r in zip(moving, radii, strict=False) if part.shape]
        size = float(np.median(touching or radii or [0.1]))
        points = _outermost(world, parts, rotations, origins)
        if not len(points):
            points = np.array([low, high])
        return cls(parts, _grounds(world, rotations, origins, low, high, size), low, high, focus, points, size)


def solid_of(shape: object) -> Solid:
    """A shape's surface in its own axes; of one of the user's own the balls it touches half-spaces with.

    A half-space has no end: its solid is empty, and `contactlab.drawing.Ground` draws the piece that matters.
    """
    if isinstance(shape, Shape):
        return shape.solid()
    if isinstance(shape, BodyShape):
        return balls(*shape.support_points())
    raise TypeError(f"{type(shape).__name__} is no shape")


def poses_at(world: World, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rotations (1, nb, 3, 3) and origins (1, nb, 3) [m] of the bodies at q (nq,)."""
    from contactlab.stepping.kernels.poses import state_poses

    flat = np.zeros((1, world.model.nb, 12))
    # A copy: to the compiler a read-only array is of another type.
    state_poses(arrays_of(world).packed, workspace(world.model), np.array(q)[None], flat)
    return flat[:, :, :9].reshape(1, -1, 3, 3), flat[:, :, 9:].copy()


def center_of_mass(world: World, rotations: FloatArray, origins: FloatArray) -> FloatArray | None:
    """Common centre of mass (3,) of what moves, at poses (nb, 3, 3) and (nb, 3); None without mass."""
    total, moment = 0.0, np.zeros(3)
    for i, body in enumerate(world.model.bodies):
        if body.inertia is not None and world.body_trees[i] >= 0:
            total += body.inertia.mass
            moment += body.inertia.mass * (rotations[i] @ body.inertia.com + origins[i])
    return moment / total if total > 0.0 else None


def _sphere(solid: Solid) -> tuple[FloatArray, float]:
    """A ball around a solid: the middle of its box, and the largest distance from there."""
    middle = 0.5 * (solid.vertices.min(axis=0) + solid.vertices.max(axis=0))
    return middle, float(np.linalg.norm(solid.vertices - middle, axis=1).max())


def _outermost(world: World, parts: tuple[Part, ...], rotations: FloatArray, origins: FloatArray) -> FloatArray:
    """Points (n, 3) of what moves at some of the states, and of what stands nearby, world axes."""
    shown = np.unique(np.linspace(0, len(origins) - 1, MOST_POSES).astype(np.int64))
    moving: list[FloatArray] = []
    standing: list[FloatArray] = []
    for part in parts:
        vertices = part.solid.vertices
        if len(vertices):
            outer = vertices[np.unique((vertices @ directions(AROUND).T).argmax(axis=0))]
            moves = world.body_trees[part.body] >= 0
            at = shown if moves else shown[:1]
            places = np.einsum("nij,kj->nki", rotations[at, part.body], outer) + origins[at, part.body][:, None]
            (moving if moves else standing).append(places.reshape(-1, 3))
    if not moving or not standing:
        return np.concatenate([np.zeros((0, 3)), *moving, *standing])
    inner, outer = np.concatenate(moving), np.concatenate(standing)
    middle = 0.5 * (inner.min(axis=0) + inner.max(axis=0))
    reach = NEARBY * float(np.linalg.norm(inner - middle, axis=1).max())
    return np.concatenate((inner, outer[np.linalg.norm(outer - middle, axis=1) <= reach]))


def _all_parts(world: World, looks: Looks) -> tuple[Part, ...]:
    """Parts of every body: what it looks like where that is known, else as `_parts` has it.

    What hangs together with a body that looks like something has no bones, and shows of its shapes those that are to be
    shown, or stand for a mesh that cannot be read.
    """
    roots = _roots(world)
    dressed = {int(roots[body]) for body, look in zip(world.visual_bodies, looks, strict=False) if look}
    lost = {body for body, look in zip(world.visual_bodies, looks, strict=False) if look is None}
    parts: list[Part] = []
    for i in range(world.model.nb):
        if roots[i] not in dressed:
            parts += _parts(world, i)
            continue
        color = _body_color(world, i)
        for body, look in zip(world.visual_bodies, looks, strict=True):
            if body == i and look is not None:
                parts += [Part(i, one.solid, one.color or color, opacity=one.opacity) for one in look]
        parts += [_part(i, s, color) for s in _surfaces(world, i) if s.shown or i in lost]
    return tuple(parts)


def _roots(world: World) -> list[int]:
    """Number of the body that each hangs on in the end; its own where that is the world."""
    roots: list[int] = []
    for i, spec in enumerate(world.model.bodies):
        roots.append(i if spec.parent == WORLD else roots[world.model.index(spec.parent)])
    return roots


def _surfaces(world: World, i: int) -> list[Surface]:
    return [s for s, body in zip(world.surfaces, world.surface_bodies, strict=True) if body == i]


def _body_color(world: World, i: int) -> Color:
    return FIXED if world.body_trees[i] < 0 else BODIES[i % len(BODIES)]


def _part(i: int, surface: Surface, color: Color) -> Part:
    return Part(i, solid_of(surface.shape).moved(surface.placement.R, surface.placement.p), color)


def _parts(world: World, i: int) -> list[Part]:
    """Parts of a body: its shapes; without any its inertia as a box, and a bone from its parent."""
    spec, color, surfaces = world.model.bodies[i], _body_color(world, i), _surfaces(world, i)
    parts = [_part(i, surface, color) for surface in surfaces]
    if spec.parent != WORLD and spec.placement.p.any():
        parent = world.model.index(spec.parent)
        if parent not in world.surface_bodies:
            none = np.zeros((0, 3))
            bone = np.stack((np.zeros(3), spec.placement.p))[None]
            parts.append(Part(parent, Solid(none, none.astype(np.int64), bone), FIXED, shape=False))
    if not surfaces and spec.inertia is not None and spec.inertia.mass > 0.0:
        moments, axes = np.linalg.eigh(spec.inertia.inertia)
        # Half sides of the homogeneous box with these principal moments.
        half = np.sqrt(np.maximum(1.5 * (moments.sum() - 2.0 * moments) / spec.inertia.mass, 0.0))
        if half.max() > 0.0:
            axes[:, 2] *= np.sign(np.linalg.det(axes))
            box = solid_of(Box(np.maximum(half, 0.05 * half.max())))
            parts.append(Part(i, box.moved(axes, spec.inertia.com), color, shape=False, opacity=0.5))
    return parts


def _grounds(
    world: World, rotations: FloatArray, origins: FloatArray, low: FloatArray, high: FloatArray, size: float
) -> tuple[Ground, ...]:
    """Pieces of all half-spaces around the action, those on fixed bodies included; none lies inside another."""
    planes = [(half_space.normal, half_space.offset) for half_space in world.half_spaces]
    for surface, body in zip(world.surfaces, world.surface_bodies, strict=True):
        if isinstance(surface.shape, HalfSpace):
            R, p = rotations[0, body], origins[0, body]
            normal = R @ surface.placement.R @ surface.shape.normal
            place = p + R @ surface.placement.p
            planes.append((normal, surface.shape.offset + float(normal @ place)))
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
