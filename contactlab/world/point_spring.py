"""A spring and damper between two points of two bodies: a row along the line between them, which gives way."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from contactlab.constraints import CustomConstraint
from contactlab.multibody import Model, point_bias_acceleration
from contactlab.multibody.jacobians import columns
from contactlab.spatial.arrays import FloatArray, finite_array, finite_number, read_only
from contactlab.world.errors import SimulationConfigError


@dataclass(frozen=True, eq=False)
class PointSpring(CustomConstraint):
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
        What its row is called.

    Raises
    ------
    SimulationConfigError
        Naming the field and the value.
    """

    body_a: str
    point_a: FloatArray
    body_b: str
    point_b: FloatArray
    rest_length: float
    stiffness: float
    damping: float = 0.0
    name: str | None = None

    # Not a field: it is the same for all.
    rows = 1

    def __post_init__(self) -> None:
        for field in ("point_a", "point_b"):
            given = finite_array(getattr(self, field), field, (3,), SimulationConfigError)
            object.__setattr__(self, field, read_only(given))
        for field in ("rest_length", "stiffness", "damping"):
            value = finite_number(getattr(self, field), field, SimulationConfigError)
            if value < 0.0:
                raise SimulationConfigError(field, f"must not be negative, got {value}")
            object.__setattr__(self, field, value)
        if self.stiffness == self.damping == 0.0:
            raise SimulationConfigError("stiffness", "and damping are both 0: such a spring does nothing")
        if self.body_a == self.body_b:
            raise SimulationConfigError("body_b", f"is body_a too, {self.body_a!r}: a spring joins two bodies")

    def jacobian(self, model: Model, q: FloatArray) -> FloatArray:
        """Return G (1, nv): the rate of the length."""
        way, length, J = self._line(model, q)
        return np.asarray((way / length if length > 0.0 else way) @ J)[None]

    def gamma(self, model: Model, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return gamma (1,): minus the second derivative of the length where nothing accelerates."""
        way, length, J = self._line(model, q)
        if length == 0.0:
            return np.zeros(1)
        speed = J @ v
        bias = point_bias_acceleration(model, q, v, self.body_b, self.point_b) - point_bias_acceleration(
            model, q, v, self.body_a, self.point_a
        )
        along = float(way @ speed) / length
        return np.array([-(way @ bias + speed @ speed - along * along) / length])

    def position_error(self, model: Model, q: FloatArray) -> FloatArray:
        """Return by how much it is stretched (1,) [m]."""
        return np.array([self._line(model, q)[1] - self.rest_length])

    def _line(self, model: Model, q: FloatArray) -> tuple[FloatArray, float, FloatArray]:
        """Return the way from a to b, its length, and its Jacobian (3, nv)."""
        # Asked thrice in every step: `point_jacobian` and `point_position` take ten times as long.
        (J_a, a), (J_b, b) = (
            columns(model, q, body, point, 3)
            for body, point in ((self.body_a, self.point_a), (self.body_b, self.point_b))
        )
        way = b[9:] + b[:9].reshape(3, 3) @ self.point_b - a[9:] - a[:9].reshape(3, 3) @ self.point_a
        return way, math.sqrt(way @ way), J_b - J_a
