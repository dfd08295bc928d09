"""Stops and drives of joints, as a user states them, and the kinds of rows that joints have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import get_args

from contactlab.formulation.model_problem.errors import BridgeError
from contactlab.formulation.model_problem.options import at_least_zero, fraction, number

# Classes of rows, in the order of a problem: unilateral rows, equations, equations that give way where the stepper has
# a ``cfm`` and are then boxed rows, and boxed rows.
_CLASSES = ("L", "G", "G or B", "B")


class RowKind(IntEnum):
    """Kind of a joint row; the numbers are also in `contactlab.formulation.kernels.laws`.

    Attributes
    ----------
    label
        The kind in words.
    rank
        Place of its class among L, G, "G or B" and B.
    ledger_entry
        Entry of the energy ledger that has its work.
    """

    label: str
    rank: int
    ledger_entry: str

    #: the end of a joint's range
    LIMIT = 0, "limit", "L", "limits"
    #: a velocity drive that nothing stops
    VELOCITY_DRIVE_RIGID = 1, "velocity drive", "G", "drives"
    #: a joint that follows another
    MIMIC = 2, "mimic", "G or B", "loops"
    #: a row of a loop, or of the user's own
    LOOP = 3, "loop", "G or B", "loops"
    #: dry friction
    FRICTION = 4, "friction", "B", "joint_friction"
    #: a velocity drive with a bound
    VELOCITY_DRIVE = 5, "velocity drive", "B", "drives"
    #: a position drive with a bound
    POSITION_DRIVE = 6, "position drive", "B", "drives"
    #: a spring between two points
    SPRING = 7, "spring", "B", "drives"

    def __new__(cls, code: int, words: str, rows: str, work: str) -> RowKind:
        """Make a member from its number, label, class and ledger entry."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.label, member.rank, member.ledger_entry = words, _CLASSES.index(rows), work
        return member

    def class_of(self, soft: bool) -> str:
        """Return the class of the row, L, G or B; ``soft`` means that position equations have compliance."""
        return _CLASSES[self.rank].split(" or ")[-1 if soft else 0]


@dataclass(frozen=True)
class JointLimit:
    """Range of one coordinate of a joint.

    Parameters
    ----------
    joint
        Name of the joint; of the body it moves in a model without joint names.
    lower, upper
        Smallest and largest position [rad or m]; infinite for none.
    coordinate
        Which of the joint's degrees of freedom.
    restitution
        Coefficient of restitution, 0 to 1; velocity level only.
    stiffness, dissipation
        k [N m/rad or N/m] and b of a stop that gives way, over a step; both 0 for a rigid one.
    """

    joint: str
    lower: float = -math.inf
    upper: float = math.inf
    coordinate: int = 0
    restitution: float = 0.0
    stiffness: float = 0.0
    dissipation: float = 0.0

    def __post_init__(self) -> None:
        lower = number(self.lower, "JointLimit.lower", infinite=True)
        upper = number(self.upper, "JointLimit.upper", infinite=True)
        if lower > upper:
            raise BridgeError("JointLimit.lower", f"{lower} exceeds upper, which is {upper}, of {self.joint!r}")
        fraction(self.restitution, "JointLimit.restitution")
        at_least_zero(self.stiffness, "JointLimit.stiffness")
        at_least_zero(self.dissipation, "JointLimit.dissipation")
        if self.restitution and (self.stiffness or self.dissipation):
            raise BridgeError("JointLimit.restitution", "a stop that gives way has stiffness and dissipation instead")


@dataclass(frozen=True)
class VelocityDrive:
    """A motor that keeps a speed with a force of limited size.

    Parameters
    ----------
    joint
        Name of the joint, as for `JointLimit`.
    target
        Wanted speed [rad/s or m/s].
    max_force
        Largest force [N m or N]; infinite for a motor that nothing stops.
    coordinate
        Which of the joint's degrees of freedom.
    name
        Label; "drive of <joint>" if not given.
    """

    joint: str
    target: float = 0.0
    max_force: float = math.inf
    coordinate: int = 0
    name: str | None = None

    def __post_init__(self) -> None:
        number(self.target, "VelocityDrive.target")
        at_least_zero(self.max_force, "VelocityDrive.max_force", infinite=True)

    @property
    def row_kind(self) -> RowKind:
        """The kind of its row."""
        return RowKind.VELOCITY_DRIVE_RIGID if math.isinf(self.max_force) else RowKind.VELOCITY_DRIVE


@dataclass(frozen=True)
class PositionDrive:
    """A servo with force -stiffness (q - target) - damping (v - target_velocity), as far as it has that force.

    Over a step the law holds at the end of the step: it is stable for any stiffness.

    Parameters
    ----------
    joint
        Name of the joint, as for `JointLimit`.
    target
        Wanted position [rad or m].
    stiffness, damping
        Gains [N m/rad or N/m] and [N m s/rad or N s/m], not both 0.
    target_velocity
        Wanted speed [rad/s or m/s].
    max_force
        Largest force [N m or N].
    coordinate
        Which of the joint's degrees of freedom.
    name
        Label; "drive of <joint>" if not given.
    """

    joint: str
    target: float
    stiffness: float
    damping: float = 0.0
    target_velocity: float = 0.0
    max_force: float = math.inf
    coordinate: int = 0
    name: str | None = None

    def __post_init__(self) -> None:
        number(self.target, "PositionDrive.target")
        number(self.target_velocity, "PositionDrive.target_velocity")
        stiffness = at_least_zero(self.stiffness, "PositionDrive.stiffness")
        damping = at_least_zero(self.damping, "PositionDrive.damping")
        at_least_zero(self.max_force, "PositionDrive.max_force", infinite=True)
        if stiffness == damping == 0.0:
            raise BridgeError("PositionDrive.stiffness", "stiffness and damping are both 0: such a drive does nothing")

    @property
    def row_kind(self) -> RowKind | None:
        """Kind of its row; None without a bound, because it then acts within the mass matrix."""
        return None if math.isinf(self.max_force) else RowKind.POSITION_DRIVE


Drive = VelocityDrive | PositionDrive
#: Requirement for a drive, in words.
DRIVE_NAMES = " or ".join(kind.__name__ for kind in get_args(Drive))
