"""Volume, centre and second moments of the solid inside a closed surface of triangles; triangles of a convex hull."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from contactlab.spatial.arrays import FloatArray, IntArray, finite_array
from contactlab.spatial.errors import FieldError, SpatialError

if TYPE_CHECKING:
    from scipy.spatial import ConvexHull

# Volume, relative to the bounding box of the points, below which a solid is flat.
_FLAT = 1e-12


class UnitSolid(NamedTuple):
    """A homogeneous solid of density 1 kg/m^3."""

    mass: float  # volume [m^3], 0 if flat, negative if the surface faces inward
    com: FloatArray  # (3,) [m]
    inertia: FloatArray  # (3, 3) about the centre of mass [m^5]


def unit_solid(vertices: FloatArray, triangles: IntArray) -> UnitSolid:
    """Return the integrals over the solid inside a closed surface of triangles (m, 3).

    Triangles are counter-clockwise seen from outside. Each triangle and a common point span a tetrahedron of signed
    volume; over a closed surface the signed sums are exact (Mirtich, Fast and accurate computation of polyhedral mass
    properties, Journal of Graphics Tools, 1996). The point is the mean of the vertices and then the centre of mass, so
    that no digits cancel far from the origin.
    """
    used = vertices[np.unique(triangles)]
    origin = used.mean(axis=0)
    corners = vertices[triangles] - origin
    volumes = np.linalg.det(corners) / 6.0
    mass = float(volumes.sum())
    if not abs(mass) > _FLAT * float(np.prod(np.ptp(used, axis=0))):
        return UnitSolid(0.0, origin, np.zeros((3, 3)))
    com = np.einsum("t,ti->i", volumes, corners.sum(axis=1)) / (4.0 * mass)
    corners -= com
    sums = corners.sum(axis=1)
    parts = np.linalg.det(corners) / 120.0
    # The integral of x x^T over each tetrahedron.
    second = np.einsum("t,tci,tcj->ij", parts, corners, corners) + np.einsum("t,ti,tj->ij", parts, sums, sums)
    return UnitSolid(mass, origin + com, np.trace(second) * np.eye(3) - second)


def vertex_numbers(triangles: ArrayLike, n_vertices: int, error: type[FieldError]) -> IntArray:
    """Return triangles as indices (m, 3) of vertices; raise ``error`` without any, or for an invalid index."""
    numbers = finite_array(triangles, "triangles", (None, 3), error)
    if numbers.shape[0] == 0:
        raise error("triangles", "must hold at least one triangle, got none")
    bad = np.argwhere((numbers != np.floor(numbers)) | (numbers < 0) | (numbers >= n_vertices))
    if len(bad):
        i, j = bad[0]
        raise error("triangles", f"entry [{i}, {j}] is {numbers[i, j]:g}, the vertices are {n_vertices}")
    return numbers.astype(np.int64)


def hull_triangles(points: FloatArray) -> IntArray:
    """Return the triangles (m, 3) of the hull of points (n, 3), counter-clockwise seen from outside, by Qhull.

    Raises
    ------
    SpatialError
        Fewer than four points, or points in a plane.
    """
    from scipy.spatial import ConvexHull, QhullError

    if len(points) < 4:
        raise SpatialError("points", f"a solid hull needs at least four points, got {len(points)}")
    try:
        return outward_triangles(points, ConvexHull(points))
    except QhullError as error:
        why = str(error).strip().partition("\n")[0]
        raise SpatialError("points", f"enclose no volume ({why}): at least four must not lie in a plane") from error


def outward_triangles(points: FloatArray, hull: ConvexHull) -> IntArray:
    """Return the triangles (m, 3) of a Qhull hull, each counter-clockwise seen from outside."""
    a, b, c = (points[hull.simplices[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    return np.where(inward[:, None], hull.simplices[:, ::-1], hull.simplices).astype(np.int64)


def surface_fault(vertices: FloatArray, triangles: IntArray) -> str | None:
    """Return the reason why a surface of triangles does not enclose a solid, or None if it does.

    The reasons are an open surface, triangles that face in different directions or inward, and no volume.

    Vertices at one position count as one, because files often store separate corners for every triangle. A surface is
    closed if it traverses each edge equally often in both directions.
    """
    first, number = np.unique(vertices, axis=0, return_index=True, return_inverse=True)[1:]
    corners = number.reshape(-1)[triangles]
    directed = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    edges, place = np.unique(np.sort(directed, axis=1), axis=0, return_inverse=True)
    place = place.reshape(-1)
    passed = np.bincount(place, minlength=len(edges))
    balance = np.bincount(place, np.sign(directed[:, 1] - directed[:, 0]), minlength=len(edges))
    bad = np.flatnonzero(balance != 0.0)
    if bad.size:
        i, j = (int(first[k]) for k in edges[bad[0]])
        if (passed[bad] % 2 == 0).all():
            return (
                f"the triangles at the edge of vertices {i} and {j} pass it in the same direction: reverse one of them"
            )
        return f"the surface is open at {bad.size} edges, the first between vertices {i} and {j}: close the holes"
    volume = unit_solid(vertices, triangles).mass
    if volume == 0.0:
        return "the surface is flat and encloses no volume"
    if volume < 0.0:
        return "the triangles face inward (a negative volume): give the corners of each in the opposite order"
    return None
