"""Families of tasks: scenes over parameters and seeds, solvers over problems, laws over impacts.

`contactlab.lab.sweep` accepts each of them as its argument: it has the tasks, and the function that computes the row of
a task. `contactlab race` compares solvers; a `ProblemGrid` only runs them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import lcp
from contactlab.certificate import ForceChoice
from contactlab.impact import ImpactLaw, ImpactMap, all_laws
from contactlab.impact.compare import Point, assemble_map, coefficients_of, parameter_grid, problem_at, solve_point
from contactlab.lab.datasets.files import data_path
from contactlab.lab.datasets.problems import Problem, load_problems
from contactlab.lab.errors import DatasetError, SweepError
from contactlab.lab.sweeps.tasks import FunctionName, SweepResult, grid, load_function, name_of, plain, whole
from contactlab.simulation import SimulationError, simulate
from contactlab.simulation.scene import Scene, SceneError, load_scene
from contactlab.simulation.scene.loading import value_at, with_overrides
from contactlab.simulation.scene.parsing import parse_scene
from contactlab.simulation.scene.table import Table, read_document
from contactlab.spatial.arrays import FloatArray
from problem_data import ConstraintVelProblemData

_loaded = functools.lru_cache(maxsize=8)(load_function)


@dataclass(frozen=True, eq=False)
class SceneGrid:
    """A scene at every point of a grid of parameters, once per seed, for `contactlab.lab.sweep`.

    Each run gives a row. It has the parameters and ``seed``; at the end of the run, ``steps``, ``time`` [s],
    ``kinetic`` and ``potential`` [J], ``q``, ``v``; for the whole run, ``energy_change`` [J], ``pivots``, ``contacts``
    and the numbers of islands ``not_selected`` and ``uncertified`` (totals over all steps; `contactlab.ForceChoice`).
    It also has the worst certificates ``worst_scaled``, ``worst_natural_map``, ``worst_mechanical``. A run with a
    failed step has the outcome ``failed``.

    Parameters
    ----------
    scene
        A scene file, or a function that returns a `Scene`. The function, at the top level of a module or script, gets a
        dict of the parameters by name, and ``seed`` if there are seeds. On a cluster the file must have the same path.
    parameters
        Values by name; all combinations are run, the last name changing fastest. For a file a name is a dotted path,
        such as ``stepper.h``, ``body.cube.mu``, ``body.cube.position.2`` (`contactlab.simulation.scene.loading`).
    seeds
        Integers; each point of the grid is run once with each seed. Without ``spread``, only a function uses them.
    spread
        Standard deviations by path of a file. Normal noise is added to the number or vector at the path. It is drawn
        from `numpy.random.default_rng` of the seed, path by path in alphabetical order, and is equal at all points of
        the grid.

    Raises
    ------
    SweepError
        Seeds or spread are invalid.
    """

    scene: str | os.PathLike[str] | Callable[[dict[str, Any]], Scene]
    parameters: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    seeds: Sequence[int] = ()
    spread: Mapping[str, float | Sequence[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for seed in self.seeds:
            if not whole(seed, 0):
                raise SweepError(f"seeds must be whole numbers >= 0, got {seed!r}")
        if self.spread and not (len(self.seeds) and isinstance(self.scene, str | os.PathLike)):
            raise SweepError("spread needs seeds, and a scene file: a function draws from the seed itself")

    @property
    def function(self) -> Callable[[dict[str, Any]], dict[str, Any]]:
        """Function that runs a task."""
        return run_scene

    def tasks(self) -> list[dict[str, Any]]:
        """Return a task for every run.

        Raises
        ------
        contactlab.simulation.scene.SceneError
            The scene refuses a path or value; the text names the path or key.
        """
        source: dict[str, Any]
        if isinstance(self.scene, str | os.PathLike):
            path = Path(os.path.abspath(self.scene))
            source = {"scene": str(path), "scene_sha256": _checked_file(path, self.parameters, self.spread)}
        else:
            source = {"build": asdict(name_of(self.scene))}
        if self.spread:
            source["spread"] = {path: plain(value) for path, value in self.spread.items()}
        return [
            {**source, "parameters": point, **({} if seed is None else {"seed": int(seed)})}
            for point in grid(self.parameters)
            for seed in (self.seeds if len(self.seeds) else (None,))
        ]


def run_scene(task: dict[str, Any]) -> dict[str, Any]:
    """Simulate one task of a `SceneGrid` and return its row."""
    scene = _scene(task)
    try:
        recording = simulate(scene.world, scene.stepper, scene.duration)
    except SimulationError as error:
        if error.problem_path is not None:
            with contextlib.suppress(OSError):
                error.problem_path.unlink()
        status = "" if error.result is None else f": {error.result.status.name}"
        # Without the name of the problem's file, which would differ in every run.
        raise RuntimeError(f"stopped at step {error.step}, time {error.time:.9g} s{status}") from None
    worst, energy = recording.worst_certificate(), recording.kinetic + recording.potential
    return {
        **{name: value for name, value in task["parameters"].items() if not isinstance(value, dict)},
        "name": scene.name,
        "steps": recording.n_steps,
        "time": recording.time[-1],
        "kinetic": recording.kinetic[-1],
        "potential": recording.potential[-1],
        "energy_change": energy[-1] - energy[0],
        "pivots": recording.pivots.sum(),
        "contacts": len(recording.contacts),
        "not_selected": recording.count_by_choice(ForceChoice.OTHER_SOLUTION).sum(),
        "uncertified": recording.count_by_choice(ForceChoice.UNCERTIFIED).sum(),
        "worst_scaled": worst.scaled,
        "worst_natural_map": worst.natural_map,
        "worst_mechanical": worst.mechanical,
        "q": recording.q[-1],
        "v": recording.v[-1],
    }


def _scene(task: dict[str, Any]) -> Scene:
    """Return the scene of a task, from the user's function or from a scene file, which must be unchanged."""
    if "build" in task:
        given = dict(task["parameters"])
        if "seed" in task:
            given["seed"] = task["seed"]
        built: Scene = _loaded(FunctionName(**task["build"]))(given)
        return built
    path = Path(task["scene"])
    root, text = read_document(path)
    if _sha256(text) != task["scene_sha256"]:
        raise SceneError(path, 0, "", "has changed since the sweep was begun")
    changes = dict(task["parameters"])
    if task.get("spread"):
        changes |= _draw_values(with_overrides(root, changes), task["spread"], task["seed"])
    return load_scene(path, changes)


