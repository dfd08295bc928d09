"""Engines of the suite, by name; each is imported when it is asked for."""

from __future__ import annotations

import importlib
import runpy
from pathlib import Path

from contactlab.conformance.case import Engine

#: Name before the colon, which is the module's name: its settings ("" for the defaults); and the class there.
ENGINES = {
    "ours": ("", "cone"),
    "mujoco": ("", "elliptic", "noslip"),
    "drake": ("", "tamsi", "sap", "similar", "lagged"),
}
CLASSES = {"ours": "Contactlab", "mujoco": "MuJoCo", "drake": "Drake"}


class UnknownEngineError(ValueError):
    """No engine of this name or file."""


def check_name(name: str) -> None:
    """Raise an `UnknownEngineError` for a name that is no engine's, or a file that is not there."""
    first, setting = _parts(name)
    if first.endswith(".py"):
        if not Path(first).is_file():
            raise UnknownEngineError(f"there is no file {first}")
    elif setting not in ENGINES.get(first, ()):
        known = ", ".join(f"{one}:{s}" if s else one for one, all_of in ENGINES.items() for s in all_of)
        raise UnknownEngineError(f"there is no engine {name!r}; there are {known}, and path.py:Name")


def engine_of(name: str) -> Engine:
    """Return the engine of a name such as ``mujoco:elliptic``, or of a file: ``path.py:Name``.

    Raises
    ------
    UnknownEngineError
        There is no such name.
    ImportError
        Its package is not installed.
    """
    check_name(name)
    first, setting = _parts(name)
    if first.endswith(".py"):
        # Under a name of its own, so that what the script does when it is run is not done here.
        found: Engine = runpy.run_path(first, run_name=f"_engine_{Path(first).stem}")[setting]()
        return found
    made: Engine = getattr(importlib.import_module(f"{__name__}.{first}"), CLASSES[first])(setting)
    return made


def _parts(name: str) -> tuple[str, str]:
    first, _, setting = name.rpartition(":") if ".py:" in name else name.partition(":")
    return first, setting
