"""Experiments: data sets with their metrics, sweeps of many runs, races of solvers.

The names of `contactlab.studies`, which stands above this package, can be had here, too; they load on first use.
"""

from __future__ import annotations

import importlib
from typing import Any

from contactlab.lab.errors import DatasetError, RaceError
from contactlab.lab.racing import RaceReport, race
from contactlab.lab.sweeps import ImpactGrid, ProblemGrid, SceneGrid, SweepError, SweepResult, sweep

__all__ = [
    "MODELS", "PUBLISHED", "DatasetError", "ImpactGrid", "ProblemGrid", "PublishedRow", "RaceError", "RaceReport",
    "SceneGrid", "SweepError", "SweepResult", "TossOutcome", "TossReport", "TossSettings", "format_table", "race",
    "run_toss", "run_tosses", "simulate_toss", "sweep", "synthesize_tosses",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load a name of `contactlab.studies` the first time it is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module("contactlab.studies"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
