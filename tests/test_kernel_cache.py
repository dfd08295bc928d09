"""Compiled code on disk is taken again exactly while every source it was compiled from is the same."""

import importlib.util
import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from lcp.compiler import cache
from lcp.compiler.kernel_files import remove_unused

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


KERNEL = "from lcp.compiler import kernel\n\n\n@kernel\ndef twice(x: float) -> float:\n    return 2.0 * x\n"


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for compiled kernels of this test alone."""
    place = tmp_path / "stored"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(place))
    cache.cache_folder.cache_clear()
    yield place
    cache.cache_folder.cache_clear()


def fresh(tmp_path: Path, text: str = KERNEL) -> Any:
    """The kernel ``twice`` as a new process would have it: nothing of it in memory."""
    path = tmp_path / "doubling.py"
    path.write_text(text)
    forget()
    specification = importlib.util.spec_from_file_location("doubling", path)
    assert specification is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["doubling"] = module
    # Not by the loader: of two texts of one size within a second it takes the bytecode of the first.
    exec(compile(text, path, "exec"), module.__dict__)
    return module.twice


def taken(function: Any, *arguments: Any) -> tuple[Any, bool]:
    """Return the result of a kernel, and whether its code came from the disk."""
    value = function(*arguments)
    return value, sum(function.stats.cache_hits.values()) > 0


def test_code_is_taken_again(tmp_path: Path, stored: Path) -> None:
    assert taken(fresh(tmp_path), 3.0) == (6.0, False)
    assert taken(fresh(tmp_path), 3.0) == (6.0, True)
    assert not stat.S_IMODE((stored / "contactlab-kernels").stat().st_mode) & 0o077


def damages(data: bytes) -> Iterator[bytes]:
    yield b""
    for part in (1, len(data) // 2, len(data) - 1):
        yield data[:part]
    for place in np.random.default_rng(5).integers(0, len(data), 5):
        start = int(place)
        yield data[:start] + bytes(byte ^ 0x5A for byte in data[start : start + 15]) + data[start + 15 :]
    yield data + b"more"
    yield b"cposix\nsystem\n(S'false'\ntR."


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_damaged_files_are_compiled_again(tmp_path: Path, stored: Path, suffix: str) -> None:
    taken(fresh(tmp_path), 3.0)
    (first,) = stored.rglob(f"*{suffix}")
    for number in range(len(list(damages(first.read_bytes())))):
        (file,) = stored.rglob(f"*{suffix}")
        file.write_bytes(list(damages(file.read_bytes()))[number])
        assert taken(fresh(tmp_path), 3.0) == (6.0, False)
        assert taken(fresh(tmp_path), 3.0) == (6.0, True)
        for stale in stored.rglob("*.nb?"):
            stale.unlink()
        taken(fresh(tmp_path), 3.0)
        assert len(list(stored.rglob("*.nb?"))) == 2


def test_code_of_other_sources_and_other_versions_is_compiled_again(
    tmp_path: Path, stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken(fresh(tmp_path), 3.0)
    assert taken(fresh(tmp_path, KERNEL.replace("2.0", "4.0")), 3.0) == (12.0, False)
    # Of both sources, as of two checkouts.
    assert taken(fresh(tmp_path), 3.0) == (6.0, True)
    assert taken(fresh(tmp_path, KERNEL.replace("2.0", "4.0")), 3.0) == (12.0, True)
    monkeypatch.setattr("numba.__version__", "0.1.0")
    assert taken(fresh(tmp_path), 3.0) == (6.0, False)
    # Code that no index names is removed, an hour later.
    for file in stored.rglob("*.nbc"):
        os.utime(file, (1.0, 1.0))
    assert taken(fresh(tmp_path), 3.0) == (6.0, True)
    assert taken(fresh(tmp_path), np.float32(3.0)) == (6.0, False)
    assert sorted(len(list(folder.glob("*.nbc"))) for folder in {file.parent for file in stored.rglob("*.nbc")}) == [
        1,
        2,
    ]


def test_code_that_nobody_took_for_longest_goes_first(tmp_path: Path) -> None:
    now = time.time()
    for name, age in (("old", 3e6), ("new", 1e4), ("older", 4e6), ("in use", 60.0)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "code").write_bytes(bytes(100))
        os.utime(tmp_path / name, (now - age, now - age))
    remove_unused(str(tmp_path), 250)
    assert {path.name for path in tmp_path.iterdir()} == {"new", "in use"}
    # Once in a process; and what may be in use stays.
    remove_unused(str(tmp_path), 50)
    assert {path.name for path in tmp_path.iterdir()} == {"in use"}


def test_signatures_with_classes_of_others_stay_theirs(tmp_path: Path, stored: Path) -> None:
    """A script's own tuple type is in the index of a kernel it called; a process without the script reads the rest."""
    other = ModuleType("script")
    sys.modules["script"] = other
    try:
        exec("from typing import NamedTuple\nclass Own(NamedTuple):\n    x: float\n", other.__dict__)
        text = KERNEL.replace("x: float", "x").replace("2.0 * x", "2.0 * x[0]")
        assert taken(fresh(tmp_path, text), other.Own(3.0)) == (6.0, False)
    finally:
        del sys.modules["script"]
    assert taken(fresh(tmp_path, text), (3.0,)) == (6.0, False)
    assert taken(fresh(tmp_path, text), (3.0,)) == (6.0, True)
    sys.modules["script"] = other
    try:
        assert taken(fresh(tmp_path, text), other.Own(3.0)) == (6.0, True)
    finally:
        del sys.modules["script"]


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owners here")
def test_a_folder_that_others_may_write_is_refused_with_the_fix(
    tmp_path: Path, stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = stored / "contactlab-kernels"
    place.mkdir(parents=True)
    place.chmod(0o777)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "next"))
    with pytest.warns(RuntimeWarning, match=r"chmod go-w .*contactlab-kernels"):
        assert cache.cache_folder() == str(tmp_path / "next" / "contactlab-kernels")


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owners here")
def test_files_of_another_user_are_not_read(tmp_path: Path, stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken(fresh(tmp_path), 3.0)
    assert taken(fresh(tmp_path), 3.0) == (6.0, True)
    function = fresh(tmp_path)
    cache.cache_folder()
    monkeypatch.setattr(os, "getuid", lambda: 123456)
    assert taken(function, 3.0) == (6.0, False)


@pytest.mark.slow
def test_ten_processes_that_compile_at_once(tmp_path: Path, stored: Path) -> None:
    """Each process has the right results, with any order of writing, for separate and for shared signatures."""
    (tmp_path / "doubling.py").write_text(KERNEL.replace("x: float", "x").replace("2.0 * x", "2.0 * x[0]"))
    script = (
        "import sys; from doubling import twice; n = int(sys.argv[1]);"
        "print([twice(tuple([3.0 + n] * k)) for k in (n + 1, 1, 2)], sum(twice.stats.cache_hits.values()))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    for _ in range(2):
        running = [
            subprocess.Popen([sys.executable, "-c", script, str(n)], env=environment, stdout=subprocess.PIPE, text=True)
            for n in range(10)
        ]
        told = [process.communicate(timeout=300)[0] for process in running]
        assert [line.rpartition(" ")[0] for line in told] == [str([6.0 + 2.0 * n] * 3) for n in range(10)]
