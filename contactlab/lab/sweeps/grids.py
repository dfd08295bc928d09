"""Scenes over parameters and seeds: the tasks of a sweep, and the function that computes the row of a task."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from contactlab.constraint_solver.certificate import ForceChoice
from contactlab.lab.sweeps.tasks import FunctionName, SweepError, grid, load_function, name_of, plain, whole
from contactlab.simulation import SimulationError, simulate
from contactlab.simulation.scene import Scene, load_scene, parse_scene
from contactlab.simulation.scene.table import (
    SceneError,
    Table,
    read_document,
    suggestion,
    value_at,
    with_overrides,
)

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
        such as ``stepper.h``, ``body.cube.mu``, ``body.cube.position.2`` (`contactlab.simulation.scene`).
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
    """Check each value with the first values of the other parameters; return the SHA-256 of the scene's file."""
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


MOST_SEEDS = 1_000_000


def load_experiment(path: str | os.PathLike[str]) -> SceneGrid:
    """Return an experiment from a TOML file as an argument of `contactlab.lab.sweep`.

    An invalid file raises `contactlab.simulation.scene.SceneError` with file, line and key.

    ::

        [sweep]
        scene = "cube.toml"             # a scene file, beside this one or in a folder below
        seeds = 5                       # 0 .. 4; or a list of whole numbers
        [parameters]                    # lists of values by the paths of the scene, all combined
        stepper.h = [1e-3, 2e-3]
        [spread]                        # standard deviations by path, drawn again for each seed
        "body.cube.velocity" = 0.1
    """
    root, _ = read_document(Path(path), "experiment file")
    for key in root.values:
        if key not in ("sweep", "parameters", "spread"):
            raise root.error(key, f"unknown section{suggestion(key, ('sweep', 'parameters', 'spread'))}")
    root.required("sweep")
    head = root.table("sweep", ("scene", "seeds"))
    head.required("scene")
    parameters, spread = _leaves(root, "parameters", lists=True), _leaves(root, "spread", lists=False)
    seeds = _seeds(head)
    if spread and not seeds:
        raise head.error("seeds", "is missing: [spread] draws by the seed")
    return SceneGrid(head.resolve_path("scene", head.text("scene")), parameters, seeds, spread)


def _seeds(head: Table) -> tuple[int, ...]:
    """Return the seeds of a sweep file: a list, or a number n for 0 to n - 1."""
    value = head.values.get("seeds", [])
    if not isinstance(value, list):
        return tuple(range(head.integer("seeds", None, 1, MOST_SEEDS)))
    seeds: list[object] = value
    for seed in seeds:
        if not whole(seed, 0):
            raise head.error("seeds", f"must be whole numbers >= 0, got {seed!r}")
    return tuple(value)


def _leaves(root: Table, key: str, *, lists: bool) -> dict[str, Any]:
    """Return the values of a table by dotted path: ``stepper.h = ...`` and ``"stepper.h" = ...`` are the same."""
    leaves: dict[str, Any] = {}
    for table, inner, name, value in _iterate_leaves(root.table(key, None)) if key in root else ():
        if lists and not (isinstance(value, list) and value):
            raise table.error(inner, f"must be a list of values, got {value!r}")
        if name in leaves:
            raise table.error(inner, f"'{name}' is given twice")
        leaves[name] = value
    return leaves


def _iterate_leaves(table: Table, prefix: str = "") -> Iterator[tuple[Table, str, str, Any]]:
    """Yield the innermost tables of a table, with key, dotted path and value of each of their entries."""
    for key, value in table.values.items():
        # A quoted key is already a path, or a name with spaces; below other keys, a dotted key is a part of the path.
        name = f'{prefix}"{key}"' if prefix and "." in key else f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _iterate_leaves(table.table(key, None), f"{name}.")
        else:
            yield table, key, name, value
