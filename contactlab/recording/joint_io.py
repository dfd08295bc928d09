"""Joints as JSON values: the class by its name, its fields; a joint read back has the same bits."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from contactlab.multibody import joints
from contactlab.spatial.arrays import read_only
from contactlab.world.errors import SimulationConfigError

__all__ = ["joint_from_json", "joint_to_json"]

Json = dict[str, Any]

_KNOWN: dict[str, Any] = {kind.__name__: kind for kind in joints.ALL_JOINTS}
_fields: Any = dataclasses.fields  # of a class known only when running


def joint_to_json(joint: joints.Joint) -> Json:
    """Return a joint of the library as JSON values."""
    name, known = type(joint).__name__, _KNOWN.get(type(joint).__name__)
    if known is None or not isinstance(joint, known):
        raise SimulationConfigError("joint", f"{name} is none of the library's own, a record cannot keep it")
    fields = [field.name for field in _fields(known)]
    return {"type": name, **{field: _value_to_json(getattr(joint, field)) for field in fields}}


def joint_from_json(data: Json) -> joints.Joint:
    """Return the joint; its values are checked as on the first time."""
    if data["type"] not in _KNOWN:
        raise SimulationConfigError("joint", f"unknown type {data['type']!r}")
    fields = {name: _value_from_json(value) for name, value in data.items() if name != "type"}
    joint: joints.Joint = _KNOWN[data["type"]](**fields)
    for name, value in fields.items():
        if isinstance(value, np.ndarray):
            # Normalising a direction once more may move its last bit.
            object.__setattr__(joint, name, read_only(value))
    return joint


def _value_to_json(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [joint_to_json(one) for one in value] if isinstance(value, tuple) else value


def _value_from_json(value: Any) -> Any:
    if isinstance(value, list) and all(isinstance(one, dict) for one in value):
        return tuple(joint_from_json(one) for one in value)
    return np.array(value, dtype=np.float64) if isinstance(value, list) else value
