"""Kernels compiled with the project's options give right results, for any caller, compiled or cached."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lcp.compiler.compile_events import count_compilations
from lcp.compiler.releases import TESTED_RELEASES
from lcp.kernels import kernel

SOURCE = """
import numpy as np
from lcp.kernels import kernel, on_first_compilation

@kernel(inner=True)
def square(x):
    return x * x

@kernel
def norm2(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += square(x[i])
    return total

@kernel
def shifted(x):
    return norm2(x) + square(x[0])

@kernel
def doubled(x):
    return 2.0 * norm2(x)
"""
HEAD = "import threading, numpy as np; from kernels_on_disk import *; x = np.array([3.0, 4.0])\n"
#: Two kernels from two threads at once.
BOTH = """
found = {}
threads = [threading.Thread(target=lambda k=k: found.update({k: k(x)})) for k in (shifted, doubled)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sorted(found.values()))
"""
LINE = (
    "contactlab: compiling kernels that are new to this machine: up to half a minute, once for each kind of world "
    "(contactlab warmup compiles all ahead) ...\n"
)


def call(folder: Path, code: str) -> tuple[str, str]:
    """Return the output of code that calls kernels of SOURCE, in a separate process, and its messages."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache")}
    environment["PYTHONPATH"] = os.pathsep.join([str(folder), *sys.path])
    command = [sys.executable, "-P", "-c", HEAD + code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
    return done.stdout.strip(), done.stderr


def test_each_process_takes_from_disk_what_another_compiled(tmp_path: Path) -> None:
    """A line is printed once in a process that compiles, also from two threads at once, and not for what is on disk."""
    (tmp_path / "kernels_on_disk.py").write_text(SOURCE)
    assert call(tmp_path, "print(norm2(x))") == ("25.0", LINE)
    # Compiled with the inner kernel from disk, and with the inner version of one that Python has called.
    assert call(tmp_path, BOTH) == ("[34.0, 50.0]", LINE)
    assert call(tmp_path, BOTH + "print(norm2(x))") == ("[34.0, 50.0]\n25.0", "")


# Factors and exchanges, reductions, sums in twice the precision, sweeps over rows.
WORK = """
import hashlib
from lcp.compiler.releases import TESTED_RELEASES
from lcp.compiler.compile_events import count_compilations
{}
import numpy as np
import lcp
rng = np.random.default_rng(1)
digest = hashlib.sha256()
for n in (3, 9, 70):
    A = rng.standard_normal((n, n))
    problem = lcp.LCP(A @ A.T + 0.1 * np.eye(n) + A - A.T, rng.standard_normal(n))
    boxed = lcp.BoxLCP(problem.M, problem.q, np.full(n, -0.5), np.full(n, 0.5))
    for result in (
        lcp.solve(boxed, lcp.Murty()),
        lcp.solve(problem, lcp.ProjectedGaussSeidel(max_iterations=50)),
    ):
        digest.update(result.z.tobytes() + result.w.tobytes() + result.status.name.encode())
print(digest.hexdigest())
"""


@pytest.mark.slow
def test_without_any_patch_kernels_give_the_same_bits() -> None:
    """A release of numba with which nothing was tried compiles by its own way."""
    printed = []
    for patches in ("", "TESTED_RELEASES.update(dict.fromkeys(TESTED_RELEASES, ()))"):
        command = [sys.executable, "-P", "-c", WORK.format(patches)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
        printed.append(done.stdout)
    assert "compiling" in done.stderr
    assert printed[0] == printed[1]


def test_without_any_patch_kernels_are_compiled_in_memory(tmp_path: Path) -> None:
    """numba's own cache would miss edits of what a kernel calls."""
    off = "from lcp.compiler.releases import TESTED_RELEASES as patches\npatches.update(dict.fromkeys(patches, ()))\n"
    (tmp_path / "kernels_on_disk.py").write_text(off + SOURCE)
    assert call(tmp_path, "print(shifted(x))") == ("34.0", LINE)
    assert not list((tmp_path / "cache").rglob("*.nbi"))


def test_who_uses_numba_beside_kernels_counts_from_the_end() -> None:
    """Kernels index from the start; other code that numba compiles is unchanged, before and after."""
    import numba

    @kernel
    def entry(x: np.ndarray, i: int) -> float:
        return x[i] + x[i:][1] + x[: i + 1][i]

    x = np.arange(5.0)
    assert entry(x, 2) == 7.0
    assert numba.njit(lambda a, i: a[i] + a[i:][0] + a[:9][3])(x, -1) == 11.0


def new_kernels() -> Any:
    """A kernel that calls another one, both new to the process."""

    @kernel(inner=True)
    def square(x):  # type: ignore[no-untyped-def]
        return x * x

    @kernel
    def sum_of_squares(x):  # type: ignore[no-untyped-def]
        total = 0.0
        for k in range(x.shape[0]):
            total += square(x[k])
        return total

    return sum_of_squares


def test_threads_that_meet_a_new_kernel_at_once_compile_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TESTED_RELEASES, "cache", ())
    # numba compiles its own `max` at the first use in a process: that is no kernel of these threads.
    new_kernels()(np.array([7.0, 20.0, 0.3]))
    compiled, found = new_kernels(), []
    both = threading.Barrier(4)

    def call() -> None:
        both.wait()
        found.append(compiled(np.array([7.0, 20.0, 0.3])))

    threads = [threading.Thread(target=call) for _ in range(4)]
    with count_compilations() as watch:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1
    once = watch.compiled
    with count_compilations() as watch:
        new_kernels()(np.array([7.0, 20.0, 0.3]))
    assert once == watch.compiled > 0
