"""The room that each file of tests is about: among the rooms it imports, the highest in the order of the layers.

``pytest --room impact`` runs the tests of one room; ``python tests/rooms.py`` prints the table of `docs/tests.md`.
"""

import ast
import functools
import tomllib
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
#: Modules that use everything, so that no package is above them: they read the whole package, pages and commands.
WHOLE = "whole"


@functools.cache
def order() -> list[str]:
    """Rooms from top to bottom, as in the contract of the layers, then the packages that know no mechanics."""
    project = tomllib.loads((TESTS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (layers,) = (one["layers"] for one in contracts if one.get("containers") == ["contactlab"])
    return [*(room.strip() for layer in layers for room in layer.split("|")), "problem_data", "lcp"]


@functools.cache
def imported(path: Path) -> frozenset[str]:
    """Rooms that a file imports, directly or through the helpers beside it."""
    found: set[str] = set()
    for node in statements(ast.parse(path.read_text(encoding="utf-8"))):
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        if isinstance(node, ast.ImportFrom) and node.module in ("contactlab", "contactlab.simulation"):
            # Re-exported names count for the module that defines them.
            names = [homes().get(one.name, f"contactlab.{one.name}") for one in node.names]
        for name in names:
            parts = name.split(".")
            helper = TESTS / f"{name}.py"
            if parts[0] == "contactlab" and len(parts) > 1:
                found.add(parts[1])
            elif parts[0] in ("lcp", "problem_data"):
                found.add(parts[0])
            elif helper.is_file() and helper != path:
                found |= imported(helper)
    return frozenset(found)


def statements(block: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements of a block and of those within, which takes a tenth of the time that all nodes take."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for node in getattr(block, name, ()):
            yield node
            yield from statements(node)


@functools.cache
def homes() -> dict[str, str]:
    """Modules of the names that `contactlab.simulation` re-exports."""
    door = TESTS.parent / "contactlab" / "simulation" / "__init__.py"
    found = [node for node in ast.parse(door.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)]
    return {one.name: str(node.module) for node in found for one in node.names}


def room_of(path: Path) -> str:
    """The room of a file of tests: the highest of the rooms that it imports."""
    return next((room for room in order() if room in imported(path)), WHOLE)


def table() -> str:
    """The rooms and their tests, as on the page."""
    files = sorted(TESTS.glob("test_*.py"))
    rows = [f"| `{room}` | {_names([file for file in files if room_of(file) == room])} |" for room in (*order(), WHOLE)]
    return "\n".join(["| room | tests |", "| --- | --- |", *(row for row in rows if not row.endswith("|  |"))]) + "\n"


def _names(files: list[Path]) -> str:
    return ", ".join(file.stem.removeprefix("test_") for file in files)


if __name__ == "__main__":
    print(table(), end="")
