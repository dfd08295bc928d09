"""Pose and motion column of a link on a revolute joint about x, y or z: most of the links of most robots.

In scalars from end to end. Links of a branch wait for each other, so what counts is how long one takes from its
parent's rotation to its own: not passing through memory in between makes the poses of a robot a quarter faster.
"""

from __future__ import annotations

from contactlab.multibody.kernels.codes import REVOLUTE_X, REVOLUTE_Y
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel


@kernel(inline=True)
def revolute_pose(
    kind: int,
    c: float,
    s: float,
    Ru: FloatArray,
    pu: FloatArray,
    X: FloatArray,
    x: FloatArray,
    about: FloatArray,
    R: FloatArray,
    p: FloatArray,
    column: FloatArray,
) -> None:
    """Fill the link's R (9,), p (3,) and motion column (6,) about the point ``about``, which may be p itself.

    ``Ru`` and ``pu`` are the parent's pose, ``X`` and ``x`` that of the joint in the parent; c and s are cosine and
    sine of the joint's angle.
    """
    r0, r1, r2, r3, r4, r5, r6, r7, r8 = Ru[0], Ru[1], Ru[2], Ru[3], Ru[4], Ru[5], Ru[6], Ru[7], Ru[8]
    px = pu[0] + r0 * x[0] + r1 * x[1] + r2 * x[2]
    py = pu[1] + r3 * x[0] + r4 * x[1] + r5 * x[2]
    pz = pu[2] + r6 * x[0] + r7 * x[1] + r8 * x[2]
    p[0] = px
    p[1] = py
    p[2] = pz
    # The joint's axes in the world.
    a0 = r0 * X[0] + r1 * X[3] + r2 * X[6]
    a1 = r0 * X[1] + r1 * X[4] + r2 * X[7]
    a2 = r0 * X[2] + r1 * X[5] + r2 * X[8]
    a3 = r3 * X[0] + r4 * X[3] + r5 * X[6]
    a4 = r3 * X[1] + r4 * X[4] + r5 * X[7]
    a5 = r3 * X[2] + r4 * X[5] + r5 * X[8]
    a6 = r6 * X[0] + r7 * X[3] + r8 * X[6]
    a7 = r6 * X[1] + r7 * X[4] + r8 * X[7]
    a8 = r6 * X[2] + r7 * X[5] + r8 * X[8]
    if kind == REVOLUTE_X:
        wx = a0
        wy = a3
        wz = a6
        R[0] = a0
        R[1] = a1 * c + a2 * s
        R[2] = a2 * c - a1 * s
        R[3] = a3
        R[4] = a4 * c + a5 * s
        R[5] = a5 * c - a4 * s
        R[6] = a6
        R[7] = a7 * c + a8 * s
        R[8] = a8 * c - a7 * s
    elif kind == REVOLUTE_Y:
        wx = a1
        wy = a4
        wz = a7
        R[0] = a0 * c - a2 * s
        R[1] = a1
        R[2] = a2 * c + a0 * s
        R[3] = a3 * c - a5 * s
        R[4] = a4
        R[5] = a5 * c + a3 * s
        R[6] = a6 * c - a8 * s
        R[7] = a7
        R[8] = a8 * c + a6 * s
    else:
        wx = a2
        wy = a5
        wz = a8
        R[0] = a0 * c + a1 * s
        R[1] = a1 * c - a0 * s
        R[2] = a2
        R[3] = a3 * c + a4 * s
        R[4] = a4 * c - a3 * s
        R[5] = a5
        R[6] = a6 * c + a7 * s
        R[7] = a7 * c - a6 * s
        R[8] = a8
    dx = px - about[0]
    dy = py - about[1]
    dz = pz - about[2]
    column[0] = wx
    column[1] = wy
    column[2] = wz
    column[3] = dy * wz - dz * wy
    column[4] = dz * wx - dx * wz
    column[5] = dx * wy - dy * wx
