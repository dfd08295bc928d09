"""The folder of a sweep: every finished row on a line of its own, on disk before the next is taken."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contactlab.lab.errors import RowsError, SweepError
from contactlab.lab.sweeps.tasks import RESERVED
from contactlab.recording.lock import Lock, LockHeldError
from problem_data.files import partial_files, write_atomic

ROWS = "rows.jsonl"
LOCK = "lock"
TABLE = "rows.csv"


class Store:
    """The rows finished so far, and the right to add to them; a context manager. Its folder is made where it is not.

    A `SweepError`: another sweep writes to the folder, the disk refuses, or a line of its rows is not one (the last
    line may be torn: the run that wrote it was killed, and it is taken off).
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with contextlib.ExitStack() as held, _writing(folder):
            held.callback(write_lock(folder, "another sweep is writing here").release)
            for file in partial_files(folder / TABLE):
                file.unlink(missing_ok=True)
            self.rows = _read(folder / ROWS)
            # Unbuffered: what could not be written must not be tried again behind our back.
            self._file = held.enter_context((folder / ROWS).open("ab", buffering=0))
            self._held = held.pop_all()

    def add(self, row: dict[str, Any]) -> None:
        """Write a row; when this returns it is on disk. A row of the same key that was there before is superseded."""
        line = memoryview(json.dumps(row).encode() + b"\n")
        with _writing(self.folder / ROWS):
            while line:
                line = line[self._file.write(line) :]
            os.fsync(self._file.fileno())
        self.rows[row["key"]] = row

    def finish(self, rows: Sequence[dict[str, Any]]) -> None:
        """Write the table of all rows."""
        with _writing(self.folder / TABLE):
            write_csv(self.folder / TABLE, rows)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()


def finished_rows(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the finished rows of a folder by key, none where there is no folder, for who holds the right to it."""
    return _read(folder / ROWS)


def write_lock(folder: Path, taken: str) -> Lock:
    """Return the right to write to a folder; where it is another's, a `SweepError` that says so and whose."""
    try:
        return Lock(folder / LOCK)
    except LockHeldError as owner:
        raise SweepError(f"{folder}: {taken}: {owner}") from None


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Tell what the disk refuses as a `SweepError`."""
    try:
        yield
    except OSError as error:
        raise SweepError(f"{path}: {error.strerror or error}; rows finished before stand") from error


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
            raise RowsError(f"{path}, line {number}: not a row of a sweep ({type(error).__name__}: {error})") from None
    return rows


@dataclass(frozen=True, eq=False, repr=False)
class SweepResult:
    """The rows of a sweep.

    Attributes
    ----------
    rows
        One dict per task, in the order of the tasks: ``key`` (SHA-256 of function and task), ``outcome`` (``done``,
        ``failed``: it raised or ended its process, ``timeout``, ``lost``: its worker died again and again), ``error``
        (text, where the outcome is not ``done``), ``seconds`` (None if nobody was left to measure them), the
        entries of the task, the values the function returned.
    computed
        How many tasks this call ran; the others were in the folder already.
    folder
        Where the rows are kept; None for a sweep in memory.
    """

    rows: list[dict[str, Any]]
    computed: int
    folder: Path | None

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The rows that are not ``done``."""
        return [row for row in self.rows if row["outcome"] != "done"]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"SweepResult({len(self.rows)} rows, {len(self.failures)} not done, {self.computed} computed now)"


def write_csv(path: str | os.PathLike[str], rows: Sequence[dict[str, Any]], first: Sequence[str] = RESERVED) -> Path:
    """Write rows as a table, whole or not at all; lists are written as JSON, numbers so that they read back exactly.

    The columns ``first`` come first, whether a row has them or not; further ones in the order of their coming.
    """
    path = Path(path)
    names = dict.fromkeys((*first, *(name for row in rows for name in row)))
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(names)
    writer.writerows([_cell(row.get(name)) for name in names] for row in rows)
    write_atomic(path, stream.getvalue().encode())
    return path


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, list | dict | bool):
        return json.dumps(value)
    return value
