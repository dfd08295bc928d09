"""A seed: compiled kernels that come with an image or an installation, to be read and never written.

The environment variable CONTACTLAB_KERNELS names its folder, `contactlab warmup --into FOLDER` writes one. It is laid
out as the folder of the cache is, and looked into before that. What is in it is run: it must be this user's or root's
alone to write, each folder and file in it.
"""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lcp.compiler.entries import KernelFile
from lcp.compiler.folders import alone, made_with

__all__ = ["VARIABLE", "known", "seed_file", "write_seed"]

VARIABLE = "CONTACTLAB_KERNELS"
_ROOT = 0

#: The files of all kernels of this process.
known: list[KernelFile] = []


@functools.cache
def _seed() -> Path | None:
    """The part of the seed that is for this process, if there is a seed."""
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    folder = Path(named)
    part = folder / made_with()
    try:
        parts = sorted(other.name for other in folder.iterdir())
        if part.name not in parts:
            return _refused(folder, f"it is for {', '.join(parts) or 'nothing'}, and this is {part.name}")
        if not (alone(folder.stat(), _ROOT) and alone(part.stat(), _ROOT)):
            fix = f"`chmod -R go-w {folder}`"
            return _refused(folder, f"another user owns it or may write to it, and what stands there is run; {fix}")
    except OSError as error:
        return _refused(folder, str(error))
    return part


@functools.cache
def _refused(folder: Path, why: str) -> None:
    """Say once that a seed, or part of it, is left alone, and why."""
    warnings.warn(
        f"kernels are not taken from {folder}, which {VARIABLE} names: {why}. `contactlab warmup --into {folder}` "
        "writes them anew",
        RuntimeWarning,
        stacklevel=3,
    )


def seed_file(place: str, base: str, stamp: tuple[str, ...], dumps: Callable[[Any], bytes]) -> KernelFile | None:
    """What a seed holds of one kernel, whose code is in the folder ``place``; None without a seed for this process."""
    part = _seed()
    if part is None:
        return None
    folder = part / place
    try:
        status = folder.stat()
    except OSError:
        if any(part.glob(f"{place.rpartition('-')[0]}-*")):
            _refused(part.parent, "it was written by another version of the sources")
        return None
    if not alone(status, _ROOT):
        _refused(part.parent, "another user owns a part of it or may write to it, and what stands there is run")
        return None
    return KernelFile(str(folder), base, stamp, dumps, owners=(_ROOT,))


def write_seed(into: Path) -> int:
    """Copy the code of all kernels that this process knows, as far as it is on disk; return how many kernels those are.

    What stands there for other versions or processors stays, what is there for this one is added to.
    """
    part = into / made_with()
    part.mkdir(parents=True, exist_ok=True)
    for folder in (into, part):
        folder.chmod(0o755)
    return sum(file.copy_to(part) for file in known)
