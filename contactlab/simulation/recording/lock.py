"""File lock of a record folder: a second process gets `LockHeldError`, which names the owner.

It is a lock of the operating system on a file, released at the end of the process in any case. The file names the
owner: process, host, start time. In a file system without locks only these entries decide: the lock of a dead process
on this host is taken over, and a lock of another host is respected.
"""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import sys
import weakref
from datetime import datetime
from pathlib import Path

_TAKEN = (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK)
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
_MAX_BYTES = 1000
_FAR = 1 << 30  # after the text, because Windows forbids reading the locked bytes


class LockHeldError(Exception):
    """Error for a locked folder; the text names the owner."""


class Lock:
    """Exclusive right to write in a folder, which is created if needed; held until `release`, or `LockHeldError`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        while True:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            except FileNotFoundError:
                continue  # the previous owner has just removed the folder
            self._close = weakref.finalize(self, os.close, handle)
            try:
                _acquire(handle, path)
                # The previous owner may have removed the file between the two lines above: then the lock is void.
                if _stands(handle, path):
                    break
            except BaseException:
                self._close()
                raise
            self._close()

    def release(self) -> None:
        """Release the lock, and remove the file."""
        if self._close.alive:
            try:
                with contextlib.suppress(OSError):
                    self._path.unlink()
            finally:
                self._close()


def _acquire(handle: int, path: Path) -> None:
    """Lock an open file without waiting, and write process, host and time into it.

    Raise `LockHeldError` if another process has it. On disks without locks the file's text decides: the lock is
    held unless the process in it has ended.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(handle, _FAR, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        owner = _owner(handle)
        if error.errno in _TAKEN:
            raise LockHeldError(_owner_text(owner)) from None
        if error.errno not in _NO_LOCKS:
            raise
        if owner is not None and not _dead(*owner[:2]):
            raise LockHeldError(f"{_owner_text(owner)}; if it has ended, remove {path}") from None
    # A full disk does not prevent the lock.
    with contextlib.suppress(OSError):
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        since = datetime.now().astimezone().isoformat(timespec="seconds")
        os.write(handle, f"{os.getpid()} {platform.node()} {since}\n".encode())


def _stands(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _owner(handle: int) -> tuple[int, str, str] | None:
    """Return process, host and start time of the owner of the lock; None if the file does not contain them."""
    with contextlib.suppress(OSError, ValueError):
        os.lseek(handle, 0, os.SEEK_SET)
        process, host, since = os.read(handle, _MAX_BYTES).decode().split()
        return int(process), host, since
    return None


def _owner_text(owner: tuple[int, str, str] | None) -> str:
    return "another process" if owner is None else "process {} on {} since {}".format(*owner)


def _dead(process: int, host: str) -> bool:
    """Return True if a process of this host has ended; False if it lives, cannot be examined, or is on another host."""
    if host != platform.node():
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False
