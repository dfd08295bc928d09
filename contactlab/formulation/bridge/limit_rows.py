"""Joint limits of a model or a user, as one-sided rows of single coordinates."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from contactlab.formulation.bridge.arguments import several
from contactlab.formulation.bridge.coordinates import Coordinate, Coordinates
from contactlab.formulation.bridge.errors import BridgeError
from contactlab.formulation.bridge.joint_actions import JointLimit
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray

#: "model" for those of the model's description, None for none, or one's own.
Limits = Literal["model"] | Iterable[JointLimit] | None


@dataclass(frozen=True)
class Stop:
    """One end of the range of a coordinate."""

    coordinate: Coordinate
    sign: float  # +1 at the lower end, -1 at the upper one: the row has this entry at the coordinate
    gap: float  # distance from it [rad or m], negative beyond it
    limit: JointLimit  # the limit it belongs to

    @property
    def kind(self) -> str:
        """Which end: "lower limit" or "upper limit"."""
        return "lower limit" if self.sign > 0.0 else "upper limit"

    @property
    def label(self) -> str:
        """Kind and coordinate."""
        return f"{self.kind} of {self.coordinate.name}"


def stops(model: Model, coordinates: Coordinates, q: FloatArray, limits: Limits) -> tuple[Stop, ...]:
    """Every finite end of every range, lower before upper."""
    if limits is None:
        return ()
    if isinstance(limits, str):
        if limits != "model":
            raise BridgeError("limits", f"must be 'model', None or JointLimits, got {limits!r}")
        given = [
            JointLimit(body.joint_name, lower, upper, coordinate=k)
            for body in model.bodies
            for k, lower, upper in body.limits.ranges()
        ]
    else:
        given = [*several(limits, "limits")]
    found = []
    for i, limit in enumerate(given):
        field = f"limits[{i}]"
        if not isinstance(limit, JointLimit):
            raise BridgeError(field, f"must be a JointLimit, got {type(limit).__name__}")
        coordinate, at = coordinates.with_position(limit.joint, limit.coordinate, f"{field}.joint")
        if math.isfinite(limit.lower):
            found.append(Stop(coordinate, 1.0, float(q[at]) - limit.lower, limit))
        if math.isfinite(limit.upper):
            found.append(Stop(coordinate, -1.0, limit.upper - float(q[at]), limit))
    return tuple(found)
