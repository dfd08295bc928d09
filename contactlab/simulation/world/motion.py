"""Prescribed motions of kinematic bodies, and motion in a plane.

A prescribed motion has pose and twist as functions of time. In a planar world bodies move in one plane, with friction
along one direction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody import BodySpec, Model, ModelBuilder, joints
from contactlab.multibody.points import point_jacobian_6d
from contactlab.multibody.spatial import RigidInertia, Transform, quaternion
from contactlab.multibody.spatial.arrays import FloatArray, finite_array, finite_number, read_only, set_fields
from contactlab.simulation.world.errors import SimulationConfigError, check_type


@runtime_checkable
class PrescribedMotion(Protocol):
    """Motion of a kinematic body.

    A step from t to t + h uses ``pose(t)`` and the constant velocity ``twist(t + h/2)``: positions then
    follow to second order in h, exactly for constant accelerations.

    The twist is the velocity of the surface. If it differs from the rate of the pose, the surface moves along the
    body, like a belt: friction uses the velocity of the surface, and normal forces use the body's (`belt_twist`).
    """

    def pose(self, t: float) -> Transform:
        """Return the pose of the body at time t [s]."""

    def twist(self, t: float) -> FloatArray:
        """Return (6,): angular velocity [rad/s], velocity of the body's origin [m/s], both in world axes."""


@dataclass(frozen=True, eq=False)
class Motion:
    """A motion given by a function.

    Parameters
    ----------
    function
        Function of the time [s] that returns a `Transform` and a twist (6,), as in `PrescribedMotion`. It must depend
        only on the time, because a repeated step calls it again.

    Notes
    -----
    A record contains poses and twists of every step, not the function: a world opened from it cannot be stepped.
    """

    function: Callable[[float], tuple[Transform, ArrayLike]]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise SimulationConfigError("function", f"must be callable, got {self.function!r}")

    def pose(self, t: float) -> Transform:
        """Return the pose of the body at time t."""
        pose = self.function(t)[0]
        if not isinstance(pose, Transform):
            raise SimulationConfigError(
                "function", f"must return a Transform first, got {type(pose).__name__} at time {t:.9g}"
            )
        return pose

    def twist(self, t: float) -> FloatArray:
        """Return the twist at time t."""
        return finite_array(self.function(t)[1], f"twist at time {t:.9g}", (6,), SimulationConfigError)


@dataclass(frozen=True, eq=False)
class _Steady:
    """Constant rates of a moving body, or of its surface."""

    start: Transform = field(default_factory=Transform)
    velocity: FloatArray = field(default_factory=lambda: np.zeros(3))
    angular_velocity: FloatArray = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        _check(self, "velocity", "angular_velocity")

    def twist(self, t: float) -> FloatArray:
        """Return the twist, which is constant."""
        return np.concatenate((self.angular_velocity, self.velocity))


@dataclass(frozen=True, eq=False)
class ConstantVelocity(_Steady):
    """Uniform translation and rotation.

    Parameters
    ----------
    start
        Pose at time 0.
    velocity, angular_velocity
        (3,) of the origin [m/s], and rotation [rad/s]; world axes.
    """

    def pose(self, t: float) -> Transform:
        """Return the pose of the body at time t."""
        return _moved(self.start, self.velocity * t, self.angular_velocity * t)


@dataclass(frozen=True, eq=False)
class Conveyor(_Steady):
    """A body at rest with a moving surface: a belt, or a turntable seen from above.

    Friction acts towards the tangential part of the surface's velocity. For normal forces the body is at rest: an end
    face neither pushes nor pulls bodies that touch it.

    Parameters
    ----------
    start
        Pose at all times.
    velocity, angular_velocity
        (3,) of the surface: velocity at the origin [m/s], and rotation about it [rad/s]; world axes.
    """

    def pose(self, t: float) -> Transform:
        """Return the pose of the body."""
        return self.start


