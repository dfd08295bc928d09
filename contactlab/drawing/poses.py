"""Poses of the bodies of a world at one configuration."""

from __future__ import annotations

import numpy as np

from contactlab.multibody import workspace
from contactlab.simulation import World
from contactlab.spatial.arrays import FloatArray
from contactlab.stepping import arrays_of

__all__ = ["center_of_mass", "poses_at"]


def poses_at(world: World, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rotations (1, nb, 3, 3) and origins (1, nb, 3) [m] of the bodies at q (nq,)."""
    from contactlab.stepping.kernels.poses import state_poses

    flat = np.zeros((1, world.model.nb, 12))
    # A copy: to the compiler a read-only array is of another type.
    state_poses(arrays_of(world).packed, workspace(world.model), np.array(q)[None], flat)
    return flat[:, :, :9].reshape(1, -1, 3, 3), flat[:, :, 9:].copy()


def center_of_mass(world: World, rotations: FloatArray, origins: FloatArray) -> FloatArray | None:
    """Common centre of mass (3,) of what moves, at poses (nb, 3, 3) and (nb, 3); None without mass."""
    total, moment = 0.0, np.zeros(3)
    for i, body in enumerate(world.model.bodies):
        if body.inertia is not None and world.body_trees[i] >= 0:
            total += body.inertia.mass
            moment += body.inertia.mass * (rotations[i] @ body.inertia.com + origins[i])
    return moment / total if total > 0.0 else None
