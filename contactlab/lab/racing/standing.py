"""What stands in the folder of a race from calls before this one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from contactlab.lab.racing.entrant import Entrant
from contactlab.lab.sweeps.store import standing_rows
from contactlab.lab.sweeps.tasks import items_of, name_of


def spelt_as_before(
    function: Callable[[Any], dict[str, Any]], tasks: Sequence[dict[str, Any]], folder: Path
) -> list[dict[str, Any]]:
    """The tasks, each time limit of 5.0 as 5 where the folder's row of that trial has it so: the two are one limit."""
    rows = standing_rows(folder)
    spelt = [
        task | {"time_limit": int(task["time_limit"])} if task["time_limit"].is_integer() else task for task in tasks
    ]
    if not rows:
        return list(tasks)
    name = name_of(function, None)
    given, whole = items_of(name, tasks), items_of(name, spelt)
    return [
        other if now.key not in rows and before.key in rows else task
        for task, other, now, before in zip(tasks, spelt, given, whole, strict=True)
    ]


def left_standing(folder: Path, rows: Iterable[dict[str, Any]], entrants: Iterable[Entrant]) -> list[str]:
    """A line on the finished trials of the folder that are none of these rows, and so are not in this race's table."""
    here = {row["key"] for row in rows}
    known = {name for entrant in entrants for name in (entrant.label, entrant.text)}
    others = [row for key, row in standing_rows(folder).items() if key not in here]
    if not others:
        return []
    labels = dict.fromkeys(map(_label, others))
    names = [label for label in labels if label not in known]
    if len(names) < len(labels):
        names.append("other problems, limits or versions")
    whose = ", ".join(names)
    return [f"{len(others)} trials finished earlier in this folder, of {whose}: the same call as then has them again"]


def _label(row: dict[str, Any]) -> str:
    if "solver" not in row:  # ended from outside: no row of its own
        return str(row["text"])
    return f"{row['solver']}({row['settings']})" if row["settings"] else str(row["solver"])
