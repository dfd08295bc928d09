"""Engines of the suite, by name; each is imported when it is asked for."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

from contactlab.conformance.scene import Engine

#: Name before the colon, which is that of the module: its settings ("" for the defaults); and the class there.
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
        spec = importlib.util.spec_from_file_location(f"_engine_{Path(first).stem}", first)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        # Dataclasses look their module up by its name.
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        found: Engine = getattr(module, setting)()
        return found
    made: Engine = getattr(importlib.import_module(f"{__name__}.{first}"), CLASSES[first])(setting)
    return made


def _parts(name: str) -> tuple[str, str]:
    first, _, setting = name.rpartition(":") if ".py:" in name else name.partition(":")
    return first, setting
