"""Sweeps: many independent tasks, each computed once, on any available processor."""

from __future__ import annotations

from contactlab.lab.errors import SweepError
from contactlab.lab.sweeps.grids import SceneGrid
from contactlab.lab.sweeps.sweeping import sweep
from contactlab.lab.sweeps.tasks import SweepResult

__all__ = ["SceneGrid", "SweepError", "SweepResult", "sweep"]
