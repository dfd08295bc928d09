"""Constraints that a record can keep: a spring and damper between points, which gives way; joints by a polynomial."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contactlab.constraints import CustomConstraint, PointPair
from contactlab.multibody import Model
from contactlab.spatial.arrays import FloatArray, finite_array, finite_number, read_only
from contactlab.world.errors import SimulationConfigError


@dataclass(frozen=True, eq=False)
class JointPolynomial(CustomConstraint):
    """One row: the position of a joint of one coordinate is a polynomial of the position of another joint.

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
        """Return the polynomial, or its derivative, at the position of the followed joint."""
        at = 0.0 if self.followed is None else float(q[model.q_slice(self.followed).start])
        power = np.polynomial.polynomial
        return float(power.polyval(at, power.polyder(self.coefficients, order)))


@dataclass(frozen=True, eq=False)
class PointSpring(PointPair):
    """The force -stiffness (length - rest_length) - damping (rate of the length) along the line between two points.

    `WorldBuilder.add_spring` adds one. Over a step the law holds at the end of the step along the line as it is at the
    start, together with all contacts and joints, so that any stiffness and damping is stable. The line turns from step
    to step: across it a stretched spring acts as a force of the start of the step does, and wants
    h^2 stiffness (1 - rest_length / length) < 4 m. Points that coincide have no line, and no force.

    Parameters
    ----------
    body_a, body_b
        Bodies; "world" for a point that stands.
    point_a, point_b
        (3,) [m] in body coordinates.
    rest_length
        [m], at least 0.
    stiffness, damping
        [N/m] and [N s/m], at least 0, not both 0.
    name
        Name of its row.

    Raises
    ------
    SimulationConfigError
        Naming the field and the value.
    """

    rest_length: float
    stiffness: float
    damping: float = 0.0
    name: str | None = None

    def __post_init__(self) -> None:
        self.check_points(SimulationConfigError)
        for field in ("rest_length", "stiffness", "damping"):
            value = finite_number(getattr(self, field), field, SimulationConfigError, least=0.0)
            object.__setattr__(self, field, value)
        if self.stiffness == self.damping == 0.0:
            raise SimulationConfigError("stiffness", "and damping are both 0: such a spring does nothing")

    @property
    def zero(self) -> float:
        """Return the length at rest."""
        return self.rest_length
