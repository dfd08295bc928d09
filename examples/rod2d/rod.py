"""The rod, its state and its geometry. SI units; angles counter-clockwise from the world's x axis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)
LEFT, RIGHT = -1, 1


class State(NamedTuple):
    """Configuration and velocity of the centre of mass and of the angle."""

    x: float
    y: float
    theta: float
    vx: float
    vy: float
    omega: float

    @property
    def q(self) -> FloatArray:
        """Configuration (3,)."""
        return np.array(self[:3])

    @property
    def v(self) -> FloatArray:
        """Velocity (3,)."""
        return np.array(self[3:])

    def with_velocity(self, v: FloatArray) -> State:
        """Return the same configuration with another velocity (3,)."""
        return State(self.x, self.y, self.theta, *(float(value) for value in v))

    def moved(self, v: FloatArray, h: float) -> State:
        """Return the state after h [s] with the velocity v (3,)."""
        return State(*(float(value) for value in (*(self.q + h * v), *v)))


#: 45 degrees, the low end on the ground and sliding to the left without impact: the state of Painleve's paradox
DEFAULT_STATE = State(math.sqrt(0.5), math.sqrt(0.5), math.pi / 4, -1.0, 0.0, 0.0)


@dataclass(frozen=True)
class Rod:
    """A uniform or other straight rod with its centre of mass in the middle.

    Parameters
    ----------
    mass, half_length, inertia : float
        kg, m, and kg m^2 about the centre of mass.
    g : float
        Gravity along +y, so negative is down [m/s^2].
    mu_coulomb, mu_static : float
        Friction of sliding contacts and of contacts at rest, mu_static >= mu_coulomb.
    stiffness, dissipation : float
        Of the compliant ends: N/m, and s/m (Hunt and Crossley 1975).
    stiction_speed : float
        Slip below which compliant friction is static [m/s].
    characteristic_deformation : float
        Depth per half length at which the dissipation is linearised for steps.
    """

    mass: float = 1.0
    half_length: float = 1.0
    inertia: float = 1.0
    g: float = -9.81
    mu_coulomb: float = 1000.0
    mu_static: float = 1000.0
    stiffness: float = 1e4
    dissipation: float = 1.0
    stiction_speed: float = 1e-5
    characteristic_deformation: float = 1e-3

    def __post_init__(self) -> None:
        """Refuse values without physical meaning."""
        for name in ("mass", "half_length", "inertia", "stiction_speed"):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"Rod.{name} = {getattr(self, name)}, wanted a positive number")
        for name in ("mu_coulomb", "stiffness", "dissipation", "characteristic_deformation"):
            if not getattr(self, name) >= 0.0:
                raise ValueError(f"Rod.{name} = {getattr(self, name)}, wanted >= 0")
        if not self.mu_static >= self.mu_coulomb:
            raise ValueError(f"Rod.mu_static = {self.mu_static}, wanted at least mu_coulomb = {self.mu_coulomb}")

    @property
    def M(self) -> FloatArray:
        """Inertia matrix (3, 3)."""
        return np.diag([self.mass, self.mass, self.inertia])

    @property
    def gravity(self) -> FloatArray:
        """Generalised force of gravity (3,)."""
        return np.array([0.0, self.mass * self.g, 0.0])

    @property
    def damping(self) -> float:
        """Linear damping b of an end [N s/m]: 3/2 of the dissipation times the force at the characteristic depth."""
        return 1.5 * self.dissipation * self.stiffness * self.characteristic_deformation * self.half_length

    def arm(self, state: State, end: int) -> FloatArray:
        """Return the vector from the centre of mass to an end (2,)."""
        return end * self.half_length * np.array([math.cos(state.theta), math.sin(state.theta)])

    def end_position(self, state: State, end: int) -> FloatArray:
        """Position of an end (2,)."""
        return state.q[:2] + self.arm(state, end)

    def end_velocity(self, state: State, end: int) -> FloatArray:
        """Velocity of an end (2,)."""
        r = self.arm(state, end)
        return state.v[:2] + state.omega * np.array([-r[1], r[0]])

    def row(self, state: State, end: int, direction: FloatArray) -> FloatArray:
        """Jacobian row (3,) of the velocity of an end along a unit direction (2,)."""
        return np.array([*direction, _cross(self.arm(state, end), direction)])

    def row_rate_times_v(self, state: State, end: int, direction: FloatArray) -> float:
        """Return the rate of change of the row times the velocity [m/s^2]."""
        r = self.arm(state, end)
        turning = state.omega * np.array([-r[1], r[0]])
        return state.omega * _cross(turning, direction)

    def touching(self, state: State) -> list[int]:
        """Ends on or below the ground, left before right; a height of 10 eps is rounding."""
        limit = 10.0 * EPS * self.half_length
        return [end for end in (LEFT, RIGHT) if self.end_position(state, end)[1] <= limit]


def _cross(a: FloatArray, b: FloatArray) -> float:
    return float(a[0] * b[1] - a[1] * b[0])
