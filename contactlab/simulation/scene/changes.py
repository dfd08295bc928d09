"""Other values at places of a scene file, by dotted paths: what a sweep varies."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any

from contactlab.simulation.scene.table import SceneError, Table, suggestion

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
