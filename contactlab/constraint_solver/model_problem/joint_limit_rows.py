"""Joints by name, their limits as unilateral rows, and their dry friction and drives as bounded rows.

Forces between bounds are boxed rows over a step: whether a joint sticks or slips is determined together with the
contacts. The acceleration level has no boxed rows. A joint that slips has a known force, which depends only on its
speed. A joint that sticks, within a threshold of its speed, is a bilateral row, and its force must be compared with its
bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from contactlab.constraint_solver.model_problem.drives import DRIVE_NAMES, Drive, DriveTerm, RowKind
from contactlab.constraint_solver.model_problem.options import BridgeError, JointLimit, as_tuple, at_least_zero
from contactlab.multibody.bodies import positions
from contactlab.multibody.joint_data import JointData
from contactlab.multibody.model import Model
from contactlab.multibody.spatial.arrays import FloatArray, MultibodyError


@dataclass(frozen=True)
class Coordinate:
    """One degree of freedom of a joint."""

    name: str  # the joint's name, followed by "[i]" if it has several degrees of freedom
    q: int | None  # index in q of the position with this rate; None without one (quaternions)
    v: int  # place in v


def joint_coordinates(model: Model, name: str, field: str) -> tuple[Coordinate, ...]:
    """Return the degrees of freedom of a joint, named as in the description or by the body that it moves.

    Raise, naming ``field``, if it is unknown or has none.
    """
    try:
        body = model.body_of_joint(name)
    except MultibodyError as cause:
        raise BridgeError(field, cause.detail) from cause
    joint, q, v = model.bodies[model.index(body)].joint, model.q_slice(body).start, model.v_slice(body).start
    if joint.nv == 0:
        raise BridgeError(field, f"joint {name!r} does not move")
    return tuple(
        Coordinate(f"{name}[{i}]" if joint.nv > 1 else name, None if place is None else q + place, v + i)
        for i, place in enumerate(positions(joint))
    )


def joint_coordinate(model: Model, name: str, index: int, field: str) -> Coordinate:
    """Return the degree of freedom ``index`` of a joint."""
    coordinates = joint_coordinates(model, name, field)
    if isinstance(index, bool) or not isinstance(index, int | np.integer):
        raise BridgeError(field, f"coordinate of {name!r} must be a whole number, got {index!r}")
    if not 0 <= index < len(coordinates):
        raise BridgeError(field, f"joint {name!r} has coordinates 0 to {len(coordinates) - 1}, not {index}")
    return coordinates[index]


def position_of(coordinate: Coordinate, field: str) -> int:
    """Return the index of a coordinate's position in q; raise if it has none."""
    if coordinate.q is None:
        raise BridgeError(field, f"{coordinate.name!r} is part of an orientation: it has no position")
    return coordinate.q


#: "model" for the limits of the model's description, None for none, or `JointLimit` values.
Limits = Literal["model"] | Iterable[JointLimit] | None


@dataclass(frozen=True)
class LimitRow:
    """One end of the range of a coordinate."""

    coordinate: Coordinate
    sign: float  # +1 at the lower end, -1 at the upper one: the row has this entry at the coordinate
    gap: float  # distance from it [rad or m], negative beyond it
    limit: JointLimit  # the limit it belongs to

    @property
    def kind(self) -> str:
        """Name of the end: "lower limit" or "upper limit"."""
        return "lower limit" if self.sign > 0.0 else "upper limit"

    @property
    def label(self) -> str:
        """Kind and coordinate."""
        return f"{self.kind} of {self.coordinate.name}"


def limit_rows(model: Model, q: FloatArray, limits: Limits) -> tuple[LimitRow, ...]:
    """Return a row with its gap at q for every finite limit, lower before upper; ``limits`` "model": the model's."""
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
        given = [*as_tuple(limits, "limits")]
    found = []
    for i, limit in enumerate(given):
        field = f"limits[{i}]"
        if not isinstance(limit, JointLimit):
            raise BridgeError(field, f"must be a JointLimit, got {type(limit).__name__}")
        coordinate = joint_coordinate(model, limit.joint, limit.coordinate, f"{field}.joint")
        at = position_of(coordinate, f"{field}.joint")
        if math.isfinite(limit.lower):
            found.append(LimitRow(coordinate, 1.0, float(q[at]) - limit.lower, limit))
        if math.isfinite(limit.upper):
            found.append(LimitRow(coordinate, -1.0, limit.upper - float(q[at]), limit))
    return tuple(found)


