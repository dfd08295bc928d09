"""The shifted geometric mean: one number for many times, of which neither the least nor the largest rule."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["shifted_geometric_mean"]


def shifted_geometric_mean(times: ArrayLike, *, shift: float, failed_at: float) -> float:
    """exp(mean(log(t + shift))) - shift, a failure counting as ``failed_at``.

    Parameters
    ----------
    times
        Seconds (k,); inf or NaN for a failure. Times above ``failed_at`` count as that.
    shift
        Seconds added to each, so that differences far below it do not count. A mean is stated with its shift.
    failed_at
        Seconds a failure counts for: the time limit.

    Returns
    -------
    float
        Seconds; NaN where there are no times.

    References
    ----------
    T. Achterberg, Constraint Integer Programming, dissertation, TU Berlin (2007), appendix A.3.
    """
    if not (shift >= 0.0 and math.isfinite(shift)):
        raise ValueError(f"shift = {shift} is not a finite number >= 0")
    if not (failed_at > 0.0 and math.isfinite(failed_at)):
        raise ValueError(f"failed_at = {failed_at} is not a finite number > 0")
    given = np.atleast_1d(np.array(times, dtype=np.float64))
    if given.size == 0:
        return math.nan
    if (given < 0.0).any():
        raise ValueError(f"times hold {given.min()}, which is negative")
    counted = np.where(np.isfinite(given), np.minimum(given, failed_at), failed_at) + shift
    if (counted == 0.0).any():
        raise ValueError("a time of 0 needs a shift > 0")
    return float(np.exp(np.log(counted).mean()) - shift)
