"""A spring and damper between two points of two bodies: a row along the line between them, which gives way."""

from __future__ import annotations

from dataclasses import dataclass

from contactlab.constraints import PointPair
from contactlab.spatial.arrays import finite_number
from contactlab.world.errors import SimulationConfigError


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
        What its row is called.

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
