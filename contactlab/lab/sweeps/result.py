"""What a sweep gives back."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contactlab.lab.sweeps.tasks import RESERVED
from problem_data.npz_files import write_whole


@dataclass(frozen=True, eq=False, repr=False)
class SweepResult:
    """The rows of a sweep.

    Attributes
    ----------
    rows
        One dict per task, in the order of the tasks: ``key`` (SHA-256 of function and task), ``outcome`` (``done``,
        ``failed``: it raised or ended its process, ``timeout``, ``lost``: its worker died again and again), ``error``
        (text, where the outcome is not ``done``), ``seconds`` (None where nobody was left to measure them), the
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
    write_whole(path, stream.getvalue().encode())
    return path


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, list | dict | bool):
        return json.dumps(value)
    return value
