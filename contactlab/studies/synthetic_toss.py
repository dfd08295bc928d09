"""Cube tosses of our own making, in the form of the measured ones: the truth is known, so the error can reach zero."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contactlab.lab.datasets.cube_toss import CubeTosses
from contactlab.studies.toss import simulate_toss
from contactlab.studies.toss_settings import TossSettings

__all__ = ["synthesize_tosses"]

LEAD = 2  # samples of free flight before the scored window


def synthesize_tosses(
    count: int, settings: TossSettings | None = None, *, samples: int = 90, seed: int = 0
) -> CubeTosses:
    """Throw the cube of the published data with known friction and record what a perfect camera would.

    Parameters
    ----------
    count
        Number of tosses.
    settings
        The truth; default: `TossSettings`.
    samples
        Rows per toss, at 148 Hz.
    seed
        Another seed, other throws.
    """
    truth = TossSettings() if settings is None else settings
    random = np.random.default_rng(seed)
    starts = np.array([_throw(random) for _ in range(count)])
    rows = np.arange(count + 1) * samples
    # Poses do not matter before the first simulation, only the number of rows does.
    blank = _tosses(starts, np.zeros((count * samples, 3)), np.zeros((count * samples, 4)), rows, first_row=0)
    recordings = [simulate_toss(blank, i, truth) for i in range(count)]
    sampled = [recording.q[:: truth.substeps] for recording in recordings]
    scored = LEAD * truth.substeps
    states = np.array([np.concatenate((recording.q[scored], recording.v[scored])) for recording in recordings])
    poses = np.concatenate(sampled)
    return _tosses(states, poses[:, :3].copy(), poses[:, 3:].copy(), rows, first_row=LEAD)


def _tosses(
    states: NDArray[np.float64],
    positions: NDArray[np.float64],
    quaternions: NDArray[np.float64],
    offsets: NDArray[np.int64],
    first_row: int,
) -> CubeTosses:
    """Return tosses of the published cube."""
    count = len(states)
    return CubeTosses(
        path=Path("synthetic"),
        dt=1.0 / 148.0,
        half_width=0.0524,
        mass=0.37,
        inertia=0.00081,
        gravity=9.81,
        pos=positions,
        quat_wxyz=quaternions,
        offsets=offsets,
        toss_id=np.arange(count),
        eval_start=np.full(count, first_row),
        eval_ic=states,
    )


def _throw(random: np.random.Generator) -> NDArray[np.float64]:
    """Return a start (13,) like those of a hand: above the board, a metre per second forward, spinning."""
    quaternion = random.normal(size=4)
    position = (0.0, 0.0, random.uniform(0.15, 0.22))
    velocity = (random.uniform(0.9, 1.3), random.uniform(-0.2, 0.2), random.uniform(-0.3, 0.1))
    return np.concatenate((position, quaternion / np.linalg.norm(quaternion), velocity, random.uniform(-6.0, 6.0, 3)))
