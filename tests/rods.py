"""The planar rod of the solver's scenes: m = 2 kg, half length 1 m, inertia 1 kg m^2, on the ground y = 0."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from problem_data import ConstraintAccelProblemData, ConstraintVelProblemData

G = 9.81
MASS = 2.0
M = np.diag([MASS, MASS, 1.0])  # x, y, angle
WEIGHT = np.array([0.0, -MASS * G, 0.0])
MIRROR = np.array([-1.0, 1.0, -1.0])
#: the tolerance of the scenes, per entry of the packed forces
EPS = 100.0 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class Rod:
    """A rod whose low ends touch, each contact listed ``copies`` more times, each direction ``more`` more times."""

    angle: float = 0.0  # rad, counter-clockwise from the ground
    v: tuple[float, float, float] = (0.0, 0.0, 0.0)
    load: tuple[float, float, float] = (0.0, 0.0, 0.0)  # N, N, N m beside gravity
    copies: int = 0
    more: int = 0
    mirrored: bool = False

    @property
    def side(self) -> float:
        return -1.0 if self.mirrored else 1.0

    @property
    def velocity(self) -> NDArray[np.float64]:
        return np.array(self.v) * (MIRROR if self.mirrored else 1.0)

    @property
    def tau(self) -> NDArray[np.float64]:
        return WEIGHT + np.array(self.load) * (MIRROR if self.mirrored else 1.0)

    def rows(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Normal and tangential row of each end on the ground, once."""
        ends = [sign * np.array([np.cos(self.angle), np.sin(self.angle)]) for sign in (-1.0, 1.0)]
        low = [p for p in ends if p[1] < 1e-9 + min(e[1] for e in ends)]
        if self.mirrored:
            low = [p * [-1.0, 1.0] for p in low]
        return np.array([[0.0, 1.0, p[0]] for p in low]), np.array([[1.0, 0.0, -p[1]] for p in low])

    def sticking(self, mu: float, kN: float = 0.0, **more: Any) -> ConstraintAccelProblemData:
        """Acceleration-level data with all contacts at tangential rest."""
        N, F = self.rows()
        nc = len(N) * (1 + self.copies)
        fields: dict[str, Any] = {
            "M": M,
            "tau": self.tau,
            "N": np.repeat(N, 1 + self.copies, axis=0),
            "F": np.repeat(F, (1 + self.copies) * (1 + self.more), axis=0),
            "mu_non_sliding": np.full(nc, mu),
            "r": np.full(nc, 1 + self.more),
            "kN": np.full(nc, kN),
        }
        return ConstraintAccelProblemData(**(fields | more))

    def sliding(self, mu: float, kN: float = 0.0, **more: Any) -> ConstraintAccelProblemData:
        """Acceleration-level data with all contacts sliding as v says."""
        N, F = (np.repeat(rows, 1 + self.copies, axis=0) for rows in self.rows())
        fields: dict[str, Any] = {
            "M": M,
            "tau": self.tau,
            "N": N,
            "Q": F * np.sign(F @ self.velocity)[:, None],
            "mu_sliding": np.full(len(N), mu),
            "sliding_contacts": np.arange(len(N)),
            "kN": np.full(len(N), kN),
        }
        return ConstraintAccelProblemData(**(fields | more))

    def at_velocity_level(self, mu: float, kN: float = 0.0, h: float = 0.0, **more: Any) -> ConstraintVelProblemData:
        """Impact data (h = 0), or data over a step h."""
        N, F = self.rows()
        nc = len(N) * (1 + self.copies)
        fields: dict[str, Any] = {
            "M": M,
            "Mv": M @ self.velocity + h * self.tau,
            "N": np.repeat(N, 1 + self.copies, axis=0),
            "F": np.repeat(F, (1 + self.copies) * (1 + self.more), axis=0),
            "mu": np.full(nc, mu),
            "r": np.full(nc, 1 + self.more),
            "kN": np.full(nc, kN),
        }
        return ConstraintVelProblemData(**(fields | more))