def _draw_values(root: Table, spread: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Return the values at the paths with noise added."""
    generator = np.random.default_rng(seed)
    drawn = {}
    for path in sorted(spread):
        value = np.asarray(_numbers(root, path), dtype=np.float64)
        drawn[path] = (value + np.asarray(spread[path]) * generator.standard_normal(value.shape)).tolist()
    return drawn


def _numbers(root: Table, path: str) -> Any:
    """Return the number or vector at a path."""
    value = value_at(root, path)
    numbers = value if isinstance(value, list) else [value]
    if not numbers or any(isinstance(x, bool) or not isinstance(x, int | float) for x in numbers):
        raise SceneError(root.path, 0, f"'{path}'", f"is no number or vector: {value!r}; nothing can be added to it")
    return value


def _checked_file(path: Path, parameters: Mapping[str, Sequence[Any]], spread: Mapping[str, Any]) -> str:
    """Raise if the scene refuses a value, combined with the first values of the others; return the file's SHA-256."""
    root, text = read_document(path)
    points = grid(parameters)
    parse_scene(with_overrides(root, points[0]))
    for name, values in parameters.items():
        for value in values[1:]:
            parse_scene(with_overrides(root, {**points[0], name: plain(value)}))
    if spread:
        first = with_overrides(root, points[0])
        for name, deviation in spread.items():
            value, width = np.asarray(_numbers(first, name)), np.asarray(deviation, dtype=np.float64)
            if width.shape not in ((), value.shape) or not np.isfinite(width).all() or (width < 0.0).any():
                raise SweepError(f"spread: '{name}' must be a number >= 0, or one for each entry, got {deviation!r}")
        parse_scene(with_overrides(first, _draw_values(first, spread, 0)))
    return _sha256(text)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


_FRICTION = (lcp.FrictionProblem, lcp.GlobalFrictionProblem)


@dataclasses.dataclass(frozen=True, eq=False)
class ProblemGrid:
    """Every problem with every solver for its kind and every combination of settings, for `contactlab.lab.sweep`.

    Each solve gives a row with ``problem``, ``solver``, the settings, ``status``, ``residual`` (scaled),
    ``natural_map`` or, with friction, ``fclib`` (`lcp.FrictionResiduals`), ``iterations``, ``n`` (unknowns without
    equations) and ``solve_time`` [s]. The time excludes compilation, because the same problem was solved before. An
    unreadable file gives a row with the outcome ``failed``.

    Parameters
    ----------
    paths
        Files, folders and names of data sets supported by `contactlab.lab.datasets.load_problems`. On a cluster they
        must have the same paths.
    solvers
        Names of solver classes of `lcp`, including those for exact friction cones, each with a grid of its fields:
        ``{"Lemke": {}, "APGD": {"max_iterations": [100, 1000]}}``.
    tolerance
        Bound on the scaled residual; None for the default of the problem's kind.

    Raises
    ------
    SweepError
        A solver or setting is unknown, or a tolerance is out of range.
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
        """Function that runs a task."""
        return solve_problem

    def tasks(self) -> list[dict[str, Any]]:
        """Return a task for every solve.

        Raises
        ------
        contactlab.lab.DatasetError
            One of the paths does not exist.
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
            # A file that cannot be read gives one row for each solver.
            if isinstance(problem, DatasetError)
            or isinstance(problem, _FRICTION) == (_solver_class(solver) in lcp.ALL_FRICTION_SOLVERS)
        ]


