"""Lengths of workspaces, and the marks of how far one is filled. Free of numba: Python code imports it at once.

The head of every workspace holds the kinematics of the instant (`contactlab.multibody.kernels.workspace.frames`); what
an algorithm needs besides comes after it.
"""

from __future__ import annotations

from typing import Final

# How far the head is filled.
NOTHING: Final = 0
POSES: Final = 1
VELOCITIES: Final = 2

# The head: scratch of the joints, then so many places per link and so many per degree of freedom.
SCRATCH: Final = 18
PER_LINK: Final = 24
PER_DOF: Final = 6

# Row of a custom joint, as `contactlab.multibody.kernels.layout` has it.
CUSTOM_ROW: Final = 54


def head_size(nl: int, nv: int) -> int:
    """Kinematics alone."""
    return 18 + 24 * nl + 6 * nv


def rnea_size(nl: int, nv: int) -> int:
    """`rnea`: accelerations and forces of the links."""
    return 18 + 36 * nl + 6 * nv


def crba_size(nl: int, nv: int) -> int:
    """`crba`: composite inertias and one spatial force."""
    return 24 + 34 * nl + 6 * nv


def aba_size(nl: int, nv: int) -> int:
    """`aba`: accelerations, forces, rigid and articulated inertias, U and 1 / D."""
    return 18 + 69 * nl + 13 * nv


def factor_size(nl: int, nv: int) -> int:
    """`factor_inertia`: rigid and articulated inertias."""
    return 18 + 57 * nl + 6 * nv


def point_size(nl: int, nv: int) -> int:
    """`point_motion` and `point_columns`: accelerations, a pose and a point."""
    return 33 + 30 * nl + 6 * nv
