"""A body that moves freely relative to its parent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contactlab.multibody.joints.elementary import Elementary
from contactlab.multibody.kernels import codes


@dataclass(frozen=True)
class FloatingBase:
    """Six degrees of freedom.

    q = (x, y, z, qw, qx, qy, qz): origin [m] in joint axes and unit quaternion; v = (velocity of the body's origin in
    joint axes [m/s], angular velocity in body axes [rad/s]).
    """

    nq = 7
    nv = 6

    def chain(self) -> tuple[Elementary, ...]:
        """One free motion."""
        return (Elementary(codes.FLOATING, np.zeros(3), np.zeros(3)),)
