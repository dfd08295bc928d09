"""What a package lists, and the names it had before: these warn, for one release, with the new one in the text."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def doors(
    package: str, public: Sequence[str], before: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package
        Its ``__name__``.
    public
        Its ``__all__``: what `dir` shows, so that completion shows no modules and no imports.
    before
        Address of what an old name stands for, as ``contactlab.impact.impact_map``, by the old name.
    """

    def attribute(name: str) -> Any:
        if name not in before:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        address = before[name]
        warnings.warn(f"{package}.{name} is now {address}; this name goes with the next release", DeprecationWarning, 2)
        home, _, new = address.rpartition(".")
        return getattr(importlib.import_module(home), new)

    return attribute, lambda: sorted(public)
