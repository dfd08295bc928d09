"""Bounds on the forces of boxed rows, checked: the one place where an infinity is a good number."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from problem_data.errors import ProblemDataError
from problem_data.validation import FloatArray, entry, real_numbers, wrong_shape

_WHY = "one entry per row of B"


def force_bounds(lo: ArrayLike | None, hi: ArrayLike | None, nbox: int) -> tuple[FloatArray, FloatArray]:
    """Bounds lo <= hi of nbox forces, -inf and inf where there is none; both may be missing where nbox is 0.

    Refused are a NaN, an infinity on the wrong side, and two finite bounds farther apart than any number.
    """
    lower, upper = _bound("lo", lo, nbox, np.inf), _bound("hi", hi, nbox, -np.inf)
    crossed = lower > upper
    if crossed.any():
        i = int(np.argmax(crossed))
        raise ProblemDataError("lo", f"lo[{i}] = {lower[i]}, wanted <= hi[{i}] = {upper[i]} (shape {lower.shape})")
    with np.errstate(over="ignore"):
        endless = np.isfinite(lower) & np.isfinite(upper) & np.isinf(upper - lower)
    if endless.any():
        i = int(np.argmax(endless))
        raise ProblemDataError("hi", f"hi[{i}] - lo[{i}] = {upper[i]} - {lower[i]} overflows, wanted an infinite bound")
    return lower, upper


def _bound(field: str, value: ArrayLike | None, size: int, wrong: float) -> FloatArray:
    if value is None:
        if size:
            raise ProblemDataError(field, f"missing, wanted shape ({size},): {_WHY}")
        return np.zeros(0)
    numbers = real_numbers(field, value)
    if numbers.shape != (size,):
        raise ProblemDataError(field, wrong_shape(numbers.shape, (size,), _WHY))
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(numbers, dtype=np.float64)
    # A wider float that overflows float64 is no bound that someone meant to be infinite.
    bad = np.isnan(array) | (array == wrong) | (np.isinf(array) & np.isfinite(numbers))
    if bad.any():
        i = int(np.argmax(bad))
        side = "-inf" if field == "lo" else "inf"
        raise ProblemDataError(
            field,
            f"{entry(field, array, (i,))}, wanted a number or {side} "
            f"(shape {array.shape}, {np.count_nonzero(bad)} such entries)",
        )
    return array