@dataclass(frozen=True, eq=False)
class Oscillation:
    """Oscillation along a direction and about an axis: displacements times sin(2 pi frequency t + phase).

    Parameters
    ----------
    start
        Pose about which it oscillates.
    translation, rotation
        (3,) maximum displacement [m] and maximum rotation [rad] as a vector along its axis; world axes.
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
        frequency = finite_number(self.frequency, "frequency", SimulationConfigError, positive=True)
        set_fields(self, frequency=frequency, phase=finite_number(self.phase, "phase", SimulationConfigError))

    def pose(self, t: float) -> Transform:
        """Return the pose of the body at time t."""
        swing = math.sin(2.0 * math.pi * self.frequency * t + self.phase)
        return _moved(self.start, self.translation * swing, self.rotation * swing)

    def twist(self, t: float) -> FloatArray:
        """Return the twist at time t."""
        rate = 2.0 * math.pi * self.frequency
        return np.concatenate((self.rotation, self.translation)) * (rate * math.cos(rate * t + self.phase))


#: A twist differs from the rate of the pose if their distance exceeds this fraction of the larger one.
_SAME_RATE = 1e-4


def belt_twist(pose: FloatArray, pose_next: FloatArray, twist: FloatArray, h: ArrayLike) -> FloatArray:
    """Return the twists (..., 6) of surfaces relative to their bodies over one step.

    The rate of a pose is its change within the step, divided by h. If the twist equals this rate, up to the error of
    the midpoint rule and rounding, the body moves with its surface, and the result is exactly 0. Otherwise the result
    is ``twist`` less the rate of the pose.

    Parameters
    ----------
    pose, pose_next
        (..., 12) rotation by rows, then origin [m], at the start and the end of the step.
    twist
        (..., 6) angular velocity [rad/s] and velocity of the origin [m/s] of the surface, in world axes.
    h
        (...) step [s].
    """
    step = np.asarray(h, dtype=np.float64)[..., None]
    R, R_next = (one[..., :9].reshape(*one.shape[:-1], 3, 3) for one in (pose, pose_next))
    turned = np.einsum("...ij,...kj->...ik", R_next, R)
    rate = np.concatenate((_rotation_vectors(turned), pose_next[..., 9:] - pose[..., 9:]), axis=-1) / step
    belt = np.asarray(twist - rate)
    size = 1.0 + np.abs(pose[..., 9:]).max(axis=-1, keepdims=True)
    # The angular and the linear part are compared separately, each on its own scale.
    for part in (slice(0, 3), slice(3, 6)):
        apart = np.linalg.norm(belt[..., part], axis=-1, keepdims=True)
        larger = np.maximum(*(np.linalg.norm(one[..., part], axis=-1, keepdims=True) for one in (twist, rate)))
        belt[..., part] *= apart > _SAME_RATE * larger + _ROUNDING * size / step
    return belt


# Rounding of the difference of two poses, relative to their size.
_ROUNDING = 1e-14


def _rotation_vectors(R: FloatArray) -> FloatArray:
    """Return the rotation vectors (..., 3) of rotations (..., 3, 3) by less than a half turn."""
    skew = np.stack((R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]), axis=-1)
    sine = 0.5 * np.linalg.norm(skew, axis=-1, keepdims=True)
    cosine = 0.5 * (np.trace(R, axis1=-2, axis2=-1)[..., None] - 1.0)
    # a / sin(a) is 1 at a = 0.
    stretch = np.where(sine > 0.0, np.arctan2(sine, cosine) / np.where(sine > 0.0, sine, 1.0), 1.0)
    return np.asarray(0.5 * skew * stretch)


def _moved(start: Transform, displacement: FloatArray, turn: FloatArray) -> Transform:
    """Return the pose displaced, and rotated about its origin by a rotation vector; world axes."""
    if not turn.any():
        return Transform(start.R, start.p + displacement)
    return Transform(quaternion.to_matrix(quaternion.exp(turn)) @ start.R, start.p + displacement)


def _check(motion: _Steady | Oscillation, *vectors: str) -> None:
    """Check a motion's start and its vectors (3,) with these names, and store them as read-only arrays."""
    check_type("start", motion.start, Transform)
    given = {name: getattr(motion, name) for name in vectors}
    set_fields(motion, **{name: finite_array(one, name, (3,), SimulationConfigError) for name, one in given.items()})


#: Edges of the friction pyramid in a plane: one direction and its negative, the exact cone.
PLANAR_EDGES = 2

NEAR = 1e-9


def plane_normal(planar: ArrayLike | None) -> FloatArray | None:
    """Return the unit normal (3,) of the plane of motion, None for a world in space."""
    if planar is None:
        return None
    normal = finite_array(planar, "planar", (3,), SimulationConfigError)
    length = float(np.linalg.norm(normal))
    if length == 0.0:
        raise SimulationConfigError("planar", f"must be the normal of a plane, got {normal.tolist()}")
    # A normal of length 1 keeps its bits, from record to record.
    return read_only(normal if abs(length - 1.0) <= 1e-15 else normal / length)


