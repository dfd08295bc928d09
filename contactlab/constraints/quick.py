"""Compiled entries of forward dynamics, and the sizes they need, at a fraction of a microsecond each."""

from __future__ import annotations

import functools
import types
from typing import Any, NoReturn

import numpy as np

from contactlab.constraints.kernels.kkt_codes import motion_size
from contactlab.multibody.entries import Entry

# Sizes depend on a few small numbers, and few combinations occur in a program.
work_size = functools.lru_cache(maxsize=1024)(motion_size)


def _kernels() -> Any:
    from contactlab.constraints.kernels import constrained_motion, contact_motion

    return constrained_motion, contact_motion


def _strict(function: Any, ints: int, *numbers: int) -> Any:
    """``function`` for vectors of integers, seven of floats, and ``numbers``; `TypeError` for others."""
    if isinstance(function, types.FunctionType):
        return _refuse
    # The first call fixes the one signature: lengths of -1 fit nothing, and nothing is computed.
    function(*(np.zeros(8, dtype=np.int64) - 1 for _ in range(ints)), *(np.zeros(0) for _ in range(7)), *numbers)
    function.disable_compile()
    return function


def _refuse(*_: object) -> NoReturn:
    raise TypeError


#: `full_mass_matrix` and `full_unit_forces` of the kernels.
full_mass_matrix = Entry(lambda: _kernels()[0].full_mass_matrix)
full_unit_forces = Entry(lambda: _kernels()[1].full_unit_forces)
#: `quick_mass_matrix` of the kernels: integers, order, floats, q, v, tau, workspace, a, forces; dense, method.
quick_mass_matrix = Entry(lambda: _strict(_kernels()[0].quick_mass_matrix, 2, 0, 0))
#: `quick_unit_forces` of the kernels: integers, floats, q, v, tau, workspace, a, forces.
quick_unit_forces = Entry(lambda: _strict(_kernels()[1].quick_unit_forces, 1))
