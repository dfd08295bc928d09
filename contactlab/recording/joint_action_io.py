"""What acts on joints as JSON values, and back with the same bits."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from contactlab.constraints import ContactConstraint, LoopConstraint
from contactlab.formulation.bridge.joint_actions import Drive, JointLimit, PositionDrive, VelocityDrive
from contactlab.spatial import Transform
from contactlab.world.errors import SimulationConfigError
from contactlab.world.joint_actions import Coefficient, Follower, JointActions, Loop

__all__ = ["actions_from_json", "actions_to_json"]

Json = dict[str, Any]
_fields: Any = dataclasses.fields
_DRIVES: dict[str, Any] = {kind.__name__: kind for kind in (PositionDrive, VelocityDrive)}


def actions_to_json(actions: JointActions) -> Json:
    """Return them as JSON values; a constraint of the user's own cannot be kept."""
    found: Json = {
        field: [_plain(one) for one in getattr(actions, field)]
        for field in ("limits", "damping", "friction", "followers")
    }
    found["drives"] = [{"type": type(one).__name__, **_plain(one)} for one in actions.drives]
    found["loops"] = [_loop_to_json(loop) for loop in actions.loops]
    return {field: values for field, values in found.items() if values}


def actions_from_json(data: Json) -> JointActions:
    """Return what acts on joints; values are checked as on the first time, names of bodies by the world."""

    def each(field: str, make: Callable[[Json], Any]) -> tuple[Any, ...]:
        return tuple(make(entry) for entry in data.get(field, ()))

    return JointActions(
        limits=each("limits", lambda entry: JointLimit(**_numbers(entry))),
        damping=each("damping", lambda entry: Coefficient(**entry)),
        friction=each("friction", lambda entry: Coefficient(**entry)),
        drives=each("drives", _drive),
        followers=each("followers", lambda entry: Follower(**entry)),
        loops=each("loops", _loop),
    )


def _plain(value: Any) -> Json:
    """The fields of a value; JSON knows no infinity."""
    pairs = ((field.name, getattr(value, field.name)) for field in _fields(value))
    return {name: str(one) if isinstance(one, float) and math.isinf(one) else one for name, one in pairs}


def _numbers(entry: Json) -> Json:
    return {name: float(one) if one in ("inf", "-inf") else one for name, one in entry.items()}


def _drive(entry: Json) -> Drive:
    fields = _numbers(entry)
    drive: Drive = _DRIVES[fields.pop("type")](**fields)
    return drive


def _loop_to_json(loop: Loop) -> Json:
    one = loop.constraint
    if isinstance(one, LoopConstraint):
        frames = {name: [pose.R.tolist(), pose.p.tolist()] for name, pose in (("X_p", one.X_p), ("X_s", one.X_s))}
        ends = {"predecessor": one.predecessor, "successor": one.successor}
        entry: Json = {**ends, **frames, "axis": one.axis.tolist(), "sliding": one.sliding}
    elif isinstance(one, ContactConstraint):
        entry = {"body": one.body, "point": one.point.tolist(), "normal": one.normal.tolist()}
        entry["acceleration"] = one.acceleration
    else:
        raise SimulationConfigError(
            "loop", f"{type(one).__name__} is none of the library's own, a record cannot keep it"
        )
    return {"type": type(one).__name__, **entry, "name": one.name, "id": one.id, "erp": loop.erp}


def _loop(entry: Json) -> Loop:
    fields = dict(entry)
    kind, erp = fields.pop("type"), fields.pop("erp")
    if kind == "ContactConstraint":
        return Loop(ContactConstraint(**fields), erp)
    for name in ("X_p", "X_s"):
        fields[name] = Transform(*fields[name])
    return Loop(LoopConstraint(**fields), erp)
