"""A failing disk: below one folder, every operation that changes something is counted, and one operation fails.

* ``full``: from that operation to the end of the block the disk is full; existing files can be removed and renamed. A
  write first stores half of its data.
* ``once``: only that operation is refused.
* ``kill``: half of the operation is done and nothing after it, as if the process were killed there: `Killed` passes
  through everything, and nothing is cleaned up on the way.

It replaces the functions that reach the system (`open`, `os.replace`, `os.unlink`, ...), so it affects every write
through them in this process.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

KINDS = ("full", "once", "kill")
_GROWS = ("open", "write", "mkdir", "link", "fsync")


class Killed(BaseException):
    """The process is gone, as far as the disk knows."""


class Disk:
    """Disk below ``root``; it fails at operation ``at``, counted from 1, or never."""

    def __init__(self, root: Path, at: int | None = None, kind: str = "full") -> None:
        self.root, self.at, self.kind = os.path.realpath(root), at, kind
        self.count = 0
        self.operations: list[str] = []

    def fails(self, name: str) -> bool:
        """Count an operation, and return True if it fails."""
        self.count += 1
        self.operations.append(name)
        if self.at is None or self.count < self.at:
            return False
        return self.count == self.at or self.kind == "kill" or (self.kind == "full" and name in _GROWS)

    def refuse(self) -> None:
        """Raise the error of the failure."""
        if self.kind == "kill":
            raise Killed
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def holds(self, path: Any) -> bool:
        """Return True if a path is on this disk."""
        if isinstance(path, int):
            return False
        text = os.path.realpath(os.path.dirname(os.path.abspath(os.fspath(path))))
        return text == self.root or text.startswith(self.root + os.sep)


class _Raw(io.FileIO):
    """A file opened for writing."""

    def __init__(self, disk: Disk, path: Any, mode: str) -> None:
        super().__init__(path, mode)
        self._disk = disk

    def write(self, data: Any) -> int:
        if self._disk.fails("write"):
            half = memoryview(data).cast("B")
            # Only the first failure writes a part.
            if self._disk.count == self._disk.at:
                super().write(half[: len(half) // 2])
            self._disk.refuse()
        return super().write(data)


@contextlib.contextmanager
def faulty(root: Path, at: int | None = None, kind: str = "full") -> Iterator[Disk]:
    """Replace the system's operations by the disk's; the yielded object counts them."""
    disk = Disk(root, at, kind)
    plain_open = io.open

    def opened(path: Any, mode: str = "r", buffering: int = -1, *more: Any, **named: Any) -> Any:
        if not set("wax+") & set(mode) or not disk.holds(path):
            return plain_open(path, mode, buffering, *more, **named)
        if disk.fails("open"):
            disk.refuse()
        raw = _Raw(disk, path, mode.replace("b", "").replace("t", ""))
        if buffering == 0:
            return raw
        buffered = io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, *more, **named)

    handles: set[int] = set()

    def system(name: str) -> Any:
        real: Callable[..., Any] = getattr(os, name)

        def call(path: Any, *more: Any, **named: Any) -> Any:
            ours = path in handles if isinstance(path, int) else disk.holds(path)
            # os.open for reading changes nothing.
            if not ours or (name == "open" and not more[0] & os.O_CREAT):
                return real(path, *more, **named)
            if disk.fails(name):
                disk.refuse()
            found = real(path, *more, **named)
            if name == "open":
                handles.add(found)
            return found

        return mock.patch.object(os, name, call)

    def synced(handle: int) -> None:
        if disk.fails("fsync"):
            disk.refuse()

    with contextlib.ExitStack() as patches:
        for place in ("io.open", "builtins.open"):
            patches.enter_context(mock.patch(place, opened))
        for name in ("replace", "unlink", "mkdir", "rmdir", "link", "truncate", "open", "write", "ftruncate"):
            patches.enter_context(system(name))
        # Without a power failure this has no effect, and it takes most of the time.
        patches.enter_context(mock.patch.object(os, "fsync", synced))
        yield disk
