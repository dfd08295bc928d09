"""Stabilisation of constraints against drift."""

from __future__ import annotations

from dataclasses import dataclass

from contactlab.constraints.errors import ConstraintError
from contactlab.spatial.arrays import finite_number


@dataclass(frozen=True)
class Baumgarte:
    """Stabilisation after Baumgarte (1972): gamma gains -2 alpha phid - beta^2 phi.

    The error then obeys phi'' + 2 alpha phi' + beta^2 phi = 0; with alpha = beta = 1 / T it dies out as fast as it can
    without swinging over, within a few T.

    Parameters
    ----------
    alpha
        [1/s], > 0, on the velocity error.
    beta
        [1/s], > 0, on the position error.
    """

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        for name in ("alpha", "beta"):
            value = finite_number(getattr(self, name), name, ConstraintError)
            if value <= 0.0:
                raise ConstraintError(name, f"must be > 0, got {value:g}; no stabilisation is baumgarte=None")
            object.__setattr__(self, name, value)


def baumgarte_of(value: float | Baumgarte | None) -> Baumgarte | None:
    """Meaning of the argument ``baumgarte``: None, a pair, or a time constant T [s] with alpha = beta = 1 / T."""
    if value is None or isinstance(value, Baumgarte):
        return value
    if isinstance(value, bool):
        raise ConstraintError("baumgarte", "must be None, a time constant [s] or Baumgarte(alpha, beta), got a bool")
    time = finite_number(value, "baumgarte", ConstraintError)
    if time <= 0.0:
        raise ConstraintError("baumgarte", f"the time constant must be > 0, got {time:g}; None switches it off")
    return Baumgarte(1.0 / time, 1.0 / time)
