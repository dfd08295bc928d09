"""Motions of kinematic bodies as JSON values."""

from __future__ import annotations

from typing import Any

import numpy as np

from contactlab.spatial import Transform
from contactlab.spatial.arrays import FloatArray
from contactlab.world.errors import SimulationConfigError
from contactlab.world.motion import ConstantVelocity, Conveyor, Oscillation, PrescribedMotion

__all__ = ["ForgottenMotion", "motion_from_json", "motion_to_json"]

READY = {cls.__name__: cls for cls in (ConstantVelocity, Conveyor, Oscillation)}


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
