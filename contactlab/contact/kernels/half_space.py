"""Distance of a support point (a point with a radius) of a body from a half-space."""

from __future__ import annotations

from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel


@kernel
def collide_point(
    point_local: FloatArray,
    radius: float,
    R: FloatArray,
    x: FloatArray,
    normal: FloatArray,
    offset: float,
    p_out: FloatArray,
) -> float:
    """Gap [m] between a support point and the half-space ``normal . y <= offset``; negative when they overlap.

    Parameters
    ----------
    point_local, radius
        Centre (3,) [m] in body axes, radius [m] (0 for a plain point).
    R, x
        Pose of the body: (3, 3) body axes to world axes, (3,) origin in world axes [m].
    normal, offset
        Outward unit normal (3,) and its distance from the world origin [m].
    p_out
        (3,) filled with the body's point closest to, or deepest in, the half-space, world axes [m].
    """
    ax, ay, az = point_local[0], point_local[1], point_local[2]
    cx = x[0] + R[0, 0] * ax + R[0, 1] * ay + R[0, 2] * az
    cy = x[1] + R[1, 0] * ax + R[1, 1] * ay + R[1, 2] * az
    cz = x[2] + R[2, 0] * ax + R[2, 1] * ay + R[2, 2] * az
    nx, ny, nz = normal[0], normal[1], normal[2]
    p_out[0] = cx - radius * nx
    p_out[1] = cy - radius * ny
    p_out[2] = cz - radius * nz
    gap: float = nx * cx + ny * cy + nz * cz - radius - offset
    return gap
