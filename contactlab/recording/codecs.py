"""Joints, motions and what acts on joints as JSON values, by the fields of their classes; read back alike."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, get_args

import numpy as np

from contactlab.constraints import ContactConstraint, DistanceConstraint, LoopConstraint
from contactlab.formulation.model_problem.joint_actions import Drive, JointLimit
from contactlab.multibody import JointLimits, joints
from contactlab.spatial import Transform
from contactlab.spatial.arrays import FloatArray, read_only
from contactlab.world.errors import SimulationConfigError
from contactlab.world.joint_actions import Coefficient, JointActions, Loop, MimicJoint
from contactlab.world.motion import ConstantVelocity, Conveyor, Oscillation, PrescribedMotion
from contactlab.world.point_spring import JointPolynomial, PointSpring

Json = dict[str, Any]
_fields: Any = dataclasses.fields  # of a class known only when running

_JOINTS: dict[str, Any] = {kind.__name__: kind for kind in joints.ALL_JOINTS}
_MOTIONS: dict[str, Any] = {kind.__name__: kind for kind in (ConstantVelocity, Conveyor, Oscillation)}
_DRIVES: dict[str, Any] = {kind.__name__: kind for kind in get_args(Drive)}
_LOOPS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (LoopConstraint, DistanceConstraint, ContactConstraint, JointPolynomial, PointSpring)
}
# Fields of `JointActions` that are plain values: their names in records, and their classes.
_PLAIN: dict[str, tuple[str, Any]] = {
    "limits": ("limits", JointLimit),
    "damping": ("damping", Coefficient),
    "friction": ("friction", Coefficient),
    "mimics": ("followers", MimicJoint),
}


def joint_to_json(joint: joints.Joint) -> Json:
    """Return a joint of the library as JSON values."""
    known = _JOINTS.get(type(joint).__name__)
    if known is None or not isinstance(joint, known):
        detail = f"{type(joint).__name__} is none of the library's own, a record cannot keep it"
        raise SimulationConfigError("joint", detail)
    return {"type": known.__name__, **_to_json(joint, known)}


def joint_from_json(data: Json) -> joints.Joint:
    """Return the joint; its values are checked as on the first time."""
    if data["type"] not in _JOINTS:
        raise SimulationConfigError("joint", f"unknown type {data['type']!r}")
    joint: joints.Joint = _from_json(_JOINTS[data["type"]], data)
    for field in _fields(joint):
        if field.type == "FloatArray":
            # Normalising a direction once more may move its last bit.
            object.__setattr__(joint, field.name, read_only(np.array(data[field.name], dtype=np.float64)))
    return joint


def limits_to_json(limits: JointLimits) -> Json:
    """Return the limits that are finite, with None for an end that is not."""
    values = {field.name: np.asarray(getattr(limits, field.name)) for field in dataclasses.fields(limits)}
    return {
        name: [float(one) if np.isfinite(one) else None for one in value]
        for name, value in values.items()
        if np.isfinite(value).any()
    }


def limits_from_json(data: Json) -> JointLimits:
    """Return the limits; values are checked as on the first time."""
    free = {"lower": -np.inf}
    return JointLimits(
        **{name: [free.get(name, np.inf) if one is None else one for one in value] for name, value in data.items()}
    )


def actions_to_json(actions: JointActions) -> Json:
    """Return what acts on joints as JSON values; a constraint of the user's own cannot be kept."""
    values: Json = {name: [_to_json(one) for one in getattr(actions, field)] for field, (name, _) in _PLAIN.items()}
    values["drives"] = [{"type": type(one).__name__, **_to_json(one)} for one in actions.drives]
    values["loops"] = [_loop_to_json(loop) for loop in actions.loops]
    return {field: entries for field, entries in values.items() if entries}


def actions_from_json(data: Json) -> JointActions:
    """Return what acts on joints; values are checked as on the first time, names of bodies by the world."""
    plain = {
        field: tuple(_from_json(kind, entry) for entry in data.get(name, ())) for field, (name, kind) in _PLAIN.items()
    }
    drives = tuple(_from_json(_DRIVES[entry["type"]], entry) for entry in data.get("drives", ()))
    loops = tuple(Loop(_from_json(_LOOPS[entry["type"]], entry), entry["erp"]) for entry in data.get("loops", ()))
    return JointActions(**plain, drives=drives, loops=loops)


def _loop_to_json(loop: Loop) -> Json:
    name = type(loop.constraint).__name__
    if not isinstance(loop.constraint, tuple(_LOOPS.values())):
        raise SimulationConfigError("loop", f"{name} is none of the library's own, a record cannot keep it")
    values = _to_json(loop.constraint)
    # Loops of worlds have none.
    values.pop("baumgarte", None)
    return {"type": name, **values, "erp": loop.erp}


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


def motion_to_json(motion: PrescribedMotion, start: Transform) -> Json:
    """Return a ready motion as JSON values; of any other where it began."""
    name = type(motion).__name__
    if _MOTIONS.get(name) is not type(motion):
        return {"type": "Motion", "start": _value_to_json(start)}
    return {"type": name, **_to_json(motion)}


def motion_from_json(data: Json) -> PrescribedMotion:
    """Return the motion; see `ForgottenMotion`."""
    if data["type"] == "Motion":
        return ForgottenMotion(Transform(*data["start"]))
    if data["type"] not in _MOTIONS:
        raise SimulationConfigError("motion", f"unknown type {data['type']!r}")
    motion: PrescribedMotion = _from_json(_MOTIONS[data["type"]], data)
    return motion


def _to_json(value: Any, kind: Any = None) -> Json:
    """Return the fields of a value, of one class where it has more."""
    return {field.name: _value_to_json(getattr(value, field.name)) for field in _fields(kind or value)}


def _from_json(kind: Any, data: Json) -> Any:
    """Return a value of a class from its fields; the class refuses names that it does not know."""
    types = {field.name: field.type for field in _fields(kind)}
    values = {name: value for name, value in data.items() if name not in ("type", "erp")}
    return kind(**{name: _value_from_json(types.get(name, ""), value) for name, value in values.items()})


def _value_to_json(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Transform):
        return [value.R.tolist(), value.p.tolist()]
    if isinstance(value, tuple):
        return [joint_to_json(one) for one in value]
    # JSON knows no infinity.
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def _value_from_json(kind: str, value: Any) -> Any:
    """Return a value of a field of this type, by its name."""
    if kind == "Transform":
        return Transform(*value)
    if kind == "FloatArray":
        return np.array(value, dtype=np.float64)
    if kind.startswith("tuple"):
        return tuple(joint_from_json(one) for one in value)
    return float(value) if kind == "float" and isinstance(value, str) else value
