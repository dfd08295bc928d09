"""Sweeps: many independent tasks, each computed once, wherever there is a processor for it.

The functions are names of before there was one sweep: each warns, and goes with the next release.
"""

from __future__ import annotations

import warnings
from typing import Any

from contactlab.impact import ImpactMap
from contactlab.lab.errors import SweepError
from contactlab.lab.sweeps.impact_runs import ImpactGrid
from contactlab.lab.sweeps.problem_runs import ProblemGrid
from contactlab.lab.sweeps.scene_runs import SceneGrid
from contactlab.lab.sweeps.store import SweepResult
from contactlab.lab.sweeps.sweeping import sweep

__all__ = ["ImpactGrid", "ProblemGrid", "SceneGrid", "SweepError", "SweepResult", "sweep"]


def scene_sweep(
    scene: Any, parameters: Any = None, seeds: Any = (), *, spread: Any = None, **where: Any
) -> SweepResult:
    """Do as ``sweep(SceneGrid(...))``."""
    _warn("scene_sweep", "sweep(SceneGrid(scene, parameters, seeds, spread), ...)")
    return sweep(SceneGrid(scene, parameters or {}, seeds, spread or {}), **where)


def problem_sweep(paths: Any, solvers: Any, *, tolerance: float | None = None, **where: Any) -> SweepResult:
    """Do as ``sweep(ProblemGrid(...))``."""
    _warn("problem_sweep", "sweep(ProblemGrid(paths, solvers, tolerance), ...)")
    return sweep(ProblemGrid(paths, solvers, tolerance), **where)


def impact_sweep(problem: Any, axes: Any, *, restitutions: Any = (0.0, 0.5, 1.0), **where: Any) -> ImpactMap:
    """Do as ``grid.to_impact_map(sweep(grid))`` of an `ImpactGrid`."""
    _warn("impact_sweep", "grid = ImpactGrid(problem, axes, ...); grid.to_impact_map(sweep(grid, ...))")
    laws = {"laws": where.pop("laws")} if "laws" in where else {}
    grid = ImpactGrid(problem, axes, restitutions, **laws)
    return grid.to_impact_map(sweep(grid, **where))


def _warn(old: str, new: str) -> None:
    warnings.warn(f"contactlab.lab.{old} is now {new}; this name goes with the next release", DeprecationWarning, 3)
