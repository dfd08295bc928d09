"""Kernels compiled in the project's way do what they say, from whoever calls them and whether compiled or cached."""

from __future__ import annotations

import copy
import gc
import math
import os
import runpy
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from lcp.compiler import compilation_seconds, compiling
from lcp.compiler.bound_call import BoundCall, unpack_arguments
from lcp.compiler.compile_events import count_compilations
from lcp.compiler.releases import TESTED_RELEASES
from lcp.compiler.type_lookup_cache import fast_compilation
from lcp.kernels import kernel, on_first_compilation


class Pair(NamedTuple):
    x: np.ndarray
    y: np.ndarray


@kernel(inner=True)
def total(pair: Pair, scale: float) -> float:
    result = 0.0
    for i in range(pair.x.shape[0]):
        if pair.x[i] > 0.0:
            result += scale * pair.x[i] * pair.y[i]
        else:
            result -= pair.y[i]
    return result


@kernel
def twice(pair: Pair) -> float:
    return 2.0 * total(pair, 1.0)


@kernel
def branches(pair: Pair, limit: int) -> float:
    first = pair.x[0]
    result = 0.0
    for i in range(limit):
        last = first + i
        if i % 3 == 0:
            step = last
        else:
            step = pair.y[i % 2]
        for j in range(i):
            if j > 2:
                continue
            result += step * j + last
        if result > 1e3:
            break
    return result + twice(pair) + total(pair, 0.5)


def in_python(pair: Pair, limit: int) -> float:
    """`branches`, with what it calls, written once more."""
    result, first = 0.0, pair.x[0]
    for i in range(limit):
        step = first + i if i % 3 == 0 else pair.y[i % 2]
        for j in range(min(i, 3)):
            result += step * j + (first + i)
        if result > 1e3:
            break
    positive = sum(x * y for x, y in zip(*pair, strict=True) if x > 0)
    others = sum(y for x, y in zip(*pair, strict=True) if x <= 0)
    return result + 2 * (positive - others) + 0.5 * positive - others


@kernel(inner=True, long_loops=True)
def add_to(x: np.ndarray, y: np.ndarray) -> None:
    for i in range(x.shape[0]):
        x[i] += 0.1 * y[i]


@kernel(short_loops=True)
def added(pair: Pair, times: int) -> float:
    for _ in range(times):
        add_to(pair.x, pair.y)
    return total(pair, 1.0)


@kernel(short_loops=True)
def added_held(held: np.ndarray, types: object) -> float:
    pair, times, counted, _ = unpack_arguments(held, types)
    counted[0].count += 1
    return added(pair, times)


PAIR = Pair(np.array([1.5, -2.0, 3.0]), np.array([0.5, 4.0, 0.25]))


def test_a_kernel_that_others_call_can_be_called_from_python_before_and_after() -> None:
    assert twice(PAIR) == 2 * (1.5 * 0.5 + 3 * 0.25 - 4)
    assert branches(PAIR, 4) == pytest.approx(in_python(PAIR, 4), abs=1e-12)
    assert twice(PAIR) == 2 * (1.5 * 0.5 + 3 * 0.25 - 4)


