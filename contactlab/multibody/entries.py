"""Compiled entries that take arrays of exactly the right kind, and refuse others instead of compiling for them."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["ON_STACK", "Entry", "strict"]

#: In place of a workspace: the kernel takes its own, on the stack; for models that are ``compact``.
ON_STACK = np.empty(0)


class Entry:
    """A compiled function that is imported, and compiled, when it is called for the first time.

    As an attribute it is found in half the time that a cached function takes to return it.

    Attributes
    ----------
    call
        The function.
    """

    __slots__ = ("_load", "call")

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load
        self.call: Callable[..., Any] = self._first

    def _first(self, *arguments: object) -> Any:
        self.call = self._load()
        return self.call(*arguments)


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
