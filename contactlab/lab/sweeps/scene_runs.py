"""Scenes times parameters times seeds: every run of a grid, and where it ended."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from contactlab.certificate import ForceChoice
from contactlab.lab.errors import SweepError
from contactlab.lab.sweeps.tasks import FunctionName, load_function, name_of, whole
from contactlab.simulation import SimulationError, simulate
from contactlab.simulation.scene import Scene, SceneError, load_scene
from contactlab.simulation.scene.loading import value_at, with_overrides
from contactlab.simulation.scene.parsing import parse_scene
from contactlab.simulation.scene.table import Table, read_document

_builder = functools.lru_cache(maxsize=4)(load_function)


@dataclass(frozen=True, eq=False)
class SceneGrid:
    """A scene at every point of a grid of parameters, once per seed: for `contactlab.lab.sweep`.

    A run is a row with the parameters, ``seed``, and of the run's end: ``steps``, ``time`` [s], ``kinetic`` and
    ``potential`` [J], ``q``, ``v``; of the whole run ``energy_change`` [J], ``pivots``, ``contacts`` and islands
    ``not_selected`` and ``uncertified`` (numbers over all steps; `contactlab.ForceChoice`), the worst certificates
    ``worst_scaled``, ``worst_natural_map``, ``worst_mechanical``. A run whose step failed is ``failed``.

    Parameters
    ----------
    scene
        A scene file; or a function, at the top level of a module or script, of a dict that returns a `Scene`: it is
        given the values of the parameters by name, and ``seed`` where there are seeds. On a cluster the file must be
        at the same path.
    parameters
        Values by name, all combined with all, the last name running fastest. For a file a name is a dotted path, as
        ``stepper.h``, ``body.cube.mu``, ``body.cube.position.2`` (`contactlab.simulation.scene.loading`).
    seeds
        Whole numbers; each point of the grid is run once with every one. Without ``spread`` they mean something to a
        function only.
    spread
        Standard deviations by path of a file: to the number or vector there, normal noise is added, drawn from
        `numpy.random.default_rng` of the seed, path by path in alphabetical order: the same at every point of the grid.

    Raises
    ------
    SweepError
        Seeds or spread that cannot be used.
    """

    scene: str | os.PathLike[str] | Callable[[dict[str, Any]], Scene]
    parameters: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    seeds: Sequence[int] = ()
    spread: Mapping[str, float | Sequence[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for seed in self.seeds:
            if not whole(seed, 0):
                raise SweepError(f"seeds must be whole numbers >= 0, got {seed!r}")
        if self.spread and not len(self.seeds):
            raise SweepError("spread needs seeds")
        if self.spread and not isinstance(self.scene, str | os.PathLike):
            raise SweepError("spread is for scene files: a function draws from the seed itself")

    @property
    def function(self) -> Callable[[dict[str, Any]], dict[str, Any]]:
        """What runs a task."""
        return run_scene

    def tasks(self) -> list[dict[str, Any]]:
        """Return a task for every run.

        Raises
        ------
        contactlab.simulation.scene.SceneError
            A path or value the scene refuses; it names path or key.
        """
        source: dict[str, Any]
        if isinstance(self.scene, str | os.PathLike):
            path = Path(os.path.abspath(self.scene))
            source = {"scene": str(path), "scene_sha256": _checked_file(path, self.parameters, self.spread)}
        else:
            source = {"build": asdict(name_of(self.scene))}
        if self.spread:
            source["spread"] = {path: _plain(value) for path, value in self.spread.items()}
        return [
            {**source, "parameters": point, **({} if seed is None else {"seed": int(seed)})}
            for point in grid(self.parameters)
            for seed in (self.seeds if len(self.seeds) else (None,))
        ]


def grid(parameters: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return every combination of the values, the last name running fastest; of no names the empty one."""
    for name, values in parameters.items():
        given: object = values
        if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray) or len(given) == 0:
            raise SweepError(f"parameters: '{name}' must be a list of values, got {values!r}")
    columns = [[_plain(value) for value in values] for values in parameters.values()]
    return [dict(zip(parameters, point, strict=True)) for point in itertools.product(*columns)]


def run_scene(task: dict[str, Any]) -> dict[str, Any]:
    """Simulate one task of a `SceneGrid`: its row."""
    scene = _scene(task)
    try:
        recording = simulate(scene.world, scene.stepper, scene.duration)
    except SimulationError as error:
        if error.problem_path is not None:
            with contextlib.suppress(OSError):
                error.problem_path.unlink()
        status = "" if error.result is None else f": {error.result.status.name}"
        # Without the name of a file for the problem, which would be another in every run.
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
    if "build" in task:
        given = dict(task["parameters"])
        if "seed" in task:
            given["seed"] = task["seed"]
        built: Scene = _builder(FunctionName(**task["build"]))(given)
        return built
    path = Path(task["scene"])
    root, text = read_document(path)
    if _sha256(text) != task["scene_sha256"]:
        raise SceneError(path, 0, "", "has changed since the sweep was begun")
    changes = dict(task["parameters"])
    if task.get("spread"):
        changes |= _drawn(with_overrides(root, changes), task["spread"], task["seed"])
    return load_scene(path, changes)


def _drawn(root: Table, spread: Mapping[str, Any], seed: int) -> dict[str, Any]:
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
    """Refuse what the scene refuses, each value beside the first ones of the others; return the file's SHA-256."""
    root, text = read_document(path)
    points = grid(parameters)
    parse_scene(with_overrides(root, points[0]))
    for name, values in parameters.items():
        for value in values[1:]:
            parse_scene(with_overrides(root, {**points[0], name: _plain(value)}))
    if spread:
        first = with_overrides(root, points[0])
        for name, deviation in spread.items():
            value, width = np.asarray(_numbers(first, name)), np.asarray(deviation, dtype=np.float64)
            if width.shape not in ((), value.shape) or not np.isfinite(width).all() or (width < 0.0).any():
                raise SweepError(f"spread: '{name}' must be a number >= 0, or one for each entry, got {deviation!r}")
        parse_scene(with_overrides(first, _drawn(first, spread, 0)))
    return _sha256(text)


def _plain(value: Any) -> Any:
    """Return numpy's numbers and arrays, and tuples, as JSON reads them back."""
    if isinstance(value, tuple | list):
        return [_plain(entry) for entry in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
