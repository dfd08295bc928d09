"""The compiled entries of forward dynamics, and the sizes they need, at a fraction of a microsecond each."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np

from contactlab.constraints.kernels.kkt_codes import motion_size

__all__ = ["full_mass_matrix", "full_test_forces", "quick_mass_matrix", "quick_test_forces", "work_size"]

# Sizes depend on four small numbers, and few combinations occur in a program.
work_size = functools.lru_cache(maxsize=1024)(motion_size)


def _strict(function: Any, ints: int, ndims: tuple[int, ...], *numbers: int) -> Any:
    """``function`` for exactly these arrays, `TypeError` for others; see `contactlab.multibody.entries.strict`."""
    if isinstance(function, types.FunctionType):
        return _refuse
    # The first call fixes the one signature: lengths of -1 fit nothing, and nothing is computed.
    function(*(np.zeros(8, dtype=np.int64) - 1 for _ in range(ints)), *(np.zeros((0,) * n) for n in ndims), *numbers)
    function.disable_compile()
    return function


def _refuse(*_: object) -> tuple[int, float]:
    raise TypeError


@functools.cache
def quick_mass_matrix() -> Any:
    """`by_mass_matrix` of the kernels: model, set, pivots; floats; then whether the head is filled, and two flags."""
    return _strict(full_mass_matrix(), 3, (1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1), 0, 0, 0)


@functools.cache
def full_mass_matrix() -> Any:
    """The same without refusing where nothing is compiled."""
    from contactlab.constraints.kernels.constrained_motion import by_mass_matrix

    return by_mass_matrix


@functools.cache
def quick_test_forces() -> Any:
    """`quick_test_forces` of the kernels."""
    from contactlab.constraints.kernels.constrained_motion import quick_test_forces as entry

    return _strict(entry, 2, (1,) * 8)


@functools.cache
def full_test_forces() -> Any:
    """`full_test_forces` of the kernels."""
    from contactlab.constraints.kernels.constrained_motion import full_test_forces as entry

    return entry
