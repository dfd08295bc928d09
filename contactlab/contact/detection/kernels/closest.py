"""The closest points of two convex shapes, or how deep they overlap and which way is the shortest out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.contact.detection.kernels.capsule_box import segment_box
from contactlab.contact.detection.kernels.epa import epa
from contactlab.contact.detection.kernels.gjk import gjk
from contactlab.contact.detection.kernels.layout import BOX, CAPSULE, SCRATCH
from contactlab.contact.detection.kernels.simplex import ROW
from contactlab.contact.detection.kernels.support import core_radius
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

__all__ = ["closest"]

# Cores closer than this, relative to their size, get the normal of a face: the difference of their closest points has
# too few digits left to give one.
TOUCHING = 1e-8


@kernel
def closest(
    kind_a: int,
    size_a: FloatArray,
    pose_a: FloatArray,
    kind_b: int,
    size_b: FloatArray,
    pose_b: FloatArray,
    data: FloatArray,
    margin: float,
    scale: float,
    work: FloatArray,
    ints: NDArray[np.int64],
) -> tuple[float, float, float, float, float, float, float]:
    """Gap, unit normal from A into B, and where the gap begins on A's surface; all in world axes.

    A gap that is known to exceed ``margin`` may come out as any larger number, with any normal and point. ``scale`` is
    that of the cores, `support.reach`; the other arguments are those of `convex_convex`.
    """
    radius_a, radius_b = core_radius(kind_a, size_a), core_radius(kind_b, size_b)
    weights = work[SCRATCH : SCRATCH + 8]
    if kind_a == CAPSULE and kind_b == BOX:
        distance, nx, ny, nz, t = segment_box(size_a[1], pose_a, size_b, pose_b, work)
        ax, ay, az = pose_a[9] + t * pose_a[2], pose_a[10] + t * pose_a[5], pose_a[11] + t * pose_a[8]
    else:
        enough = margin + radius_a + radius_b
        distance, n = gjk(kind_a, size_a, pose_a, kind_b, size_b, pose_b, data, scale, enough, work, weights)
        nx, ny, nz = 0.0, 0.0, 0.0
        if distance > TOUCHING * scale:
            for i in range(n):
                # w = a - b, and the normal leads from A to B.
                nx -= weights[i] * work[ROW * i]
                ny -= weights[i] * work[ROW * i + 1]
                nz -= weights[i] * work[ROW * i + 2]
            length = (nx * nx + ny * ny + nz * nz) ** 0.5
            nx, ny, nz, distance = nx / length, ny / length, nz / length, length
        else:
            depth, nx, ny, nz = epa(kind_a, size_a, pose_a, kind_b, size_b, pose_b, data, n, scale, work, weights, ints)
            distance, n = -depth, 3
        ax, ay, az = 0.0, 0.0, 0.0
        for i in range(n):
            if weights[i] > 0.0:
                ax += weights[i] * work[ROW * i + 3]
                ay += weights[i] * work[ROW * i + 4]
                az += weights[i] * work[ROW * i + 5]
    gap = distance - radius_a - radius_b
    return gap, nx, ny, nz, ax + radius_a * nx, ay + radius_a * ny, az + radius_a * nz
