"""Targets of inverse kinematics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.center_of_mass import center_of_mass, center_of_mass_jacobian
from contactlab.multibody.errors import MultibodyError
from contactlab.multibody.jacobians import point_jacobian, point_jacobian_6d
from contactlab.multibody.kinematics import Kinematics
from contactlab.multibody.model import Model
from contactlab.multibody.points import body_pose, point_position
from contactlab.spatial import quaternion
from contactlab.spatial.arrays import FloatArray, finite_array, read_only
from contactlab.spatial.transform import Transform

_ORIGIN = np.zeros(3)


@dataclass(frozen=True, eq=False, init=False)
class PointTarget:
    """A point of a body shall be at a place in the world.

    Parameters
    ----------
    body
        Name of the body.
    point
        (3,) [m] in body coordinates.
    position
        (3,) [m] in the world.
    """

    rows: ClassVar[int] = 3
    body: str
    point: FloatArray
    position: FloatArray

    def __init__(self, body: str, point: ArrayLike, position: ArrayLike) -> None:
        object.__setattr__(self, "body", body)
        object.__setattr__(self, "point", _triple("PointTarget.point", point))
        object.__setattr__(self, "position", _triple("PointTarget.position", position))

    def error(self, model: Model, at: Kinematics) -> FloatArray:
        """From the point to where it shall be, (3,) [m]."""
        return np.asarray(self.position - point_position(model, at, self.body, self.point))

    def jacobian(self, model: Model, at: Kinematics) -> FloatArray:
        """Velocity of the point, (3, nv)."""
        return point_jacobian(model, at, self.body, self.point)


@dataclass(frozen=True, eq=False, init=False)
class OrientationTarget:
    """A body shall have an orientation.

    Parameters
    ----------
    body
        Name of the body.
    R
        Rotation matrix (3, 3), body axes to world axes.
    """

    rows: ClassVar[int] = 3
    body: str
    R: FloatArray

    def __init__(self, body: str, R: ArrayLike) -> None:
        object.__setattr__(self, "body", body)
        object.__setattr__(self, "R", Transform(R).R)

    def error(self, model: Model, at: Kinematics) -> FloatArray:
        """Rotation vector (3,) [rad], world axes, of the shorter turn to the target; pi long where it is opposite."""
        return _turn(self.R, body_pose(model, at, self.body).R)

    def jacobian(self, model: Model, at: Kinematics) -> FloatArray:
        """Angular velocity of the body, (3, nv)."""
        return point_jacobian_6d(model, at, self.body, _ORIGIN)[:3]


@dataclass(frozen=True, eq=False)
class PoseTarget:
    """A body shall have a pose: orientation (rows 0 to 2) and position of its origin (rows 3 to 5).

    Parameters
    ----------
    body
        Name of the body.
    pose
        R maps body axes to world axes, p is where the body's origin shall be.
    """

    rows: ClassVar[int] = 6
    body: str
    pose: Transform

    def __post_init__(self) -> None:
        pose: object = self.pose  # whatever the caller's types say
        if not isinstance(pose, Transform):
            raise MultibodyError("PoseTarget.pose", f"must be a Transform, got {pose!r}")

    def error(self, model: Model, at: Kinematics) -> FloatArray:
        """Rotation vector [rad] and shift [m] to the target, (6,)."""
        pose = body_pose(model, at, self.body)
        return np.concatenate([_turn(self.pose.R, pose.R), self.pose.p - pose.p])

    def jacobian(self, model: Model, at: Kinematics) -> FloatArray:
        """Angular velocity of the body and velocity of its origin, (6, nv)."""
        return point_jacobian_6d(model, at, self.body, _ORIGIN)


@dataclass(frozen=True, eq=False, init=False)
class CenterOfMassTarget:
    """The centre of mass of the whole model shall be at a place in the world.

    Parameters
    ----------
    position
        (3,) [m].
    """

    rows: ClassVar[int] = 3
    position: FloatArray

    def __init__(self, position: ArrayLike) -> None:
        object.__setattr__(self, "position", _triple("CenterOfMassTarget.position", position))

    def error(self, model: Model, at: Kinematics) -> FloatArray:
        """From the centre of mass to where it shall be, (3,) [m]."""
        return np.asarray(self.position - center_of_mass(model, at))

    def jacobian(self, model: Model, at: Kinematics) -> FloatArray:
        """Velocity of the centre of mass, (3, nv)."""
        return center_of_mass_jacobian(model, at)


#: What `inverse_kinematics` takes.
Target: TypeAlias = PointTarget | OrientationTarget | PoseTarget | CenterOfMassTarget


def _triple(name: str, value: ArrayLike) -> FloatArray:
    return read_only(finite_array(value, name, (3,), MultibodyError))


def _turn(wanted: FloatArray, R: FloatArray) -> FloatArray:
    """Rotation vector, world axes, that takes the orientation R to the wanted one."""
    return quaternion.log(quaternion.from_matrix(wanted @ R.T))
