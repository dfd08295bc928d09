"""Compiled code on disk is taken again exactly while every source it was compiled from is the same."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from lcp.compiler import cache

SOURCES = {
    "outer.py": "from pkg.kernels.middle import f\n",
    "middle.py": "from pkg.kernels import (\n    inner,\n)\nfrom os import path\n",
    "inner.py": "x = 1\n",
    "other.py": "y = 1\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of four kernel modules: outer reaches middle, middle reaches inner, other stands alone."""
    package = ModuleType("pkg")
    package.__path__ = [str(tmp_path)]
    monkeypatch.setitem(sys.modules, "pkg", package)
    place = tmp_path / "kernels"
    place.mkdir()
    for name, text in SOURCES.items():
        (place / name).write_text(text)
    forget()
    yield place
    forget()


def forget() -> None:
    for cached in (cache._package_folder, cache._kernel_imports, cache._source_hash):
        cached.cache_clear()


@pytest.mark.parametrize(("edited", "same"), [("inner.py", False), ("middle.py", False), ("other.py", True)])
def test_code_is_stale_after_an_edit_of_what_it_reaches(folder: Path, edited: str, same: bool) -> None:
    before = cache._source_hash(folder / "outer.py")
    forget()
    with (folder / edited).open("a") as file:
        file.write("\nz = 2\n")
    assert (cache._source_hash(folder / "outer.py") == before) is same


def test_kernels_of_the_step_reach_those_of_lcp() -> None:
    import contactlab

    step = Path(contactlab.__path__[0]) / "stepping" / "kernels" / "step.py"
    reached, waiting = {step}, [step]
    while waiting:
        for source in cache._kernel_imports(waiting.pop()):
            if source not in reached:
                reached.add(source)
                waiting.append(source)
    assert {"lemke.py", "certify.py", "crba.py", "box_box.py"} <= {source.name for source in reached}
