"""Engines of the suite, by name; each is imported on first use."""

from __future__ import annotations

import importlib
import runpy
from pathlib import Path

from contactlab.conformance.case import Engine

#: By the name before the colon: module and class, and settings ("" for the default).
ENGINES = {
    "ours": ("ours", "Contactlab", ("", "cone")),
    "mujoco": ("peers", "MuJoCo", ("", "elliptic", "noslip")),
    "drake": ("peers", "Drake", ("", "tamsi", "sap", "similar", "lagged")),
}


class UnknownEngineError(ValueError):
    """No engine has this name, or the file does not exist."""


def check_name(name: str) -> None:
    """Raise an `UnknownEngineError` for a name without an engine, or a missing file."""
    first, setting = _parts(name)
    if first.endswith(".py"):
        if not Path(first).is_file():
            raise UnknownEngineError(f"there is no file {first}")
    elif setting not in ENGINES.get(first, ("", "", ()))[2]:
        known = ", ".join(f"{one}:{s}" if s else one for one, (_, _, settings) in ENGINES.items() for s in settings)
        raise UnknownEngineError(f"there is no engine {name!r}; there are {known}, and path.py:Name")


def engine_of(name: str) -> Engine:
    """Return the engine of a name such as ``mujoco:elliptic``, or of a file: ``path.py:Name``.

    Raises
    ------
    UnknownEngineError
        There is no engine of this name.
    ImportError
        The package of the engine is not installed.
    """
    check_name(name)
    first, setting = _parts(name)
    if first.endswith(".py"):
        # Run under another name than __main__, so that the main part of the script is not executed.
        found: Engine = runpy.run_path(first, run_name=f"_engine_{Path(first).stem}")[setting]()
        return found
    module, engine, _ = ENGINES[first]
    made: Engine = getattr(importlib.import_module(f"{__name__}.{module}"), engine)(setting)
    return made


def _parts(name: str) -> tuple[str, str]:
    first, _, setting = name.rpartition(":") if ".py:" in name else name.partition(":")
    return first, setting
