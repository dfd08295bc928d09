"""Codes of the elementary joints with the sizes of their slices of q and v, and return codes of kernels."""

from __future__ import annotations

from typing import Final

REVOLUTE_X: Final = 0
REVOLUTE_Y: Final = 1
REVOLUTE_Z: Final = 2
REVOLUTE: Final = 3
PRISMATIC: Final = 4
# Shift t q in joint axes, then rotation by q about w.
SCREW: Final = 5
# Unit quaternion (w, x, y, z); velocity in body axes.
SPHERICAL: Final = 6
TRANSLATION: Final = 7
# Position and quaternion; velocity (linear in parent axes, angular in body axes).
FLOATING: Final = 8
# Transform, motion subspace and velocity product come from outside, evaluated before the kernel runs.
CUSTOM: Final = 9

#: Lengths of the slices of q and v, by code; a custom joint has its own lengths.
NQ: Final = (1, 1, 1, 1, 1, 1, 4, 3, 7, 0)
NV: Final = (1, 1, 1, 1, 1, 1, 3, 3, 6, 0)

# Outcomes; at least 0 is the place in q of a quaternion that is not one.
GOOD: Final = -1
NOT_FINITE: Final = -2
# -3 - j: moving along degree of freedom j meets no inertia.
SINGULAR: Final = -3
# Code of the fast entries: not the usual call.
NEEDS_GENERAL_ENTRY: Final = -1_000_000_000

# A pivot this small, relative to the inertia it is left over from, is rounding.
PIVOT: Final = 64 * 2.220446049250313e-16
