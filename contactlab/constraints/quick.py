"""The compiled entries of forward dynamics, and the sizes they need, at a fraction of a microsecond each."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np

from contactlab.constraints.kernels.kkt_codes import TEST_FORCES, motion_size

__all__ = ["motion_kernels", "quick_mass_matrix", "quick_test_forces", "work_size"]

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
    """`quick_mass_matrix` of the kernels: model, set and pivots (ints), then floats, then two flags."""
    from contactlab.constraints.kernels.quick_motion import quick_mass_matrix as entry

    return _strict(entry, 3, (1,) * 8, 0, 0)


@functools.cache
def quick_test_forces() -> Any:
    """`quick_test_forces` of the kernels."""
    from contactlab.constraints.kernels.quick_motion import quick_test_forces as entry

    return _strict(entry, 2, (1,) * 8)


@functools.cache
def motion_kernels(method: int) -> Any:
    """The complete kernel of a method."""
    from contactlab.constraints.kernels import constrained_motion

    return constrained_motion.by_test_forces if method == TEST_FORCES else constrained_motion.by_mass_matrix
