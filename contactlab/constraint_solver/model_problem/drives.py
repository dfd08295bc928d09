"""Drives of joints, and the kinds of rows of joints.

A drive is described here alone: its class has the numbers, and its `terms` have its force as a sum of bounded linear
laws. The rows of a step and of a model problem, records, scene files, derivatives and `verify` follow from the terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, NamedTuple, get_args

from contactlab.constraint_solver.model_problem.options import BridgeError, at_least_zero, number

#: Public names, which packages above also have.
__all__ = ["PositionDrive", "VelocityDrive"]


# Classes of rows, in the order of a problem: unilateral rows; equations; equations that are compliant boxed rows if the
# stepper has a ``cfm``; boxed rows.
_CLASSES = ("L", "G", "G or B", "B")


class RowKind(IntEnum):
    """Kind of a joint row; the numbers that kernels use are also in `contactlab.constraint_solver.kernels`.

    Attributes
    ----------
    label
        The kind in words.
    rank
        Index of its class among L, G, "G or B" and B.
    ledger_entry
        Entry of the energy ledger for its work.
    """

    label: str
    rank: int
    ledger_entry: str

    #: the end of a joint's range
    LIMIT = 0, "limit", "L", "limits"
    #: a velocity drive without a bound
    VELOCITY_DRIVE_RIGID = 1, "velocity drive", "G", "drives"
    #: a joint that follows another
    MIMIC = 2, "mimic", "G or B", "loops"
    #: a row of a loop or a custom row
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
        """Return a member with its number, label, class and ledger entry."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.label, member.rank, member.ledger_entry = words, _CLASSES.index(rows), work
        return member

    def class_of(self, soft: bool) -> str:
        """Return the class of the row, L, G or B; ``soft`` means that position equations have compliance."""
        return _CLASSES[self.rank].split(" or ")[-1 if soft else 0]


class DriveTerm(NamedTuple):
    """A part of a drive's force: -stiffness (q - target - offset) - damping (v - speed), between ``low`` and ``high``.

    Without stiffness and damping it is the force that keeps v at the target. Over a step q and v are those at its end,
    so that the law is stable for any numbers.
    """

    kind: RowKind  # of its row
    low: float  # smallest and largest force [N m or N]
    high: float
    stiffness: float = 0.0  # [N m/rad or N/m]
    damping: float = 0.0  # [N m s/rad or N s/m]
    speed: float = 0.0  # [rad/s or m/s]
    offset: float = 0.0  # [rad or m]

    @property
    def is_soft(self) -> bool:
        """Return True if the force follows from position and speed."""
        return self.stiffness > 0.0 or self.damping > 0.0

    @property
    def is_implicit(self) -> bool:
        """Return True for a soft term without bounds: over a step it is part of the mass matrix, and has no row."""
        return self.is_soft and math.isinf(self.low) and math.isinf(self.high)


@dataclass(frozen=True)
class VelocityDrive:
    """A motor that prescribes a speed with a force of limited size.

    Parameters
    ----------
    joint
        Name of the joint, as for `JointLimit`.
    target
        Wanted speed [rad/s or m/s].
    max_force
        Largest force [N m or N]; infinite for a motor without a bound.
    coordinate
        Index of the joint's degree of freedom.
    name
        Label; by default "drive of <joint>".
    """

    #: whether its coordinate must have a position
    needs_position: ClassVar[bool] = False

    joint: str
    target: float = 0.0
    max_force: float = math.inf
    coordinate: int = 0
    name: str | None = None

    def __post_init__(self) -> None:
        number(self.target, "VelocityDrive.target")
        at_least_zero(self.max_force, "VelocityDrive.max_force", infinite=True)

    def terms(self) -> tuple[DriveTerm, ...]:
        """Return the parts of its force."""
        kind = RowKind.VELOCITY_DRIVE_RIGID if math.isinf(self.max_force) else RowKind.VELOCITY_DRIVE
        return (DriveTerm(kind, -self.max_force, self.max_force),)


@dataclass(frozen=True)
class PositionDrive:
    """A servo with force -stiffness (q - target) - damping (v - target_velocity), within the bound ``max_force``.

    Over a step the law applies at the end of the step, so it is stable for any stiffness.

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
        Index of the joint's degree of freedom.
    name
        Label; by default "drive of <joint>".
    """

    needs_position: ClassVar[bool] = True

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

    def terms(self) -> tuple[DriveTerm, ...]:
        """Return the parts of its force."""
        gains = self.stiffness, self.damping, self.target_velocity
        return (DriveTerm(RowKind.POSITION_DRIVE, -self.max_force, self.max_force, *gains),)


Drive = VelocityDrive | PositionDrive
#: Requirement for a drive, as text.
DRIVE_NAMES = " or ".join(kind.__name__ for kind in get_args(Drive))