#: "model" for the static friction of the model's description, None for none, or bounds [N m or N] by joint.
Friction = Literal["model"] | Mapping[str, float] | None


@dataclass(frozen=True)
class BoundedRow:
    """Dry friction of a coordinate, or a part of its drive."""

    label: str
    coordinate: Coordinate
    term: DriveTerm
    target: float  # of a soft term its position [rad or m], otherwise the speed [rad/s or m/s]
    error: float  # of a soft term: position less target and offset
    speed: float  # speed of the coordinate at the instant

    @property
    def kind(self) -> str:
        """Kind of its row: "dry friction" or "drive"."""
        return "dry friction" if self.term.kind == RowKind.FRICTION else "drive"

    def terms(self, h: float) -> tuple[float, float, float, float]:
        """Return k, gamma and the bounds of its row over a step."""
        from contactlab.constraint_solver.kernels import bounded_law

        one = self.term
        return bounded_law(self.error, self.target, one.low, one.high, h, one.stiffness, one.damping, one.speed)

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest force [N m or N]."""
        return self.term.low, self.term.high

    @property
    def is_rigid(self) -> bool:
        """Return True if it holds a speed with any force."""
        return not self.term.is_soft and math.isinf(self.term.high)

    def has_target_speed(self, rest: float) -> bool:
        """Return True if the coordinate has the wanted speed, to within ``rest``."""
        return abs(self.speed - self.target) <= rest

    @property
    def force(self) -> float:
        """Force [N m or N] at the instant; of a row that holds a speed, at another speed than this."""
        low, high = self.bounds
        if not self.term.is_soft:
            return high if self.target > self.speed else low
        law = -self.term.stiffness * self.error - self.term.damping * (self.speed - self.term.speed)
        return max(low, min(high, law))


def bounded_rows(
    model: Model, q: FloatArray, v: FloatArray, friction: Friction, drives: Sequence[Drive]
) -> tuple[BoundedRow, ...]:
    """Return the rows of dry friction of joints, then of drives that hold a speed, then of other drives."""
    result = []
    for name, bound in _bounds(model, friction).items():
        largest = at_least_zero(bound, f"friction[{name!r}]")
        if largest > 0.0:
            term = DriveTerm(RowKind.FRICTION, -largest, largest)
            for coordinate in joint_coordinates(model, name, "friction"):
                label = f"dry friction of {coordinate.name}"
                result.append(BoundedRow(label, coordinate, term, 0.0, 0.0, float(v[coordinate.v])))
    for drive, coordinate, label in _labelled(model, drives):
        for term in drive.terms():
            error = 0.0 if coordinate.q is None else float(q[coordinate.q]) - drive.target - term.offset
            result.append(BoundedRow(label, coordinate, term, drive.target, error, float(v[coordinate.v])))
    return tuple(sorted(result, key=lambda row: row.term.is_soft))


def _labelled(model: Model, drives: Sequence[Drive]) -> list[tuple[Drive, Coordinate, str]]:
    """Return the drives with their coordinates and unique labels."""
    labelled: list[tuple[Drive, Coordinate, str]] = []
    count: dict[str, int] = {}
    for i, drive in enumerate(drives):
        field = f"drives[{i}]"
        if not isinstance(drive, Drive):
            raise BridgeError(field, f"must be a {DRIVE_NAMES}, got {type(drive).__name__}")
        coordinate = joint_coordinate(model, drive.joint, drive.coordinate, f"{field}.joint")
        if drive.needs_position:
            position_of(coordinate, f"{field}.joint")
        label = drive.name or f"drive of {coordinate.name}"
        if drive.name is not None and label in count:
            raise BridgeError(f"{field}.name", f"{label!r} is the name of another drive too")
        count[label] = count.get(label, 0) + 1
        labelled.append((drive, coordinate, label if count[label] == 1 else f"{label} ({count[label]})"))
    return labelled


def _bounds(model: Model, friction: Friction) -> Mapping[str, float]:
    """Return the largest friction by joint name: the model's, or the caller's mapping."""
    if friction is None:
        return {}
    if isinstance(friction, str):
        if friction != "model":
            raise BridgeError("friction", f"must be 'model', None or a mapping from joints, got {friction!r}")
        data: dict[str, JointData] = getattr(model, "joint_data", {})
        return {joint.name: joint.friction for joint in data.values() if joint.friction > 0.0}
    if not isinstance(friction, Mapping):
        raise BridgeError("friction", f"must be 'model', None or a mapping from joints, got {type(friction).__name__}")
    return friction
