"""Shapes as triangles and lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, singledispatch

import numpy as np

from contactlab.contact import BodyShape, Box, Capsule, ConvexPoints, Cylinder, HalfSpace, HeightField, Mesh, Sphere
from contactlab.spatial.arrays import FloatArray, IntArray

__all__ = ["Solid", "join_solids", "solid_of"]

AROUND = 32  # sides of a circle
MESH_LINES = 400  # triangles of a mesh up to which their sides are drawn


@dataclass(frozen=True, eq=False)
class Solid:
    """Triangles with lines on them.

    Attributes
    ----------
    vertices
        (n, 3) [m]. Triangles that meet in a crease have vertices of their own: what shares one is shaded as round.
    triangles
        (m, 3) numbers of vertices, counter-clockwise seen from outside.
    lines
        (k, 2, 3) ends of lines [m]: creases of what is flat, circles on what is round, where they show the spin.
    """

    vertices: FloatArray
    triangles: IntArray
    lines: FloatArray

    @cached_property
    def normals(self) -> FloatArray:
        """Unit normals at the vertices (n, 3), the mean over the triangles by area; 0 at one without area."""
        a, b, c = (self.vertices[self.triangles[:, k]] for k in range(3))
        across, total = np.cross(b - a, c - a), np.zeros_like(self.vertices)
        for k in range(3):
            np.add.at(total, self.triangles[:, k], across)
        length = np.linalg.norm(total, axis=1, keepdims=True)
        return np.asarray(np.divide(total, length, out=np.zeros_like(total), where=length > 0.0))

    def moved(self, R: FloatArray, p: FloatArray) -> Solid:
        """Solid turned by R (3, 3) and moved by p (3,)."""
        return Solid(self.vertices @ R.T + p, self.triangles, self.lines @ R.T + p)


@singledispatch
def solid_of(shape: object) -> Solid:
    """A shape's surface in its own axes; of a shape not known here the balls it touches half-spaces with.

    A half-space has no end: its solid is empty, and `contactlab.drawing.Ground` draws the piece that matters.
    """
    if not isinstance(shape, BodyShape):
        raise TypeError(f"{type(shape).__name__} is no shape")
    points, radii = shape.support_points()
    smallest = 0.01 * (1e-3 + float(np.abs(points).max(initial=0.0)))
    balls = [solid_of(Sphere(max(float(r), smallest))) for r in radii]
    return join_solids([ball.moved(np.eye(3), p) for ball, p in zip(balls, points, strict=True)])


@solid_of.register(HalfSpace)
def _(shape: HalfSpace) -> Solid:
    return join_solids([])


@solid_of.register(Box)
def _(shape: Box) -> Solid:
    h = shape.half_extents
    loops = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for side in (1.0, -1.0):
            corners = np.zeros((4, 3))
            corners[:, axis] = side
            corners[:, u], corners[:, v] = (-1.0, 1.0, 1.0, -1.0), (-1.0, -1.0, 1.0, 1.0)
            loops.append((corners if side > 0.0 else corners[::-1]) * h)
    return _faces(loops)


@solid_of.register(Sphere)
def _(shape: Sphere) -> Solid:
    ball = _lathe([(shape.radius * np.sin(a), shape.radius * np.cos(a)) for a in np.linspace(0.0, np.pi, AROUND // 2)])
    circles = [np.roll(_circle(shape.radius), k, axis=1) for k in range(3)]
    return Solid(ball.vertices + shape.center, ball.triangles, _loops(circles) + shape.center)


@solid_of.register(Capsule)
def _(shape: Capsule) -> Solid:
    r, half = shape.radius, shape.half_length
    quarter = np.linspace(0.0, 0.5 * np.pi, AROUND // 4 + 1)
    top = [(r * np.sin(a), half + r * np.cos(a)) for a in quarter]
    outline = [*top, *((x, -z) for x, z in top[::-1])]
    side = np.array([*outline, *((-x, z) for x, z in outline[-2:0:-1])])
    flat = np.zeros(len(side))
    meridians = [np.stack((side[:, 0], flat, side[:, 1]), axis=1), np.stack((flat, side[:, 0], side[:, 1]), axis=1)]
    rims = [_circle(r) + (0.0, 0.0, z) for z in (half, -half)]
    body = _lathe(outline)
    return Solid(body.vertices, body.triangles, _loops([*meridians, *rims]))


@solid_of.register(Cylinder)
def _(shape: Cylinder) -> Solid:
    r, half = shape.radius, shape.half_length
    mantle = _lathe([(r, half), (r, -half)])
    rims = [_circle(r) + (0.0, 0.0, z) for z in (half, -half)]
    caps = _faces([rims[0], rims[1][::-1]])
    quarters = range(0, AROUND, AROUND // 4)
    up = np.array([(rims[0][k], rims[1][k]) for k in quarters])
    spokes = np.array([(rim[k], rim[(k + AROUND // 2) % AROUND]) for rim in rims for k in (0, AROUND // 4)])
    body = join_solids([mantle, caps])
    return Solid(body.vertices, body.triangles, np.concatenate((caps.lines, up, spokes)))


@solid_of.register(ConvexPoints)
def _(shape: ConvexPoints) -> Solid:
    from contactlab.contact.detection.hull import hull_faces

    _, faces = hull_faces(shape.points)
    if len(faces[0]) < 3:
        # A point or a rod: there is no surface, only what touches.
        rod = solid_of.dispatch(object)(shape)
        return Solid(rod.vertices, rod.triangles, shape.points[faces[0]][None] if len(faces[0]) == 2 else rod.lines)
    return _faces([shape.points[face] for face in faces])


@solid_of.register(HeightField)
def _(shape: HeightField) -> Solid:
    nx, ny = shape.heights.shape
    x, y = np.meshgrid(shape.spacing[0] * np.arange(nx), shape.spacing[1] * np.arange(ny), indexing="ij")
    corner = (np.arange(nx - 1)[:, None] * ny + np.arange(ny - 1)).ravel()
    triangles = np.concatenate([corner[:, None] + [0, ny, ny + 1], corner[:, None] + [0, ny + 1, 1]])
    points = np.stack((x, y, shape.heights), axis=-1)
    along = np.concatenate((np.stack((points[:-1], points[1:]), axis=2).reshape(-1, 2, 3),))
    across = np.stack((points[:, :-1], points[:, 1:]), axis=2).reshape(-1, 2, 3)
    return _split(points.reshape(-1, 3), triangles, np.concatenate((along, across)))


@solid_of.register(Mesh)
def _(shape: Mesh) -> Solid:
    lines = np.zeros((0, 2, 3))
    if len(shape.triangles) <= MESH_LINES:
        sides = np.concatenate([shape.triangles[:, [k, (k + 1) % 3]] for k in range(3)])
        lines = shape.vertices[np.unique(np.sort(sides, axis=1), axis=0)]
    return _split(shape.vertices, shape.triangles, lines)


def join_solids(solids: Sequence[Solid]) -> Solid:
    """Several solids as one."""
    starts = np.cumsum([0, *(len(solid.vertices) for solid in solids)])
    return Solid(
        np.concatenate([np.zeros((0, 3)), *(solid.vertices for solid in solids)]),
        np.concatenate(
            [
                np.zeros((0, 3), dtype=np.int64),
                *(solid.triangles + start for solid, start in zip(solids, starts[:-1], strict=True)),
            ]
        ),
        np.concatenate([np.zeros((0, 2, 3)), *(solid.lines for solid in solids)]),
    )


def _circle(radius: float) -> FloatArray:
    """Points (AROUND, 3) around z."""
    turn = np.linspace(0.0, 2.0 * np.pi, AROUND, endpoint=False)
    return np.stack((radius * np.cos(turn), radius * np.sin(turn), np.zeros(AROUND)), axis=1)


def _loops(loops: Sequence[FloatArray]) -> FloatArray:
    """Lines (k, 2, 3) around closed outlines."""
    return np.concatenate([np.stack((loop, np.roll(loop, -1, axis=0)), axis=1) for loop in loops])


def _faces(loops: Sequence[FloatArray]) -> Solid:
    """Flat convex faces, each given by its outline, counter-clockwise seen from outside."""
    fans = [np.array([(0, i, i + 1) for i in range(1, len(loop) - 1)]) for loop in loops]
    bare = np.zeros((0, 2, 3))
    faces = join_solids([Solid(loop, fan, bare) for loop, fan in zip(loops, fans, strict=True)])
    return Solid(faces.vertices, faces.triangles, _loops(loops))


def _lathe(outline: Sequence[tuple[float, float]]) -> Solid:
    """Surface of revolution about z of (radius, z) from top to bottom, round throughout."""
    rings = [_circle(1.0) * (radius, radius, 0.0) + (0.0, 0.0, z) for radius, z in outline]
    here, k = np.arange(AROUND), np.arange(len(rings) - 1)[:, None]
    upper, lower, following = AROUND * k + here, AROUND * (k + 1) + here, np.roll(here, -1)
    right_upper, right_lower = AROUND * k + following, AROUND * (k + 1) + following
    triangles = np.concatenate(
        [
            np.stack(corners, axis=-1).reshape(-1, 3)
            for corners in ((upper, lower, right_lower), (upper, right_lower, right_upper))
        ]
    )
    return Solid(np.concatenate(rings), triangles, np.zeros((0, 2, 3)))


def _split(points: FloatArray, triangles: IntArray, lines: FloatArray) -> Solid:
    """Every triangle with corners of its own: flat, as the contact search takes it."""
    return Solid(points[triangles].reshape(-1, 3), np.arange(3 * len(triangles)).reshape(-1, 3), lines)
