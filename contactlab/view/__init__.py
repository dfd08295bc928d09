"""Show worlds, runs and results: pictures (`drawing`, `plotting`), the viewer and the tour in the browser."""

import importlib
from types import ModuleType

from contactlab.naming import unknown_name

__all__ = ["drawing", "plotting", "tour", "viewer"]


def __getattr__(name: str) -> ModuleType:
    """Import a package the first time it is asked for."""
    if name not in __all__:
        raise unknown_name(__name__, name, __all__)
    return importlib.import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    """List the packages."""
    return sorted(__all__)
