"""Wants of the row kernel, bit by bit, and the lengths of its memory. Free of numba."""

from __future__ import annotations

from typing import Final

from contactlab.multibody.kernels.sizes import head_size

JACOBIAN: Final = 1
GAMMA: Final = 2
# Add the stabilisation to gamma.
BAUMGARTE: Final = 4
POSITION_ERROR: Final = 8
VELOCITY_ERROR: Final = 16

# What needs velocities.
MOVING: Final = GAMMA | BAUMGARTE | VELOCITY_ERROR

# Scratch of `constraint_rows`.
SCRATCH: Final = 54


def rows_size(nl: int, nv: int) -> int:
    """`evaluate_rows`: kinematics, accelerations of the links, scratch."""
    return head_size(nl, nv) + 6 * nl + SCRATCH


def row_rates_size(nl: int, nv: int) -> int:
    """`row_rates`: kinematics, accelerations of the links, rates of columns, scratch, wrenches."""
    return head_size(nl, nv) + 12 * nl + 18 * nv + 102
