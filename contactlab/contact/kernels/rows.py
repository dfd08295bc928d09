"""One body's share of a contact row: the Jacobian of a point's velocity along a world direction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel


@kernel
def contact_row(
    dof_parent: NDArray[np.int64],
    S: FloatArray,
    last: int,
    o: FloatArray,
    x: FloatArray,
    direction: FloatArray,
    first: int,
    row: FloatArray,
) -> None:
    """Fill ``row`` so that row . v is the speed, along ``direction``, of a body's point now at ``x``.

    Entry j is the power of a unit force along d at x on motion column j: S_j . (r x d, d), r = x - o. Only degrees of
    freedom between the body and the root of its tree are written: the others do not move the point.

    Parameters
    ----------
    dof_parent, S
        (nv,) the next degree of freedom towards the root, -1 for none; motion columns (nv, 6).
    last
        The degree of freedom next to the body.
    o
        (3,) origin of the tree's root link, about which the columns are.
    x, direction
        (3,) world axes.
    first
        Degree of freedom that row[0] belongs to: the first of the tree.
    """
    rx, ry, rz = x[0] - o[0], x[1] - o[1], x[2] - o[2]
    dx, dy, dz = direction[0], direction[1], direction[2]
    mx, my, mz = ry * dz - rz * dy, rz * dx - rx * dz, rx * dy - ry * dx
    j = last
    while j >= 0:
        s = S[j]
        row[j - first] = s[0] * mx + s[1] * my + s[2] * mz + s[3] * dx + s[4] * dy + s[5] * dz
        j = dof_parent[j]
