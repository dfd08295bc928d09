"""Distance of two convex shapes, in plain numpy: their closest points, and checks of recorded contacts.

The point of their difference closest to the origin is found as in the method of P. Wolfe, Finding the nearest point in
a polytope, Mathematical Programming 11 (1976): farthest points are added, until none is closer. It is exact after
finitely many steps for polytopes; for the rim of a cylinder it ends when the lower and upper bounds meet.

A recorded contact is checked by bounds, not searched again. The supports of A and B along its normal bound the gap from
below. The distance of a point in A from a point in B bounds it from above. If both bounds agree, the gap is right. For
shapes that overlap, the first bound is an upper bound of the depth along any direction, so no other tried direction may
give a smaller depth.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from contactlab.collision import Box, Capsule, ConvexPoints, Cylinder, Mesh, Shape, Sphere
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.simulation.verification.motion import cross

ITERATIONS = 200
CLOSE = 1e-14  # relative to the squared size: the bounds agree
AXIS = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])

#: Function that returns the farthest point of a set along a direction (3,).
Support = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class ShapePose:
    """Pose of a shape at one instant: rotation, origin, and its body's velocity field, with body origin ``body``."""

    R: FloatArray
    p: FloatArray
    body: FloatArray | None
    velocity: FloatArray
    turning: FloatArray

    def velocity_at(self, x: FloatArray) -> FloatArray:
        """Return the velocity (3,) of the body's point at x."""
        return self.velocity if self.body is None else self.velocity + cross(self.turning, x - self.body)


@dataclass(frozen=True, eq=False)
class Core:
    """A convex shape in its axes: a set, the hull of ``points`` (n, 3), and all points within ``radius`` of it [m].

    With ``disc`` > 0 the set is a cylinder, the hull of discs of this radius about two points of its z axis.
    """

    points: FloatArray
    radius: float = 0.0
    disc: float = 0.0

    @cached_property
    def reach(self) -> float:
        """Maximum distance of the shape from the origin [m]."""
        return float(np.hypot(np.linalg.norm(self.points, axis=1), self.disc).max()) + self.radius

    def support(self, d: FloatArray) -> FloatArray:
        """Return the farthest point (3,) of the set along d (3,)."""
        point: FloatArray = self.points[int(np.argmax(self.points @ d))]
        if not self.disc:
            return point
        across = float(np.hypot(d[0], d[1]))
        x, y = (self.disc * d[0] / across, self.disc * d[1] / across) if across > 0.0 else (self.disc, 0.0)
        return np.array([x, y, point[2]])

    def heights(self, d: FloatArray) -> FloatArray:
        """Return the support function max_x d . x (m,) of the set for vectors d (m, 3) of any length, in its axes."""
        along = np.max(d @ self.points.T, axis=1)
        return np.asarray(along + self.disc * np.hypot(d[:, 0], d[:, 1]) if self.disc else along)

    def outside(self, x: FloatArray) -> FloatArray:
        """Return the distances (m,) of points (m, 3) from the set, by planes if it is a solid polytope; 0 inside."""
        if self.points.shape[0] <= 2 and not self.disc:
            first, along = self.points[0], self.points[-1] - self.points[0]
            t = np.clip((x - first) @ along / max(float(along @ along), 1e-300), 0.0, 1.0)
            return np.asarray(np.linalg.norm(x - first - t[:, None] * along, axis=1))
        if self.disc:
            half = float(self.points[:, 2].max())
            return np.hypot(
                np.maximum(np.hypot(x[:, 0], x[:, 1]) - self.disc, 0.0), np.maximum(np.abs(x[:, 2]) - half, 0.0)
            )
        normals, offsets = self._planes
        return np.asarray(np.maximum(np.max(x @ normals.T - offsets, axis=1), 0.0))

    @cached_property
    def _planes(self) -> tuple[FloatArray, FloatArray]:
        """Unit normals (k, 3) and offsets (k,) of half-spaces that intersect in the polytope; also if it is flat."""
        points, center = self.points, self.points.mean(axis=0)
        _, extents, axes = np.linalg.svd(points - center)
        rank = int(np.sum(extents > 1e-9 * max(float(extents[0]), 1e-300))) if points.shape[0] > 1 else 0
        normals = [axes[rank:], -axes[rank:]]
        if rank == 1:
            normals += [axes[:1], -axes[:1]]
        elif rank >= 2:
            from scipy.spatial import ConvexHull

            normals.append(ConvexHull((points - center) @ axes[:rank].T).equations[:, :rank] @ axes[:rank])
        stacked = np.vstack(normals)
        return stacked, np.max(stacked @ points.T, axis=1)

    @cached_property
    def faces(self) -> FloatArray:
        """Return the outward normals (k, 3) of faces, of the caps for a cylinder; a flat set includes its sides."""
        return AXIS if self.disc else self._planes[0]


def core_of(shape: Shape) -> Core | None:
    """Return the core of a shape, None if it is infinite or not convex."""
    if isinstance(shape, Cylinder):
        return Core(AXIS * shape.half_length, disc=shape.radius)
    if isinstance(shape, Sphere):
        return Core(shape.center[None], shape.radius)
    if isinstance(shape, Capsule):
        return Core(AXIS * shape.half_length, shape.radius)
    if isinstance(shape, Box):
        return Core(np.array(list(itertools.product((-1.0, 1.0), repeat=3))) * shape.half_extents)
    if isinstance(shape, ConvexPoints):
        return Core(np.asarray(shape.points))
    return hull_of(shape) if isinstance(shape, Mesh) and shape.convex else None


def hull_of(mesh: Mesh) -> Core:
    """Return the convex hull of a mesh, without vertices that belong to no triangle."""
    return Core(mesh.vertices[np.unique(mesh.triangles)])


