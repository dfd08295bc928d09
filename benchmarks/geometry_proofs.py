"""Proofs of contacts of two convex shapes, in plain numpy: bounds of the gap from both sides, and least depths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from contactlab.collision import Box, Capsule, ConvexPoints, Cylinder, HalfSpace, Shape, Sphere
from contactlab.collision.detection import CollisionPoint
from contactlab.multibody.spatial import Transform
from contactlab.simulation.verification.proximity import nearest

Array = NDArray[np.float64]
APART, OVERLAPPING = 1e-9, 1e-6  # of the size


@dataclass(frozen=True, eq=False)
class Body:
    """Shape at a pose; all directions and points in world axes.

    ``points`` (n, 3), in the shape's axes: the corners of its core, alone at the origin for a cylinder; ``edges`` and
    ``faces`` (n, 3) the directions of edges and the normals of faces. A cylinder is ``disc`` wide across its z axis.
    """

    shape: Shape
    R: Array
    p: Array
    points: Array
    edges: Array
    faces: Array
    radius: float = 0.0
    disc: float = 0.0
    planes: Array = field(default_factory=lambda: np.zeros((0, 4)))
    triangles: Array = field(default_factory=lambda: np.zeros((0, 3, 3)))

    @staticmethod
    def of(shape: Shape, R: Array, p: Array) -> Body:
        """Return a shape at a rotation and a position."""
        none = np.zeros((0, 3))
        if isinstance(shape, Sphere):
            return Body(shape, R, p, np.zeros((1, 3)), none, none, radius=shape.radius)
        if isinstance(shape, HalfSpace):
            return Body(
                shape, R, p, np.asarray(shape.normal)[None] * shape.offset, none, np.asarray(shape.normal)[None]
            )
        z = np.array([[0.0, 0.0, 1.0]])
        if isinstance(shape, Capsule):
            return Body(shape, R, p, np.vstack((z, -z)) * shape.half_length, z, none, radius=shape.radius)
        if isinstance(shape, Cylinder):
            return Body(shape, R, p, np.vstack((z, -z)) * shape.half_length, z, np.vstack((z, -z)), disc=shape.radius)
        if isinstance(shape, Box):
            signs = np.array([[x, y, w] for x in (-1, 1) for y in (-1, 1) for w in (-1, 1)], dtype=float)
            eye = np.eye(3)
            return Body(shape, R, p, signs * shape.half_extents, eye, np.vstack((eye, -eye)))
        assert isinstance(shape, ConvexPoints)
        return Body(shape, R, p, np.asarray(shape.points), *_features(np.asarray(shape.points)))

    def moved(self, R: Array, p: Array) -> Body:
        """Return the same shape at another rotation and place."""
        return replace(self, R=R, p=p)

    @property
    def pose(self) -> Transform:
        """Return its pose."""
        return Transform(self.R, self.p)

    @cached_property
    def reach(self) -> float:
        """Return the largest distance of a point of the shape from its origin; infinite for a half-space."""
        if isinstance(self.shape, HalfSpace):
            return math.inf
        return float(np.hypot(np.linalg.norm(self.points, axis=1).max(), self.disc)) + self.radius

    @cached_property
    def corners(self) -> Array:
        """World axes."""
        return self.points @ self.R.T

    def heights(self, n: Array) -> Array:
        """Return the extent (m,) of the core along unit vectors (m, 3), from its origin."""
        along = (n @ self.corners.T).max(axis=1)
        if self.disc > 0.0:
            along = along + self.disc * np.linalg.norm(np.cross(n, self.R[:, 2]), axis=1)
        return along

    def support(self, d: Array) -> Array:
        """Return the point of the core farthest along d."""
        point = self.corners[int(np.argmax(self.corners @ d))]
        if self.disc > 0.0:
            # In the shape's axes: rounding across the axis, in a direction along it, would lead away from the cap.
            x, y, _ = self.R.T @ d
            length = math.hypot(x, y)
            x, y = (x / length, y / length) if length > 0.0 else (1.0, 0.0)
            point = point + self.disc * (x * self.R[:, 0] + y * self.R[:, 1])
        return point + self.p

    def extent(self, n: Array) -> float:
        """Return the extent of the shape along a unit vector, from its origin."""
        return float(self.heights(n[None])[0]) + self.radius

    def outside(self, x: Array) -> float:
        """Return an upper bound of a point's distance from the core; 0 inside."""
        local = self.R.T @ (x - self.p)
        shape = self.shape
        if isinstance(shape, HalfSpace):
            return max(0.0, float(np.asarray(shape.normal) @ local) - shape.offset)
        if isinstance(shape, Box):
            return float(np.linalg.norm(np.maximum(np.abs(local) - shape.half_extents, 0.0)))
        if isinstance(shape, Cylinder):
            rho = max(0.0, float(np.hypot(local[0], local[1])) - shape.radius)
            return float(np.hypot(rho, max(0.0, abs(float(local[2])) - shape.half_length)))
        if isinstance(shape, Sphere):
            return float(np.linalg.norm(local))
        if isinstance(shape, Capsule):
            local[2] -= min(max(float(local[2]), -shape.half_length), shape.half_length)
            return float(np.linalg.norm(local))
        if self.planes.size and float((self.planes[:, :3] @ local + self.planes[:, 3]).max()) <= 0.0:
            return 0.0
        return off_triangles(local, self.triangles)

    def special(self, rng: np.random.Generator) -> Array:
        """Draw a direction in which the shape touches with more than a point, or any direction."""
        ways = [self.faces, np.eye(3)]
        if self.disc > 0.0 or self.radius > 0.0:
            angle = rng.uniform(0.0, 2.0 * math.pi)
            ways.append(np.array([[math.cos(angle), math.sin(angle), 0.0]] * 3))
        elif len(self.edges) > 1:
            i, j = rng.integers(len(self.edges), size=2)
            ways.append(self.edges[i] / np.linalg.norm(self.edges[i]) + self.edges[j] / np.linalg.norm(self.edges[j]))
        ways.append(rng.normal(size=(1, 3)))
        if isinstance(self.shape, HalfSpace):
            ways = [self.faces]
        rows = np.vstack([np.atleast_2d(way) for way in ways])
        rows = rows[np.linalg.norm(rows, axis=1) > 1e-6]
        n = self.R @ rows[rng.integers(len(rows))]
        return np.asarray(n / np.linalg.norm(n))

    def special_across(self, n: Array, rng: np.random.Generator) -> Array:
        """Draw a direction across n: along an edge across it, or any."""
        ways = self.edges @ self.R.T
        ways = ways - (ways @ n)[:, None] * n
        ways = ways[np.linalg.norm(ways, axis=1) > 0.5 * np.linalg.norm(self.edges, axis=1)]
        u = ways[rng.integers(len(ways))] if len(ways) else np.cross(n, np.eye(3)[int(np.argmin(np.abs(n)))])
        return np.asarray(u / np.linalg.norm(u))


