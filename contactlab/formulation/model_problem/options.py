"""Options of a model problem: stabilisation, thresholds, limits and drives of joints; and `BridgeError`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import TypeVar, get_args

from contactlab.spatial.arrays import finite_number
from contactlab.spatial.errors import FieldError, close_names


class BridgeError(FieldError):
    """A contact, limit, drive or option that cannot be used; `field` names it, in a list with its index."""


T = TypeVar("T")


def number(value: float, field: str, *, infinite: bool = False) -> float:
    """Return ``value`` as a finite float, or with ``infinite`` also -inf and inf; raise for anything else."""
    if type(value) is float and math.isfinite(value):
        return value  # limits of a description pass here by the dozen
    if infinite and value is None:
        raise BridgeError(field, "must be a number, got None: math.inf, the default, is no limit")
    if infinite and value in (math.inf, -math.inf):
        return float(value)
    return finite_number(value, field, BridgeError)


def at_least_zero(value: float, field: str, *, infinite: bool = False) -> float:
    """Return a number that is not negative."""
    checked = number(value, field, infinite=infinite)
    if checked < 0.0:
        raise BridgeError(field, f"must not be negative, got {checked}")
    return checked


def fraction(value: float, field: str) -> float:
    """Return a number from 0 to 1."""
    return finite_number(value, field, BridgeError, least=0.0, most=1.0)


def as_tuple(values: Iterable[T], field: str) -> tuple[T, ...]:
    """Return the values of a list or another iterable."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise BridgeError(field, f"must be several, in a list, got {type(values).__name__}")
    return tuple(values)


#: Kinds of rows that can be stabilised.
KINDS = ("contacts", "limits", "loops", "mimics")


@dataclass(frozen=True)
class Stabilisation:
    """Stabilisation of the rows of one kind against position drift; by default there is none.

    Velocity level: either `erp`, or a spring and damper in place of the rigid row. Acceleration level: `baumgarte`.

    Parameters
    ----------
    erp
        Fraction of a violation phi that is removed in a step, 0 to 1: the term erp phi / h.
    stiffness, dissipation
        k [N/m or N m/rad] and b [N s/m or N m s/rad] of the spring and damper that replace the row
        (`contactlab.formulation.softening`); both 0 for a rigid row. Loops and mimic relations, whose rows have no
        softening, are then boxed rows without bounds.
    baumgarte
        Rates (alpha, beta) [1/s] of the term 2 alpha phi' + beta^2 phi, or one number, the time constant T [s] of alpha
        = beta = 1 / T. Loops have their coefficients in their `ConstraintSet`.
    """

    erp: float = 0.0
    stiffness: float = 0.0
    dissipation: float = 0.0
    baumgarte: float | tuple[float, float] | None = None

    def __post_init__(self) -> None:
        fraction(self.erp, "Stabilisation.erp")
        at_least_zero(self.stiffness, "Stabilisation.stiffness")
        at_least_zero(self.dissipation, "Stabilisation.dissipation")
        if self.erp and self.soft:
            raise BridgeError("Stabilisation.erp", "stiffness and dissipation determine it; give one or the other")
        self.rates  # noqa: B018  # checked now

    @property
    def soft(self) -> bool:
        """Return True if rows are compliant."""
        return self.stiffness > 0.0 or self.dissipation > 0.0

    @property
    def rates(self) -> tuple[float, float]:
        """Rates (alpha, beta) [1/s] of the acceleration level; zeros without stabilisation."""
        if self.baumgarte is None:
            return 0.0, 0.0
        field = "Stabilisation.baumgarte"
        if isinstance(self.baumgarte, tuple):
            if len(self.baumgarte) != 2:
                raise BridgeError(field, f"must be (alpha, beta) or a time constant, got {self.baumgarte!r}")
            return at_least_zero(self.baumgarte[0], field), at_least_zero(self.baumgarte[1], field)
        constant = number(self.baumgarte, field)
        if constant <= 0.0:
            raise BridgeError(field, f"a time constant must be positive, got {constant}")
        return 1.0 / constant, 1.0 / constant


@dataclass(frozen=True)
class Thresholds:
    """Thresholds that decide which rows exist and which contacts slide.

    Lengths are in m for contacts and for sliding joints, in rad for turning joints; speeds accordingly.

    Parameters
    ----------
    closed
        Gap up to which a contact or limit is closed, at acceleration level and in an impact.
    rest
        Speed up to which contacts and limits do not separate: a closed row that opens faster is omitted at acceleration
        level. A drive or a joint with dry friction whose speed deviates by more does not stick there.
    slip
        Tangential speed [m/s] beyond which a contact slides.
    margin
        Over a step, a limit has a row if its gap is at most this plus its possible motion within the step.
    restitution_threshold
        Speed of approach beyond which restitution acts.
    """

    closed: float = 1e-4
    rest: float = 1e-5
    slip: float = 1e-5
    margin: float = 1e-2
    restitution_threshold: float = 1e-2

    def __post_init__(self) -> None:
        for name in ("closed", "rest", "slip", "margin", "restitution_threshold"):
            at_least_zero(getattr(self, name), f"Thresholds.{name}", infinite=name == "margin")


def stabilisations(given: Mapping[str, Stabilisation] | None) -> Mapping[str, Stabilisation]:
    """Return one `Stabilisation` for each of `KINDS`."""
    chosen = dict.fromkeys(KINDS, Stabilisation())
    if given is not None and not isinstance(given, Mapping):
        raise BridgeError("stabilisation", f"must be a mapping from {KINDS}, got {type(given).__name__}")
    for kind, value in (given or {}).items():
        if kind not in chosen:
            raise BridgeError("stabilisation", f"no rows are of kind {kind!r}{close_names(kind, KINDS)}: {KINDS}")
        if not isinstance(value, Stabilisation):
            raise BridgeError("stabilisation", f"{kind!r} must be a Stabilisation, got {value!r}")
        chosen[kind] = value
    return MappingProxyType(chosen)


# Classes of rows, in the order of a problem: unilateral rows; equations; equations that are compliant boxed rows if the
# stepper has a ``cfm``; boxed rows.
_CLASSES = ("L", "G", "G or B", "B")


class RowKind(IntEnum):
    """Kind of a joint row; the numbers are also in `contactlab.formulation.kernels.laws`.

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


@dataclass(frozen=True)
class JointLimit:
    """Range of one coordinate of a joint.

    Parameters
    ----------
    joint
        Name of the joint; in a model without joint names, of the body that it moves.
    lower, upper
        Smallest and largest position [rad or m]; infinite for none.
    coordinate
        Index of the joint's degree of freedom.
    restitution
        Coefficient of restitution, 0 to 1; velocity level only.
    stiffness, dissipation
        k [N m/rad or N/m] and b of a compliant stop, over a step; both 0 for a rigid one.
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
        """Kind of its row; None without a bound, because the drive is then part of the mass matrix."""
        return None if math.isinf(self.max_force) else RowKind.POSITION_DRIVE


Drive = VelocityDrive | PositionDrive
#: Requirement for a drive, as text.
DRIVE_NAMES = " or ".join(kind.__name__ for kind in get_args(Drive))
