"""Real tosses of two blocks joined by a hinge onto a flat board, tracked by cameras.

Data: DAIR Lab, University of Pennsylvania (`DAIRLab/dair_pll`, BSD-3-Clause), of B. Bianchini, M. Halm, M. Posa,
"Simultaneous Learning of Contact and Continuous Dynamics", CoRL 2023, arXiv 2310.12054.

One `.npz`, SI units, n tosses of m samples:

=================  =========  =========================================================================
``pos``            (n, m, 3)  centre of the first block, board frame, z up, board at z = 0 [m]
``quat_wxyz``      (n, m, 4)  its orientation, body to board, real part first, unit
``joint``          (n, m)     angle of the hinge, wrapped [rad]
``lin_vel_world``  (n, m, 3)  velocity of the first block's centre [m/s]
``ang_vel_body``   (n, m, 3)  its angular velocity in its own axes [rad/s]
``joint_vel``      (n, m)     [rad/s]
``eval_start``     (n,)       first scored sample
``toss_id``        (n,)       number in the published set
``dt``             ()         time between samples [s]
=================  =========  =========================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from contactlab.lab.datasets.cube_toss import require_unit
from contactlab.lab.datasets.npz import Arrays
from contactlab.lab.errors import DatasetError
from contactlab.spatial.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class ElbowTosses:
    """Recorded tosses, as stored. Made by `load_elbow_tosses`; the fields are the arrays of the file."""

    path: Path
    pos: FloatArray
    quat_wxyz: FloatArray
    joint: FloatArray
    lin_vel_world: FloatArray
    ang_vel_body: FloatArray
    joint_vel: FloatArray
    eval_start: IntArray
    toss_id: IntArray
    dt: float

    def __len__(self) -> int:
        return len(self.pos)


def load_elbow_tosses(path: str | Path) -> ElbowTosses:
    """Read and check a file of tosses.

    Raises `DatasetError`, naming the file, the array and its first offending entry: not an `.npz`, a missing array, a
    wrong shape or dtype, NaN or infinity, a quaternion that is not of unit length, a start after the last sample but
    one.
    """
    arrays = Arrays(path)
    shape = arrays.floats("pos", None, None, 3).shape[:2]
    if shape[0] < 1 or shape[1] < 2:
        raise DatasetError(arrays.path, "pos", f"shape {(*shape, 3)}: at least one toss of two samples is needed")
    quat = arrays.floats("quat_wxyz", *shape, 4)
    norms = require_unit(arrays.path, "quat_wxyz", quat)
    start = arrays.integers("eval_start", shape[0])
    outside = np.flatnonzero((start < 0) | (start >= shape[1] - 1))
    if outside.size:
        i = int(outside[0])
        detail = f"{start[i]} is not one of the first {shape[1] - 1} samples"
        raise DatasetError(arrays.path, f"eval_start[{i}]", detail)
    return ElbowTosses(
        path=arrays.path,
        pos=arrays.floats("pos", *shape, 3),
        quat_wxyz=quat / norms[:, :, None],
        joint=arrays.floats("joint", *shape),
        lin_vel_world=arrays.floats("lin_vel_world", *shape, 3),
        ang_vel_body=arrays.floats("ang_vel_body", *shape, 3),
        joint_vel=arrays.floats("joint_vel", *shape),
        eval_start=start,
        toss_id=arrays.integers("toss_id", shape[0]),
        dt=arrays.positive("dt"),
    )
