"""A joint that follows another by a polynomial, or is held: a constraint that a record can keep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contactlab.constraints import CustomConstraint
from contactlab.multibody import Model
from contactlab.spatial.arrays import FloatArray, finite_array, read_only
from contactlab.world.errors import SimulationConfigError


@dataclass(frozen=True, eq=False)
class JointPolynomial(CustomConstraint):
    """One row: the position of a joint of one coordinate is a polynomial of that of another.

    Parameters
    ----------
    body
        Whose joint follows, a hinge or slide.
    followed
        Whose joint is followed, a hinge or slide; None: the polynomial is its constant, which holds the joint.
    coefficients
        (n,) of the powers 0, 1, ... of the position followed.
    name
        Group of the row, as for `LoopConstraint`.
    """

    body: str
    followed: str | None
    coefficients: FloatArray
    name: str | None = None

    # Not a field: it is the same for all.
    rows = 1

    def __post_init__(self) -> None:
        given = finite_array(self.coefficients, "coefficients", (None,), SimulationConfigError)
        object.__setattr__(self, "coefficients", read_only(given))

    def jacobian(self, model: Model, q: FloatArray) -> FloatArray:
        """Return G (1, nv): 1 for the joint that follows, minus the slope for the one that is followed."""
        G = np.zeros((1, model.nv))
        G[0, model.v_slice(self.body).start] = 1.0
        if self.followed is not None:
            G[0, model.v_slice(self.followed).start] -= self._value(model, q, 1)
        return G

    def gamma(self, model: Model, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return gamma (1,): the curvature times the square of the speed that is followed."""
        speed = 0.0 if self.followed is None else float(v[model.v_slice(self.followed).start])
        return np.array([self._value(model, q, 2) * speed * speed])

    def position_error(self, model: Model, q: FloatArray) -> FloatArray:
        """Return by how much the joint is off (1,)."""
        return np.array([q[model.q_slice(self.body).start] - self._value(model, q, 0)])

    def _value(self, model: Model, q: FloatArray, order: int) -> float:
        """Return the polynomial, or a derivative of it, where the joint that is followed stands."""
        at = 0.0 if self.followed is None else float(q[model.q_slice(self.followed).start])
        power = np.polynomial.polynomial
        return float(power.polyval(at, power.polyder(self.coefficients, order)))
