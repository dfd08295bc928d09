"""Compiled entries that take arrays of exactly the right kind, and refuse others instead of compiling for them."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

__all__ = ["strict"]


def strict(function: Any, ndims: tuple[int, ...]) -> Any:
    """``function`` compiled for (ints, contiguous writable float64 arrays of ``ndims``) and a `TypeError` for others.

    Looking at an array's type, layout and flags from Python costs 0.1 us each; the compiled function's own dispatch has
    looked at them anyway. With the compiler off everything is refused, and callers take their long way.
    """
    if isinstance(function, types.FunctionType):
        return _refuse
    # The first call fixes the one signature; empty arrays have no lengths that fit, and nothing is computed.
    function(np.zeros(8, dtype=np.int64) - 1, *(np.zeros((0,) * n) for n in ndims))
    function.disable_compile()
    return function


def _refuse(*_: object) -> int:
    raise TypeError
