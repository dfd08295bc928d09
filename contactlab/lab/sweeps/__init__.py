"""Sweeps: many independent tasks, each computed once, wherever there is a processor for it."""

from __future__ import annotations

from contactlab.lab.errors import SweepError
from contactlab.lab.sweeps.impact_runs import impact_sweep
from contactlab.lab.sweeps.problem_runs import problem_sweep
from contactlab.lab.sweeps.result import SweepResult
from contactlab.lab.sweeps.scene_runs import scene_sweep
from contactlab.lab.sweeps.sweeping import sweep

__all__ = ["SweepError", "SweepResult", "impact_sweep", "problem_sweep", "scene_sweep", "sweep"]
