"""An experiment from a TOML file: scenes times parameters times seeds, or problems times solvers times settings.

::

    [sweep]                         # scene or problems, exactly one
    scene = "cube.toml"             # a scene file, beside this one or in a folder below
    seeds = 5                       # 0 .. 4; or a list of whole numbers
    [parameters]                    # lists of values by the paths of the scene, all combined
    stepper.h = [1e-3, 2e-3]
    [spread]                        # standard deviations by path, drawn again for each seed
    "body.cube.velocity" = 0.1

    [sweep]
    problems = ["sets", "one.npz"]  # files and folders beside this one or below, or names of data sets
    tolerance = 1e-9
    [[solver]]                      # a class of lcp, and lists of values of its fields
    name = "APGD"
    max_iterations = [100, 1000]
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from contactlab.lab.datasets.fetching import SOURCES
from contactlab.lab.sweeps.problem_runs import ProblemGrid, check_solver
from contactlab.lab.sweeps.scene_runs import SceneGrid
from contactlab.lab.sweeps.tasks import whole
from contactlab.simulation.scene.table import Table, read_document, suggestion

MOST_SEEDS = 1_000_000
MOST_SOLVERS = 1000
_TOP = ("sweep", "parameters", "spread", "solver")
_OF_SCENES = ("scene", "seeds")
_OF_PROBLEMS = ("problems", "tolerance")


def load_experiment(path: str | os.PathLike[str]) -> SceneGrid | ProblemGrid:
    """Read an experiment, as what `contactlab.lab.sweep` takes.

    Raises `contactlab.simulation.scene.SceneError`: with file, line and key, for whatever is wrong with the file.
    """
    path = Path(path)
    root, _ = read_document(path, "experiment file")
    for key in root.values:
        if key not in _TOP:
            raise root.error(key, f"unknown section{suggestion(key, _TOP)}")
    root.required("sweep")
    head = root.table("sweep", ("scene", "seeds", "problems", "tolerance"))
    if head.exactly_one_of("scene", "problems") == "scene":
        _refuse(head, _OF_PROBLEMS, "belongs to problems")
        _refuse(root, ("solver",), "belongs to problems; of a scene it is the parameter stepper.solver")
        parameters = _leaves(root, "parameters", lists=True)
        spread = _leaves(root, "spread", lists=False)
        seeds = _seeds(head)
        if spread and not seeds:
            raise head.error("seeds", "is missing: [spread] draws by the seed")
        return SceneGrid(head.resolve_path("scene", head.text("scene")), parameters, seeds, spread)
    _refuse(head, _OF_SCENES, "belongs to a scene")
    _refuse(root, ("parameters", "spread"), "belongs to a scene; settings of a solver stand in its [[solver]]")
    problems = tuple(
        text if text in SOURCES and not (path.parent / text).exists() else head.resolve_path("problems", text)
        for text in head.strings("problems")
    )
    root.required("solver")
    tolerance = head.number("tolerance") if "tolerance" in head else None
    if tolerance is not None and not 0.0 < tolerance < 1.0:
        raise head.error("tolerance", f"must lie between 0 and 1, got {tolerance:g}")
    return ProblemGrid(problems, _solvers(root), tolerance)


def _refuse(table: Table, keys: tuple[str, ...], detail: str) -> None:
    for key in keys:
        if key in table:
            raise table.error(key, detail)


def _seeds(head: Table) -> tuple[int, ...]:
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
    if key not in root:
        return {}
    leaves: dict[str, Any] = {}
    _collect(root.table(key, None), "", lists, leaves)
    return leaves


def _collect(table: Table, prefix: str, lists: bool, leaves: dict[str, Any]) -> None:
    for key, value in table.values.items():
        # A key that was quoted in the file is a path already, or a name with spaces; below others, with dots, a part.
        name = f'{prefix}"{key}"' if prefix and "." in key else f"{prefix}{key}"
        if isinstance(value, dict):
            _collect(table.table(key, None), f"{name}.", lists, leaves)
        elif lists and (not isinstance(value, list) or not value):
            raise table.error(key, f"must be a list of values, got {value!r}")
        elif name in leaves:
            raise table.error(key, f"'{name}' is given twice")
        else:
            leaves[name] = value


def _solvers(root: Table) -> dict[str, dict[str, list[Any]]]:
    solvers: dict[str, dict[str, list[Any]]] = {}
    for table in root.tables("solver", None, MOST_SOLVERS):
        name = table.text("name")
        if name in solvers:
            raise table.error("name", f"'{name}' is given twice")
        solvers[name] = {key: value for key, value in table.values.items() if key != "name"}
        given: dict[str, object] = dict(solvers[name])
        for key, value in given.items():
            if not isinstance(value, list) or not value:
                raise table.error(key, f"must be a list of values, got {value!r}")
        with table.wrap_errors("name"):
            check_solver(name, solvers[name])
    return solvers
