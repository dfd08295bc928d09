"""Records of the compiled loop: classes state their fields, kernels and Python read and write the same memory."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

R = TypeVar("R")

_SCALARS = {"int": np.int64, "float": np.float64}


@functools.cache
def _record_type(fields: tuple[tuple[str, str], ...]) -> np.dtype[np.void]:
    """Data type of fields and their scalars: one object each, for kernels are dispatched by it."""
    return np.dtype((np.record, [(name, _SCALARS[scalar]) for name, scalar in fields]))


def new_record(kind: type[R]) -> R:
    """A record with the fields that a class annotates, all zero."""
    record: R = np.zeros(1, dtype=_record_type(tuple(kind.__annotations__.items())))[0]
    return record


def array_of(record: Any) -> NDArray[Any]:
    """The array of one record that a record of `new_record` lies in."""
    array: NDArray[Any] = record.base
    return array


def records_of(scalars: Mapping[str, str], values: Sequence[object]) -> NDArray[Any]:
    """Records (n,) of "int" and "float" fields, from objects with attributes of these names; 0 where one has none."""
    rows = [tuple(getattr(value, name, 0) for name in scalars) for value in values]
    return np.array(rows, dtype=_record_type(tuple(scalars.items())))
