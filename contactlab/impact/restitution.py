"""Coefficients of restitution: numbers, one per contact, or a law of the speed of approach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from contactlab.impact.errors import ImpactError
from contactlab.spatial.arrays import FloatArray, finite_number


@runtime_checkable
class RestitutionLaw(Protocol):
    """Restitution that depends on the speed of approach."""

    def at(self, speed: float) -> float:
        """Return the coefficient, 0 to 1, for a speed of approach >= 0 [m/s]."""
        ...


#: A coefficient or a law of the speed, for all contacts; or one per contact, numbers and laws as they come.
Restitution = ArrayLike | RestitutionLaw | Sequence[float | RestitutionLaw]


@dataclass(frozen=True)
class PowerLaw:
    """e(v) = min(e_max, e (v / speed)^-exponent), and 0 below a threshold.

    Parameters
    ----------
    e
        Coefficient at ``speed``, 0 to 1.
    speed
        Reference speed of approach [m/s], positive.
    exponent
        Loss of restitution with speed: 1/4 for contacts that yield (Johnson 1985, section 11.5), 0 for a constant.
    threshold
        Speed of approach [m/s] up to which nothing rebounds.
    e_max
        Largest coefficient, at most 1.

    Raises
    ------
    ImpactError
        A parameter out of its range.

    References
    ----------
    K. L. Johnson, Contact Mechanics (1985), eq. 11.47.
    """

    e: float
    speed: float = 1.0
    exponent: float = 0.25
    threshold: float = 0.0
    e_max: float = 1.0

    def __post_init__(self) -> None:
        for name in ("e", "speed", "exponent", "threshold", "e_max"):
            object.__setattr__(self, name, finite_number(getattr(self, name), name, ImpactError))
        for name in ("e", "e_max"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ImpactError(name, f"must lie between 0 and 1, got {getattr(self, name)}")
        if self.speed <= 0.0:
            raise ImpactError("speed", f"must be positive, got {self.speed}")
        for name in ("exponent", "threshold"):
            if getattr(self, name) < 0.0:
                raise ImpactError(name, f"must not be negative, got {getattr(self, name)}")

    def at(self, speed: float) -> float:
        """Return the coefficient for a speed of approach [m/s]."""
        if speed <= self.threshold or self.e == 0.0:
            return 0.0
        return float(min(self.e_max, self.e * (speed / self.speed) ** -self.exponent))


def check_restitution(restitution: Restitution) -> None:
    """Refuse what is no restitution at all, before there is a problem to compare lengths with."""
    if isinstance(restitution, RestitutionLaw):
        return
    if _mixed(restitution):
        for one in restitution:
            check_restitution(one)
        return
    try:
        array = np.array(restitution, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ImpactError("restitution", f"must be numbers or have a method at(speed), got {restitution!r}") from error
    if array.ndim > 1:
        raise ImpactError("restitution", f"must be a number or one per contact, got shape {array.shape}")
    _check_range(array)


def coefficients(restitution: Restitution, approach: FloatArray) -> FloatArray:
    """Return the coefficient of each contact (nc,) for its speed of approach (nc,) [m/s]."""
    if isinstance(restitution, RestitutionLaw):
        values = np.array([float(restitution.at(max(0.0, float(speed)))) for speed in approach])
        _check_range(values)
        return values
    if _mixed(restitution):
        if len(restitution) != len(approach):
            raise ImpactError("restitution", f"has {len(restitution)} entries for {len(approach)} contacts")
        return np.array([coefficients(one, approach[i : i + 1])[0] for i, one in enumerate(restitution)])
    array = np.array(restitution, dtype=np.float64)
    if array.ndim == 1 and array.shape != approach.shape:
        raise ImpactError("restitution", f"has {array.size} entries for {approach.size} contacts")
    _check_range(array)
    return np.full(approach.shape, float(array)) if array.ndim == 0 else array


def _mixed(restitution: Restitution) -> TypeGuard[Sequence[float | RestitutionLaw]]:
    """Whether some contacts have a law of their own."""
    return isinstance(restitution, Sequence) and any(isinstance(one, RestitutionLaw) for one in restitution)


def _check_range(values: FloatArray) -> None:
    bad = np.atleast_1d(values)[~((np.atleast_1d(values) >= 0.0) & (np.atleast_1d(values) <= 1.0))]
    if bad.size:
        raise ImpactError("restitution", f"must lie between 0 and 1, got {bad[0]}")
