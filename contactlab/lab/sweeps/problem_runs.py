"""Problems times solvers times settings: every solver of `lcp` on every problem of some files.

`contactlab race` measures solvers against one another; this only runs them, as a sweep runs anything.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import lcp
from contactlab.lab.datasets.fetching import data_path
from contactlab.lab.datasets.problems import Problem, load_problems
from contactlab.lab.errors import DatasetError, SweepError
from contactlab.lab.sweeps.scene_runs import grid

_FRICTION = (lcp.FrictionProblem, lcp.GlobalFrictionProblem)


@dataclasses.dataclass(frozen=True, eq=False)
class ProblemGrid:
    """Every problem with every solver for its kind at every combination of settings: for `contactlab.lab.sweep`.

    A solve is a row with ``problem``, ``solver``, the settings, ``status``, ``residual`` (scaled), ``natural_map`` or,
    of a problem with friction, ``fclib`` (`lcp.FrictionResiduals`), ``iterations``, ``n`` (unknowns beside equations)
    and ``solve_time`` [s], kernels warm from an earlier solve of the same problem. A file that cannot be read is a row
    ``failed``.

    Parameters
    ----------
    paths
        Files, folders and names of data sets, as `contactlab.lab.datasets.load_problems` reads them. On a cluster they
        must be at the same paths.
    solvers
        Names of solver classes of `lcp`, those for friction with the cone included, each with a grid of its fields:
        ``{"Lemke": {}, "APGD": {"max_iterations": [100, 1000]}}``.
    tolerance
        On the scaled residual; None for that of the problem's kind.

    Raises
    ------
    SweepError
        An unknown solver or setting, a tolerance out of range.
    """

    paths: Sequence[str | os.PathLike[str]]
    solvers: Mapping[str, Mapping[str, Sequence[Any]]]
    tolerance: float | None = None

    def __post_init__(self) -> None:
        if self.tolerance is not None and not 0.0 < self.tolerance < 1.0:
            raise SweepError(f"tolerance must lie between 0 and 1, got {self.tolerance!r}")
        for name, settings in self.solvers.items():
            check_solver(name, settings)

    @property
    def function(self) -> Callable[[dict[str, Any]], dict[str, Any]]:
        """What runs a task."""
        return solve_problem

    def tasks(self) -> list[dict[str, Any]]:
        """Return a task for every solve.

        Raises
        ------
        contactlab.lab.DatasetError
            There is nothing at one of the paths.
        """
        entrants = [(name, point) for name, settings in self.solvers.items() for point in check_solver(name, settings)]
        places = [Path(os.path.abspath(data_path(path))) for path in self.paths]
        digests = {path: _digest(path) for path in places}
        return [
            {
                "path": str(path),
                "files_sha256": digests[path],
                "problem": name,
                "solver": solver,
                "settings": settings,
                "tolerance": self.tolerance,
            }
            for path in digests
            for name, problem in load_problems(path)
            for solver, settings in entrants
            if _suits(solver, problem)
        ]


def solve_problem(task: dict[str, Any]) -> dict[str, Any]:
    """Solve one task of a `ProblemGrid`: its row."""
    problem = _problems(task["path"], task["files_sha256"])[task["problem"]]
    if isinstance(problem, DatasetError):
        # A new one: an error keeps the frames of every place it is raised from, and this one is kept for other tasks.
        raise DatasetError(problem.path, problem.field, problem.message)
    solver = _solver_class(task["solver"])(**task["settings"])
    lcp.solve(problem, solver, tolerance=task["tolerance"])  # compiles, where that is still to be done
    result = lcp.solve(problem, solver, tolerance=task["tolerance"])
    measures, residual = {}, result.residual
    if isinstance(residual, lcp.FrictionResiduals):
        measures = {"residual": max(residual.scaled, residual.equations), "fclib": residual.fclib}
    else:
        measures = {"residual": max(residual.scaled, residual.equations_scaled), "natural_map": residual.natural_map}
    return {
        **task["settings"],
        "n": problem.m if isinstance(problem, _FRICTION) else problem.n,
        "status": result.status.name,
        **measures,
        "iterations": result.iterations,
        "solve_time": result.solve_time,
    }


@functools.lru_cache(maxsize=4)
def _problems(path: str, digest: str) -> dict[str, Problem | DatasetError]:
    """Return the problems of a path by name; the digest tells files that were changed."""
    if _digest(Path(path)) != digest:
        raise DatasetError(path, "", "has changed since the sweep was begun")
    return dict(load_problems(path))


def _digest(path: Path) -> str:
    """Return the SHA-256 of names and contents of the files at a path."""
    digest = hashlib.sha256()
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    for file in files:
        digest.update(f"{file.relative_to(path.parent).as_posix()}\0{file.stat().st_size}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def check_solver(name: str, settings: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the grid of a solver's settings; a `SweepError` for what its class refuses."""
    known = [field.name for field in dataclasses.fields(_solver_class(name))]
    for key in settings:
        if key not in known:
            raise SweepError(f"solver {name} has no setting '{key}'; known are {', '.join(known) or 'none'}")
    points = grid(settings)
    for point in points:
        try:
            _solver_class(name)(**point)
        except (TypeError, ValueError) as error:
            raise SweepError(f"solver {name}: {error}") from error
    return points


def _suits(solver: str, problem: Problem | DatasetError) -> bool:
    """Return True if a solver is for problems of this kind; a file that cannot be read is told of once per solver."""
    if isinstance(problem, DatasetError):
        return True
    return isinstance(problem, _FRICTION) == (_solver_class(solver) in lcp.ALL_FRICTION_SOLVERS)


def _solver_class(name: str) -> Any:
    known: tuple[type[Any], ...] = (*lcp.ALL_SOLVERS, *lcp.OPTIONAL_SOLVERS, *lcp.ALL_FRICTION_SOLVERS)
    classes = {cls.__name__: cls for cls in known}
    if name not in classes:
        raise SweepError(f"unknown solver '{name}'; known are {', '.join(classes)}")
    return classes[name]
