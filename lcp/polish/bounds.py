"""What is within rounding of a bound, or of zero, put there."""

from __future__ import annotations

import numpy as np

from lcp.arrays import Vector
from lcp.box import BoxLCP
from lcp.residuals import measure


def at_bounds(problem: BoxLCP, z: Vector, tolerance: float) -> Vector:
    """z with what is within rounding of a bound put on it, where that solves; otherwise as it was.

    A solution at bounds of zero comes out of a difference as 1e-16, which, measured against itself, is not small.
    """
    matrix, load = problem._M, float(np.abs(problem._q).max(initial=0.0))
    size = float(abs(matrix).max()) if problem.n else 0.0
    near = 1e-14 * max(float(np.abs(z).max(initial=0.0)), load / size if size > 0.0 else 0.0)
    snapped = np.where(np.abs(z - problem.lo) <= near, problem.lo, z)
    snapped = np.where(np.abs(snapped - problem.hi) <= near, problem.hi, snapped)
    snapped = np.where(np.abs(snapped) <= near, np.clip(0.0, problem.lo, problem.hi), snapped)
    return snapped if measure(problem, snapped)[0].solved(tolerance) else z
