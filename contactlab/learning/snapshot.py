"""What the functions of a task see: B runs at one instant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from contactlab.spatial.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Snapshot:
    """B runs at one instant; arrays have a leading axis of runs, of length 1 in an `Env`.

    Attributes
    ----------
    q, v
        Configurations (B, nq) and velocities (B, nv).
    time
        (B,) since each run began [s].
    readings
        Of the task's sensors by name, (B, d) each. What only a step can tell (forces, accelerations) reads 0 at a
        start.
    """

    q: FloatArray
    v: FloatArray
    time: FloatArray
    readings: Mapping[str, FloatArray]

    def joined(self) -> FloatArray:
        """Return q, v and the readings side by side: what is observed where a task says nothing else."""
        return np.concatenate((self.q, self.v, *self.readings.values()), axis=1)
