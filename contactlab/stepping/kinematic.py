"""Poses and twists of kinematic bodies, as the driver hands them to the loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from contactlab.spatial.arrays import FloatArray, finite_array
from contactlab.world.errors import SimulationConfigError

if TYPE_CHECKING:
    from contactlab.world.world import World

#: Of (time, h) of a step: poses (n, 12) at its start, twists (n, 6) in it, poses at its end; rotations by rows.
Motions = Callable[[float, float], tuple[FloatArray, FloatArray, FloatArray]]


def motions_of(world: World) -> Motions | None:
    """Return what asks the world's motions, None where nothing is kinematic."""
    if not world.motions:
        return None

    def asked(time: float, h: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        middle = time + 0.5 * h
        twists = [finite_array(m.twist(middle), "twist", (6,), SimulationConfigError) for _, m in world.motions]
        return motion_poses(world, time), np.array(twists), motion_poses(world, time + h)

    return asked


def motion_poses(world: World, time: float) -> FloatArray:
    """Return the poses (n, 12) of the kinematic bodies at a time."""
    poses = [motion.pose(time) for _, motion in world.motions]
    return np.array([np.append(pose.R.ravel(), pose.p) for pose in poses]).reshape(-1, 12)


def poses_at(world: World, times: FloatArray) -> FloatArray:
    """Return the poses (m, n, 12) of the kinematic bodies at times (m,)."""
    if not world.motions:
        return np.zeros((len(times), 0, 12))
    return np.array([motion_poses(world, time) for time in times]).reshape(len(times), -1, 12)
