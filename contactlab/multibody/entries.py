"""Kernels as Python calls them: imported late, and for the usual call refusing what they were not compiled for."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

#: In place of a workspace: the kernel takes its own, on the stack; for models that are ``compact``.
ON_STACK = np.empty(0)


@functools.cache
def kernels() -> Any:
    """`contactlab.multibody.kernels` with the modules that Python calls; numba comes with them."""
    import contactlab.multibody.kernels.articulated
    import contactlab.multibody.kernels.batch
    import contactlab.multibody.kernels.centroidal
    import contactlab.multibody.kernels.configurations
    import contactlab.multibody.kernels.crba
    import contactlab.multibody.kernels.fast_entries
    import contactlab.multibody.kernels.ltl
    import contactlab.multibody.kernels.newton_euler
    import contactlab.multibody.kernels.points
    import contactlab.multibody.kernels.velocities

    return contactlab.multibody.kernels


class Entry:
    """A compiled function, ``call``, that is imported, and compiled, when it is called for the first time.

    As an attribute it is found in half the time that a cached function takes to return it.
    """

    __slots__ = ("_load", "call")

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load
        self.call: Callable[..., Any] = self._first

    def _first(self, *arguments: object) -> Any:
        self.call = self._load()
        return self.call(*arguments)


def fast_entry(name: str, *ndims: int) -> Entry:
    """Return a kernel of `fast_entries`, compiled on its first call for (ints, floats, float64 arrays of ``ndims``)."""
    return Entry(lambda: single_signature(getattr(kernels().fast_entries, name), 1, (1, *ndims)))


def single_signature(function: Any, ints: int, ndims: tuple[int, ...], *numbers: int) -> Any:
    """``function`` compiled for one signature alone, a `TypeError` for any other.

    Its operands are vectors of integers, so many, contiguous writable float64 arrays of ``ndims``, and numbers. Looking
    at an array's type, layout and flags from Python costs 0.1 us each; the compiled function's own dispatch has looked
    at them anyway. With the compiler off everything is refused, and callers take their long way.
    """
    if isinstance(function, types.FunctionType):
        return _refuse
    # The first call fixes the one signature; lengths of -1 and of empty arrays fit nothing, and nothing is computed.
    function(*(np.zeros(8, dtype=np.int64) - 1 for _ in range(ints)), *(np.zeros((0,) * n) for n in ndims), *numbers)
    function.disable_compile()
    return function


def _refuse(*_: object) -> int:
    raise TypeError
