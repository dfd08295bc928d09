"""The step h, checked."""

from __future__ import annotations

import math

import numpy as np

from problem_data import ProblemDataError


def check_step(h: float, field: str = "h") -> float:
    """Return h as a float, or raise `ProblemDataError` unless it is a positive finite number of seconds."""
    if isinstance(h, bool) or not isinstance(h, (int, float, np.integer, np.floating)):
        raise ProblemDataError(field, f"{h!r}, wanted a number of seconds")
    if not (math.isfinite(h) and h > 0.0):
        raise ProblemDataError(field, f"{h!r}, wanted a positive finite number of seconds")
    return float(h)