@pytest.mark.parametrize("limit", [0, 1, 3, 7, 60])
def test_values_kept_over_branches_and_loops_are_those_of_python(limit: int) -> None:
    assert branches(PAIR, limit) == pytest.approx(in_python(PAIR, limit), rel=1e-13, abs=1e-12)


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
"""
CALL = "import numpy as np; from kernels_on_disk import *; print({}(np.array([3.0, 4.0])))"


def call(folder: Path, function: str) -> tuple[str, bool]:
    """What a kernel of SOURCE prints in a process of its own, and whether it was compiled for that."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache")}
    environment["PYTHONPATH"] = os.pathsep.join([str(folder), *sys.path])
    command = [sys.executable, "-P", "-c", CALL.format(function)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
    return done.stdout.strip(), "compiling" in done.stderr


def test_each_process_takes_from_disk_what_another_compiled(tmp_path: Path) -> None:
    (tmp_path / "kernels_on_disk.py").write_text(SOURCE)
    assert call(tmp_path, "norm2") == ("25.0", True)
    assert call(tmp_path, "norm2") == ("25.0", False)
    # Compiled with the inner kernel from disk, and with the inner version of one that Python has called.
    assert call(tmp_path, "shifted") == ("34.0", True)
    assert call(tmp_path, "shifted") == ("34.0", False)
    assert call(tmp_path, "norm2") == ("25.0", False)


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
    assert call(tmp_path, "shifted") == ("34.0", True)
    assert call(tmp_path, "shifted") == ("34.0", True)
    assert not list((tmp_path / "cache").rglob("*.nbi"))


def test_numba_and_the_collector_are_left_as_they_were() -> None:
    from numba.core.base import BaseContext
    from numba.core.inline_closurecall import InlineWorker
    from numba.core.targetconfig import TargetConfig
    from numba.core.types.functions import BaseFunction

    before = TargetConfig.values, BaseFunction.get_call_type, BaseContext.refresh, InlineWorker.run_untyped_passes
    with pytest.raises(ZeroDivisionError):
        fail_swiftly()
    assert gc.isenabled()
    after = TargetConfig.values, BaseFunction.get_call_type, BaseContext.refresh, InlineWorker.run_untyped_passes
    assert after == before


def test_who_uses_numba_beside_kernels_counts_from_the_end() -> None:
    """Kernels index from the start; what else numba compiles is as it was, before and after."""
    import numba

    @kernel
    def entry(x: np.ndarray, i: int) -> float:
        return x[i] + x[i:][1] + x[: i + 1][i]

    x = np.arange(5.0)
    assert entry(x, 2) == 7.0
    assert numba.njit(lambda a, i: a[i] + a[i:][0] + a[:9][3])(x, -1) == 11.0


def fail_swiftly() -> None:
    with fast_compilation():
        with fast_compilation():
            assert not gc.isenabled()
        assert not gc.isenabled()
        raise ZeroDivisionError


@kernel
def at_place(x: np.ndarray, least: float) -> float:
    place = -1
    for i in range(x.shape[0]):
        if x[i] > least:
            place = i
    return float(x[place] + 10.0 * x[-2])


def test_kernels_of_users_count_from_the_end() -> None:
    """Only the project's own are known not to."""
    x = np.array([1.0, 2.0, 3.0])
    assert at_place(x, 9.0) == 23.0
    assert at_place(x, 2.5) == 23.0
    assert at_place(np.array([5.0, 2.0, 3.0]), 4.0) == 25.0


def test_what_waits_for_a_compilation_is_done_once_and_only_within_its_block(tmp_path: Path) -> None:
    # A file of a new name: from disk, of an earlier run of this test, nothing would be compiled.
    path = tmp_path / f"waits_{uuid.uuid4().hex}.py"
    path.write_text(
        "from lcp.kernels import kernel\n\n\n@kernel\ndef one_more(x: float) -> float:\n    return x + 1.0\n"
    )
    one_more = runpy.run_path(str(path))["one_more"]
    calls: list[int] = []
    with on_first_compilation(lambda: calls.append(1)):
        pass
    assert one_more(1.0) == 2.0
    assert calls == []
    with on_first_compilation(lambda: calls.append(2 if compiling() else 3)):
        assert one_more(1) == 2.0
        assert one_more(np.float32(1.0)) == 2.0
    assert calls == [2]
    assert not compiling()


def test_a_thread_knows_how_long_it_waited_for_kernels(tmp_path: Path) -> None:
    """No more than what went by; nothing where the kernel is there, or where another thread waited."""
    path = tmp_path / f"timed_{uuid.uuid4().hex}.py"
    path.write_text(
        "from lcp.kernels import kernel\n\n\n@kernel\ndef one_more(x: float) -> float:\n    return x + 1.0\n"
    )
    one_more = runpy.run_path(str(path))["one_more"]
    began, before = time.perf_counter(), compilation_seconds()
    one_more(1.0)
    waited, passed = compilation_seconds() - before, time.perf_counter() - began
    assert 0.2 * passed < waited < passed
    one_more(2.0)
    other = threading.Thread(target=lambda: one_more(1))
    other.start()
    other.join()
    assert compilation_seconds() - before == waited


def test_unrolled_or_not_loops_give_the_bits_of_python() -> None:
    """With ends that no number of lanes divides."""
    rng = np.random.default_rng(5)
    for n in (1, 3, 8, 37):
        pair = Pair(*rng.normal(size=(2, n)))
        x = pair.x.copy()
        for _ in range(3):
            for i in range(n):
                x[i] += 0.1 * pair.y[i]
        added(pair, 3)
        np.testing.assert_array_equal(pair.x, x)


def ways_of_kernels() -> Any:
    """A kernel that takes in others, one of them several times and within another, with names that they share."""

    @kernel(inline=True)
    def clipped(x: float, most: float) -> float:
        k = 0
        while x > most:
            x *= 0.5
            k += 1
        return x if k < 4 else x + k

    @kernel(inline=True)
    def turned(pair: Pair, k: int) -> Pair:
        x = clipped(pair.x[k], 2.0)
        if k > 0:
            return Pair(pair.y, pair.x)
        x += clipped(pair.y[k], 1.0)
        pair.x[k] = x
        return pair

    @kernel(inner=True)
    def largest(pair: Pair) -> float:
        k, x = 0, -math.inf
        for k in range(pair.x.shape[0]):
            x = max(x, pair.x[k], pair.y[k])
        return x + k

    @kernel
    def all_ways(pair: Pair) -> float:
        x = 0.0
        for k in range(pair.x.shape[0]):
            x += largest(turned(pair, k))
            x += clipped(clipped(x, 5.0), 0.5)
        return x * largest(pair)

    return all_ways


class Pair(NamedTuple):
    x: np.ndarray
    y: np.ndarray


def machine_code(kernel: Any) -> list[bytes]:
    from llvmlite.binding import ObjectFileRef

    (compiled,) = kernel.overloads.values()
    parts = ObjectFileRef.from_data(compiled.library._get_compiled_object()).sections()
    return [bytes(part.data()) for part in parts if part.is_text()]


def test_what_is_spared_in_compiling_changes_no_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    values, codes = [], []
    monkeypatch.setitem(TESTED_RELEASES, "cache", ())
    for releases in (TESTED_RELEASES["spared"], ()):
        monkeypatch.setitem(TESTED_RELEASES, "spared", releases)
        all_ways = ways_of_kernels()
        values.append(all_ways(Pair(np.array([7.0, 20.0, 0.3]), np.array([1.0, 90.0, 4.0]))))
        codes.append(machine_code(all_ways))
    assert values[0] == values[1]
    assert codes[0] == codes[1]
    assert codes[0]


def test_threads_that_meet_a_new_kernel_at_once_compile_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TESTED_RELEASES, "cache", ())
    all_ways, found = ways_of_kernels(), []
    both = threading.Barrier(4)

    def call() -> None:
        both.wait()
        found.append(all_ways(Pair(np.array([7.0, 20.0, 0.3]), np.array([1.0, 90.0, 4.0]))))

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
        ways_of_kernels()(Pair(np.array([7.0, 20.0, 0.3]), np.array([1.0, 90.0, 4.0])))
    assert once == watch.compiled > 0


