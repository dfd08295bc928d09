"""Whether the files of a record hold together: names, types, shapes, order. Read in parts, however large they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contactlab.recording.errors import RecordError
from contactlab.stepping.record_schema import FIELDS, LATER, TIMINGS, field_tail
from problem_data.npz_files import NpzFile


def check_files(files: Sequence[NpzFile], lengths: Mapping[str, int], path: Path) -> None:
    """Check the files of one record, in order: its chunks, or the packed file alone; a `RecordError` names the field.

    ``path`` is that of the record as a whole; ``lengths``: nq, nv, w.
    """
    totals: dict[str, int] = {}
    for file in files:
        counts = _counts(file, lengths)
        for axis, count in counts.items():
            totals[axis] = totals.get(axis, 0) + count
        if counts["taus"] not in (0, counts["steps"]):
            raise RecordError(file.path, "tau", f"has {counts['taus']} rows, not {counts['steps']} or none")
    steps = totals.get("states", 0) - 1
    if steps < 0:
        raise RecordError(path, "time", "holds no state")
    if totals["steps"] != steps:
        raise RecordError(path, "h", f"has {totals['steps']} rows, not {steps}")
    if totals["origins"] != 1:
        raise RecordError(path, "start_h", f"has {totals['origins']} rows, not 1")
    if totals["taus"] not in (0, steps):
        raise RecordError(path, "tau", f"has {totals['taus']} rows, not {steps} or none")
    for name in ("contact_step", "joint_step", "island_step"):
        _check_order(files, name, steps)
    for name in ("time", "q", "v", "motion_pose", "motion_twist"):
        _check_numbers(files, name, "finite")
    _check_numbers(files, "h", "a positive number")
    start_h = next(part[0] for file in files for part in file.parts("start_h") if part.size)
    if not (np.isfinite(start_h) and start_h >= 0.0):
        raise RecordError(path, "start_h", f"is {start_h}, not a number of 0 or more")


def _counts(file: NpzFile, lengths: Mapping[str, int]) -> dict[str, int]:
    """Return the rows of one file by axis."""
    counts: dict[str, int] = {}
    for name, field in (FIELDS | TIMINGS).items():
        if name not in file.members:
            if name in TIMINGS or name in LATER:
                continue
            raise RecordError(file.path, name, "is missing")
        member = file.members[name]
        if member.dtype != np.dtype(field.dtype):
            raise RecordError(file.path, name, f"has type {member.dtype}, not {np.dtype(field.dtype)}")
        tail = field_tail(field, lengths)
        if len(member.shape) != 1 + len(tail) or member.shape[1:] != tail:
            wanted = ", ".join(["n", *map(str, tail)])
            raise RecordError(file.path, name, f"has shape {member.shape}, not ({wanted})")
        rows = member.shape[0]
        # A piece has a step for each of its states, but for the start.
        if name == "h" and not counts["states"] - 1 <= rows <= counts["states"]:
            raise RecordError(file.path, name, f"has {rows} rows for {counts['states']} states")
        if counts.setdefault(field.axis, rows) != rows:
            raise RecordError(file.path, name, f"has {rows} rows where {counts[field.axis]} are expected")
    return counts


def _check_order(files: Sequence[NpzFile], name: str, steps: int) -> None:
    last = 0
    for file in files:
        for column in file.parts(name):
            if not column.size:
                continue
            if column[0] < last or column[-1] >= steps or np.any(np.diff(column) < 0):
                raise RecordError(file.path, name, f"does not ascend within 0 .. {steps - 1}")
            last = int(column[-1])


def _check_numbers(files: Sequence[NpzFile], name: str, detail: str) -> None:
    for file in files:
        first = 0
        for part in file.parts(name):
            good: NDArray[Any] = np.isfinite(part)
            if name == "h":
                good = good & (part > 0.0)
            if not good.all():
                at = np.argwhere(~good)[0]
                where = [first + int(at[0]), *map(int, at[1:])]
                raise RecordError(file.path, name, f"entry {where} is {part[tuple(at)]}, not {detail}")
            first += part.shape[0]
