"""Prescribed motions of kinematic bodies: pose and twist as functions of time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from contactlab.spatial import Transform, quaternion
from contactlab.spatial.arrays import FloatArray, finite_array, finite_number, read_only
from contactlab.world.errors import SimulationConfigError, check_type


@runtime_checkable
class PrescribedMotion(Protocol):
    """What a kinematic body does.

    A step from t to t + h stands on ``pose(t)`` and sees the velocity ``twist(t + h/2)`` all along: positions then
    follow to second order in h, exactly for constant accelerations.
    """

    def pose(self, t: float) -> Transform:
        """Return where the body is at time t [s]."""

    def twist(self, t: float) -> FloatArray:
        """Return (6,): angular velocity [rad/s], velocity of the body's origin [m/s], both in world axes."""


@dataclass(frozen=True, eq=False)
class Motion:
    """A motion given by a function.

    Parameters
    ----------
    function
        Of the time [s]; returns a `Transform` and a twist (6,), as `PrescribedMotion` has them. It must be a function
        of the time alone: a step that is tried again asks again.

    Notes
    -----
    A record keeps the poses and twists of every step, not the function: a world opened from it cannot be stepped.
    """

    function: Callable[[float], tuple[Transform, ArrayLike]]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise SimulationConfigError("function", f"must be callable, got {self.function!r}")

    def pose(self, t: float) -> Transform:
        """Return where the body is at time t."""
        pose = self.function(t)[0]
        if not isinstance(pose, Transform):
            detail = f"must return a Transform first, got {type(pose).__name__} at time {t:.9g}"
            raise SimulationConfigError("function", detail)
        return pose

    def twist(self, t: float) -> FloatArray:
        """Return the twist at time t."""
        return finite_array(self.function(t)[1], f"twist at time {t:.9g}", (6,), SimulationConfigError)


@dataclass(frozen=True, eq=False)
class _Steady:
    """Constant rates of what moves: a body, or its surface."""

    start: Transform = field(default_factory=Transform)
    velocity: FloatArray = field(default_factory=lambda: np.zeros(3))
    angular_velocity: FloatArray = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        _check(self, "velocity", "angular_velocity")

    def twist(self, t: float) -> FloatArray:
        """Return the twist, at all times the same."""
        return np.concatenate((self.angular_velocity, self.velocity))


@dataclass(frozen=True, eq=False)
class ConstantVelocity(_Steady):
    """A straight line and a turn at constant rates.

    Parameters
    ----------
    start
        Pose at time 0.
    velocity, angular_velocity
        (3,) of the origin [m/s], and [rad/s]; world axes.
    """

    def pose(self, t: float) -> Transform:
        """Return where the body is at time t."""
        return _moved(self.start, self.velocity * t, self.angular_velocity * t)


@dataclass(frozen=True, eq=False)
class Conveyor(_Steady):
    """A body that stands still while its surface moves: a belt, a turning table seen from above.

    Parameters
    ----------
    start
        Pose at all times.
    velocity, angular_velocity
        (3,) of the surface: at the origin [m/s], and its turn about it [rad/s]; world axes.
    """

    def pose(self, t: float) -> Transform:
        """Return where the body stands."""
        return self.start


@dataclass(frozen=True, eq=False)
class Oscillation:
    """A shake along a direction and a rocking about an axis: displacements times sin(2 pi frequency t + phase).

    Parameters
    ----------
    start
        Pose about which it swings.
    translation, rotation
        (3,) largest displacement [m] and largest turn [rad] as a vector along its axis; world axes.
    frequency
        [Hz], positive.
    phase
        [rad].
    """

    start: Transform = field(default_factory=Transform)
    translation: FloatArray = field(default_factory=lambda: np.zeros(3))
    rotation: FloatArray = field(default_factory=lambda: np.zeros(3))
    frequency: float = 1.0
    phase: float = 0.0

    def __post_init__(self) -> None:
        _check(self, "translation", "rotation")
        for name, positive in (("frequency", True), ("phase", False)):
            value = finite_number(getattr(self, name), name, SimulationConfigError, positive=positive)
            object.__setattr__(self, name, value)

    def pose(self, t: float) -> Transform:
        """Return where the body is at time t."""
        swing = math.sin(2.0 * math.pi * self.frequency * t + self.phase)
        return _moved(self.start, self.translation * swing, self.rotation * swing)

    def twist(self, t: float) -> FloatArray:
        """Return the twist at time t."""
        rate = 2.0 * math.pi * self.frequency
        return np.concatenate((self.rotation, self.translation)) * (rate * math.cos(rate * t + self.phase))


def _moved(start: Transform, displacement: FloatArray, turn: FloatArray) -> Transform:
    """Return the pose displaced, and turned about its origin by a rotation vector; world axes."""
    if not turn.any():
        return Transform(start.R, start.p + displacement)
    return Transform(quaternion.to_matrix(quaternion.exp(turn)) @ start.R, start.p + displacement)


def _check(motion: _Steady | Oscillation, *vectors: str) -> None:
    check_type("start", motion.start, Transform)
    for name in vectors:
        value = finite_array(getattr(motion, name), name, (3,), SimulationConfigError)
        object.__setattr__(motion, name, read_only(value))
