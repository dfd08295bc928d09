"""Experiments: data sets with their published metrics, the runs that are scored on them, sweeps of many runs."""

from __future__ import annotations

from contactlab.lab.errors import DatasetError
from contactlab.lab.sweeps import SweepError, SweepResult, sweep
from contactlab.lab.synthetic_toss import synthesize_tosses
from contactlab.lab.toss import TossOutcome, TossReport, run_toss, run_tosses, simulate_toss
from contactlab.lab.toss_settings import MODELS, TossSettings
from contactlab.lab.toss_table import PUBLISHED, PublishedRow, format_table

__all__ = [
    "MODELS",
    "PUBLISHED",
    "DatasetError",
    "PublishedRow",
    "SweepError",
    "SweepResult",
    "TossOutcome",
    "TossReport",
    "TossSettings",
    "format_table",
    "run_toss",
    "run_tosses",
    "simulate_toss",
    "sweep",
    "synthesize_tosses",
]
