"""What is drawn of bodies: what they look like, what they touch with, or what stands for their mass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contactlab.contact import BodyShape, Box, Shape, tangent_frame
from contactlab.contact.shapes import Solid, balls
from contactlab.drawing.looks import looks_of
from contactlab.drawing.palette import BODIES, FIXED, Color
from contactlab.multibody.model import WORLD
from contactlab.simulation import World
from contactlab.spatial.arrays import FloatArray

FREE = 6  # degrees of freedom of a joint that joins nothing


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

    @property
    def points(self) -> FloatArray:
        """Points (n, 3) in body axes that it lies between."""
        return self.solid.vertices if len(self.solid.vertices) else self.solid.lines.reshape(-1, 3)


def solid_of(shape: object) -> Solid:
    """A shape's surface in its own axes; of one of the user's own the balls it touches half-spaces with.

    A half-space has no end: its solid is empty, and `contactlab.drawing.Ground` draws the piece that matters.
    """
    if isinstance(shape, Shape):
        return shape.solid()
    if isinstance(shape, BodyShape):
        return balls(*shape.support_points())
    raise TypeError(f"{type(shape).__name__} is no shape")


def parts_of(world: World, *, collision: bool) -> tuple[tuple[Part, ...], frozenset[int]]:
    """Parts of every body, and the bodies without any that should have some.

    With ``collision`` bodies are drawn by the shapes they touch with, whatever they look like. Else what hangs together
    with a body that looks like something has neither bones nor axes; a shape that is not to be shown stands for a mesh
    that cannot be read.
    """
    looks = looks_of(world) if world.visuals and not collision else ()
    roots, color = _roots(world), [_body_color(world, i) for i in range(world.model.nb)]
    owned = list(zip(world.visual_bodies, looks, strict=False))
    dressed, lost = {roots[i] for i, look in owned if look}, {i for i, look in owned if look is None}
    undressed = {roots[i] for i in lost} - dressed
    lost |= {i for i, root in enumerate(roots) if root in undressed}
    parts: list[Part] = []
    for i in range(world.model.nb):
        own = [s for s, body in zip(world.surfaces, world.surface_bodies, strict=True) if body == i]
        seen = [s for s in own if collision or s.shown or i in lost]
        parts += [Part(i, solid_of(s.shape).moved(s.placement.R, s.placement.p), color[i]) for s in seen]
        for look in (look for body, look in owned if body == i and look is not None):
            parts += [Part(i, one.solid, one.color or color[i], opacity=one.opacity) for one in look]
        if roots[i] not in dressed:
            parts += _stand_ins(world, i, color[i], parts)
    drawn = {part.body for part in parts}
    return tuple(parts), frozenset(i for i in range(world.model.nb) if i not in drawn and roots[i] not in dressed)


def _roots(world: World) -> list[int]:
    """Number of the body that each hangs on in the end; its own where that is the world."""
    roots: list[int] = []
    for i, spec in enumerate(world.model.bodies):
        roots.append(i if spec.parent == WORLD else roots[world.model.index(spec.parent)])
    return roots


def _body_color(world: World, i: int) -> Color:
    return FIXED if world.body_trees[i] < 0 else BODIES[i % len(BODIES)]


def _stand_ins(world: World, i: int, color: Color, before: list[Part]) -> list[Part]:
    """Bones where nothing drawn so far joins a body to its parent, and its inertia as a box where it has no shape."""
    spec, parts = world.model.bodies[i], []
    if spec.parent != WORLD and spec.placement.p.any():
        parent = world.model.index(spec.parent)
        if parent not in world.surface_bodies or _box_away(before, parent, spec.placement.p) is not None:
            none = np.zeros((0, 3))
            bone = np.stack((np.zeros(3), spec.placement.p))[None]
            parts.append(Part(parent, Solid(none, none.astype(np.int64), bone), FIXED, shape=False))
    joined = spec.parent != WORLD or spec.joint.nv > 0
    if joined and spec.joint.nv < FREE and (around := _box_away(before, i, np.zeros(3))) is not None:
        parts.append(Part(i, _rod(*around), color, shape=False))
    if i not in world.surface_bodies and spec.inertia is not None and spec.inertia.mass > 0.0:
        moments, axes = np.linalg.eigh(spec.inertia.inertia)
        # Half sides of the homogeneous box with these principal moments.
        half = np.sqrt(np.maximum(1.5 * (moments.sum() - 2.0 * moments) / spec.inertia.mass, 0.0))
        if half.max() > 0.0:
            axes[:, 2] *= np.sign(np.linalg.det(axes))
            box = solid_of(Box(np.maximum(half, 0.05 * half.max())))
            parts.append(Part(i, box.moved(axes, spec.inertia.com), color, shape=False, opacity=0.5))
    return parts


def _box_away(parts: list[Part], body: int, point: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Corners of the box of a body's shapes where that lies further from a point of it than it is large; else None."""
    shapes = [part.solid.vertices for part in parts if part.body == body and part.shape and len(part.solid.vertices)]
    if not shapes:
        return None
    corners = np.concatenate(shapes)
    low, high = corners.min(axis=0), corners.max(axis=0)
    away = float(np.linalg.norm(point - point.clip(low, high)))
    return (low, high) if away > 0.5 * float(np.linalg.norm(high - low)) else None


def _rod(low: FloatArray, high: FloatArray) -> Solid:
    """A rod from a body's joint to the middle of a box, thinner than that is."""
    end = 0.5 * (low + high)
    length = float(np.linalg.norm(end))
    axes = np.column_stack((*tangent_frame(end), end / length))
    thick = min(0.15 * float((high - low).min()), 0.03 * length)
    return solid_of(Box((thick, thick, 0.5 * length))).moved(axes, 0.5 * end)
