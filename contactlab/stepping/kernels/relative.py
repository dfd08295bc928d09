"""How one body moves as seen from another at a point: the velocities that contacts are about."""

from __future__ import annotations

from contactlab.multibody.kernels.points import velocity_of
from contactlab.stepping.kernels.kinematic import carried, motion_of
from contactlab.stepping.kernels.layout import BODY_DOF, BODY_ROOT, FloatArray, PackedWorld, Work
from lcp.kernels import kernel


@kernel(inner=True)
def relative_turning(world: PackedWorld, work: Work, a: int, b: int, v: FloatArray, out: FloatArray) -> None:
    """Fill ``out`` (3,), the angular velocity under v of body b less that of a; bodies as in `relative_velocity`."""
    for k in range(3):
        out[k] = 0.0
    j = world.bodies[b, BODY_DOF]
    while j >= 0:
        for k in range(3):
            out[k] += work.S[j, k] * v[j]
        j = world.dof_parent[j]
    j = world.bodies[a, BODY_DOF] if a >= 0 else -1
    while j >= 0:
        for k in range(3):
            out[k] -= work.S[j, k] * v[j]
        j = world.dof_parent[j]
    if motion_of(world, a) >= 0:
        for k in range(3):
            out[k] -= work.motion_twist[motion_of(world, a), k]


@kernel(inner=True)
def relative_velocity(
    world: PackedWorld,
    work: Work,
    a: int,
    b: int,
    point: FloatArray,
    v: FloatArray,
    other: FloatArray,
    out: FloatArray,
) -> None:
    """Fill ``out`` (3,), the velocity under v of the point as one of body b, which moves, less that as one of a.

    Body a may be fixed to the world, or the world (-1) itself: it then stands still, or moves as it is told. ``other``
    (3,) is scratch.
    """
    o = work.origins[world.bodies[b, BODY_ROOT]]
    velocity_of(world.dof_parent, work.S, world.bodies[b, BODY_DOF], o, point, v, out)
    if a >= 0 and world.bodies[a, BODY_DOF] >= 0:
        o = work.origins[world.bodies[a, BODY_ROOT]]
        velocity_of(world.dof_parent, work.S, world.bodies[a, BODY_DOF], o, point, v, other)
        for k in range(3):
            out[k] -= other[k]
    elif motion_of(world, a) >= 0:
        carried(work, motion_of(world, a), point, other)
        for k in range(3):
            out[k] -= other[k]
