"""Kernels compiled in the project's way do what they say, from whoever calls them and whether compiled or cached."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from lcp.kernels import kernel, when_compiling
from lcp.kernels.compiling import swiftly


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
from lcp.kernels import kernel, when_compiling

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
    command = [sys.executable, "-c", CALL.format(function)]
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


def test_releases_of_numba_that_were_not_tried_compile_by_its_own_way(tmp_path: Path) -> None:
    (tmp_path / "kernels_on_disk.py").write_text("from lcp.kernels import compiling\ncompiling.TRIED = ()\n" + SOURCE)
    assert call(tmp_path, "shifted") == ("34.0", True)
    assert call(tmp_path, "shifted") == ("34.0", False)
    assert call(tmp_path, "norm2") == ("25.0", True)


def test_numba_and_the_collector_are_left_as_they_were() -> None:
    from numba.core.targetconfig import TargetConfig
    from numba.core.types.functions import BaseFunction

    before = TargetConfig.values, BaseFunction.get_call_type
    with pytest.raises(ZeroDivisionError):
        fail_swiftly()
    assert gc.isenabled()
    assert (TargetConfig.values, BaseFunction.get_call_type) == before


def fail_swiftly() -> None:
    with swiftly():
        with swiftly():
            assert not gc.isenabled()
        assert not gc.isenabled()
        raise ZeroDivisionError


def test_what_waits_for_a_compilation_is_done_once_and_only_within_its_block() -> None:
    @kernel
    def one_more(x: float) -> float:
        return x + 1.0

    calls: list[int] = []
    with when_compiling(lambda: calls.append(1)):
        pass
    assert one_more(1.0) == 2.0
    assert calls == []
    with when_compiling(lambda: calls.append(2)):
        assert one_more(1) == 2.0
        assert one_more(np.float32(1.0)) == 2.0
    assert calls == [2]
