"""Surfaces as triangles and lines, for drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from contactlab.spatial.arrays import FloatArray, IntArray

CIRCLE_SIDES = 32  # sides of a circle


@dataclass(frozen=True, eq=False)
class SurfaceMesh:
    """Triangles with lines on them.

    Attributes
    ----------
    vertices
        (n, 3) [m]. Triangles at a crease have separate vertices; triangles that share a vertex are shaded as round.
    triangles
        (m, 3) numbers of vertices, counter-clockwise seen from outside.
    lines
        (k, 2, 3) ends of lines [m]: creases of flat parts, and circles on round parts, which show the spin.
    """

    vertices: FloatArray
    triangles: IntArray
    lines: FloatArray

    @cached_property
    def normals(self) -> FloatArray:
        """Unit normals at the vertices (n, 3): area-weighted means over the triangles, or 0 without area."""
        a, b, c = (self.vertices[self.triangles[:, k]] for k in range(3))
        across, total = np.cross(b - a, c - a), np.zeros_like(self.vertices)
        for k in range(3):
            np.add.at(total, self.triangles[:, k], across)
        length = np.linalg.norm(total, axis=1, keepdims=True)
        return np.asarray(np.divide(total, length, out=np.zeros_like(total), where=length > 0.0))

    def transformed(self, R: FloatArray, p: FloatArray) -> SurfaceMesh:
        """Return the solid turned by R (3, 3) and moved by p (3,)."""
        return SurfaceMesh(self.vertices @ R.T + p, self.triangles, self.lines @ R.T + p)


def join_surfaces(solids: Sequence[SurfaceMesh]) -> SurfaceMesh:
    """Return several solids as one."""
    starts = np.cumsum([0, *(len(solid.vertices) for solid in solids)])
    return SurfaceMesh(
        np.concatenate([np.zeros((0, 3)), *(solid.vertices for solid in solids)]),
        np.concatenate(
            [
                np.zeros((0, 3), dtype=np.int64),
                *(solid.triangles + start for solid, start in zip(solids, starts[:-1], strict=True)),
            ]
        ),
        np.concatenate([np.zeros((0, 2, 3)), *(solid.lines for solid in solids)]),
    )


def balls(points: FloatArray, radii: FloatArray) -> SurfaceMesh:
    """Return balls about points (n, 3), with three great circles each; a point of zero radius gets a small ball."""
    smallest = 0.01 * (1e-3 + float(np.abs(points).max(initial=0.0)))
    return join_surfaces(
        [ball(max(float(r), smallest)).transformed(np.eye(3), p) for p, r in zip(points, radii, strict=True)]
    )


def ball(radius: float) -> SurfaceMesh:
    """Return a ball about the origin, with three great circles."""
    surface = lathe([(radius * np.sin(a), radius * np.cos(a)) for a in np.linspace(0.0, np.pi, CIRCLE_SIDES // 2)])
    circles = [np.roll(circle(radius), k, axis=1) for k in range(3)]
    return SurfaceMesh(surface.vertices, surface.triangles, outlines(circles))


def circle(radius: float) -> FloatArray:
    """Return points (CIRCLE_SIDES, 3) on the circle about the z axis in the plane z = 0, counter-clockwise from x."""
    turn = np.linspace(0.0, 2.0 * np.pi, CIRCLE_SIDES, endpoint=False)
    return np.stack((radius * np.cos(turn), radius * np.sin(turn), np.zeros(CIRCLE_SIDES)), axis=1)


def outlines(loops: Sequence[FloatArray]) -> FloatArray:
    """Return the lines (k, 2, 3) around closed outlines."""
    return np.concatenate([np.stack((loop, np.roll(loop, -1, axis=0)), axis=1) for loop in loops])


def faces(loops: Sequence[FloatArray]) -> SurfaceMesh:
    """Return the flat convex faces, each given by its outline, counter-clockwise seen from outside."""
    fans = [np.array([(0, i, i + 1) for i in range(1, len(loop) - 1)]) for loop in loops]
    bare = np.zeros((0, 2, 3))
    joined = join_surfaces([SurfaceMesh(loop, fan, bare) for loop, fan in zip(loops, fans, strict=True)])
    return SurfaceMesh(joined.vertices, joined.triangles, outlines(loops))


def lathe(outline: Sequence[tuple[float, float]]) -> SurfaceMesh:
    """Return the surface of revolution about z of an outline of (radius, z), from top to bottom, shaded as round."""
    rings = [circle(1.0) * (radius, radius, 0.0) + (0.0, 0.0, z) for radius, z in outline]
    here, k = np.arange(CIRCLE_SIDES), np.arange(len(rings) - 1)[:, None]
    upper, lower, following = CIRCLE_SIDES * k + here, CIRCLE_SIDES * (k + 1) + here, np.roll(here, -1)
    right_upper, right_lower = CIRCLE_SIDES * k + following, CIRCLE_SIDES * (k + 1) + following
    triangles = np.concatenate(
        [
            np.stack(corners, axis=-1).reshape(-1, 3)
            for corners in ((upper, lower, right_lower), (upper, right_lower, right_upper))
        ]
    )
    return SurfaceMesh(np.concatenate(rings), triangles, np.zeros((0, 2, 3)))


def flat(points: FloatArray, triangles: IntArray, lines: FloatArray) -> SurfaceMesh:
    """Return the triangles with separate vertices, and thus flat shading, as collision detection treats them."""
    return SurfaceMesh(points[triangles].reshape(-1, 3), np.arange(3 * len(triangles)).reshape(-1, 3), lines)
