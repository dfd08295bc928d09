"""Kinematic bodies: in the model they are fixed; their prescribed pose and velocity are stored separately.

Also relative velocities between bodies, and predicted poses at the end of a step. A contact row states the gap at the
end of a step as g + h N v, which is wrong for bodies that turn far in a step. A body that turns by the angle a deviates
from this line by a^2 r / 2, with r the distance of its points from its middle. A tumbling plate sinks by a considerable
fraction of its thickness. So poses are predicted if anything turns fast, and gaps are computed there. The difference to
the line is the gap correction. The position projection corrects it; velocities do not depend on it.
"""

from __future__ import annotations

from contactlab.multibody.kernels import CUSTOM_ROW, NOTHING, POSES
from contactlab.multibody.kernels.integration import integrate_configuration
from contactlab.multibody.kernels.kinematics import fill_frames
from contactlab.multibody.kernels.layout import Frames, Tree, frames, tree
from contactlab.multibody.kernels.points import body_pose, velocity_of
from contactlab.simulation.stepping.kernels.arrays import PackedWorld, StepWork
from contactlab.simulation.stepping.kernels.layout import BODY_DOF, BODY_ROOT, FloatArray
from lcp.compiler.kernels import copy_array, fill_array
from lcp.compiler.views import view_2d
from lcp.kernels import kernel


@kernel(inline=True)
def kinematic_index(world: PackedWorld, body: int) -> int:
    """Return the row of a body among the kinematic bodies, -1 for any other body and for the world."""
    return world.motion[body] if body >= 0 else -1


@kernel(inner=True)
def world_body_pose(world: PackedWorld, work: StepWork, t: Tree, f: Frames, body: int, out: FloatArray) -> None:
    """Fill ``out`` (12,) with the pose of a body, kinematic or not."""
    row = kinematic_index(world, body)
    if row < 0:
        body_pose(t, f.R, f.p, body, out)
    else:
        copy_array(work.motion_pose[row], out)


@kernel(inner=True)
def kinematic_point_velocity(work: StepWork, row: int, x: FloatArray, out: FloatArray) -> None:
    """Fill ``out`` (3,) with the velocity of the surface of kinematic body ``row`` at x, from its pose at the start."""
    twist_at(work.motion_twist[row], work.motion_pose[row], x, out)


@kernel(inner=True)
def belt_velocity(work: StepWork, row: int, x: FloatArray, out: FloatArray) -> None:
    """Fill ``out`` (3,) with the velocity of the surface of kinematic body ``row`` at x relative to the body itself.

    It is exactly 0 unless the surface moves along the body. Normal rows need the body's velocity: they subtract this
    one.
    """
    twist_at(work.belt_twist[row], work.motion_pose[row], x, out)


@kernel(inner=True)
def body_velocity(work: StepWork, row: int, x: FloatArray, belt: FloatArray, out: FloatArray) -> None:
    """Fill ``out`` (3,) with the velocity of kinematic body ``row`` itself at x; ``belt`` (3,) is scratch."""
    kinematic_point_velocity(work, row, x, out)
    belt_velocity(work, row, x, belt)
    for k in range(3):
        out[k] -= belt[k]


@kernel(inline=True)
def twist_at(s: FloatArray, o: FloatArray, x: FloatArray, out: FloatArray) -> None:
    """Fill ``out`` (3,) with the velocity at x of a body that has the twist s (6,) and the pose o (12,)."""
    dx = x[0] - o[9]
    dy = x[1] - o[10]
    dz = x[2] - o[11]
    out[0] = s[3] + (s[1] * dz - s[2] * dy)
    out[1] = s[4] + (s[2] * dx - s[0] * dz)
    out[2] = s[5] + (s[0] * dy - s[1] * dx)


@kernel(inner=True)
def add_turning(world: PackedWorld, work: StepWork, body: int, sign: float, v: FloatArray, out: FloatArray) -> None:
    """Add ``sign`` times the angular velocity under v of a body that is not kinematic to ``out`` (3,)."""
    j = world.bodies[body, BODY_DOF]
    while j >= 0:
        for k in range(3):
            out[k] += sign * work.S[j, k] * v[j]
        j = world.dof_parent[j]


@kernel(inner=True)
def relative_turning(world: PackedWorld, work: StepWork, a: int, b: int, v: FloatArray, out: FloatArray) -> None:
    """Fill ``out`` (3,) with the angular velocity under v of body b relative to a; bodies as in `relative_velocity`."""
    fill_array(out, 0.0)
    add_turning(world, work, b, 1.0, v, out)
    if a >= 0:
        add_turning(world, work, a, -1.0, v, out)
    if kinematic_index(world, a) >= 0:
        for k in range(3):
            out[k] -= work.motion_twist[kinematic_index(world, a), k]


@kernel(inner=True)
def relative_velocity(
    world: PackedWorld,
    work: StepWork,
    a: int,
    b: int,
    point: FloatArray,
    v: FloatArray,
    other: FloatArray,
    out: FloatArray,
) -> None:
    """Fill ``out`` (3,) with the velocity under v of the point on body b, which moves, relative to body a.

    Body a may be fixed to the world, or the world (-1) itself: it is then at rest, or kinematic. ``other``
    (3,) is scratch.
    """
    o = work.origins[world.bodies[b, BODY_ROOT]]
    velocity_of(world.dof_parent, work.S, world.bodies[b, BODY_DOF], o, point, v, out)
    if a >= 0 and world.bodies[a, BODY_DOF] >= 0:
        o = work.origins[world.bodies[a, BODY_ROOT]]
        velocity_of(world.dof_parent, work.S, world.bodies[a, BODY_DOF], o, point, v, other)
        for k in range(3):
            out[k] -= other[k]
    elif kinematic_index(world, a) >= 0:
        kinematic_point_velocity(work, kinematic_index(world, a), point, other)
        for k in range(3):
            out[k] -= other[k]


# Rotation in a step [rad] above which poses are predicted; and deviation from straight motion above which gaps are
# computed at these poses, as a fraction of the smallest extent of the smaller shape.
FAST_TURN = 0.02
DEVIATION = 0.002


@kernel(inner=True)
def turns_far(world: PackedWorld, work: StepWork, h: float) -> bool:
    """Return True if any body turns by more than `FAST_TURN` in the step."""
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
def predict_poses(world: PackedWorld, work: StepWork, v: FloatArray, h: float) -> None:
    """Fill q_plus, and the frames in ``work.W_predicted``, after a motion from q at velocities v (nv,) for h [s]."""
    integrate_configuration(world.ints, world.floats, work.q, v, h, work.q_plus)
    none = view_2d(work.W, 0, 0, CUSTOM_ROW)
    fill_frames(world.ints, world.floats, work.q_plus, v, none, NOTHING, POSES, work.W_predicted)


@kernel(inner=True)
def predicted_body(world: PackedWorld, work: StepWork, body: int, out: FloatArray) -> None:
    """Fill ``out`` (12,) with the pose of a body at the end of the step, as predicted by `predict_poses`."""
    row = kinematic_index(world, body)
    if row >= 0:
        copy_array(work.motion_next[row], out)
        return
    t = tree(world.ints, world.floats)
    f = frames(work.W_predicted, t.parent.shape[0], t.dof_parent.shape[0])
    body_pose(t, f.R, f.p, body, out)
