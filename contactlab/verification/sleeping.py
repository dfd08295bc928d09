"""Whether what slept through a recorded step had a right to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from contactlab.recording.recording import Recording

__all__ = ["sleeping_dofs", "sleeps_rightly"]

ROUNDING = 1e-12


def sleeping_dofs(recording: Recording, i: int) -> NDArray[np.int64]:
    """Return where the velocities stand in v that were held at 0 through step i."""
    starts, asleep = recording.world.tree_starts, recording.rows["asleep"][i]
    parts = [np.arange(starts[k], starts[k + 1]) for k in np.flatnonzero(asleep)]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def sleeps_rightly(recording: Recording, i: int) -> bool:
    """Return whether sleeping trees have rested, keep their bits and have no contact, and the others' rest adds up."""
    world, rows, sleep = recording.world, recording.rows, recording.stepper.sleep
    if sleep is None:
        return True
    asleep, before, after = rows["asleep"][i] != 0, rows["rest"][i], rows["rest"][i + 1]
    step = float(rows["h"][i])
    if np.any(asleep & (before < sleep.time)) or np.any(after[asleep] != before[asleep]):
        return False
    if np.any(after[~asleep] > (before[~asleep] + step) * (1.0 + ROUNDING)):
        return False
    fastest = np.maximum.reduceat(np.abs(recording.v[i + 1]), world.tree_starts[:-1])
    if np.any((after > 0.0) & (fastest >= sleep.speed)) or np.any(
        recording.v[i + 1][sleeping_dofs(recording, i)] != 0.0
    ):
        return False
    chosen = rows["contact_step"] == i
    touching = np.concatenate([rows[name][chosen] for name in ("contact_body_a", "contact_body_b")])
    bodies = np.flatnonzero(recording.asleep[i])
    if np.isin(touching, bodies).any():
        return False
    where = [world.model.q_slice(world.model.names[b]) for b in bodies]
    return all(np.array_equal(recording.q[i][own], recording.q[i + 1][own]) for own in where)
