"""Sensors of the pose and motion of a frame on a body."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from contactlab.spatial import Transform, quaternion
from contactlab.spatial.arrays import FloatArray
from contactlab.world.errors import check_type
from contactlab.world.sensors.step_view import StepView


@dataclass(frozen=True, eq=False)
class OnBody:
    """A frame on a body.

    Parameters
    ----------
    body
        Name of the body.
    placement
        Pose of the sensor's frame in the body; by default the body's own.
    """

    body: str
    placement: Transform = field(default_factory=Transform)

    def __post_init__(self) -> None:
        check_type("placement", self.placement, Transform)


@dataclass(frozen=True, eq=False)
class FramePosition(OnBody):
    """Position of the frame's origin after the step, (3,) world axes [m]."""

    def measure(self, view: StepView) -> FloatArray:
        """Return the reading."""
        return view.pose(self.body, self.placement)[1]


@dataclass(frozen=True, eq=False)
class FrameOrientation(OnBody):
    """Unit quaternion (w, x, y, z) from the frame's axes to world axes after the step, w >= 0."""

    def measure(self, view: StepView) -> FloatArray:
        """Return the reading."""
        return quaternion.from_matrix(view.pose(self.body, self.placement)[0])


@dataclass(frozen=True, eq=False)
class LinearVelocity(OnBody):
    """Velocity of the frame's origin after the step, (3,) world axes [m/s]."""

    def measure(self, view: StepView) -> FloatArray:
        """Return the reading."""
        return view.velocity(self.body, self.placement.p)[..., 3:]


@dataclass(frozen=True, eq=False)
class AngularVelocity(OnBody):
    """Angular velocity of the body after the step, (3,) world axes [rad/s]."""

    def measure(self, view: StepView) -> FloatArray:
        """Return the reading."""
        return view.velocity(self.body, self.placement.p)[..., :3]


@dataclass(frozen=True, eq=False)
class Velocimeter(OnBody):
    """Velocity of the frame's origin after the step, (3,) in the frame's axes [m/s]."""

    def measure(self, view: StepView) -> FloatArray:
        """Return the reading."""
        return turned_back(view.pose(self.body, self.placement)[0], view.velocity(self.body, self.placement.p)[..., 3:])


@dataclass(frozen=True, eq=False)
class Gyroscope(OnBody):
    """Angular velocity of the body after the step, (3,) in the frame's axes [rad/s]."""

    def measure(self, view: StepView) -> FloatArray:
        """Return the reading."""
        return turned_back(view.pose(self.body, self.placement)[0], view.velocity(self.body, self.placement.p)[..., :3])


@dataclass(frozen=True, eq=False)
class Accelerometer(OnBody):
    """Specific force at the frame's origin, R^T (a - g), (3,) in the frame's axes [m/s^2]: an accelerometer's reading.

    At rest it is g upwards, in free fall 0. a is the mean acceleration of the step, (v after - v before) / h, and
    counts at the state before it: there the step's forces balance, those of contacts included. An impact is a mean,
    too: twice as much at half the h.
    """

    def measure(self, view: StepView) -> FloatArray:
        """Return the reading."""
        a = view.acceleration(self.body, self.placement.p)[..., 3:]
        return turned_back(view.pose(self.body, self.placement, before=True)[0], a - view.world.model.gravity)


def turned(R: FloatArray, vector: FloatArray) -> FloatArray:
    """Return R times a vector (..., 3)."""
    return np.asarray((R @ vector[..., None])[..., 0])


def turned_back(R: FloatArray, vector: FloatArray) -> FloatArray:
    """Return R^T times a vector (..., 3)."""
    return np.asarray((vector[..., None, :] @ R)[..., 0, :])
