"""One page of reference for each public package, generated from its `__all__`: nothing is listed by hand.

A name that several packages export is described on the page of the first and named on the others. Docstrings are
written for a reader of the source; characters that reStructuredText would take for markup are escaped.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

#: In the order of the reference. Packages inside them that export something follow automatically.
ROOTS = ("lcp", "problem_data", "contactlab")
#: Modules that are public although no package exports their names.
MODULES = ("lcp.catalog",)
#: Not called from Python.
LEFT_OUT = re.compile(r"\.(kernels|cli)\b|\._")
CODE = re.compile(r"(``.*?``|`[^`]*`)", re.DOTALL)
TYPE = re.compile(r"^(:(?:var|r)?type[^:]*: )([^`]+)$")
#: In reStructuredText `|x|` would be a substitution, `x_` a link, `*x*` emphasis.
MARKUP = re.compile(r"(\||\*|(?<=\w)_(?=\W|$))")


@dataclass
class Page:
    """The names that one package exports."""

    module: types.ModuleType
    own: dict[str, Any] = field(default_factory=dict)
    elsewhere: dict[str, str] = field(default_factory=dict)


def packages() -> list[str]:
    """Public packages and modules, outer ones before inner ones."""
    found = []
    for root in ROOTS:
        inside = pkgutil.walk_packages(importlib.import_module(root).__path__, f"{root}.")
        found += [root, *sorted(module.name for module in inside if module.ispkg)]
    return [name for name in found + list(MODULES) if not LEFT_OUT.search(name)]


def pages() -> list[Page]:
    """The pages, with each name on the first one that exports it."""
    places: dict[int, str] = {}
    made = []
    for name in packages():
        module = importlib.import_module(name)
        page = Page(module)
        for exported in getattr(module, "__all__", public_names(module) if name in MODULES else ()):
            value = getattr(module, exported)
            if exported.startswith("_") or inspect.ismodule(value):
                continue
            shared = inspect.isclass(value) or inspect.isroutine(value)
            if shared and id(value) in places:
                page.elsewhere[exported] = places[id(value)]
            else:
                page.own[exported] = value
                if shared:
                    places[id(value)] = f"{name}.{exported}"
        if page.own:
            made.append(page)
    return made


def public_names(module: types.ModuleType) -> list[str]:
    """The names that a module without `__all__` defines."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and inspect.getmodule(value) is module and callable(value)
    ]


def directive(value: Any) -> str:
    """The autodoc directive for an object."""
    if inspect.isclass(value):
        return "autoexception" if issubclass(value, BaseException) else "autoclass"
    return "autofunction" if inspect.isroutine(value) else "autodata"


def text_of(page: Page) -> str:
    """A page in reStructuredText: classes, functions, values, and names described elsewhere."""
    name = page.module.__name__
    lines = [name, "=" * len(name), "", f".. py:module:: {name}", "", *escaped(page.module.__doc__ or ""), ""]
    kinds = {"autoclass": "Classes", "autofunction": "Functions", "autoexception": "Errors", "autodata": "Values"}
    for kind, heading in kinds.items():
        names = [exported for exported, value in page.own.items() if directive(value) == kind]
        if names:
            lines += [heading, "-" * len(heading), ""]
        for exported in names:
            lines += [f".. {kind}:: {name}.{exported}"]
            if kind in ("autoclass", "autoexception"):
                lines += ["   :members:", "   :inherited-members: Exception, tuple, Enum, Flag, int"]
            if kind == "autodata":
                lines += ["   :no-value:"]
            lines += [""]
    if page.elsewhere:
        lines += ["Also here", "---------", ""]
        lines += [", ".join(f":py:obj:`{exported} <{place}>`" for exported, place in page.elsewhere.items()), ""]
    return "\n".join(lines)


def escaped(text: str) -> list[str]:
    """Lines of a docstring with the characters that are markup escaped, except in code."""
    pieces = CODE.split(inspect.cleandoc(text))
    return "".join(piece if i % 2 else MARKUP.sub(r"\\\1", piece) for i, piece in enumerate(pieces)).splitlines()


def escape_docstring(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Runs before napoleon reads the sections. A value has only its type's docstring, which says nothing about it."""
    if what == "data" and inspect.getdoc(obj) == inspect.getdoc(type(obj)):
        lines.clear()
    lines[:] = [*escaped("\n".join(lines)), ""]


def types_as_code(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Runs after napoleon: types are prose with shapes in it, where Sphinx would take `n` and `shape` for names."""
    lines[:] = [TYPE.sub(lambda match: f"{match[1]}``{match[2].replace(chr(92), '')}``", line) for line in lines]


def write_pages(app: Sphinx) -> None:
    """Write `api/`, changing only files whose text differs, so that a second build is quick."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    made = {f"{page.module.__name__}.rst": text_of(page) for page in pages()}
    names = "\n".join(f"   {name.removesuffix('.rst')}" for name in made)
    made["index.rst"] = f"API reference\n=============\n\n{INTRODUCTION}\n.. toctree::\n   :maxdepth: 1\n\n{names}\n"
    for old in folder.glob("*.rst"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


INTRODUCTION = """\
Every public name, from the docstrings. SI units and radians throughout, angular part first in 6-vectors, shapes in
parentheses, units in brackets; symbols in :doc:`/notation`. Names load on first use, heavy libraries when a function
needs them.
"""


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the pages and the escaping, which has to come before napoleon's."""
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", escape_docstring, priority=400)
    app.connect("autodoc-process-docstring", types_as_code, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
