"""Surface properties and how two surfaces combine."""

from __future__ import annotations

import math
from dataclasses import dataclass

from contactlab.contact.errors import ContactError
from contactlab.spatial.arrays import finite_number

__all__ = ["Material", "combine", "combine_compliance"]


@dataclass(frozen=True)
class Material:
    """Surface of a body.

    Parameters
    ----------
    mu
        Coefficient of friction, >= 0 (static and kinetic alike).
    restitution
        Coefficient of restitution, 0 (no rebound) to 1.
    stiffness
        Normal stiffness of the surface at a contact [N/m]; infinite for a rigid one.
    dissipation
        Damping of that spring [N s/m].

    Raises
    ------
    ContactError
        A value out of its range or not finite; a damper without a spring; a spring, which rebounds by itself, with a
        coefficient of restitution.
    """

    mu: float
    restitution: float = 0.0
    stiffness: float = math.inf
    dissipation: float = 0.0

    def __post_init__(self) -> None:
        mu = finite_number(self.mu, "mu", ContactError)
        restitution = finite_number(self.restitution, "restitution", ContactError)
        if mu < 0.0:
            raise ContactError("mu", f"must not be negative, got {mu}")
        if not 0.0 <= restitution <= 1.0:
            raise ContactError("restitution", f"must lie between 0 and 1, got {restitution}")
        dissipation = finite_number(self.dissipation, "dissipation", ContactError)
        if dissipation < 0.0:
            raise ContactError("dissipation", f"must not be negative, got {dissipation}")
        stiffness = math.inf
        if self.stiffness != math.inf:
            stiffness = finite_number(self.stiffness, "stiffness", ContactError)
            if stiffness <= 0.0:
                raise ContactError("stiffness", f"must be positive, got {stiffness}")
            if restitution > 0.0:
                raise ContactError("restitution", f"must be 0 beside a stiffness, got {restitution}: a spring rebounds")
        elif dissipation > 0.0:
            raise ContactError("dissipation", f"needs a finite stiffness, got {dissipation} for a rigid surface")
        for name, value in (
            ("mu", mu),
            ("restitution", restitution),
            ("stiffness", stiffness),
            ("dissipation", dissipation),
        ):
            object.__setattr__(self, name, value)


def combine(a: Material, b: Material) -> tuple[float, float]:
    """Coefficients (mu, e) of a contact between two materials: sqrt(mu_a mu_b), and the larger restitution."""
    return math.sqrt(a.mu * b.mu), max(a.restitution, b.restitution)


def combine_compliance(a: Material, b: Material) -> tuple[float, float]:
    """Stiffness [N/m] and dissipation [N s/m] of a contact between two materials: their springs in series.

    k = 1/(1/k_a + 1/k_b), infinite where both are rigid. Each material takes the share k/k_i of the deformation, and
    b = b_a (k/k_a)^2 + b_b (k/k_b)^2 is the damper that dissipates what theirs do.
    """
    softness = 1.0 / a.stiffness + 1.0 / b.stiffness
    if softness == 0.0:
        return math.inf, 0.0
    k = 1.0 / softness
    return k, a.dissipation * (k / a.stiffness) ** 2 + b.dissipation * (k / b.stiffness) ** 2
