"""Error of a simulated toss against the measured one, as scored in the published table.

Source: B. Acosta, W. Yang, M. Posa, "Validating Robotics Simulators on Real-World Impacts", RA-L 7(3), 2022.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.spatial import quaternion

__all__ = ["position_error_percent", "rotation_error_degrees"]


def position_error_percent(simulated: NDArray[np.float64], measured: NDArray[np.float64], width: float) -> float:
    """Return the mean distance between two centre paths (n, 3), in per cent of the width of the block."""
    return float(100.0 * np.linalg.norm(simulated - measured, axis=1).mean() / width)


def rotation_error_degrees(simulated: NDArray[np.float64], measured: NDArray[np.float64]) -> float:
    """Return the mean angle [deg] of R_measured R_simulated^-1 over rows (n, 4) of unit quaternions (w, x, y, z)."""
    return float(np.degrees(quaternion.angle_between(simulated, measured)).mean())
