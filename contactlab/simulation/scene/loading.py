"""Reading a scene file: TOML, from anybody; with other values at dotted paths, which a sweep varies."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contactlab.formulation.friction_backend import QP_CODES
from contactlab.simulation.scene.building import build_world
from contactlab.simulation.scene.parsing import parse_scene
from contactlab.simulation.scene.table import MOST_BYTES, SceneError, Table, read_document, suggestion
from contactlab.stepping.time_stepping import TimeStepping
from contactlab.world.world import World

__all__ = ["MOST_BYTES", "Scene", "load_scene"]


@dataclass(frozen=True, eq=False)
class Scene:
    """A scene ready to run.

    Attributes
    ----------
    name, description
        As in the file.
    world, stepper
        What to step, and how.
    duration
        [s].
    text
        The file's own.
    changes
        Values by path that were put in place of the file's.
    """

    name: str
    description: str
    world: World
    stepper: TimeStepping
    duration: float
    text: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def stamp(self) -> dict[str, str]:
        """What a record says of the scene it was run from: the text, its SHA-256, and the changes if there are any."""
        stamp = {"scene": self.text, "scene_sha256": hashlib.sha256(self.text.encode()).hexdigest()}
        return {**stamp, "scene_changes": json.dumps(dict(self.changes))} if self.changes else stamp


def load_scene(path: str | os.PathLike[str], changes: Mapping[str, Any] | None = None) -> Scene:
    """Read a scene file; see ``docs/scenes.md`` for its sections.

    Nothing in it is evaluated, nothing outside its folder is read, and its size is bounded.

    Parameters
    ----------
    path
        The file.
    changes
        Values in place of the file's, by dotted paths as in ``stepper.h`` or ``body.cube.position.2``; see
        `contactlab.simulation.scene.loading.change_table`.

    Raises
    ------
    SceneError
        With file, line and key, for whatever is wrong.
    """
    path = Path(path)
    root, text = read_document(path)
    root = change_table(root, changes or {})
    entry = parse_scene(root)
    world = build_world(entry)
    _check_solver(root, world)
    return Scene(entry.name, entry.description, world, entry.stepper, entry.duration, text, dict(changes or {}))


def _check_solver(root: Table, world: World) -> None:
    """Refuse a code for quadratic programs as the solver of a world with friction."""
    solver = root.values["stepper"].get("solver")
    name = solver["name"] if isinstance(solver, dict) else solver
    materials = [*world.half_space_materials, *(surface.material for surface in world.surfaces)]
    if name in {cls.__name__ for cls in QP_CODES} and any(material.mu > 0.0 for material in materials):
        detail = (
            f"{name} solves quadratic programs, and contacts with friction are none; write "
            f'{{ name = "ConvexRelaxation", qp = "{name}" }} or {{ name = "StaggeredProjections", qp = "{name}" }}'
        )
        raise root.table("stepper", None).error("solver", detail)


_PART = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^."']+?))\s*(?:\.|$)""")


def change_table(root: Table, changes: Mapping[str, Any]) -> Table:
    """Return a copy of the root table of a scene with other values by path.

    A path is names of keys with dots between them, as in ``stepper.h``. An entry of an array of tables is called by its
    ``name``, or by its number from 0, as in ``body.cube.mass`` or ``body.0.mass``; an entry of a vector by its number,
    as in ``body.cube.position.2``. A name with dots or spaces stands in quotes. The last key may be new to its table.
    A path that leads nowhere is a `SceneError`, whose key is the path.
    """
    values = copy.deepcopy(root.values)
    for path, value in changes.items():
        parts = split(root, path)
        holder = _holder(root, values, path, parts)
        if isinstance(holder, dict):
            holder[parts[-1]] = copy.deepcopy(value)
        else:
            holder[_index(root, path, holder, parts[-1])] = copy.deepcopy(value)
    return Table(root.path, root.lines, root.place, root.label, values, None)


def value_at(root: Table, path: str) -> Any:
    """Return what stands at a path; a `SceneError` where nothing does."""
    parts = split(root, path)
    holder = _holder(root, root.values, path, parts)
    if isinstance(holder, list):
        return holder[_index(root, path, holder, parts[-1])]
    if parts[-1] not in holder:
        raise _error(root, path, f"the scene has no '{parts[-1]}' there{suggestion(parts[-1], holder)}")
    return holder[parts[-1]]


def split(root: Table, path: str) -> list[str]:
    """Return the parts of a path."""
    parts, at = [], 0
    while at < len(path):
        found = _PART.match(path, at)
        if found is None:
            raise _error(root, path, "is not a path of names with dots between them")
        parts.append(next(part for part in found.groups() if part is not None))
        at = found.end()
    if not parts or path.rstrip().endswith("."):
        raise _error(root, path, "is not a path of names with dots between them")
    return parts


def _holder(root: Table, values: Any, path: str, parts: list[str]) -> Any:
    """Return the table or array that the last part is a key of."""
    here = values
    for part in parts[:-1]:
        if isinstance(here, list):
            here = here[_index(root, path, here, part)]
        else:
            if part not in here:
                raise _error(root, path, f"the scene has no '{part}' there{suggestion(part, here)}")
            here = here[part]
        if not isinstance(here, dict | list):
            raise _error(root, path, f"'{part}' is a single value, not a table or an array")
    return here


def _index(root: Table, path: str, entries: list[Any], part: str) -> int:
    names = [str(entry.get("name", "")) if isinstance(entry, dict) else "" for entry in entries]
    if part in names:
        if names.count(part) > 1:
            raise _error(root, path, f"'{part}' names {names.count(part)} entries; use their numbers")
        return names.index(part)
    if part.isascii() and part.isdigit() and int(part) < len(entries):
        return int(part)
    known = [name for name in names if name]
    raise _error(root, path, f"'{part}' is none of the {len(entries)} entries{suggestion(part, known)}")


def _error(root: Table, path: str, detail: str) -> SceneError:
    return SceneError(root.path, 0, f"'{path}'", detail)
