"""A ball joint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contactlab.multibody.joints.elementary import Elementary
from contactlab.multibody.kernels import codes


@dataclass(frozen=True)
class Spherical:
    """Any rotation: q is a unit quaternion (w, x, y, z), v the angular velocity in body axes [rad/s]."""

    nq = 4
    nv = 3

    def chain(self) -> tuple[Elementary, ...]:
        """One rotation."""
        return (Elementary(codes.SPHERICAL, np.zeros(3), np.zeros(3)),)
