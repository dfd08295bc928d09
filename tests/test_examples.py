"""The gallery runs: each example ends without an error, its own assertions included, and prints something."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest

GALLERY = Path(__file__).resolve().parents[1] / "examples"
EXAMPLES = sorted(GALLERY.glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.slow
def test_example_runs(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It runs as a script."""
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short(example: Path) -> None:
    """An example is read in one go: fewer than 100 lines, as CONTRIBUTING says."""
    assert len(example.read_text(encoding="utf-8").splitlines()) < 100


def test_the_readme_lists_every_example() -> None:
    """One line each, simple first, then the classics, with the first paragraph of the script; and no other."""
    lines = (GALLERY / "README.md").read_text(encoding="utf-8").splitlines()
    scripts = [*EXAMPLES, *sorted((GALLERY / "classics").glob("*.py"))]
    texts = [ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or "" for script in scripts]
    first = [" ".join(text.partition("\n\n")[0].split()) for text in texts]
    names = [script.relative_to(GALLERY).as_posix() for script in scripts]
    wanted = [f"| `{name}` | {text} |" for name, text in zip(names, first, strict=True)]
    assert [line for line in lines if line.startswith("| `")] == wanted


def test_gallery_is_there() -> None:
    """The folder is found from here, so the tests above do test something."""
    assert len(EXAMPLES) >= 3
