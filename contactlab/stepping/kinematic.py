"""What the driver hands the loop of kinematic bodies, and what a record's world keeps of their motions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from contactlab.spatial import Transform
from contactlab.spatial.arrays import FloatArray, finite_array
from contactlab.stepping.errors import SimulationConfigError
from contactlab.world.motion import ConstantVelocity, Conveyor, Oscillation, PrescribedMotion

if TYPE_CHECKING:
    from contactlab.recording.record import Recording
    from contactlab.world.world import World

__all__ = [
    "ForgottenMotion",
    "Motions",
    "motion_from_json",
    "motion_poses",
    "motion_to_json",
    "motions_of",
    "surface_velocities",
]

#: Of (time, h) of a step: poses (n, 12) at its start, twists (n, 6) in it, poses at its end; rotations by rows.
Motions = Callable[[float, float], tuple[FloatArray, FloatArray, FloatArray]]

READY = {cls.__name__: cls for cls in (ConstantVelocity, Conveyor, Oscillation)}


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


def surface_velocities(recording: Recording) -> FloatArray:
    """Return (n, 3), the velocity of body A's surface at every contact: 0 but for kinematic bodies."""
    table = recording.contacts
    out = np.zeros((len(table), 3))
    for row, (body, _) in enumerate(recording.world.motions):
        own = np.flatnonzero(table.body_a == body)
        step = table.step[own]
        twist, origin = recording.rows["motion_twist"][step, row], recording.rows["motion_pose"][step, row, 9:]
        out[own] = twist[:, 3:] + np.cross(twist[:, :3], table.point[own] - origin)
    return out


class ForgottenMotion:
    """A motion of the user's own of which a record knows where it has been, not where it goes."""

    def __init__(self, start: Transform) -> None:
        self.start = start

    def pose(self, t: float) -> Transform:
        """Refuse: the record does not hold the function."""
        raise SimulationConfigError("motion", f"is a function that the record does not hold (asked at time {t:.9g})")

    def twist(self, t: float) -> FloatArray:
        """Refuse, as `pose`."""
        raise SimulationConfigError("motion", f"is a function that the record does not hold (asked at time {t:.9g})")


def motion_to_json(motion: PrescribedMotion, start: Transform) -> dict[str, Any]:
    """Return a ready motion as JSON values; of any other where it began."""
    name = type(motion).__name__
    if READY.get(name) is not type(motion):
        return {"type": "Motion", "start": [start.R.tolist(), start.p.tolist()]}
    values = {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in vars(motion).items()}
    own: Transform = values.pop("start")
    return {"type": name, "start": [own.R.tolist(), own.p.tolist()], **values}


def motion_from_json(data: dict[str, Any]) -> PrescribedMotion:
    """Return the motion; see `ForgottenMotion`."""
    values = dict(data)
    name, start = values.pop("type"), Transform(*values.pop("start"))
    if name == "Motion":
        return ForgottenMotion(start)
    if name not in READY:
        raise SimulationConfigError("motion", f"unknown type {name!r}")
    motion: PrescribedMotion = READY[name](start=start, **values)
    return motion
