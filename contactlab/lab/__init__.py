"""Experiments: data sets with their metrics, sweeps of many runs, races of solvers.

The names of `contactlab.studies`, which stands above this package, can be had here, too; they load on first use.
"""

from __future__ import annotations

import importlib
from typing import Any

from contactlab.lab.errors import DatasetError, RaceError
from contactlab.lab.racing import RaceReport, race
from contactlab.lab.sweeps import SweepError, SweepResult, impact_sweep, problem_sweep, scene_sweep, sweep

__all__ = [
    "MODELS",
    "PUBLISHED",
    "DatasetError",
    "PublishedRow",
    "RaceError",
    "RaceReport",
    "SweepError",
    "SweepResult",
    "TossOutcome",
    "TossReport",
    "TossSettings",
    "format_table",
    "impact_sweep",
    "problem_sweep",
    "race",
    "run_toss",
    "run_tosses",
    "scene_sweep",
    "simulate_toss",
    "sweep",
    "synthesize_tosses",
]


def __getattr__(name: str) -> Any:
    """Load a name of `contactlab.studies` the first time it is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module("contactlab.studies"), name)
    globals()[name] = value
    return value
