"""How near two convex shapes are, in plain numpy: Wolfe's nearest point of the difference of the two to the origin.

P. Wolfe, Finding the nearest point in a polytope, Mathematical Programming 11 (1976). Exact after finitely many steps
for polytopes; for the rim of a cylinder it ends where the bounds from both sides meet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from contactlab.contact import Box, Capsule, ConvexPoints, Cylinder, Mesh, Shape, Sphere
from contactlab.spatial.arrays import FloatArray
from contactlab.verification.motion import cross

ITERATIONS = 200
CLOSE = 1e-14  # of the squared size: the bounds meet
AT_MOST = 32  # points kept: of a polytope four would do, along a rim more of them lead on faster

#: The point of a set that lies farthest along a direction (3,).
Support = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Place:
    """A shape at one instant: rotation, origin, and the velocity field of its body, whose origin is ``body``."""

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
    """A convex shape in its own axes: a set known by its support, and everything within ``radius`` of it [m].

    ``reach``: no point of the shape is farther from the origin [m]. ``flat``: whether the set is a polytope.
    """

    support: Support
    radius: float
    reach: float
    flat: bool = True


def core_of(shape: Shape) -> Core | None:
    """Return the core of a shape, None of one that has no end or is not convex."""
    if isinstance(shape, Cylinder):
        r, half = shape.radius, shape.half_length

        def rim(d: FloatArray) -> FloatArray:
            across = float(np.hypot(d[0], d[1]))
            x, y = (r * d[0] / across, r * d[1] / across) if across > 0.0 else (r, 0.0)
            return np.array([x, y, half if d[2] >= 0.0 else -half])

        return Core(rim, 0.0, float(np.hypot(r, half)), flat=False)
    if isinstance(shape, Sphere):
        points, radius = shape.center[None], shape.radius
    elif isinstance(shape, Capsule):
        points, radius = np.array([[0.0, 0.0, shape.half_length], [0.0, 0.0, -shape.half_length]]), shape.radius
    elif isinstance(shape, Box):
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        points, radius = signs * shape.half_extents, 0.0
    elif isinstance(shape, ConvexPoints):
        points, radius = np.asarray(shape.points), 0.0
    elif isinstance(shape, Mesh) and shape.convex:
        return hull_of(shape)
    else:
        return None
    return Core(corners(points), radius, float(np.linalg.norm(points, axis=1).max()) + radius)


def hull_of(mesh: Mesh) -> Core:
    """Return the convex hull of a mesh; corners that no triangle has are not part of it."""
    points = mesh.vertices[np.unique(mesh.triangles)]
    return Core(corners(points), 0.0, float(np.linalg.norm(points, axis=1).max()))


def corners(points: FloatArray) -> Support:
    """Return the support of a polytope given by points (n, 3)."""
    return lambda d: points[int(np.argmax(points @ d))]


def nearest(a: Support, b: Support, guess: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the nearest points (3,), (3,) of two convex sets in common axes; equal where they overlap.

    ``guess`` (3,): about the direction from a to b.
    """
    pa, pb = a(guess), b(-guess)
    A, B, weights, best = pa[None], pb[None], np.ones(1), np.inf
    found = pa, pb
    for _ in range(ITERATIONS):
        x = weights @ (B - A)
        far = float(x @ x)
        # Every round brings it nearer, until rounding does not: a rim has ever more points, all but the same.
        if not far < best:
            break
        best, found = far, (weights @ A, weights @ B)
        pa, pb = a(x), b(-x)
        size = float(((B - A) ** 2).sum(axis=1).max()) + far
        if far <= CLOSE * size or float(x @ (x - (pb - pa))) <= CLOSE * size:
            break
        A, B, weights = np.vstack((A, pa)), np.vstack((B, pb)), np.append(weights, 0.0)
        if weights.size > AT_MOST:
            A, B, weights = _fewer(A, B, weights)
        while True:
            wanted = _affine(B - A)
            down = np.flatnonzero(wanted < weights)
            ratio = weights[down] / (weights[down] - wanted[down])
            if not down.size or ratio.min() >= 1.0:
                weights = wanted
                break
            # As far towards it as all weights stay positive; what becomes 0 is left out.
            weights = weights + ratio.min() * (wanted - weights)
            weights[down[int(ratio.argmin())]] = 0.0
            keep = weights > 1e-15
            A, B, weights = A[keep], B[keep], weights[keep] / weights[keep].sum()
    return found


def _fewer(A: FloatArray, B: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Do without one of many points, the last one apart: in space five depend on one another (Caratheodory).

    Along a rim each would stay with a weight next to nothing, until hundreds made systems that take seconds.
    """
    D = B - A
    along = np.linalg.svd(np.vstack((D.T, np.ones(weights.size))))[2][-1]
    # Along the dependence the nearest point stays where it is, and the newest weight does not fall.
    along = along if along[-1] < 0.0 else -along
    falls = np.flatnonzero(along > 0.0)
    ratio = weights[falls] / along[falls]
    weights = np.maximum(weights - ratio.min() * along, 0.0)
    keep = np.arange(weights.size) != falls[int(np.argmin(ratio))]
    return A[keep], B[keep], weights[keep] / weights[keep].sum()


def _affine(D: FloatArray) -> FloatArray:
    """Return weights (n,), of sum 1, of the point of the plane through the rows of D next to the origin."""
    rest = np.linalg.lstsq((D[1:] - D[0]).T, -D[0], rcond=None)[0]
    return np.concatenate(([1.0 - rest.sum()], rest))
