"""Studies of recordings: simulation, scores and fits of data sets. Only the command line depends on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contactlab.naming import module_hooks
from contactlab.studies.toss import (
    MODELS,
    PUBLISHED,
    PublishedRow,
    TossOutcome,
    TossReport,
    TossSettings,
    format_table,
    run_toss,
    run_tosses,
    simulate_toss,
    synthesize_tosses,
)

__all__ = [
    "MODELS", "PUBLISHED", "PublishedRow", "TossOutcome", "TossReport", "TossSettings", "format_table", "run_toss",
    "run_tosses", "simulate_toss", "synthesize_tosses",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__, {})
