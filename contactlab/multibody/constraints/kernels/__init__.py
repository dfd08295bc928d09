"""Bits of quantities requested from the row kernel, codes and thresholds of the constrained solvers, lengths of memory.

Free of numba. A result >= 0 of a solver is the rank of G.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from contactlab.multibody.kernels import head_size
from contactlab.multibody.spatial.arrays import FloatArray

JACOBIAN: Final = 1
GAMMA: Final = 2
# Add the stabilisation to gamma.
BAUMGARTE: Final = 4
POSITION_ERROR: Final = 8
VELOCITY_ERROR: Final = 16

# Outputs that need velocities.
MOVING: Final = GAMMA | BAUMGARTE | VELOCITY_ERROR

# Scratch of `constraint_rows` and `row_rates`: motions, rotations and origins of two frames.
SCRATCH: Final = 36


def rows_size(nl: int, nv: int) -> int:
    """Return the length for `evaluate_rows`: kinematics, accelerations of the links, scratch."""
    return head_size(nl, nv) + 6 * nl + SCRATCH


def row_rates_size(nl: int, nv: int) -> int:
    """Return the length for `row_rates`: kinematics, accelerations of links, rates of columns, scratch, wrenches."""
    return head_size(nl, nv) + 12 * nl + 18 * nv + SCRATCH


#: Numbers of the methods in the kernels.
NULL_SPACE: Final = 0
UNIT_FORCES: Final = 1
METHODS: Final = {
    "direct": UNIT_FORCES,
    "range_space_sparse": UNIT_FORCES,
    "null_space": NULL_SPACE,
    "kokkevis": UNIT_FORCES,
}

# The rows are not clearly independent, or an inertia is missing: use the null-space method.
DEPENDENT: Final = -2
# H is singular for motions that the constraints permit: the motion is not determined.
SINGULAR_INERTIA: Final = -3
# An entry of the result is not finite.
NOT_FINITE_RESULT: Final = -4
# Codes of the multibody kernels are shifted by this offset: `MULTIBODY_CODE_OFFSET` - code.
MULTIBODY_CODE_OFFSET: Final = -1000

# The rank rule of `contactlab.multibody.constraints.kernels.factorizations`: rounding relative to the terms of a row,
RANK_TOLERANCE: Final = 1e-10
# uncertainty of row directions, in units of the relative error of the configuration,
CONFIGURATION: Final = 4.0
# upper bound of this uncertainty,
MAX_UNCERTAIN: Final = 3e-2
# and the relative error up to which a mechanism counts as assembled.
NEARLY_ASSEMBLED: Final = 3e-2
# `solve_forces` needs pivots above this fraction of the original diagonal; smaller pivots lose digits.
CLEAR_PIVOT: Final = 1e-5
# Smallest inertia of a joint, relative to the inertia of the rigid bodies beyond it, for which unit forces are used.
CLEAR_INERTIA: Final = 1e-7
# It is used if at most this fraction of any row is rounding, because then its rank is correct.
CLEAR_ROW: Final = 1e-4
# Scales of residuals are at least this fraction of the largest row's terms.
RESIDUAL_FLOOR: Final = 1e-6


class System(NamedTuple):
    """Operands of H x - G^T lambda = c, G x = gamma."""

    H: FloatArray  # (n, n)
    G: FloatArray  # (m, n)
    c: FloatArray  # (n,)
    gamma: FloatArray  # (m,)


def null_space_size(n: int, m: int) -> int:
    """Return the length for `kkt.solve_null_space`: scaled rows, their factors, vectors."""
    return 2 * m * n + 7 * m + 6 * n


def lanes(m: int) -> int:
    """Return the number of columns of responses, one for each of m rows and one for the load, in groups of four."""
    return (m + 4) // 4 * 4


def unit_forces_size(n: int, m: int) -> int:
    """Return the length for unit forces: Y, forces carried inward, touched coordinates, K, and a vector."""
    return lanes(m) * (n + m + 1) + 25 * n + 24 + m


def motion_size(nl: int, nv: int, m: int) -> int:
    """Return the length for `constrained_motion`: workspace of `aba`, rows, H, c, and the larger of both solvers.

    The rows are the scratch of the row kernel, G, gamma, both errors, scales and tolerances.
    """
    rows = SCRATCH + m * nv + 5 * m
    return (
        head_size(nl, nv)
        + 45 * nl
        + 7 * nv
        + rows
        + nv * nv
        + 2 * nv
        + max(unit_forces_size(nv, m), null_space_size(nv, m))
    )
