"""What a sweep computes: tasks as JSON, and the key by which a finished one is known again."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from contactlab.lab.errors import SweepError
from contactlab.lab.sweeps.functions import FunctionName

__all__ = ["RESERVED", "Item", "items_of", "whole"]

#: Entries of a row that are the sweep's own.
RESERVED = ("key", "outcome", "error", "seconds")


@dataclass(frozen=True)
class Item:
    """One task."""

    key: str  # SHA-256 of the function's name and of the task as canonical JSON, hexadecimal
    text: str  # the task as canonical JSON: keys sorted, no spaces


def items_of(function: FunctionName, tasks: Sequence[Any]) -> list[Item]:
    """Return the tasks with their keys; a `SweepError` names the first that JSON cannot hold."""
    return [_item(function, i, task) for i, task in enumerate(tasks)]


def _item(function: FunctionName, i: int, task: Any) -> Item:
    entries = dataclasses.asdict(task) if dataclasses.is_dataclass(task) and not isinstance(task, type) else task
    if not isinstance(entries, Mapping):
        raise SweepError(f"tasks[{i}] must be a dict or a dataclass, got {type(task).__name__}")
    for name in entries:
        if not isinstance(name, str):
            raise SweepError(f"tasks[{i}]: the key {name!r} is not a string")
        if name in RESERVED:
            raise SweepError(f"tasks[{i}]: '{name}' is an entry of the rows, call it otherwise")
    try:
        text = json.dumps(dict(entries), sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise SweepError(f"tasks[{i}] cannot be written as JSON: {error}") from error
    return Item(hashlib.sha256(f"{function.qualified}\n{text}".encode()).hexdigest(), text)


def whole(value: object, least: int) -> bool:
    """Whether a value is a whole number, numpy's included, and not less than another."""
    return not isinstance(value, bool) and isinstance(value, int | np.integer) and bool(value >= least)
