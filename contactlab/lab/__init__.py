"""Experiments: data sets with their metrics, runs that are scored on them, sweeps of many runs, races of solvers."""

from __future__ import annotations

from contactlab.lab.errors import DatasetError, RaceError
from contactlab.lab.racing import RaceReport, race
from contactlab.lab.sweeps import SweepError, SweepResult, problem_sweep, scene_sweep, sweep
from contactlab.lab.synthetic_toss import synthesize_tosses
from contactlab.lab.toss import TossOutcome, TossReport, run_toss, run_tosses, simulate_toss
from contactlab.lab.toss_settings import MODELS, TossSettings
from contactlab.lab.toss_table import PUBLISHED, PublishedRow, format_table

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
    "problem_sweep",
    "race",
    "run_toss",
    "run_tosses",
    "scene_sweep",
    "simulate_toss",
    "sweep",
    "synthesize_tosses",
]
