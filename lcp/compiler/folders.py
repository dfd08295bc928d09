"""The folder on disk for compiled kernels: private to this user, bounded in size."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import sys
import time
import warnings
from pathlib import Path

from lcp.compiler.releases import machine

__all__ = ["is_private", "cache_folder", "build_tag", "touch", "remove_unused"]

#: Maximum bytes of compiled code. One version of all sources takes a tenth of it.
MOST = 1 << 30
# Seconds within which a folder counts as in use, and after which its use is recorded again.
_IN_USE, _NOTED = 3600.0, 86400.0


def is_private(status: os.stat_result, *owners: int) -> bool:
    """Return True if only this user, or one of the named ones, can write to a folder or file: its code is executed."""
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid in (os.getuid(), *owners) and not status.st_mode & 0o022


def _places() -> list[str]:
    """Return folders for data that can be made again, in order of preference."""
    named = [os.environ.get(name) for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")]
    if sys.platform == "win32":
        named.append(os.environ.get("LOCALAPPDATA"))
    of_system = os.path.join("Library", "Caches") if sys.platform == "darwin" else ".cache"
    named.append(os.path.join(os.path.expanduser("~"), of_system))
    return [place for place in named if place and os.path.isabs(place)]


@functools.cache
def cache_folder() -> str | None:
    """Return the first folder to which only this user can write, or None (kernels then compile in memory)."""
    import tempfile

    for place in _places():
        folder = os.path.join(place, "contactlab-kernels")
        try:
            os.makedirs(place, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, 0o700)
            if not is_private(os.stat(folder)):
                warnings.warn(
                    f"compiled kernels are neither taken from {folder} nor kept there: another user owns it or may "
                    f"write to it, and what stands there is run; `chmod go-w {folder}`, or remove it",
                    RuntimeWarning,
                    stacklevel=2,
                )
                continue
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError:
            continue
    return None


@functools.cache
def build_tag() -> str:
    """Return the versions and the machine of compiled code, as the name of a folder."""
    import llvmlite
    import numba
    import numpy as np
    from numba.core import config

    python = f"{sys.implementation.name}{sys.version_info[0]}.{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
    numbers = "numpy" + ".".join(np.__version__.split(".")[:2])
    names = [python, f"numba{numba.__version__}", f"llvmlite{llvmlite.__version__}", numbers]
    triple, *processor = machine()
    # Other options of numba for all code.
    told = (int(config.OPT), config.BOUNDSCHECK, config.LOOP_VECTORIZE, config.SLP_VECTORIZE, config.DEBUGINFO_DEFAULT)
    if len(processor) > 1 or told != (3, None, 1, 0, 0):
        processor = [processor[0], hashlib.sha256(repr((processor, told)).encode()).hexdigest()[:8]]
    return "_".join(re.sub(r"[^\w.-]", "-", name) for name in (*names, triple, *processor))


def touch(folder: Path) -> None:
    """Record the use of a folder: the longest unused ones are removed first."""
    with contextlib.suppress(OSError):
        if time.time() - folder.stat().st_mtime > _NOTED:
            os.utime(folder)


@functools.cache
def remove_unused(root: str, most: int = MOST) -> None:
    """Remove the longest unused folders below ``root`` until at most ``most`` bytes remain; once per process."""
    import shutil

    sizes: dict[str, int] = {}
    used: dict[str, float] = {}
    for folder, _, files in os.walk(root):
        with contextlib.suppress(OSError):
            if files:
                sizes[folder] = sum(os.stat(os.path.join(folder, name)).st_size for name in files)
                used[folder] = os.stat(folder).st_mtime
    excess = sum(sizes.values()) - most
    for folder in sorted(used, key=used.__getitem__):
        if excess <= 0 or used[folder] > time.time() - _IN_USE:
            return
        shutil.rmtree(folder, ignore_errors=True)
        excess -= sizes[folder]
