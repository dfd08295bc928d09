"""What a dynamics kernel may return besides `GOOD` (-1) and the place in q of a quaternion that is not one (>= 0)."""

from __future__ import annotations

from typing import Final

NOT_FINITE: Final = -2
# -3 - j: moving along degree of freedom j meets no inertia.
SINGULAR: Final = -3
# A pivot this small, relative to the inertia it is left over from, is rounding.
PIVOT: Final = 64 * 2.220446049250313e-16
# Of the quick entries: not the usual call.
UNUSUAL: Final = -1_000_000_000
