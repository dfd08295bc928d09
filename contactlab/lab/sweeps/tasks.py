"""Parts of a sweep: a function by name, tasks as JSON with their keys, and the results."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import json
import os
import runpy
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from contactlab.lab.errors import SweepError

#: Set in worker processes: a sweep begun there is a script that lacks its `if __name__ == "__main__"`.
WORKER_VARIABLE = "CONTACTLAB_SWEEP_WORKER"
_SCRIPT = "__sweep_main__"


@dataclass(frozen=True)
class FunctionName:
    """Location of a function."""

    module: str  # name of its module; of a script its file name without the suffix
    name: str  # of the function in it
    script: str = ""  # path of the script it was defined in, empty for a module that can be imported
    # Name of the dataclass of its tasks as ``module:name`` (of a script ``:name``), empty where they are dicts.
    task_class: str = ""

    @property
    def qualified(self) -> str:
        """``module.name``, which enters the keys of the tasks."""
        return f"{self.module}.{self.name}"


def name_of(function: Callable[..., Any], task_class: type | None = None) -> FunctionName:
    """Return the name of a function, after making sure that it leads back to it.

    A lambda, a method, a nested function, or one whose module cannot be imported is a `SweepError`.
    """
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or not name.isidentifier():
        raise SweepError(f"function must be a function at the top level of a module, got {name or function!r}")
    if module in ("__main__", _SCRIPT):
        code = getattr(function, "__code__", None)
        script = os.path.abspath(code.co_filename) if code is not None else ""
        if not os.path.isfile(script):
            raise SweepError(f"function {name} was typed in, not read from a file: put it into a module or a script")
        return FunctionName(Path(script).stem, name, script, _class_name(task_class))
    address = FunctionName(module, name, "", _class_name(task_class))
    try:
        leads_to = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise SweepError(f"function {address.qualified} cannot be imported: {error}") from error
    if leads_to is not function:
        raise SweepError(f"{address.qualified} is not the function given but {leads_to!r}")
    return address


def _class_name(task_class: type | None) -> str:
    if task_class is None:
        return ""
    module = "" if task_class.__module__ in ("__main__", _SCRIPT) else task_class.__module__
    return f"{module}:{task_class.__qualname__}"


def load_function(function: FunctionName) -> Callable[[dict[str, Any]], Any]:
    """Return the function of a task's entries; whatever its module raises on the way goes through."""
    if function.script:
        # Under another name than __main__, so that what the script does when it is run is not done again here.
        space: Mapping[str, Any] = runpy.run_path(function.script, run_name=_SCRIPT)
    else:
        space = vars(importlib.import_module(function.module))
    loaded: Callable[[Any], Any] = space[function.name]
    if not function.task_class:
        return loaded
    module, _, name = function.task_class.partition(":")
    home = vars(importlib.import_module(module)) if module else space
    return lambda entries: loaded(home[name](**entries))


#: Entries of a row that are the sweep's own.
RESERVED = ("key", "outcome", "error", "seconds")
FRAMES = 6  # of a traceback, the innermost
LONGEST_MESSAGE = 2000


@dataclass(frozen=True)
class SweepTask:
    """One task."""

    key: str  # SHA-256 of the function's name and of the task as canonical JSON, hexadecimal
    text: str  # the task as canonical JSON: keys sorted, no spaces


def items_of(function: FunctionName, tasks: Sequence[Any]) -> list[SweepTask]:
    """Return the tasks with their keys; a `SweepError` names the first that JSON cannot hold."""
    return [_item(function, i, task) for i, task in enumerate(tasks)]


def _item(function: FunctionName, i: int, task: Any) -> SweepTask:
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
    return SweepTask(hashlib.sha256(f"{function.qualified}\n{text}".encode()).hexdigest(), text)


def whole(value: object, least: int) -> bool:
    """Return True if a value is a whole number, numpy's included, and not less than another."""
    return not isinstance(value, bool) and isinstance(value, int | np.integer) and bool(value >= least)


@dataclass(frozen=True)
class TaskResult:
    """Result of a task."""

    outcome: str  # ``done``, ``failed``, ``timeout`` or ``lost``
    values: dict[str, Any]  # what the function returned, where it did
    error: str = ""  # type, message and end of the traceback of what it raised, or what happened to its process
    seconds: float | None = None  # how long it took; None if nobody was left to say


def run_task(function: Callable[[dict[str, Any]], Any], text: str) -> TaskResult:
    """Call the function with a task as JSON, which every task passes through, wherever it runs."""
    started = time.perf_counter()
    try:
        returned = function(json.loads(text))
        seconds = time.perf_counter() - started
        values = _checked(returned)
    except (Exception, SystemExit) as error:  # noqa: BLE001  whatever a task raises is its row, and stops nothing
        return TaskResult("failed", {}, _described(error), time.perf_counter() - started)
    return TaskResult("done", values, "", seconds)


def _checked(returned: Any) -> dict[str, Any]:
    """Return a row's values as JSON holds them."""
    if not isinstance(returned, dict):
        raise TypeError(f"the function must return a dict, it returned {type(returned).__name__}")
    for name, value in returned.items():
        if not isinstance(name, str):
            raise TypeError(f"the function returned the key {name!r}, which is not a string")
        if name in RESERVED:
            raise TypeError(f"the function returned '{name}', an entry that is the sweep's own")
        if isinstance(value, dict):
            raise TypeError(f"the function returned a dict as '{name}': rows are flat")
    values: dict[str, Any] = json.loads(json.dumps(returned, default=_plain))
    return values


def _plain(value: Any) -> Any:
    """Return what numpy holds as plain numbers and lists, bit for bit."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a row holds JSON values, not {type(value).__name__}")


def _described(error: BaseException) -> str:
    """Return type, message and the innermost frames, from the function's own on."""
    frames = traceback.extract_tb(error.__traceback__)[1:][-FRAMES:]
    try:
        message = " ".join(str(error).split())[:LONGEST_MESSAGE]
    except Exception:  # noqa: BLE001  an exception whose text fails is still reported
        message = "(its message cannot be read)"
    head = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return "\n".join([head, *(line.rstrip() for line in traceback.format_list(frames))])
