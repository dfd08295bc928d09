"""Versions and processor, on which the bits of a record depend besides its input; without names of machines."""

from __future__ import annotations

import functools
import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from lcp.compiler.releases import target_cpu

PACKAGES = ("numpy", "numba", "llvmlite", "scipy")

# Entries that can differ between two runs with the same bits.
_FREE = ("date", "platform", "cores", "resumed")

# Instruction sets that decide which sums a compiler vectorizes.
_FEATURES = ("sse4_2", "avx", "avx2", "fma", "avx512f", "avx512dq", "avx512vl", "asimd", "sve", "sve2")


def environment() -> dict[str, str]:
    """Return the stamp of a new record; all entries are text.

    ``contactlab``, ``python``, ``numpy``, ``numba``, ``llvmlite``, ``scipy``: versions; ``machine``, ``cpu``,
    ``cpu_features``: the processor; ``tier``: of processors that kernels are compiled for, ``at hand`` where it is the
    very processor, ``none`` without a compiler; ``cores`` of the machine, and ``threads`` of a run: one; ``platform``;
    ``jit``: on or off; ``date``: its beginning, UTC.
    """
    return {**_fixed(), "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}


def environment_changes(old: dict[str, str], new: dict[str, str]) -> list[str]:
    """Return the differences of two stamps that may change bits, as ``numpy 2.0.0 -> 2.1.0``."""
    names = sorted((old.keys() & new.keys()) - set(_FREE))
    return [f"{name} {old[name]} -> {new[name]}" for name in names if old[name] != new[name]]


@functools.cache
def _fixed() -> dict[str, str]:
    """Return the entries of `environment` other than the date, which stay the same in this process; cached."""
    cpu, features = _processor()
    stamp = {"contactlab": sys.modules["contactlab"].__version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            stamp[name] = version(name)
        except PackageNotFoundError:
            stamp[name] = "unknown"
    stamp |= {"machine": platform.machine(), "cpu": cpu, "cpu_features": features, "cores": str(os.cpu_count() or 1)}
    jit = "off" if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0") else "on"
    compiled_for = "none" if jit == "off" else target_cpu() or "at hand"
    return stamp | {"tier": compiled_for, "threads": "1", "platform": platform.platform(), "jit": jit}


def _processor() -> tuple[str, str]:
    """Return the processor's name and its relevant instruction sets, as the system reports them."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or "unknown", "unknown"
    lines: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        lines.setdefault(key.strip(), value.strip())
    found = lines.get("flags", lines.get("Features", "")).split()
    return lines.get("model name", platform.processor() or "unknown"), " ".join(f for f in _FEATURES if f in found)
