"""Cube tosses of our own making, in the form of the measured ones: the truth is known, so the error can reach zero."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contactlab.lab.datasets.cube_toss import CubeTosses
from contactlab.studies.toss import simulate_toss
from contactlab.studies.toss_settings import TossSettings

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
    blank = CubeTosses(
        path=Path("synthetic"),
        dt=1.0 / 148.0,
        half_width=0.0524,
        mass=0.37,
        inertia=0.00081,
        gravity=9.81,
        # Poses do not matter before the first simulation, only the number of rows does.
        pos=np.zeros((count * samples, 3)),
        quat_wxyz=np.zeros((count * samples, 4)),
        offsets=rows,
        toss_id=np.arange(count),
        eval_start=np.zeros(count, dtype=np.int64),
        eval_ic=starts,
    )
    recordings = [simulate_toss(blank, i, truth) for i in range(count)]
    scored = LEAD * truth.substeps
    states = np.array([np.concatenate((recording.q[scored], recording.v[scored])) for recording in recordings])
    poses = np.concatenate([recording.q[:: truth.substeps] for recording in recordings])
    first, position, turn = np.full(count, LEAD), poses[:, :3].copy(), poses[:, 3:].copy()
    return replace(blank, pos=position, quat_wxyz=turn, eval_start=first, eval_ic=states)


def _throw(random: np.random.Generator) -> NDArray[np.float64]:
    """Return a start (13,) like those of a hand: above the board, a metre per second forward, spinning."""
    quaternion = random.normal(size=4)
    position = (0.0, 0.0, random.uniform(0.15, 0.22))
    velocity = (random.uniform(0.9, 1.3), random.uniform(-0.2, 0.2), random.uniform(-0.3, 0.1))
    return np.concatenate((position, quaternion / np.linalg.norm(quaternion), velocity, random.uniform(-6.0, 6.0, 3)))
