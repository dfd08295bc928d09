"""Where the bodies are in the states of a record."""

from __future__ import annotations

from contactlab.multibody.kernels.fill_frames import fill_frames
from contactlab.multibody.kernels.layout import tree
from contactlab.multibody.kernels.points import body_pose
from contactlab.multibody.kernels.sizes import CUSTOM_ROW, NOTHING, POSES
from contactlab.multibody.kernels.views import rows_at
from contactlab.multibody.kernels.workspace import frames
from contactlab.stepping.kernels.layout import FloatArray, PackedWorld
from lcp.kernels import kernel


@kernel
def state_poses(world: PackedWorld, W: FloatArray, q: FloatArray, out: FloatArray) -> None:
    """Fill ``out`` (n, nb, 12), rotation by rows and origin of every body, for the states q (n, nq)."""
    t = tree(world.ints, world.floats)
    f = frames(W, t.parent.shape[0], t.dof_parent.shape[0])
    for i in range(q.shape[0]):
        fill_frames(world.ints, world.floats, q[i], q[i], rows_at(W, 0, 0, CUSTOM_ROW), NOTHING, POSES, W)
        for b in range(t.body_link.shape[0]):
            body_pose(t, f.R, f.p, b, out[i, b])
