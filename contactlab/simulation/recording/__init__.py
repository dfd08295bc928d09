"""Records of runs: they are written during a run, opened, read, and continued."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contactlab.naming import module_hooks
from contactlab.simulation.recording.energy_ledger import ENTRIES, EnergyLedger
from contactlab.simulation.recording.failure import SimulationError, simulation_error
from contactlab.simulation.recording.notices import ImplausibleWarning, Notice
from contactlab.simulation.recording.record import ContactEvent, RecordError, RecordWriteError, SolverStatistics
from contactlab.simulation.recording.recording import Recording
from contactlab.simulation.recording.world_io import RecordedMotion

__all__ = [
    "ENTRIES", "ContactEvent", "EnergyLedger", "RecordedMotion", "ImplausibleWarning", "Notice", "RecordError",
    "RecordWriteError", "Recording", "SimulationError", "SolverStatistics", "simulation_error",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__)
