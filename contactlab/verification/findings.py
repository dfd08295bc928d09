"""What a check says, in the form that a verification counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from contactlab.spatial.arrays import FloatArray

TINY = float(np.finfo(float).tiny)

#: Condition, steps in the portion, islands, rows of the contact table, values (n,); -1 where it is of none.
Found = tuple[str, Any, Any, Any, FloatArray]


def largest(off: FloatArray, size: FloatArray) -> FloatArray:
    """Return max |off| / size (n,) of rows (n, m); what is 0 out of nothing holds."""
    return np.asarray(np.max(np.abs(off) / np.maximum(size, TINY), axis=1, initial=0.0))
