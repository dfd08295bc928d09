"""The gallery runs: each example ends without an error, its own assertions included, and prints something."""

from __future__ import annotations

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


def test_gallery_is_there() -> None:
    """The folder is found from here, so the tests above do test something."""
    assert len(EXAMPLES) >= 3
