"""Functions by name: what a worker process loads is the function the sweep was given."""

from __future__ import annotations

import importlib
import os
import runpy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contactlab.lab.errors import SweepError

#: Set in worker processes: a sweep begun there is a script that lacks its `if __name__ == "__main__"`.
WORKER_VARIABLE = "CONTACTLAB_SWEEP_WORKER"
_SCRIPT = "__sweep_main__"


@dataclass(frozen=True)
class FunctionName:
    """Where a function is found."""

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
