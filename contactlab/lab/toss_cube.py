"""A cube whose corners are balls: what touches a board first, and rolls a little where a sharp corner would pivot."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from contactlab.spatial.arrays import FloatArray

__all__ = ["RoundedCube"]


@dataclass(frozen=True)
class RoundedCube:
    """Hull of eight balls of one radius [m] in the corners of a cube of the given half width [m], inside its faces."""

    half_width: float
    radius: float

    def __post_init__(self) -> None:
        if not 0.0 < self.radius <= self.half_width:
            raise ValueError(f"radius: {self.radius} is not between 0 and the half width {self.half_width}")

    def support_points(self) -> tuple[FloatArray, FloatArray]:
        """Return the centres of the balls (8, 3) and their radii (8,), as new arrays."""
        inner = self.half_width - self.radius
        return inner * np.array(list(product((-1.0, 1.0), repeat=3))), np.full(8, self.radius)
