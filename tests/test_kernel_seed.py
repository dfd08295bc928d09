"""Compiled kernels are taken wherever the same sources meet the same versions and tier of processors, not elsewhere."""

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import lcp
from lcp.compiler import kernel_files, releases

SOLVE = r"""
import lcp
result = lcp.solve(lcp.LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]), lcp.Murty())
print(lcp.__file__, result.z.tobytes().hex(), sep="\n")
"""
#: The same of one small kernel, which is compiled in a second.
PROJECT = r"""
import numpy as np
import lcp
from lcp.kernels.cone_measures import project_cones
points = np.array([[1.0, 2.0, 0.5]])
project_cones(np.array([0.5]), points)
print(lcp.__file__, points.tobytes().hex(), sep="\n")
"""
WRITE = """from pathlib import Path
from lcp.compiler.kernel_files import export_kernels
print(export_kernels(Path({!r})) > 0)
"""


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of `lcp` in another folder, as a second environment would have them."""
    place = tmp_path_factory.mktemp("other environment")
    shutil.copytree(Path(lcp.__file__).parent, place / "lcp", ignore=shutil.ignore_patterns("__pycache__"))
    return place


def run(code: str, sources: Path | None = None, **variables: str) -> tuple[list[str], str]:
    """Return the output of a process that imports `lcp` from ``sources``, and its messages."""
    places = [] if sources is None else [str(sources)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([*places, *sys.path])} | variables
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)
    return done.stdout.splitlines(), done.stderr


def test_another_copy_of_the_sources_compiles_nothing(copied: Path, tmp_path: Path) -> None:
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    (file, z), said = run(PROJECT, **cache)
    assert "compiling" in said
    (copy, same), said = run(PROJECT, copied, **cache)
    assert said == ""
    assert same == z
    assert Path(copy).is_relative_to(copied)
    assert not Path(file).is_relative_to(copied)


@pytest.mark.slow
def test_a_seed_is_read_and_never_written(copied: Path, tmp_path: Path) -> None:
    into, empty = tmp_path / "seed", tmp_path / "empty"
    assert run(SOLVE + WRITE.format(str(into)), NUMBA_CACHE_DIR=str(tmp_path / "cache"))[0][-1] == "True"
    before = {path: path.stat().st_mtime_ns for path in into.rglob("*")}
    assert before
    assert not any(path.stat().st_mode & 0o022 for path in before)
    assert run(SOLVE, copied, NUMBA_CACHE_DIR=str(empty), CONTACTLAB_KERNELS=str(into))[1] == ""
    assert {path: path.stat().st_mtime_ns for path in into.rglob("*")} == before
    assert not list(empty.rglob("*.nbc"))
    # Kernels missing in the seed are compiled, and stored in the cache.
    more = SOLVE.replace("Murty", "ProjectedGaussSeidel")
    assert "compiling" in run(more, NUMBA_CACHE_DIR=str(empty), CONTACTLAB_KERNELS=str(into))[1]
    assert list(empty.rglob("*.nbc"))
    # Cut or overwritten it is compiled anew.
    for path in into.rglob("*.nbc"):
        path.write_bytes(path.read_bytes()[:-1])
    assert "compiling" in run(SOLVE, NUMBA_CACHE_DIR=str(tmp_path / "new"), CONTACTLAB_KERNELS=str(into))[1]


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A seed for this process, with the code of one file of kernels."""
    place = tmp_path / "seed"
    (place / kernel_files.build_tag() / "pkg.kernels.one-0123").mkdir(parents=True)
    for folder in (place, *place.rglob("*")):
        folder.chmod(0o755)
    monkeypatch.setenv(kernel_files.VARIABLE, str(place))
    for cached in (kernel_files._seed, kernel_files._refused):
        cached.cache_clear()
    yield place
    for cached in (kernel_files._seed, kernel_files._refused):
        cached.cache_clear()


def file_of(place: str) -> Any:
    return kernel_files.seed_file(place, "one", ("stamp",), repr)


def test_a_seed_of_other_sources_is_refused_once(named: Path) -> None:
    assert file_of("pkg.kernels.one-0123") is not None
    with pytest.warns(RuntimeWarning, match=r"another version of the sources.*warmup --export"):
        assert file_of("pkg.kernels.one-4567") is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert file_of("pkg.kernels.one-4567") is None
        # Nothing is known of these: kernels of somebody's own.
        assert file_of("other.kernels.two-4567") is None


@pytest.mark.parametrize("with_part", [True, False])
def test_a_seed_for_others_is_refused(named: Path, with_part: bool) -> None:
    part = named / kernel_files.build_tag()
    if with_part:
        part.rename(named / part.name.replace("numba", "numba9."))
    else:
        shutil.rmtree(named)
    with pytest.warns(RuntimeWarning, match=r"numba9\..*and this is" if with_part else "No such file"):
        assert file_of("pkg.kernels.one-0123") is None


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owners here")
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_seed_that_others_may_write_is_refused(named: Path, depth: int) -> None:
    [named, *sorted(named.rglob("*"))][depth].chmod(0o775)
    with pytest.warns(RuntimeWarning, match="another user owns"):
        assert file_of("pkg.kernels.one-0123") is None


@pytest.mark.slow
@pytest.mark.skipif(releases.target_cpu() not in releases._X86_TIERS, reason="other processors have one tier")
def test_tiers_give_the_same_bits_and_are_kept_apart(tmp_path: Path) -> None:
    """No product and sum are fused into one rounding, wherever the processor could."""
    printed = {}
    for name in ("x86-64", releases.target_cpu() or ""):
        variables = {"NUMBA_CACHE_DIR": str(tmp_path), releases.VARIABLE: name}
        (_, z), said = run(SOLVE, **variables)
        assert "compiling" in said
        printed[name] = z
    assert len(set(printed.values())) == 1
    assert len(list((tmp_path / "contactlab-kernels").iterdir())) == 2
