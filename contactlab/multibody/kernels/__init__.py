"""Codes of elementary joints, return codes of kernels, and lengths of workspaces; free of numba.

The head of every workspace contains the kinematics of the instant (`contactlab.multibody.kernels.layout.frames`). The
arrays of an algorithm follow it.
"""

from __future__ import annotations

from typing import Final

# Kinds of elementary motions. A screw shifts by t q in joint axes and then turns by q about w. A spherical joint has a
# unit quaternion (w, x, y, z) and its velocity in body axes. A floating one has a position and a quaternion, and its
# velocity is linear in parent axes, angular in body axes. The transform, motion subspace and velocity product of a
# custom joint come from outside, evaluated before the kernel runs.
REVOLUTE_X, REVOLUTE_Y, REVOLUTE_Z, REVOLUTE, PRISMATIC, SCREW, SPHERICAL, TRANSLATION, FLOATING, CUSTOM = range(10)

#: Lengths of the slices of q and v, by code; a custom joint defines its own.
NQ: Final = (1, 1, 1, 1, 1, 1, 4, 3, 7, 0)

NV: Final = (1, 1, 1, 1, 1, 1, 3, 3, 6, 0)

# Outcomes; at least 0 is the place in q of a quaternion without unit length. SINGULAR - j: moving along degree of
# freedom j meets no inertia.
GOOD, NOT_FINITE, SINGULAR = -1, -2, -3

# Code of the fast entries: not the usual call.
NEEDS_GENERAL_ENTRY: Final = -1_000_000_000

# A pivot this small relative to the inertia before the elimination is rounding.
PIVOT: Final = 64 * 2.220446049250313e-16

# Levels to which the head is filled.
NOTHING, POSES, VELOCITIES = range(3)

# Number of joints whose sines and cosines are computed together: the longest vectors of current processors.
VECTOR_WIDTH: Final = 8

# The head: scratch of the joints, then the numbers per link and per degree of freedom. Scratch are two matrices and,
# rounded up to full vectors, sines and cosines, with two places per link.
MATRICES: Final = 18

SCRATCH: Final = MATRICES + 2 * (VECTOR_WIDTH - 1)

PER_LINK, PER_DOF = 26, 6

# Length of the stack memory of kernels called from Python, for models of up to about 50 links; 40 KiB.
STACK: Final = 5120

# Length of a custom joint's row: R (9), p (3), S as up to six columns of six (36), c (6).
CUSTOM_ROW: Final = 54

# Length of the row of its derivatives: dS/dq (6, 6, 6), for each degree of freedom and column, and dc/dq (6, 6).
CUSTOM_RATES: Final = 252


def columns_start(nl: int) -> int:
    """Return the offset of the motion columns in the head; R, p, V and C follow, as in `layout.frames`."""
    return 32 + 2 * nl


def head_size(nl: int, nv: int) -> int:
    """Return the length of the kinematics alone."""
    return 32 + 26 * nl + 6 * nv


def work_size(nl: int, nv: int) -> int:
    """Return the length of a workspace for every kernel of a model.

    The longest parts are the articulated inertias of `aba` with all that it needs, and the rates of columns of
    `dynamics_derivatives`.
    """
    return 47 + 71 * nl + 26 * nv
