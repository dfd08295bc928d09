"""Options of a model problem: stabilisation, thresholds and limits of joints; and `BridgeError`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

from contactlab.multibody.spatial.arrays import FieldError, close_names, finite_number


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
        (`contactlab.constraint_solver.softening`); both 0 for a rigid row. Loops and mimic relations, whose rows have
        no softening, are then boxed rows without bounds.
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
