"""The frame of the throw: the board's, turned about the vertical until x points along the initial horizontal velocity.

Friction pyramids have facets, and real tosses show them: the errors of a run depend on where the edges lie against the
motion (at k = 16 the mean rotation error moves by half a degree either way as all data are turned through the 22.5
degrees between two edges). The yaw of the published tosses was drawn at random by their authors. Simulated in the
frame of its throw, every toss meets the facets the same way, an edge along the throw, and its score does not depend on
the yaw it is stored with. The metric itself is the same in every frame.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from contactlab.lab.datasets.cube_toss import Toss
from contactlab.spatial import quaternion

__all__ = ["in_throw_frame"]


def in_throw_frame(toss: Toss) -> Toss:
    """Return the same toss, measured path and initial state, in the frame of the throw."""
    turn = quaternion.exp((0.0, 0.0, -np.arctan2(toss.v[1], toss.v[0])))
    R = quaternion.to_matrix(turn)
    return replace(
        toss,
        position=toss.position @ R.T,
        quaternion=quaternion.multiply(turn, toss.quaternion),
        q=np.concatenate((R @ toss.q[:3], quaternion.multiply(turn, toss.q[3:]))),
        # The angular velocity is in body axes: no turn of the world changes it.
        v=np.concatenate((R @ toss.v[:3], toss.v[3:])),
    )
