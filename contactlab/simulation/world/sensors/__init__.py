"""Sensors: small values, read of a run after any step, or of a record for all its steps at once.

``run.read(Accelerometer("torso"))`` is a vector (d,), ``recording.read(...)`` of the same sensor (n_steps, d). Any
object with a method ``measure(view)`` is a sensor; ``view`` is a `StepView` with the data of the steps.
"""

from __future__ import annotations

from contactlab.simulation.world.sensors.contact import ContactForce, ContactWrench, RangeFinder, Touch
from contactlab.simulation.world.sensors.joint import (
    Accelerometer,
    AngularVelocity,
    FrameOrientation,
    FramePosition,
    Gyroscope,
    JointForce,
    JointPosition,
    JointTorque,
    JointVelocity,
    LinearVelocity,
    SubtreeAngularMomentum,
    SubtreeCenterOfMass,
    SubtreeVelocity,
    Velocimeter,
)
from contactlab.simulation.world.sensors.step_view import Clipped, Noisy, Sensor, StepView

__all__ = [
    "Accelerometer", "AngularVelocity", "Clipped", "ContactForce", "ContactWrench", "FrameOrientation", "FramePosition",
    "Gyroscope", "JointForce", "JointPosition", "JointTorque", "JointVelocity", "LinearVelocity", "Noisy",
    "RangeFinder", "Sensor", "StepView", "SubtreeAngularMomentum", "SubtreeCenterOfMass", "SubtreeVelocity", "Touch",
    "Velocimeter",
]  # fmt: skip
