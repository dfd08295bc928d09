"""Sensors of motion: of frames on bodies, of joints and of subtrees, with the wrenches that joints transmit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from contactlab.multibody import Model, body_poses, point_velocity_6d
from contactlab.multibody.spatial import Transform, quaternion
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.simulation.world.errors import SimulationConfigError, check_type
from contactlab.simulation.world.sensors.step_view import StepView


@dataclass(frozen=True, eq=False)
class OnBody:
    """A frame on a body.

    Parameters
    ----------
    body
        Name of the body.
    placement
        Pose of the sensor's frame in the body; default the body's frame.
    """

    body: str
    placement: Transform = field(default_factory=Transform)

    def __post_init__(self) -> None:
        check_type("placement", self.placement, Transform)


@dataclass(frozen=True, eq=False)
class FramePosition(OnBody):
    """Position of the frame's origin after the step, (3,) world axes [m]."""

    def measure(self, view: StepView) -> FloatArray:
        """Return the position (3,) [m], or (n, 3) of n steps."""
        return view.pose(self.body, self.placement)[1]


@dataclass(frozen=True, eq=False)
class FrameOrientation(OnBody):
    """Unit quaternion (w, x, y, z) from the frame's axes to world axes after the step, w >= 0."""

    def measure(self, view: StepView) -> FloatArray:
        """Return the quaternion (4,), or (n, 4) of n steps."""
        return quaternion.from_matrix(view.pose(self.body, self.placement)[0])


@dataclass(frozen=True, eq=False)
class LinearVelocity(OnBody):
    """Velocity of the frame's origin after the step, (3,) world axes [m/s]."""

    def measure(self, view: StepView) -> FloatArray:
        """Return the velocity (3,) [m/s], or (n, 3) of n steps."""
        return view.velocity(self.body, self.placement.p)[..., 3:]


@dataclass(frozen=True, eq=False)
class AngularVelocity(OnBody):
    """Angular velocity of the body after the step, (3,) world axes [rad/s]."""

    def measure(self, view: StepView) -> FloatArray:
        """Return the angular velocity (3,) [rad/s], or (n, 3) of n steps."""
        return view.velocity(self.body, self.placement.p)[..., :3]


@dataclass(frozen=True, eq=False)
class Velocimeter(OnBody):
    """Velocity of the frame's origin after the step, (3,) in the frame's axes [m/s]."""

    def measure(self, view: StepView) -> FloatArray:
        """Return the velocity (3,) [m/s], or (n, 3) of n steps."""
        return turned_back(view.pose(self.body, self.placement)[0], view.velocity(self.body, self.placement.p)[..., 3:])


@dataclass(frozen=True, eq=False)
class Gyroscope(OnBody):
    """Angular velocity of the body after the step, (3,) in the frame's axes [rad/s]."""

    def measure(self, view: StepView) -> FloatArray:
        """Return the angular velocity (3,) [rad/s], or (n, 3) of n steps."""
        return turned_back(view.pose(self.body, self.placement)[0], view.velocity(self.body, self.placement.p)[..., :3])


@dataclass(frozen=True, eq=False)
class Accelerometer(OnBody):
    """Specific force at the frame's origin, R^T (a - g), (3,) in the frame's axes [m/s^2]: an accelerometer's reading.

    At rest it is g upwards, in free fall 0. a is the mean acceleration of the step, (v after - v before) / h, evaluated
    at the state before it, where the step's forces balance, contact forces included. For an impact it is also a mean:
    twice as large at half the h.
    """

    def measure(self, view: StepView) -> FloatArray:
        """Return the specific force (3,) [m/s^2], or (n, 3) of n steps."""
        a = view.acceleration(self.body, self.placement.p)[..., 3:]
        return turned_back(view.pose(self.body, self.placement, before=True)[0], a - view.world.model.gravity)


