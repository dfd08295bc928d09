"""Surface properties and how two surfaces combine."""

from __future__ import annotations

import math
from dataclasses import dataclass

from contactlab.contact.errors import ContactError
from contactlab.spatial.arrays import finite_number

__all__ = ["Material", "combine"]


@dataclass(frozen=True)
class Material:
    """Surface of a body.

    Parameters
    ----------
    mu
        Coefficient of friction, >= 0 (static and kinetic alike).
    restitution
        Coefficient of restitution, 0 (no rebound) to 1.

    Raises
    ------
    ContactError
        A value out of its range, or not finite.
    """

    mu: float
    restitution: float = 0.0

    def __post_init__(self) -> None:
        mu = finite_number(self.mu, "mu", ContactError)
        restitution = finite_number(self.restitution, "restitution", ContactError)
        if mu < 0.0:
            raise ContactError("mu", f"must not be negative, got {mu}")
        if not 0.0 <= restitution <= 1.0:
            raise ContactError("restitution", f"must lie between 0 and 1, got {restitution}")
        object.__setattr__(self, "mu", mu)
        object.__setattr__(self, "restitution", restitution)


def combine(a: Material, b: Material) -> tuple[float, float]:
    """Coefficients (mu, e) of a contact between two materials: sqrt(mu_a mu_b), and the larger restitution."""
    return math.sqrt(a.mu * b.mu), max(a.restitution, b.restitution)