def solve_problem(task: dict[str, Any]) -> dict[str, Any]:
    """Solve one task of a `ProblemGrid` and return its row."""
    problem = _problems(task["path"], task["files_sha256"])[task["problem"]]
    if isinstance(problem, DatasetError):
        # Make a new error, because an error collects the frames of every place where it is raised, and this one is
        # kept.
        raise DatasetError(problem.path, problem.field, problem.message)
    solver = _solver_class(task["solver"])(**task["settings"])
    lcp.solve(problem, solver, tolerance=task["tolerance"])  # compiles if necessary
    result = lcp.solve(problem, solver, tolerance=task["tolerance"])
    residual = result.residual
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
    """Return the problems of a path by name; the digest distinguishes changed files."""
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
    """Return the grid of a solver's settings; raise `SweepError` for values that its class refuses."""
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


def _solver_class(name: str) -> Any:
    """Return the class of a solver by its name; an unknown name raises a `SweepError`."""
    known: tuple[type[Any], ...] = (*lcp.ALL_SOLVERS, *lcp.OPTIONAL_SOLVERS, *lcp.ALL_FRICTION_SOLVERS)
    classes = {cls.__name__: cls for cls in known}
    if name not in classes:
        raise SweepError(f"unknown solver '{name}'; known are {', '.join(classes)}")
    return classes[name]


@dataclasses.dataclass(frozen=True, eq=False)
class ImpactGrid:
    """A family of impacts under several laws, for `contactlab.lab.sweep`; see `contactlab.impact.impact_map`.

    Parameters
    ----------
    problem, laws
        As for `impact_map`, at the top level of a module, or of a script that calls this under
        ``if __name__ == "__main__":``.
    axes, restitutions
        As for `impact_map`.

    Raises
    ------
    ImpactError
        An axis without values.
    """

    problem: Callable[..., ConstraintVelProblemData]
    axes: Mapping[str, ArrayLike]
    restitutions: Sequence[float] | FloatArray = (0.0, 0.5, 1.0)
    laws: Callable[[float], Mapping[str, ImpactLaw]] = all_laws

    def __post_init__(self) -> None:
        parameter_grid(self.axes), coefficients_of(self.restitutions)

    @property
    def function(self) -> Callable[[dict[str, Any]], dict[str, Any]]:
        """Function that runs a task."""
        return solve_impact

    def tasks(self) -> list[dict[str, Any]]:
        """Return a task for every point of the grid, for all restitutions and laws."""
        shared = {
            "problem": dataclasses.asdict(name_of(self.problem)),
            "laws": dataclasses.asdict(name_of(self.laws)),
            "restitutions": coefficients_of(self.restitutions).tolist(),
        }
        return [{**shared, "at": at} for _, at in parameter_grid(self.axes)[1]]

    def to_impact_map(self, result: SweepResult) -> ImpactMap:
        """Return the map from the result of `contactlab.lab.sweep` for this grid.

        Raises
        ------
        SweepError
            A point failed; the text gives its parameters.
        """
        for row in result.failures:
            raise SweepError(f"{len(result.failures)} points failed, the first at {row['at']}: {row['error']}")
        e = coefficients_of(self.restitutions)
        return assemble_map(
            parameter_grid(self.axes)[0], e, tuple(self.laws(float(e[0]))), [_to_point(row) for row in result.rows]
        )


def solve_impact(task: dict[str, Any]) -> dict[str, Any]:
    """Solve one task of an `ImpactGrid` and return its row, with arrays as lists and None for NaN."""
    problem, laws = (_loaded(FunctionName(**task[name])) for name in ("problem", "laws"))
    data = problem_at(problem, task["at"], ConstraintVelProblemData)
    energy, motion, notices, v_plus = solve_point(data, [laws(e) for e in task["restitutions"]])
    numbers = {"energy": energy, "motion": motion, "notices": notices, "v_plus": v_plus}
    row = {name: [None if value != value else value for value in given.ravel()] for name, given in numbers.items()}
    return {**row, "shape": list(v_plus.shape)}


def _to_point(row: Mapping[str, Any]) -> Point:
    """Return the arrays of a row of an impact sweep: energy, motion and notices (laws, restitutions), and v_plus."""
    shape = row["shape"]
    energy, v_plus = (np.array(row[name], dtype=np.float64) for name in ("energy", "v_plus"))
    motion, notices = np.array(row["motion"], dtype=np.int64), np.array(row["notices"], dtype=bool)
    return energy.reshape(shape[:2]), motion.reshape(shape[:2]), notices.reshape(shape[:2]), v_plus.reshape(shape)