def test_a_held_call_is_the_call_itself_on_the_same_memory() -> None:
    """Arrays are seen as they are at each call, records are written, and what is held stays alive."""
    counted = np.zeros(1, dtype=np.dtype((np.record, [("count", np.int64)])))
    pair = Pair(np.ones(5), np.full(5, 2.0))
    call = BoundCall(added_held, (pair, 2, counted, None))
    other = BoundCall(added_held, (Pair(np.zeros(3), np.ones(3)), 1, counted, None))
    x = pair.x
    del pair
    gc.collect()
    assert call() == pytest.approx(5 * 1.4 * 2.0)
    x[:] = 0.0
    assert call() == pytest.approx(5 * 0.4 * 2.0)
    assert other() == pytest.approx(0.3)
    assert counted[0].count == 3
    np.testing.assert_allclose(x, 0.4)
    with pytest.raises(TypeError, match="addresses"):
        copy.deepcopy(call)


def test_the_line_on_compiling_is_printed_once_in_a_process_and_not_for_what_is_on_disk(tmp_path: Path) -> None:
    """Two kernels, compiled from two threads at once; afterwards both are on disk."""
    (tmp_path / "kernels_on_disk.py").write_text(SOURCE)
    code = """
import threading, numpy as np
from kernels_on_disk import norm2, shifted
x = np.array([3.0, 4.0])
threads = [threading.Thread(target=kernel, args=(x,)) for kernel in (norm2, shifted)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), *sys.path])
    command, said = [sys.executable, "-P", "-c", code], list[str]()
    for _ in range(2):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
        said.append(done.stderr)
    line = (
        "contactlab: compiling kernels that are new to this machine: up to half a minute, once for each kind of world "
        "(contactlab warmup compiles all ahead) ...\n"
    )
    assert said == [line, ""]