def turned(R: FloatArray, vector: FloatArray) -> FloatArray:
    """Return R times a vector (..., 3)."""
    return np.asarray((R @ vector[..., None])[..., 0])


def turned_back(R: FloatArray, vector: FloatArray) -> FloatArray:
    """Return R^T times a vector (..., 3)."""
    return np.asarray((vector[..., None, :] @ R)[..., 0, :])


def bodies_beyond(model: Model, body: str) -> set[str]:
    """Return the names of a body and of all its descendants; all bodies descend from "world"."""
    model.index_or_world(body)  # raises for an unknown name, with similar ones
    beyond = {body}
    for one in model.bodies:
        if one.parent in beyond:
            beyond.add(one.name)
    return beyond


class _Part(NamedTuple):
    """One body of a subtree, world axes."""

    body: str
    mass: float
    com: FloatArray  # (3,) of the centre of mass, in body axes
    inertia: FloatArray  # (..., 3, 3) about its centre of mass
    place: FloatArray  # (..., 3) of the centre of mass
    motion: FloatArray  # (..., 6) angular velocity, velocity of the centre of mass


def _parts(model: Model, q: FloatArray, v: FloatArray, bodies: set[str]) -> list[_Part]:
    """Return the bodies with mass among ``bodies``, in a state or in n states."""
    found, (rotations, origins) = [], body_poses(model, q)
    for i, one in enumerate(model.bodies):
        if one.name in bodies and one.inertia is not None:
            R, com = rotations[..., i, :, :], one.inertia.com
            inertia = R @ one.inertia.inertia @ np.swapaxes(R, -1, -2)
            motion = point_velocity_6d(model, q, v, one.name, com)
            found.append(_Part(one.name, one.inertia.mass, com, inertia, origins[..., i, :] + R @ com, motion))
    return found


def _subtree(view: StepView, body: str) -> tuple[list[_Part], FloatArray, FloatArray]:
    """Return the bodies with mass of a subtree after a step, and place and velocity (..., 3) of its centre of mass.

    Raise if the mass is zero, because then there is no centre.
    """
    model = view.world.model
    parts = _parts(model, view.q, view.v, bodies_beyond(model, body))
    mass = sum(part.mass for part in parts)
    if mass <= 0.0:
        raise SimulationConfigError("sensor", f"needs a mass, but {body!r} and its descendants have none")
    center = np.asarray(sum(part.mass * part.place for part in parts) / mass)
    return parts, center, np.asarray(sum(part.mass * part.motion[..., 3:] for part in parts) / mass)


@dataclass(frozen=True)
class SubtreeCenterOfMass:
    """Centre of mass of a body and all its descendants, after the step, (3,) world axes [m].

    Parameters
    ----------
    body
        Name of the body; "world" for all bodies.
    """

    body: str

    def measure(self, view: StepView) -> FloatArray:
        """Return the centre of mass (3,) [m], or (n, 3) of n steps."""
        return _subtree(view, self.body)[1]


@dataclass(frozen=True)
class SubtreeVelocity(SubtreeCenterOfMass):
    """Velocity of the subtree's centre of mass after the step, (3,) world axes [m/s]."""

    def measure(self, view: StepView) -> FloatArray:
        """Return the velocity of the centre of mass (3,) [m/s], or (n, 3) of n steps."""
        return _subtree(view, self.body)[2]


@dataclass(frozen=True)
class SubtreeAngularMomentum(SubtreeCenterOfMass):
    """Angular momentum of a subtree about its centre of mass after the step, (3,) world axes [kg m^2/s].

    It does not include inertias of rotors (`armature`).
    """

    def measure(self, view: StepView) -> FloatArray:
        """Return the angular momentum (3,) [kg m^2/s], or (n, 3) of n steps."""
        parts, center, velocity = _subtree(view, self.body)
        total = np.zeros(center.shape)
        for part in parts:
            arm, speed = part.place - center, part.motion[..., 3:] - velocity
            total = total + turned(part.inertia, part.motion[..., :3]) + part.mass * np.cross(arm, speed)
        return total


