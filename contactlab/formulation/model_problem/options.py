"""Stabilisation of rows, thresholds by which it is decided which of them there are, and checks of single numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

from contactlab.formulation.model_problem.errors import BridgeError
from contactlab.spatial.arrays import finite_number
from contactlab.spatial.errors import close_names

T = TypeVar("T")


def number(value: float, field: str, *, infinite: bool = False) -> float:
    """Return a finite number, or also -inf and inf."""
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
    """Return the values of a list, or of anything else that can be gone through."""
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
        Share of a violation phi that a step undoes, 0 to 1: the term erp phi / h.
    stiffness, dissipation
        k [N/m or N m/rad] and b [N s/m or N m s/rad] of the spring and damper the row becomes
        (`contactlab.formulation.softening`); both 0 for a rigid row. Loops and mimic relations, whose rows
        know no softening, then stand among the boxed rows, without bounds.
    baumgarte
        Rates (alpha, beta) [1/s] of the term 2 alpha phi' + beta^2 phi, or one number, the time constant T [s] of
        alpha = beta = 1 / T. Loops have their own, in their `ConstraintSet`.
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
            raise BridgeError("Stabilisation.erp", "stiffness and dissipation say what it is; give one or the other")
        self.rates  # noqa: B018  # checked now

    @property
    def soft(self) -> bool:
        """Whether rows give way."""
        return self.stiffness > 0.0 or self.dissipation > 0.0

    @property
    def rates(self) -> tuple[float, float]:
        """(alpha, beta) [1/s] of the acceleration level; zeros if there is none."""
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
    """Thresholds by which rows are there, and contacts slide.

    Lengths are in m for contacts and for sliding joints, in rad for turning ones; speeds accordingly.

    Parameters
    ----------
    closed
        Gap up to which a contact or limit counts as closed, at acceleration level and in an impact.
    rest
        Speed up to which nothing separates: a closed row that opens faster is left out at acceleration level. A drive
        or a joint with dry friction that is off its speed by more is not held there.
    slip
        Tangential speed [m/s] beyond which a contact slides.
    margin
        Over a step, a limit takes part if its gap is at most this plus its possible motion within the step.
    v_min
        Speed of approach beyond which restitution acts.
    """

    closed: float = 1e-4
    rest: float = 1e-5
    slip: float = 1e-5
    margin: float = 1e-2
    v_min: float = 1e-2

    def __post_init__(self) -> None:
        for name in ("closed", "rest", "slip", "margin", "v_min"):
            at_least_zero(getattr(self, name), f"Thresholds.{name}", infinite=name == "margin")


def stabilisations(given: Mapping[str, Stabilisation] | None) -> Mapping[str, Stabilisation]:
    """One `Stabilisation` for each of `KINDS`."""
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
