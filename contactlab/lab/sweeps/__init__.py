"""Sweeps: many independent tasks, each computed once, wherever there is a processor for it."""

from __future__ import annotations

from contactlab.lab.errors import SweepError
from contactlab.lab.sweeps.impact_runs import ImpactGrid
from contactlab.lab.sweeps.problem_runs import ProblemGrid
from contactlab.lab.sweeps.scene_runs import SceneGrid
from contactlab.lab.sweeps.store import SweepResult
from contactlab.lab.sweeps.sweeping import sweep

__all__ = ["ImpactGrid", "ProblemGrid", "SceneGrid", "SweepError", "SweepResult", "sweep"]
