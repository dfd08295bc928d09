"""Bodies that move as they are told: to the model they are fixed, their pose and velocity stand beside it."""

from __future__ import annotations

from contactlab.multibody.kernels.layout import Tree
from contactlab.multibody.kernels.points import body_pose
from contactlab.multibody.kernels.workspace import Frames
from contactlab.stepping.kernels.layout import FloatArray, PackedWorld, Work
from lcp.kernels import kernel


@kernel(inline=True)
def motion_of(world: PackedWorld, body: int) -> int:
    """Row of a body among the kinematic ones, -1 for any other and for the world."""
    return world.motion[body] if body >= 0 else -1


@kernel(inner=True)
def placed_body(world: PackedWorld, work: Work, t: Tree, f: Frames, body: int, out: FloatArray) -> None:
    """Fill ``out`` (12,) with the pose of a body, kinematic or not."""
    row = motion_of(world, body)
    if row < 0:
        body_pose(t, f.R, f.p, body, out)
    else:
        for k in range(12):
            out[k] = work.motion_pose[row, k]


@kernel(inner=True)
def carried(work: Work, row: int, x: FloatArray, out: FloatArray) -> None:
    """Fill ``out`` (3,) with the velocity of the surface of kinematic body ``row`` at x, from its pose at the start."""
    twist_at(work.motion_twist[row], work.motion_pose[row], x, out)


@kernel(inner=True)
def belt_velocity(work: Work, row: int, x: FloatArray, out: FloatArray) -> None:
    """Fill ``out`` (3,) with the velocity of the surface of kinematic body ``row`` at x relative to the body itself.

    It is exactly 0 unless the surface moves along the body. Normal rows see the body: they subtract this velocity.
    """
    twist_at(work.belt_twist[row], work.motion_pose[row], x, out)


@kernel(inner=True)
def body_velocity(work: Work, row: int, x: FloatArray, belt: FloatArray, out: FloatArray) -> None:
    """Fill ``out`` (3,) with the velocity of kinematic body ``row`` itself at x; ``belt`` (3,) is scratch."""
    carried(work, row, x, out)
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
