"""A record's steps taken some at a time, so that what is computed of a large record takes no memory for the whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from contactlab.stepping.record_schema import FIELDS

if TYPE_CHECKING:
    from contactlab.recording.record import Record

# A portion has at most so many steps, and about so many contacts, whatever the record.
STEPS, CONTACTS = 1 << 14, 1 << 16

# Fields whose first axis counts neither states nor steps nor rows of steps.
_WHOLE = ("origins", "start", "start_rows")


def portion(recording: Record, first: int, last: int) -> Record:
    """Return the steps ``first`` .. ``last`` - 1 as a record whose step 0 is ``first``.

    What it says of its steps is what the record says of them. What the first one was started from, beyond its state
    (``start_...``), remains that of the record: questions about steps, not runs to go on with.
    """
    ranges = {"states": slice(first, last + 1), "steps": slice(first, last), "taus": slice(first, last)}
    for axis in ("contacts", "joints", "islands"):
        ranges[axis] = slice(*(int(at) for at in np.searchsorted(recording.rows[f"{axis[:-1]}_step"], (first, last))))
    rows = {
        name: recording.rows[name] if field.axis in _WHOLE else recording.rows[name][ranges[field.axis]]
        for name, field in FIELDS.items()
    }
    for name in ("contact_step", "joint_step", "island_step"):
        rows[name] = rows[name] - first
    return replace(recording, rows=rows, timings={})


def portions(recording: Record) -> Iterator[Record]:
    """Yield all steps in portions, in order; one without steps for a record that has none."""
    n = recording.n_steps
    ends = np.unique([*range(0, n, STEPS), *map(int, recording.rows["contact_step"][::CONTACTS]), 0, n])
    for first, last in list(pairwise(map(int, ends))) or [(0, 0)]:
        yield portion(recording, first, last)
