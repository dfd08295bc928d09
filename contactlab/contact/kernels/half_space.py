"""Distance of a support point (a point with a radius) of a body from a half-space."""

from __future__ import annotations

from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel


@kernel
def collide_point(center: FloatArray, radius: float, normal: FloatArray, offset: float, p_out: FloatArray) -> float:
    """Gap [m] between a support point and the half-space ``normal . y <= offset``; negative when they overlap.

    Parameters
    ----------
    center, radius
        The point (3,) in world axes [m], radius [m] (0 for a plain point).
    normal, offset
        Outward unit normal (3,) and its distance from the world origin [m].
    p_out
        (3,) filled with the body's point closest to, or deepest in, the half-space, world axes [m].
    """
    cx, cy, cz = center[0], center[1], center[2]
    nx, ny, nz = normal[0], normal[1], normal[2]
    p_out[0] = cx - radius * nx
    p_out[1] = cy - radius * ny
    p_out[2] = cz - radius * nz
    gap: float = nx * cx + ny * cy + nz * cz - radius - offset
    return gap
