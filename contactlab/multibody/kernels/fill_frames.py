"""The kinematics of one instant, into the head of a workspace: poses, then velocities where they are asked for."""

from __future__ import annotations

from contactlab.multibody.kernels.codes import GOOD
from contactlab.multibody.kernels.layout import tree
from contactlab.multibody.kernels.poses import poses
from contactlab.multibody.kernels.sizes import POSES, VELOCITIES
from contactlab.multibody.kernels.velocities import velocities
from contactlab.multibody.kernels.workspace import frames
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


@kernel
def fill_frames(
    I: IntArray, F: FloatArray, q: FloatArray, v: FloatArray, custom: FloatArray, ready: int, until: int, W: FloatArray
) -> int:
    """Fill the head of a workspace up to ``until``; `GOOD`, or where in q a quaternion is not one."""
    t = tree(I, F)
    f = frames(W, t.parent.shape[0], t.dof_parent.shape[0])
    if ready < POSES:
        code = poses(I, F, q, custom, W)
        if code != GOOD:
            return code
    if ready < VELOCITIES and until >= VELOCITIES:
        velocities(t, v, custom, f)
    return GOOD
