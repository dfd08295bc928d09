"""Coefficients of restitution that depend on the speed of approach."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from contactlab.contact.errors import ContactError
from contactlab.spatial.arrays import FloatArray, finite_number


@runtime_checkable
class RestitutionLaw(Protocol):
    """Restitution that depends on the speed of approach."""

    def at(self, speed: float) -> float:
        """Return the coefficient, 0 to 1, for a speed of approach >= 0 [m/s]."""
        ...


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
    ContactError
        A parameter out of its range.

    References
    ----------
    K. L. Johnson, Contact Mechanics (1985), eq. 11.47.

    Examples
    --------
    >>> brass = PowerLaw(0.6, speed=1.0)
    >>> brass.at(1.0), round(brass.at(16.0), 6)
    (0.6, 0.3)
    """

    e: float
    speed: float = 1.0
    exponent: float = 0.25
    threshold: float = 0.0
    e_max: float = 1.0

    def __post_init__(self) -> None:
        most = {"e": 1.0, "exponent": math.inf, "threshold": math.inf, "e_max": 1.0}
        checked = {
            name: finite_number(getattr(self, name), name, ContactError, least=0.0, most=most[name]) for name in most
        }
        checked["speed"] = finite_number(self.speed, "speed", ContactError, positive=True)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def at(self, speed: float) -> float:
        """Return the coefficient for a speed of approach [m/s]."""
        from contactlab.contact.kernels.restitution import restitution_at

        return float(restitution_at(law_numbers(self), float(speed)))


def law_numbers(restitution: float | PowerLaw) -> FloatArray:
    """Return the numbers (5,) by which kernels know a law; a number is a law without a threshold."""
    if isinstance(restitution, PowerLaw):
        own = restitution
        return np.array([own.e, own.speed, own.exponent, own.threshold, own.e_max])
    return np.array([restitution, 1.0, 0.0, -np.inf, 1.0])


@dataclass(frozen=True)
class Larger:
    """The larger of two at every speed: restitution between two materials."""

    a: float | RestitutionLaw
    b: float | RestitutionLaw

    def at(self, speed: float) -> float:
        """Return the coefficient for a speed of approach [m/s]."""
        return max(one.at(speed) if isinstance(one, RestitutionLaw) else one for one in (self.a, self.b))