def nearest(a: Support, b: Support, guess: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the closest points (3,), (3,) of two convex sets in common axes; equal if they overlap.

    ``guess`` (3,): approximate direction from a to b.
    """
    from scipy.optimize import nnls

    pa, pb = a(guess), b(-guess)
    A, B, best = pa[None], pb[None], np.inf
    found = pa, pb
    for _ in range(ITERATIONS):
        # The convex combination closest to the origin: nonnegative least squares of D' w = 0 and sum w = 1, scaled.
        D = B - A
        size = float(np.linalg.norm(D, axis=1).max()) or 1.0
        try:
            weights = nnls(np.vstack((D.T, np.full(len(D), size))), np.array([0.0, 0.0, 0.0, size]), maxiter=1000)[0]
        except RuntimeError:  # no convergence, for points that are nearly equal
            break
        weights /= weights.sum()
        A, B, weights = A[weights > 0.0], B[weights > 0.0], weights[weights > 0.0]
        pa, pb = weights @ A, weights @ B
        x = pb - pa
        far = float(x @ x)
        # Every iteration reduces the distance until rounding: a rim always gives new points that are nearly equal.
        if not far < best:
            break
        best, found = far, (pa, pb)
        pa, pb = a(x), b(-x)
        if far <= CLOSE * size**2 or float(x @ (x - (pb - pa))) <= CLOSE * size**2:
            break
        A, B = np.vstack((A, pa)), np.vstack((B, pb))
    return found


APART, OVERLAPPING = 1e-9, 1e-6  # tolerance of gaps, relative to the smaller shape's size
REDUCED = 1e-6  # the same for the closest contact after a reduction to four
COORDINATE = 1e-6  # fraction of the coordinates that is added to the size, because of their rounding


def contact_errors(
    a: Core,
    b: Core,
    poses: tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]],
    contacts: tuple[FloatArray, FloatArray, FloatArray],
    at: IntArray,
    margin: float,
    reduced: bool,
) -> FloatArray:
    """Return the errors of m contacts of A and B, relative to their tolerance, times `APART`.

    Parameters
    ----------
    poses
        Rotations (m, 3, 3) and origins (m, 3) of A and of B.
    contacts
        Points (m, 3), unit normals (m, 3) and gaps (m,).
    at
        (m,) the instant of each, ascending: the contacts of one instant are complete up to a gap of ``margin``.
    reduced
        Whether contacts were reduced to four.
    """
    (R_a, p_a), (R_b, p_b) = poses
    point, normal, gap = contacts
    size = min(a.reach, b.reach) + COORDINATE * (
        max(a.reach, b.reach) + np.linalg.norm(p_a, axis=1) + np.linalg.norm(p_b, axis=1)
    )

    def separation(n: FloatArray, rows: Any = slice(None)) -> FloatArray:
        local_a = np.einsum("mji,mj->mi", R_a[rows], n)
        local_b = np.einsum("mji,mj->mi", R_b[rows], -n)
        between = np.sum(n * (p_b[rows] - p_a[rows]), axis=1)
        return np.asarray(between - a.heights(local_a) - b.heights(local_b) - a.radius - b.radius)

    allowed = np.where(gap < 0.0, OVERLAPPING, APART) * size
    first = np.flatnonzero(np.diff(at, prepend=at[0] - 1) != 0)
    groups = np.repeat(np.arange(first.size), np.diff(np.append(first, at.size)))
    closest = np.minimum.reduceat(gap, first)
    # Beyond the margin the closest point may be missing if it does not approach.
    is_closest = (gap <= closest[groups]) & (gap <= margin)
    # For the closest contact of round shapes both points are in their shapes. For other contacts one point may be on a
    # supporting plane next to its shape: a corner above an inclined face.
    off = np.abs(np.linalg.norm(normal, axis=1) - 1.0) * size
    beyond, above = [], []
    for core, R, p, way in ((a, R_a, p_a, -1.0), (b, R_b, p_b, 1.0)):
        on = point + 0.5 * way * gap[:, None] * normal - p
        from_core = core.outside(np.einsum("mji,mj->mi", R, on)) - core.radius
        height = core.heights(np.einsum("mji,mj->mi", R, -way * normal)) + core.radius
        beyond.append(np.where(is_closest, np.abs(from_core), from_core))
        plane = np.abs(height + way * np.sum(normal * on, axis=1))
        above.append(np.where(is_closest, np.inf, np.maximum(plane, from_core - np.abs(gap) - a.radius - b.radius)))
    borne = np.minimum(np.maximum(beyond[0], above[1]), np.maximum(beyond[1], above[0]))
    off = np.maximum(off, np.minimum(np.maximum(*beyond), borne))
    along = separation(normal)
    # The closest contact of each instant has the gap that its normal proves.
    proved = np.maximum(gap - along - (REDUCED * size if reduced else 0.0), 0.0)
    off = np.maximum(off, np.where(is_closest, proved, 0.0))
    # No distance is less than the smallest known separation of the instant: along the given normals, the line of the
    # middles, and the faces of both shapes.
    best = np.maximum.reduceat(along, first)
    for faces, R, sign in ((a.faces, R_a, 1.0), (b.faces, R_b, -1.0)):
        for face in faces[:MAX_FACES]:
            best = np.maximum(best, separation(sign * (R[first] @ face), first))
    middle = p_b[first] - p_a[first]
    length = np.linalg.norm(middle, axis=1)
    known = length > 1e-9 * size[first]
    best[known] = np.maximum(best[known], separation(middle[known] / length[known, None], first[known]))
    off = np.maximum(off, best[groups] - gap)
    return np.asarray(off / allowed * APART)


MAX_FACES = 200
