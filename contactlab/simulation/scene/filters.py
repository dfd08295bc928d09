"""Filters of a scene file: ``category`` and ``mask`` of a shape, wherever a shape or a half-space is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from contactlab.simulation.scene.table import Table
from contactlab.world.surface import ALL

__all__ = ["FILTER", "FilterEntry", "bits", "parse_filter"]

#: Keys of a filter.
FILTER = ("category", "mask")


@dataclass(frozen=True)
class FilterEntry:
    """32 bits each: two shapes may touch where the category of either has a bit in common with the other's mask."""

    category: int = 1
    mask: int = ALL


class Bits(TypedDict):
    """A filter as arguments."""

    category: int
    mask: int


def parse_filter(table: Table, whole: FilterEntry | None = None) -> FilterEntry:
    """Return a table's filter; what it leaves out is as in ``whole``, the body of a part, or touches everything."""
    default = FilterEntry() if whole is None else whole
    return FilterEntry(table.whole("category", default.category, 0, ALL), table.whole("mask", default.mask, 0, ALL))


def bits(entry: FilterEntry) -> Bits:
    """Return the arguments of the builder's calls."""
    return {"category": entry.category, "mask": entry.mask}
