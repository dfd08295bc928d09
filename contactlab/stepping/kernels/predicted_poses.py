"""Poses at the end of a step, predicted from velocities: where bodies turn, gaps do not change along straight lines.

A contact row states the gap at the end of a step as g + h N v. A body that turns by the angle a in the step leaves this
line by a^2 r / 2, with r the distance of its points from its middle. A plate that tumbles sinks by a good part of its
thickness. So poses are predicted where anything turns fast, and gaps are computed there. The difference to the line is
the gap correction. The position projection undoes it; velocities do not depend on it.
"""

from __future__ import annotations

from contactlab.multibody.kernels.configurations import integrate_configuration
from contactlab.multibody.kernels.layout import tree
from contactlab.multibody.kernels.points import body_pose
from contactlab.multibody.kernels.sizes import CUSTOM_ROW, NOTHING, POSES
from contactlab.multibody.kernels.velocities import fill_frames
from contactlab.multibody.kernels.workspace import frames, rows_at
from contactlab.stepping.kernels.kinematic import motion_of
from contactlab.stepping.kernels.layout import FloatArray, PackedWorld, Work
from lcp.kernels import kernel

# The angle of a turn in a step [rad] from which on poses are predicted. And how far shapes leave their straight ways
# where gaps are computed there, by the smallest extent of the smaller one.
FAST_TURN = 0.02
DEVIATION = 0.002


@kernel(inner=True)
def turns_far(world: PackedWorld, work: Work, h: float) -> bool:
    """Whether anything turns by more than `FAST_TURN` in the step."""
    t = tree(world.ints, world.floats)
    f = frames(work.W, t.parent.shape[0], t.dof_parent.shape[0])
    least = (FAST_TURN / h) ** 2
    for i in range(t.parent.shape[0]):
        V = f.V[i]
        if V[0] * V[0] + V[1] * V[1] + V[2] * V[2] > least:
            return True
    for i in range(work.motion_twist.shape[0]):
        s = work.motion_twist[i]
        if s[0] * s[0] + s[1] * s[1] + s[2] * s[2] > least:
            return True
    return False


@kernel(inner=True)
def predict_poses(world: PackedWorld, work: Work, v: FloatArray, h: float) -> None:
    """Fill the poses at the end of a step at velocities v."""
    integrate_configuration(world.ints, world.floats, work.q, v, h, work.q_plus)
    none = rows_at(work.W, 0, 0, CUSTOM_ROW)
    fill_frames(world.ints, world.floats, work.q_plus, v, none, NOTHING, POSES, work.W_predicted)


@kernel(inner=True)
def predicted_body(world: PackedWorld, work: Work, body: int, out: FloatArray) -> None:
    """Fill ``out`` (12,) with the pose of a body at the end of the step, as `predict_poses` found it."""
    row = motion_of(world, body)
    if row >= 0:
        for k in range(12):
            out[k] = work.motion_next[row, k]
        return
    t = tree(world.ints, world.floats)
    f = frames(work.W_predicted, t.parent.shape[0], t.dof_parent.shape[0])
    body_pose(t, f.R, f.p, body, out)
