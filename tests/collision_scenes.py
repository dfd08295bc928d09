"""Shapes and poses the tests of collision detection share."""

import numpy as np

from contactlab.simulation import Box, Capsule, ConvexPoints, Cylinder, Sphere, Transform

ROUND_AND_FLAT = ("sphere", "capsule", "box", "cylinder", "convex")


def random_shape(name, rng, size=1.0):
    """A shape of the kind named, of about the size given."""

    def length(low, high):
        return size * rng.uniform(low, high)

    if name == "sphere":
        return Sphere(length(0.3, 1.0))
    if name == "capsule":
        return Capsule(length(0.2, 0.6), length(0.3, 1.0))
    if name == "box":
        return Box([length(0.3, 1.0) for _ in range(3)])
    if name == "cylinder":
        return Cylinder(length(0.2, 0.8), length(0.3, 1.0))
    return ConvexPoints(0.6 * size * rng.normal(size=(20, 3)))


def random_pose(rng, spread=1.2):
    """A random turn, the origin within a cube of half width ``spread``."""
    return Transform.rotation(rng.normal(size=3), rng.uniform(0.0, 3.0), rng.uniform(-spread, spread, 3))


def corners(box, pose):
    """Corners (8, 3) of a box in the world, without the code under test."""
    signs = np.array([(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], dtype=float)
    return pose.p + (signs * box.half_extents) @ pose.R.T


def sorted_rows(contacts):
    """Points, normals and gaps (n, 7) of contacts, in an order that does not depend on features."""
    rows = np.array([[*c.point, *c.normal, c.gap] for c in contacts]).reshape(-1, 7)
    return rows[np.lexsort(np.round(rows, 6).T)]
