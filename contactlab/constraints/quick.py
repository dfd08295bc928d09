"""The compiled entries of forward dynamics, and the sizes they need, at a fraction of a microsecond each."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np

from contactlab.constraints.kernels.kkt_codes import motion_size
from contactlab.multibody.entries import Entry

__all__ = ["full_mass_matrix", "full_unit_forces", "quick_mass_matrix", "quick_unit_forces", "work_size"]

# Sizes depend on a few small numbers, and few combinations occur in a program.
work_size = functools.lru_cache(maxsize=1024)(motion_size)


def _strict(function: Any, ints: int, floats: int, *numbers: int) -> Any:
    """``function`` for exactly such vectors, `TypeError` for others; see `contactlab.multibody.entries.strict`."""
    if isinstance(function, types.FunctionType):
        return _refuse
    # The first call fixes the one signature: lengths of -1 fit nothing, and nothing is computed.
    function(*(np.zeros(8, dtype=np.int64) - 1 for _ in range(ints)), *(np.zeros(0) for _ in range(floats)), *numbers)
    function.disable_compile()
    return function


def _refuse(*_: object) -> tuple[int, float]:
    raise TypeError


@functools.cache
def full_mass_matrix() -> Any:
    """`full_mass_matrix` of the kernels."""
    from contactlab.constraints.kernels.constrained_motion import full_mass_matrix as entry

    return entry


@functools.cache
def full_unit_forces() -> Any:
    """`full_unit_forces` of the kernels."""
    from contactlab.constraints.kernels.contact_motion import full_unit_forces as entry

    return entry


def _mass_matrix() -> Any:
    from contactlab.constraints.kernels.constrained_motion import quick_mass_matrix as entry

    return _strict(entry, 2, 7, 0, 0)


def _unit_forces() -> Any:
    from contactlab.constraints.kernels.contact_motion import quick_unit_forces as entry

    return _strict(entry, 1, 7)


#: `quick_mass_matrix` of the kernels: integers, order, floats, q, v, tau, workspace, a, forces; dense, method.
quick_mass_matrix = Entry(_mass_matrix)
#: `quick_unit_forces` of the kernels: integers, floats, q, v, tau, workspace, a, forces.
quick_unit_forces = Entry(_unit_forces)
