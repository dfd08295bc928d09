"""One body's share of a contact row: the Jacobian of a point's velocity along a world direction."""

from __future__ import annotations

from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel


@kernel
def contact_row(R: FloatArray, x: FloatArray, p: FloatArray, direction: FloatArray, row6: FloatArray) -> None:
    """Fill ``row6`` with J such that J v6 is the speed, along ``direction``, of the body's point now at ``p``.

    J = [d, r x (R^T d)] with r = R^T (p - x): the body's velocity has its linear part in world axes, its angular part
    in body axes. ``p`` and ``direction`` (3,) are in world axes; (R, x) is the body's pose.
    """
    dx, dy, dz = direction[0], direction[1], direction[2]
    px, py, pz = p[0] - x[0], p[1] - x[1], p[2] - x[2]
    rx = R[0, 0] * px + R[1, 0] * py + R[2, 0] * pz
    ry = R[0, 1] * px + R[1, 1] * py + R[2, 1] * pz
    rz = R[0, 2] * px + R[1, 2] * py + R[2, 2] * pz
    bx = R[0, 0] * dx + R[1, 0] * dy + R[2, 0] * dz
    by = R[0, 1] * dx + R[1, 1] * dy + R[2, 1] * dz
    bz = R[0, 2] * dx + R[1, 2] * dy + R[2, 2] * dz
    row6[0] = dx
    row6[1] = dy
    row6[2] = dz
    row6[3] = ry * bz - rz * by
    row6[4] = rz * bx - rx * bz
    row6[5] = rx * by - ry * bx
