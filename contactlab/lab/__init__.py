"""Experiments: data sets with their metrics, sweeps of many runs, races of solvers."""

from __future__ import annotations

from contactlab.lab.datasets.files import DatasetError
from contactlab.lab.racing import RaceReport, race
from contactlab.lab.racing.kinds import RaceError
from contactlab.lab.sweeps import SceneGrid, SweepError, SweepResult, sweep

__all__ = [
    "DatasetError", "RaceError", "RaceReport", "SceneGrid", "SweepError", "SweepResult", "race", "sweep",
]  # fmt: skip


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