def plane_axes(normal: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return two axes of positions in the plane: x and z for normal (0, 1, 0), x and y for z.

    The first is the world axis most nearly across the normal, projected into the plane. The second is across it, with a
    positive largest entry.
    """
    first = np.eye(3)[int(np.argmin(np.abs(normal)))]
    first = first - (first @ normal) * normal
    first /= np.linalg.norm(first)
    second = np.cross(normal, first)
    if second[int(np.argmax(np.abs(second)))] < 0.0:
        second = -second
    return first, second + 0.0


def planar_body(
    name: str, inertia: RigidInertia, gravity: ArrayLike, normal: FloatArray, q: ArrayLike | None, v: ArrayLike | None
) -> tuple[tuple[BodySpec, ...], Model, FloatArray, FloatArray]:
    """Return a free body in the plane: its specification, its separate model, and its start q (3,), v (3,).

    ``q`` and ``v`` are (3,), along `plane_axes` and about the normal, or of a free body in space, (7,) and (6,), within
    the plane; the distance from the origin along the normal is kept.
    """
    basis = np.array([*plane_axes(normal), normal])
    start, rates, depth = _numbers("q", q, 7), _numbers("v", v, 6), 0.0
    if start.size == 7:
        length = float(np.linalg.norm(start[3:]))
        if abs(length - 1.0) > 1e-6:
            raise SimulationConfigError(
                "q", f"the quaternion (w, x, y, z) = {start[3:].tolist()} must have length 1, has {length:.9g}"
            )
        place, turn = basis @ start[:3], basis @ quaternion.log(start[3:] / length)
        if np.linalg.norm(turn[:2]) > NEAR:
            raise SimulationConfigError(
                "q", f"turns the body out of the plane by the rotation vector {(turn @ basis).tolist()}"
            )
        start, depth = np.array([place[0], place[1], turn[2]]), float(place[2])
    if rates.size == 6:
        speed, spin = basis @ rates[:3], basis @ rates[3:]
        if abs(speed[2]) + np.linalg.norm(spin[:2]) > NEAR * (1.0 + np.abs(rates).max()):
            raise SimulationConfigError("v", f"{rates.tolist()} leaves the plane")
        rates = np.array([speed[0], speed[1], spin[2]])
    joint = joints.Composite([joints.Prismatic(basis[0]), joints.Prismatic(basis[1]), joints.Revolute(normal)])
    builder = ModelBuilder(gravity).add_body(name, joint=joint, placement=Transform(p=depth * normal), inertia=inertia)
    one = builder.build()
    return one.bodies, one, start, rates


def _numbers(field: str, value: ArrayLike | None, in_space: int) -> FloatArray:
    """Return 3 planar numbers, zeros by default, or ``in_space`` numbers; raise for any other size."""
    given = finite_array(np.zeros(3) if value is None else value, field, (None,), SimulationConfigError)
    if given.size not in (3, in_space):
        raise SimulationConfigError(field, f"must have 3 numbers in the plane or {in_space} in space, got {given.size}")
    return given


def check_in_plane(field: str, direction: FloatArray, normal: FloatArray) -> None:
    """Raise if a direction is not in the plane."""
    if abs(float(direction @ normal)) > NEAR:
        raise SimulationConfigError(field, f"{direction.tolist()} is not in the plane across {normal.tolist()}")


def check_moves_in_plane(model: Model, normal: FloatArray) -> None:
    """Raise if a model has a joint that leaves the plane.

    Rotations about the normal and shifts across it keep further axes fixed relative to the plane, so that the neutral
    configuration decides.
    """
    for body in model.bodies:
        J = point_jacobian_6d(model, model.neutral, body.name, np.zeros(3))
        turning, shifting = J[:3], J[3:]
        if np.abs(turning - np.outer(normal, normal @ turning)).max(initial=0.0) > NEAR or np.abs(
            normal @ shifting
        ).max(initial=0.0) > NEAR * (1.0 + np.abs(shifting).max(initial=0.0)):
            raise SimulationConfigError("model", f"body {body.name!r} can leave the plane across {normal.tolist()}")
