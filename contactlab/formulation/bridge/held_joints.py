"""Dry friction and drives of joints: forces between bounds that hold a joint at a speed.

Over a step they are boxed rows: whether a joint holds or gives way is decided with the contacts. The acceleration level
has no boxed rows. What gives way at the instant has its force there, known from the speed alone; what holds, at its
speed to within a threshold, is a bilateral row, and the force found for it has to be compared with its bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from contactlab.formulation.bridge.arguments import at_least_zero
from contactlab.formulation.bridge.coordinates import Coordinate, Coordinates
from contactlab.formulation.bridge.errors import BridgeError
from contactlab.formulation.bridge.joint_actions import DRIVE_NAMES, Drive, PositionDrive, RowKind
from contactlab.multibody.joint_data import JointData
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray

#: "model" for the static friction of the model's description, None for none, or bounds [N m or N] by joint.
Friction = Literal["model"] | Mapping[str, float] | None


@dataclass(frozen=True)
class Holder:
    """Holder of a coordinate at a speed, as far as its force goes."""

    row_kind: RowKind
    label: str
    coordinate: Coordinate
    target: float  # speed [rad/s or m/s]
    bound: float  # largest force [N m or N]
    speed: float  # the coordinate's own at the instant

    @property
    def kind(self) -> str:
        """Kind of its row: "dry friction" or "drive"."""
        return "dry friction" if self.row_kind == RowKind.FRICTION else "drive"

    def terms(self, h: float) -> tuple[float, float, float, float]:
        """Return k, gamma and the bounds of its row over a step."""
        from contactlab.formulation.kernels.laws import holder

        return holder(self.row_kind.value, 0.0, self.target, self.bound, h, 0.0, 0.0, 0.0)

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest force [N m or N]."""
        return self.terms(0.0)[2:]

    def holds(self, rest: float) -> bool:
        """Whether the coordinate has the speed wanted, to within ``rest``."""
        return abs(self.speed - self.target) <= rest

    @property
    def force_against(self) -> float:
        """Its force [N m or N] off that speed."""
        return self.bounds[1 if self.target > self.speed else 0]


@dataclass(frozen=True)
class Servo:
    """A `PositionDrive` at its coordinate."""

    label: str
    coordinate: Coordinate
    #: error, speed: Position less target, and speed.
    error: float
    speed: float
    drive: PositionDrive
    row_kind = RowKind.SERVO
    kind = "drive"

    def terms(self, h: float) -> tuple[float, float, float, float]:
        """Return k, gamma and the bounds of its row over a step."""
        from contactlab.formulation.kernels.laws import holder

        one = self.drive
        gains = (one.stiffness, one.damping, one.target_velocity)
        return holder(self.row_kind.value, self.error, one.target, one.max_force, h, *gains)

    @property
    def force(self) -> float:
        """Its force [N m or N] at the instant."""
        law = -self.drive.stiffness * self.error - self.drive.damping * (self.speed - self.drive.target_velocity)
        return max(-self.drive.max_force, min(self.drive.max_force, law))


def holders(
    model: Model, coordinates: Coordinates, v: FloatArray, friction: Friction, drives: Sequence[Drive]
) -> tuple[Holder, ...]:
    """Dry friction of joints, then the drives that want a speed."""
    result = []
    for name, bound in _bounds(model, friction).items():
        largest = at_least_zero(bound, f"friction[{name!r}]")
        if largest > 0.0:
            for coordinate in coordinates.joint(name, "friction"):
                label = f"dry friction of {coordinate.name}"
                result.append(Holder(RowKind.FRICTION, label, coordinate, 0.0, largest, float(v[coordinate.v])))
    for drive, coordinate, label in _labelled(coordinates, drives):
        if not isinstance(drive, PositionDrive):
            speed = float(v[coordinate.v])
            result.append(Holder(drive.row_kind, label, coordinate, drive.target, drive.max_force, speed))
    return tuple(result)


def servos(coordinates: Coordinates, q: FloatArray, v: FloatArray, drives: Sequence[Drive]) -> tuple[Servo, ...]:
    """The position drives."""
    result = []
    for drive, coordinate, label in _labelled(coordinates, drives):
        if isinstance(drive, PositionDrive) and coordinate.q is not None:
            error = float(q[coordinate.q]) - drive.target
            result.append(Servo(label, coordinate, error, float(v[coordinate.v]), drive))
    return tuple(result)


def _labelled(coordinates: Coordinates, drives: Sequence[Drive]) -> list[tuple[Drive, Coordinate, str]]:
    """Drives with what they drive and labels that tell them apart."""
    labelled: list[tuple[Drive, Coordinate, str]] = []
    count: dict[str, int] = {}
    for i, drive in enumerate(drives):
        field = f"drives[{i}]"
        if not isinstance(drive, Drive):
            raise BridgeError(field, f"must be a {DRIVE_NAMES}, got {type(drive).__name__}")
        if isinstance(drive, PositionDrive):
            coordinate, _ = coordinates.with_position(drive.joint, drive.coordinate, f"{field}.joint")
        else:
            coordinate = coordinates.coordinate(drive.joint, drive.coordinate, f"{field}.joint")
        label = drive.name or f"drive of {coordinate.name}"
        if drive.name is not None and label in count:
            raise BridgeError(f"{field}.name", f"{label!r} is the name of another drive too")
        count[label] = count.get(label, 0) + 1
        labelled.append((drive, coordinate, label if count[label] == 1 else f"{label} ({count[label]})"))
    return labelled


def _bounds(model: Model, friction: Friction) -> Mapping[str, float]:
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
