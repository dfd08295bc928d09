"""Sensors at joints: encoders, and the force and torque that a joint transmits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contactlab.multibody import body_poses, point_velocity_6d
from contactlab.spatial.arrays import FloatArray
from contactlab.world.errors import SimulationConfigError
from contactlab.world.sensors.motion import OnBody, turned, turned_back
from contactlab.world.sensors.step_view import StepView
from contactlab.world.sensors.subtree import bodies_beyond


@dataclass(frozen=True)
class JointPosition:
    """Entries of a joint in q after the step: of a hinge or slide (1,) [rad, m].

    Parameters
    ----------
    joint
        Its name (`Model.joint_names`).
    offset
        What is added: the reading at q = 0.
    """

    joint: str
    offset: float = 0.0

    def measure(self, view: StepView) -> FloatArray:
        """Return the reading."""
        return view.q[..., view.world.model.joint_q(self.joint)] + self.offset


@dataclass(frozen=True)
class JointVelocity:
    """Entries of a joint in v after the step: of a hinge or slide (1,) [rad/s, m/s].

    Parameters
    ----------
    joint
        Its name (`Model.joint_names`).
    """

    joint: str

    def measure(self, view: StepView) -> FloatArray:
        """Return the reading."""
        return np.array(view.v[..., view.world.model.joint_v(self.joint)])


@dataclass(frozen=True, eq=False)
class JointForce(OnBody):
    """Force that the parent exerts on a body through its joint, mean over the step, (3,) in the frame's axes [N].

    What is beyond the joint moves by it, gravity and contacts: the joint makes up the difference, its own drives, stops
    and friction included. The frame is where it was before the step. A world with loops is refused, since they may
    carry some of it.
    """

    def measure(self, view: StepView) -> FloatArray:
        """Return the reading."""
        return _transmitted(view, self)[..., 3:]


@dataclass(frozen=True, eq=False)
class JointTorque(OnBody):
    """Moment about the frame's origin that goes with `JointForce`, (3,) in the frame's axes [N m]."""

    def measure(self, view: StepView) -> FloatArray:
        """Return the reading."""
        return _transmitted(view, self)[..., :3]


def _transmitted(view: StepView, sensor: OnBody) -> FloatArray:
    """Return moment about the frame's origin and force (..., 6), in the frame's axes."""
    world, model, table = view.world, view.world.model, view.contact_table(sensor.body)
    if world.joint_actions.loops:
        raise SimulationConfigError("sensor", "reads what a joint carries, and loops may carry some of it")
    (q, v), lead = view.begun, view.q.shape[:-1]
    frame, origin = view.pose(sensor.body, sensor.placement, before=True)
    rotations, origins = body_poses(model, q)
    beyond = bodies_beyond(model, sensor.body)
    numbers = [i for i, name in enumerate(model.names) if name in beyond]
    moment, force = np.zeros((*lead, 3)), np.zeros((*lead, 3))
    for i in numbers:
        inertia, name = model.bodies[i].inertia, model.names[i]
        if inertia is None:
            continue
        R = rotations[..., i, :, :]
        I = R @ inertia.inertia @ np.swapaxes(R, -1, -2)
        motion, w = view.acceleration(name, inertia.com), point_velocity_6d(model, q, v, name, inertia.com)[..., :3]
        pull = inertia.mass * (motion[..., 3:] - model.gravity)
        arm = origins[..., i, :] + R @ inertia.com - origin
        turn = turned(I, motion[..., :3]) + np.cross(w, turned(I, w))
        moment, force = moment + turn + np.cross(arm, pull), force + pull
    # Less what contacts do; those between two of the bodies cancel.
    sign = np.isin(table.body_b, numbers).astype(np.float64) - np.isin(table.body_a, numbers)
    steps = table.step - table.scope.first
    arm = table.point - np.broadcast_to(origin, (*lead, 3)).reshape(-1, 3)[steps]
    pushed = np.zeros((max(1, int(np.prod(lead))), 6))
    rows = np.concatenate((np.cross(arm, table.impulse) + table.moment, table.impulse), axis=1)
    np.add.at(pushed, steps, sign[:, None] * rows)
    pushed = pushed.reshape(*lead, 6) / np.asarray(view.h)[..., None]
    moment, force = moment - pushed[..., :3], force - pushed[..., 3:]
    return np.concatenate((turned_back(frame, moment), turned_back(frame, force)), axis=-1)
