"""Any two convex shapes: closest points or depth of their cores, their radii, and the manifold along the normal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.contact.detection.kernels.closest import closest
from contactlab.contact.detection.kernels.manifold import manifold
from contactlab.contact.detection.kernels.support import core_radius, reach
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

__all__ = ["convex_convex"]


@kernel
def convex_convex(
    kind_a: int,
    size_a: FloatArray,
    pose_a: FloatArray,
    kind_b: int,
    size_b: FloatArray,
    pose_b: FloatArray,
    data: FloatArray,
    loops: NDArray[np.int64],
    margin: float,
    work: FloatArray,
    ints: NDArray[np.int64],
    out: FloatArray,
    feature: NDArray[np.int64],
) -> int:
    """Contacts of two spheres, capsules, boxes, cylinders or convex hulls, in any combination.

    Parameters
    ----------
    kind_a, size_a, pose_a, kind_b, size_b, pose_b
        The shapes, as `layout` lays them out.
    data, loops
        Points, normals and corners of convex hulls.
    margin
        Contacts with a gap up to this [m] are reported.
    work, ints
        Workspaces (WORK,) and (INT_WORK,).
    out, feature
        Contacts (rows of CONTACT) and their feature numbers.

    Returns
    -------
    int
        Number of contacts.
    """
    scale = reach(kind_a, size_a, data) + reach(kind_b, size_b, data)
    gap, nx, ny, nz, ax, ay, az = closest(
        kind_a, size_a, pose_a, kind_b, size_b, pose_b, data, margin, scale, work, ints
    )
    if not gap <= margin:
        return 0
    normal = (nx, ny, nz)
    point = (ax, ay, az)
    scale += core_radius(kind_a, size_a) + core_radius(kind_b, size_b)
    return manifold(
        kind_a, size_a, pose_a, kind_b, size_b, pose_b, data, loops,
        normal, point, gap, scale, margin, work, ints, out, feature,
    )  # fmt: skip
