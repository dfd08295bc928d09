"""Scenes from TOML files, which are untrusted; with other values at dotted paths, for sweeps."""

from __future__ import annotations

import copy
import dataclasses
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from contactlab.constraint_solver.friction_backend import QP_CODES
from contactlab.simulation.scene.parsing import Scene, parse_scene
from contactlab.simulation.scene.table import SceneError, Table, read_document, suggestion
from contactlab.simulation.world.world import World

__all__ = ["Scene", "SceneError", "load_scene"]


def load_scene(path: str | os.PathLike[str], changes: Mapping[str, Any] | None = None) -> Scene:
    """Read a scene file; see ``docs/scenes.md`` for its sections.

    Nothing in it is evaluated, nothing outside its folder is read, and its size is bounded.

    Parameters
    ----------
    path
        The file.
    changes
        Replacement values by dotted paths as in ``stepper.h`` or ``body.cube.position.2``; see
        `contactlab.simulation.scene.with_overrides`.

    Raises
    ------
    SceneError
        The file is invalid; the error names file, line and key.
    """
    path = Path(path)
    root, text = read_document(path)
    root = with_overrides(root, changes or {})
    found = parse_scene(root)
    _check_solver(root, found.world)
    return dataclasses.replace(found, text=text, changes=dict(changes or {}))


def _check_solver(root: Table, world: World) -> None:
    """Raise if a quadratic programming solver is the solver of a world with friction."""
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


def with_overrides(root: Table, changes: Mapping[str, Any]) -> Table:
    """Return a copy of the root table of a scene with other values by path.

    A path is a sequence of keys with dots between them, as in ``stepper.h``. An entry of an array of tables is named by
    its ``name``, or by its number from 0, as in ``body.cube.mass`` or ``body.0.mass``; an entry of a vector by its
    number, as in ``body.cube.position.2``. A name with dots or spaces is in quotes. The last key may be new to its
    table. An invalid path raises a `SceneError`, whose key is the path.
    """
    values = copy.deepcopy(root.values)
    for path, value in changes.items():
        holder, key = _place(root, values, path, new=True)
        holder[key] = copy.deepcopy(value)
    return Table(root.path, root.lines, root.place, root.label, values, None)


def value_at(root: Table, path: str) -> Any:
    """Return the value at a path; raise `SceneError` if there is none."""
    holder, key = _place(root, root.values, path, new=False)
    return holder[key]


def _place(root: Table, values: Any, path: str, *, new: bool) -> tuple[Any, Any]:
    """Return the table or array that contains the last part of a path, and this part's key or index.

    ``values`` are the contents of the scene. With ``new`` the last key may be missing. Raise `SceneError` for any other
    unknown part.
    """
    parts, at = [], 0
    while (found := _PART.match(path, at)) and at < len(path):
        parts.append(next(part for part in found.groups() if part is not None))
        at = found.end()
    if at < len(path) or not parts or path.rstrip().endswith("."):
        raise _error(root, path, "is not a path of names with dots between them")
    holder, here = None, values
    for n, part in enumerate(parts):
        holder, key = here, part
        if isinstance(here, list):
            key = _index(root, path, here, part)
        elif not isinstance(here, dict):
            raise _error(root, path, f"'{parts[n - 1]}' is a single value, not a table or an array")
        elif part not in here and not (new and n == len(parts) - 1):
            raise _error(root, path, f"the scene has no '{part}' there{suggestion(part, here)}")
        here = holder.get(key) if isinstance(holder, dict) else holder[key]
    return holder, key


def _index(root: Table, path: str, entries: list[Any], part: str) -> int:
    """Return the index of an entry given by name, or by number from 0 if no entry has this name.

    Raise `SceneError` for an unknown entry, and for a name that several entries have.
    """
    names = [str(entry.get("name", "")) if isinstance(entry, dict) else "" for entry in entries]
    if names.count(part) > 1:
        raise _error(root, path, f"'{part}' names {names.count(part)} entries; use their numbers")
    if part in names:
        return names.index(part)
    if part.isascii() and part.isdigit() and int(part) < len(entries):
        return int(part)
    known = [name for name in names if name]
    raise _error(root, path, f"'{part}' is none of the {len(entries)} entries{suggestion(part, known)}")


def _error(root: Table, path: str, detail: str) -> SceneError:
    return SceneError(root.path, 0, f"'{path}'", detail)
