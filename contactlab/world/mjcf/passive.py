"""Forces that a MuJoCo file's bodies and tendons have by themselves: gravity compensation, springs and dampers.

They depend only on the state. A world does not have them; `MjcfRobot.tau` adds them to the forces of the actuators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody import Model, MultibodyError, body_poses, nonlinear_effects
from contactlab.multibody.model import WORLD
from contactlab.spatial.arrays import FloatArray
from contactlab.world.mjcf.errors import MjcfError
from contactlab.world.world import World

#: Rotation matrices (nb, 3, 3) and origins (nb, 3) of all bodies.
Poses = tuple[FloatArray, FloatArray]


class Attached(NamedTuple):
    """A point of a body, or of the world."""

    body: str
    point: FloatArray  # (3,) in the body's frame [m]


class GravityCompensated(NamedTuple):
    """A body of which a share of the weight is borne."""

    at: Attached  # its centre of mass
    mass: float  # that share [kg]


@dataclass(frozen=True, eq=False)
class Tendon:
    """A spring and a damper along a path through points, or along a sum of coordinates.

    Attributes
    ----------
    name
        In the file.
    points
        Those of the path; empty for a sum.
    terms
        Of a sum: the bodies whose joints it counts, with their coefficients.
    offset
        Length of a sum at q = 0.
    stiffness, damping
        [N/m, N s/m] of a path.
    rest
        Lengths between which the spring is slack.
    """

    name: str
    points: tuple[Attached, ...]
    terms: tuple[tuple[str, float], ...]
    offset: float
    stiffness: float
    damping: float
    rest: tuple[float, float]


@dataclass(frozen=True, eq=False)
class PassiveForces:
    """Supported passive forces: bodies with gravity compensation, and tendons."""

    lifted: tuple[GravityCompensated, ...] = ()
    tendons: tuple[Tendon, ...] = ()

    def tau(self, world: World, q: ArrayLike, v: ArrayLike) -> FloatArray:
        """Return the generalised forces (nv,) at a state of the world, or (B, nv) at B of them."""
        if not (self.lifted or self.tendons):
            return np.zeros(world.nv)
        model, places = world.model, np.asarray(q, dtype=np.float64)
        if places.ndim == 2:
            speeds = np.asarray(v, dtype=np.float64)
            return np.array([self.tau(world, *one) for one in zip(places, speeds, strict=True)])
        try:
            poses = body_poses(model, places)
            tau = _generalised(model, places, poses, [(one.at, -one.mass * model.gravity) for one in self.lifted])
            for tendon in self.tendons:
                length, arm = self._path(tendon, world, places, poses)
                low, high = tendon.rest
                stretch = length - min(max(length, low), high)
                tau -= (tendon.stiffness * stretch + tendon.damping * (arm @ np.asarray(v, dtype=np.float64))) * arm
        except (KeyError, MultibodyError) as error:
            raise MjcfError("world", f"does not have this robot at this q: {error}") from error
        return tau

    @staticmethod
    def _path(tendon: Tendon, world: World, q: FloatArray, poses: Poses) -> tuple[float, FloatArray]:
        """Return the length of a tendon, and how it grows with the velocities (nv,)."""
        length, arm = tendon.offset, np.zeros(world.nv)
        for body, coefficient in tendon.terms:
            dof, place = world.coordinate_index[body, 0]
            length += coefficient * q[place]
            arm[dof] += coefficient
        pulls = []
        ends = [_place(world.model, poses, one) for one in tendon.points]
        for (a, b), (start, end) in zip(pairwise(tendon.points), pairwise(ends), strict=True):
            way = end - start
            distance = float(np.linalg.norm(way))
            length += distance
            if distance > 0.0:
                pulls += [(a, -way / distance), (b, way / distance)]
        return length, arm + _generalised(world.model, q, poses, pulls)


def _place(model: Model, poses: Poses, at: Attached) -> FloatArray:
    """Return the position of a point in the world."""
    if at.body == WORLD:
        return at.point
    body, (R, p) = model.index(at.body), poses
    return np.asarray(p[body] + R[body] @ at.point)


def _generalised(
    model: Model, q: FloatArray, poses: Poses, forces: Sequence[tuple[Attached, FloatArray]]
) -> FloatArray:
    """Return the generalised force (nv,) of forces at points of bodies, world axes.

    As `external_forces` has it, in a third of the time: it is asked in every step of a controller.
    """
    f_ext = np.zeros((model.nb, 6))
    for at, force in forces:
        if at.body != WORLD:
            (x, y, z), (fx, fy, fz) = _place(model, poses, at).tolist(), force.tolist()
            f_ext[model.index(at.body)] += (y * fz - z * fy, z * fx - x * fz, x * fy - y * fx, fx, fy, fz)
    return 0.0 - nonlinear_effects(model.without_gravity, q, np.zeros(model.nv), f_ext)
