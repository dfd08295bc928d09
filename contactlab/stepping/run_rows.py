"""The arrays of a run in memory, each made of what the loop has written when it is first read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contactlab.stepping.record_schema import FIELDS, TABLE_OF, Rows, columns_of_parts, join_rows


class RunRows(Mapping[str, NDArray[Any]]):
    """The arrays of `record_schema.FIELDS`: most of them are never read, and take longer to make than a small step.

    Parameters
    ----------
    pieces
        Of one run, in order: rows by name, or those of tables together as the loop writes them (`used_of_chunk`). They
        are this object's from here on, and given up as their arrays are made.
    lengths
        See `record_schema.row_lengths`.
    """

    def __init__(self, pieces: Sequence[Rows], lengths: Mapping[str, int]) -> None:
        self._pieces = [dict(piece) for piece in pieces]
        self._lengths = dict(lengths)
        self._made: dict[str, NDArray[Any]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._made:
            self._make(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(FIELDS)

    def __len__(self) -> int:
        return len(FIELDS)

    def __or__(self, other: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        return {**self, **other}

    def peek(self, name: str) -> NDArray[Any]:
        """Return one column of a table without making the others, which are made together."""
        table = TABLE_OF[name]
        parts = self._parts(table)
        if name in self._made or not parts:
            return self[name]
        return np.concatenate([part[name.removeprefix(f"{table}_")] for part in parts])

    def _parts(self, name: str) -> list[NDArray[Any]]:
        return [part for piece in self._pieces if (part := piece.get(name)) is not None]

    def _make(self, name: str) -> None:
        held = TABLE_OF.get(name, name)
        parts = self._parts(held) if held != name else []
        own = {name: FIELDS[name]}
        made = columns_of_parts(held, parts) if parts else join_rows(self._pieces, self._lengths, own)
        for array in made.values():
            array.flags.writeable = False
        if name in self._made:
            # Another thread was faster, and may have given up what was to be read here.
            return
        self._made |= made
        for piece in self._pieces:
            piece.pop(held if parts else name, None)


def peek(rows: Rows, name: str) -> NDArray[Any]:
    """Return one column of a table of a record, for a look at nothing else."""
    return rows.peek(name) if isinstance(rows, RunRows) else rows[name]