def off_triangles(x: Array, triangles: Array) -> float:
    """Return the distance of a point from the nearest triangle (n, 3, 3); some may be lines or points."""
    a, b = triangles, np.roll(triangles, -1, axis=1)
    along = b - a
    length2 = np.maximum((along**2).sum(axis=2), 1e-300)
    t = np.clip(((x - a) * along).sum(axis=2) / length2, 0.0, 1.0)
    best = float(np.linalg.norm(a + t[:, :, None] * along - x, axis=2).min())
    normal = np.cross(along[:, 0], along[:, 1])
    area = np.linalg.norm(normal, axis=1)
    solid = area > 1e-12 * length2.max(axis=1)
    if solid.any():
        a, along, normal = a[solid], along[solid], normal[solid] / area[solid, None]
        sides = np.einsum("nij,nj->ni", np.cross(along, x - a), normal)
        within = (sides >= 0.0).all(axis=1)
        if within.any():
            best = min(best, float(np.abs(((x - a[:, 0]) * normal).sum(axis=1))[within].min()))
    return best


def _features(points: Array) -> tuple[Array, Array, float, float, Array, Array]:
    """Return edges, normals of faces, no radii, the planes (n, 4) of the hull (none of a flat one), triangles."""
    from scipy.spatial import ConvexHull

    center = points.mean(axis=0)
    _, extents, axes = np.linalg.svd(points - center)
    rank = int(np.sum(extents > 1e-9 * extents[0])) if len(points) > 1 else 0
    none = np.zeros((0, 4))
    if rank < 2:
        along = (points - center) @ axes[0]
        ends = points[[int(along.argmin()), int(along.argmax()), int(along.argmax())]]
        return axes[:rank], np.zeros((0, 3)), 0.0, 0.0, none, ends[None]
    if rank == 2:
        loop = points[ConvexHull((points - center) @ axes[:2].T).vertices]
        fan = np.stack([np.stack((loop[0], loop[i], loop[i + 1])) for i in range(1, len(loop) - 1)])
        return np.roll(loop, -1, axis=0) - loop, np.vstack((axes[2], -axes[2])), 0.0, 0.0, none, fan
    hull = ConvexHull(points)
    pairs = np.vstack([hull.simplices[:, [i, j]] for i, j in ((0, 1), (1, 2), (0, 2))])
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    normals, planes = hull.equations[:, :3], hull.equations
    return points[pairs[:, 1]] - points[pairs[:, 0]], normals, 0.0, 0.0, planes, points[hull.simplices]


