"""Triangle meshes of known surfaces."""

import numpy as np
from scipy.spatial import ConvexHull

from contactlab.simulation import Mesh


def terrain(cells, half, height):
    """A square of side 2 half about the origin, cells x cells squares of two triangles, at z = height(x, y)."""
    x = np.linspace(-half, half, cells + 1)
    X, Y = np.meshgrid(x, x, indexing="ij")
    vertices = np.stack([X, Y, height(X, Y) + 0.0 * X], axis=-1).reshape(-1, 3)
    triangles = []
    for i in range(cells):
        for j in range(cells):
            a = i * (cells + 1) + j
            b = a + cells + 1
            triangles += [[a, b, b + 1], [a, b + 1, a + 1]]
    return Mesh(vertices, triangles)


def flat(cells=20, half=1.0):
    """The plane z = 0."""
    return terrain(cells, half, lambda x, y: 0.0 * x)


def hull(points):
    """The surface of the convex hull of points, triangles counter-clockwise from outside."""
    points = np.asarray(points, dtype=float)
    solid = ConvexHull(points)
    triangles = solid.simplices.copy()
    for k, (a, b, c) in enumerate(solid.simplices):
        if np.cross(points[b] - points[a], points[c] - points[a]) @ solid.equations[k, :3] < 0.0:
            triangles[k] = (a, c, b)
    return Mesh(points, triangles)


def notched_block():
    """A block 1 x 1 x 1 on the plane z = 0 with a square quarter cut out above x > 0: an L seen along y."""
    profile = [(-0.5, 0.0), (0.5, 0.0), (0.5, 0.5), (0.0, 0.5), (0.0, 1.0), (-0.5, 1.0)]
    n = len(profile)
    vertices = [(x, y, z) for y in (-0.5, 0.5) for x, z in profile]
    caps = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    triangles = [list(one) for one in caps] + [[n + c, n + b, n + a] for a, b, c in caps]
    for i in range(n):
        j = (i + 1) % n
        triangles += [[i, n + i, n + j], [i, n + j, j]]
    return Mesh(vertices, triangles)
