"""Sphere and capsule."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.contact.detection.kernels.sphere_sphere import rounded_points
from contactlab.contact.detection.kernels.writing import across
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

__all__ = ["sphere_capsule"]


@kernel
def sphere_capsule(
    size_a: FloatArray,
    pose_a: FloatArray,
    size_b: FloatArray,
    pose_b: FloatArray,
    margin: float,
    out: FloatArray,
    feature: NDArray[np.int64],
) -> int:
    """Contact of a sphere (A) and a capsule (B), 0 or 1.

    The capsule's point is the one of its axis closest to the sphere's centre (Ericson 2005, section 5.1.2), with its
    radius. A centre on the axis leaves sideways, along a direction that depends on the axis alone.
    """
    ux, uy, uz = pose_b[2], pose_b[5], pose_b[8]
    dx, dy, dz = pose_a[9] - pose_b[9], pose_a[10] - pose_b[10], pose_a[11] - pose_b[11]
    t = dx * ux + dy * uy + dz * uz
    t = min(max(t, -size_b[1]), size_b[1])
    return rounded_points(
        pose_a[9],
        pose_a[10],
        pose_a[11],
        size_a[0],
        pose_b[9] + t * ux,
        pose_b[10] + t * uy,
        pose_b[11] + t * uz,
        size_b[0],
        across(ux, uy, uz),
        0,
        margin,
        0,
        out,
        feature,
    )