def overlap(a: Body, b: Body, n: Array) -> Array:
    """Return the distance (m,) of B along unit vectors (m, 3) until its core leaves A's; negative if apart."""
    return a.heights(n) + b.heights(-n) - n @ (b.p - a.p)


def _unit(n: Array) -> Array:
    length = np.linalg.norm(n, axis=1)
    n = n[length > 1e-14 * max(float(length.max(initial=0.0)), 1e-300)]
    return np.asarray(n / np.linalg.norm(n, axis=1)[:, None])


def spiral(n: int) -> Array:
    i = np.arange(n)
    z = 1.0 - (2.0 * i + 1.0) / n
    angle, r = i * math.pi * (3.0 - math.sqrt(5.0)), np.sqrt(1.0 - z * z)
    return np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=1)


SPREAD = spiral(1500)
RING = np.array([[math.cos(t), math.sin(t)] for t in 2.0 * math.pi * np.arange(16) / 16])


def least_overlap(a: Body, b: Body) -> float:
    """Return the depth of the cores: over the faces of A - B for polytopes, by search for a cylinder."""
    parts = [a.faces @ a.R.T, -b.faces @ b.R.T, (b.p - a.p)[None], np.eye(3)]
    ea, eb = a.edges @ a.R.T, b.edges @ b.R.T
    if len(ea) and len(eb):
        ea, eb = _unit(ea), _unit(eb)
        parts.append(np.cross(ea[:, None], eb[None]).reshape(-1, 3))
    ways = _unit(np.vstack(parts))
    ways = np.vstack((ways, -ways))
    if not (a.disc or b.disc):
        return float(overlap(a, b, ways).min())
    for body in (a, b):
        if body.disc:
            other = b if body is a else a
            for axis in (body.R[:, 2],):
                lines = other.corners + other.p - body.p
                radial = _unit(lines - (lines @ axis)[:, None] * axis)
                middle = (b.p - a.p) - float((b.p - a.p) @ axis) * axis
                ways = np.vstack((ways, radial, -radial, _unit(np.vstack((middle, -middle, ways[:1])))))
    ways = np.vstack((ways, SPREAD))
    values = overlap(a, b, ways)
    order = np.argsort(values)
    starts = ways[order[: min(len(order), 12)]]
    best = float(values.min())
    # From each, smaller and smaller rings about the best so far.
    now, here = starts, overlap(a, b, starts)
    radius = np.full(len(starts), 0.1)
    for _ in range(70):
        t = np.cross(now, np.eye(3)[np.argmin(np.abs(now), axis=1)])
        t /= np.linalg.norm(t, axis=1)[:, None]
        s = np.cross(now, t)
        around = now[:, None] + radius[:, None, None] * (
            RING[None, :, :1] * t[:, None] + RING[None, :, 1:] * s[:, None]
        )
        around /= np.linalg.norm(around, axis=2)[:, :, None]
        there = overlap(a, b, around.reshape(-1, 3)).reshape(len(now), -1)
        least = np.argmin(there, axis=1)
        rows = np.arange(len(now))
        better = there[rows, least] < here
        now = np.where(better[:, None], around[rows, least], now)
        here = np.where(better, there[rows, least], here)
        radius = np.where(better, radius, 0.6 * radius)
    return min(best, float(here.min()))