@dataclass(frozen=True)
class JointPosition:
    """Entries of a joint in q after the step: for a hinge or slide (1,) [rad, m].

    Parameters
    ----------
    joint
        Its name (`Model.joint_names`).
    offset
        The reading at q = 0.
    """

    joint: str
    offset: float = 0.0

    def measure(self, view: StepView) -> FloatArray:
        """Return the joint's entries of q plus the offset, or one row for each of n steps."""
        return view.q[..., view.world.model.joint_q(self.joint)] + self.offset


@dataclass(frozen=True)
class JointVelocity:
    """Entries of a joint in v after the step: for a hinge or slide (1,) [rad/s, m/s].

    Parameters
    ----------
    joint
        Its name (`Model.joint_names`).
    """

    joint: str

    def measure(self, view: StepView) -> FloatArray:
        """Return the joint's entries of v, or one row for each of n steps."""
        return np.array(view.v[..., view.world.model.joint_v(self.joint)])


@dataclass(frozen=True, eq=False)
class JointForce(OnBody):
    """Force that the parent exerts on a body through its joint, mean over the step, (3,) in the frame's axes [N].

    Bodies beyond the joint move by this force, gravity and contacts: the joint transmits the difference, including its
    drives, stops and friction. The frame is at its pose before the step. A world with loops raises an error, because
    loops may carry a part of the force.
    """

    def measure(self, view: StepView) -> FloatArray:
        """Return the force (3,) [N], or (n, 3) of n steps."""
        return _transmitted(view, self)[..., 3:]


@dataclass(frozen=True, eq=False)
class JointTorque(OnBody):
    """Moment about the frame's origin that belongs to `JointForce`, (3,) in the frame's axes [N m]."""

    def measure(self, view: StepView) -> FloatArray:
        """Return the moment (3,) [N m], or (n, 3) of n steps."""
        return _transmitted(view, self)[..., :3]


def _transmitted(view: StepView, sensor: OnBody) -> FloatArray:
    """Return moment about the frame's origin and force (..., 6), in the frame's axes."""
    world, model, table = view.world, view.world.model, view.contact_table(sensor.body)
    if world.joint_actions.loops:
        raise SimulationConfigError("sensor", "reads the force of a joint, and loops may carry a part of it")
    (q, v), lead = view.start_state, view.q.shape[:-1]
    frame, origin = view.pose(sensor.body, sensor.placement, before=True)
    beyond = bodies_beyond(model, sensor.body)
    moment, force = np.zeros((*lead, 3)), np.zeros((*lead, 3))
    for part in _parts(model, q, v, beyond):
        motion, w = view.acceleration(part.body, part.com), part.motion[..., :3]
        pull = part.mass * (motion[..., 3:] - model.gravity)
        turn = turned(part.inertia, motion[..., :3]) + np.cross(w, turned(part.inertia, w))
        moment, force = moment + turn + np.cross(part.place - origin, pull), force + pull
    # Subtract the contact forces; forces between two of the bodies cancel.
    numbers = [i for i, name in enumerate(model.names) if name in beyond]
    sign = np.isin(table.body_b, numbers).astype(np.float64) - np.isin(table.body_a, numbers)
    steps = table.step - table.scope.first
    arm = table.point - np.broadcast_to(origin, (*lead, 3)).reshape(-1, 3)[steps]
    pushed = np.zeros((max(1, int(np.prod(lead))), 6))
    rows = np.concatenate((np.cross(arm, table.impulse) + table.moment, table.impulse), axis=1)
    np.add.at(pushed, steps, sign[:, None] * rows)
    pushed = pushed.reshape(*lead, 6) / np.asarray(view.h)[..., None]
    moment, force = moment - pushed[..., :3], force - pushed[..., 3:]
    return np.concatenate((turned_back(frame, moment), turned_back(frame, force)), axis=-1)
