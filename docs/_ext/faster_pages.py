"""The same pages in less time: references that cannot be found, and the tree of pages that every page repeats.

Sphinx compares types of other libraries with the ends of all documented names, one after the other. The theme copies
the headings of all pages into every page, although it shows only titles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sphinx.application import Sphinx
from sphinx.domains.python import ObjectEntry, PythonDomain

#: Levels of pages in the tables of contents; headings below them are not copied.
LEVELS = 2


class QuickPythonDomain(PythonDomain):
    """Sphinx's domain with an index of the last parts of all documented names, for quick failed look-ups."""

    _counted, _last_parts = 0, frozenset[str]()

    def find_obj(self, env: Any, modname: str, classname: str, name: str, *more: Any) -> list[tuple[str, ObjectEntry]]:
        """Find an object as Sphinx does, if any documented name ends as this one does."""
        if len(self.objects) != self._counted:
            self._last_parts = frozenset(known.rpartition(".")[2] for known in self.objects)
            self._counted = len(self.objects)
        if name.removesuffix("()").rpartition(".")[2] not in self._last_parts:
            return []
        return super().find_obj(env, modname, classname, name, *more)


def limit_depth(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Limit the theme's tree of pages to the levels that there are."""
    if "toctree" in context:
        context["toctree"] = _limited(context["toctree"])


def _limited(toctree: Callable[..., str]) -> Callable[..., str]:
    def shown(**options: Any) -> str:
        return toctree(**(options | {"maxdepth": LEVELS}))

    return shown


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx, before the theme."""
    app.add_domain(QuickPythonDomain, override=True)
    app.connect("html-page-context", limit_depth, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
