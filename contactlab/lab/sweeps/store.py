"""The folder of a sweep: every finished row on a line of its own, on disk before the next is taken."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import IO, Any

from contactlab.lab.errors import SweepError

ROWS = "rows.jsonl"
LOCK = "lock"


class Store:
    """The rows finished so far, and the right to add to them; a context manager. Its folder is made where it is not.

    A `SweepError`: another sweep writes to the folder, or a line of its rows is not one (the last line may be torn: the
    run that wrote it was killed, and it is taken off).
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = (folder / LOCK).open("ab")
        try:
            _take(self._lock, folder)
            self.rows = _read(folder / ROWS)
            self._file = (folder / ROWS).open("ab")
        except BaseException:
            self._lock.close()
            raise

    def add(self, row: dict[str, Any]) -> None:
        """Write a row; when this returns it is on disk. A row of the same key that was there before is superseded."""
        self._file.write(json.dumps(row).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.rows[row["key"]] = row

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._lock.close()


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """Return the rows by key, the last of each; cut off what a killed run left of a line."""
    if not path.exists():
        return {}
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)
    rows = {}
    for number, line in enumerate(content[:whole].splitlines(), start=1):
        try:
            row = json.loads(line)
            rows[str(row["key"])] = dict(row, outcome=str(row["outcome"]))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise SweepError(f"{path}, line {number}: not a row of a sweep ({type(error).__name__}: {error})") from None
    return rows


def _take(file: IO[bytes], folder: Path) -> None:
    """Lock the folder until the file is closed, which the end of this process does by itself."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise SweepError(f"{folder}: another sweep is writing here") from None