@dataclass(frozen=True)
class Verdict:
    """Proved errors of the contacts of one placement, over the size of the smaller shape."""

    found: int = 0
    overlap: bool = False
    gap: float = 0.0
    gap_error: float = 0.0
    normal_error: float = 0.0
    point_error: float = 0.0
    deeper: float = 0.0
    missing: bool = False
    false: bool = False

    @property
    def holds(self) -> bool:
        """Return True if every error is within its limit."""
        allowed = OVERLAPPING if self.overlap else APART
        worst = max(self.gap_error, self.normal_error, self.point_error, self.deeper)
        return worst <= allowed and not self.missing and not self.false


def true_distance(a: Body, b: Body) -> tuple[float, float]:
    """Return lower and upper bounds of the distance of two cores, by Wolfe's nearest points."""
    pa, pb = nearest(a.support, b.support, b.p - a.p)
    away = pb - pa
    length = float(np.linalg.norm(away))
    if length == 0.0:
        return 0.0, 0.0
    return max(0.0, -float(overlap(a, b, away[None] / length)[0])), length


def prove(a: Body, b: Body, margin: float, found: Sequence[CollisionPoint]) -> Verdict:
    """Prove the contacts of A and B within ``margin``."""
    size = min(a.reach, b.reach)
    radii = a.radius + b.radius
    if isinstance(a.shape, HalfSpace):
        n = a.R @ np.asarray(a.shape.normal)
        gap = -float(b.heights(-n[None])[0]) + float(n @ (b.p - a.p)) - a.shape.offset - radii
        lower, upper = gap + radii, gap + radii
        if not found:
            return Verdict(missing=gap <= margin - APART * size)
    elif not found:
        quick = np.vstack((a.faces @ a.R.T, -b.faces @ b.R.T, _unit(np.vstack((b.p - a.p, np.eye(3)[:1])))))
        if float(overlap(a, b, np.vstack((quick, -quick))).min()) < -(margin + radii):
            return Verdict()
        # If the bounds differ, the proved part counts.
        lower, upper = true_distance(a, b)
        return Verdict(missing=upper <= margin + radii - APART * size)
    least = min(found, key=lambda c: c.gap)
    core_gap = least.gap + radii
    normal = np.asarray(least.normal)
    along = -float(overlap(a, b, normal[None])[0])
    on_a, on_b = least.point_a - a.radius * normal, least.point_b + b.radius * normal
    off = max(a.outside(on_a), b.outside(on_b))
    if isinstance(a.shape, HalfSpace):
        along = lower
        error = abs(core_gap - lower)
    elif core_gap > 0.0:
        lower, upper = along, core_gap + 2.0 * off
        error = max(abs(core_gap - along), off)
    else:
        # Any direction gives an upper bound of the depth, also the returned one.
        lower = upper = -min(least_overlap(a, b), -along)
        error = max(abs(core_gap - along), core_gap - lower, lower - core_gap)
    true = lower
    deeper = max(0.0, true - core_gap)
    points = off
    for one in found:
        n = np.asarray(one.normal)
        for body, x in ((a, one.point_a), (b, one.point_b)):
            points = max(points, body.outside(x) - body.radius)
        deeper = max(deeper, true - radii - one.gap)
        points = max(points, abs(float(np.linalg.norm(n)) - 1.0) * size)
    return Verdict(
        found=len(found),
        overlap=least.gap < 0.0,
        gap=least.gap,
        gap_error=error / size,
        normal_error=max(0.0, core_gap - along) / size,
        point_error=points / size,
        deeper=deeper / size,
        false=least.gap > margin * (1.0 + 1e-12) or true - radii > margin + APART * size,
    )
