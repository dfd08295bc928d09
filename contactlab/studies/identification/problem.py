"""What is identified: parameters that many windows of recordings share, and unknowns that belong to one window each.

Arrays and functions alone: nothing here knows what the numbers stand for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contactlab.spatial.arrays import FloatArray

#: Of shared values (p,) and unknowns of windows (W, m): residuals (W, r), or their Jacobian (W, r, p + m).
Function = Callable[[FloatArray, FloatArray], FloatArray]


class IdentificationError(ValueError):
    """A problem or a choice that cannot be used: which field, what it is, and what would do."""

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(f"{field}: {detail}")
        self.field = field


@dataclass(frozen=True)
class Parameter:
    """A number to be found.

    Parameters
    ----------
    name, unit
        What it is called, and what it is measured in.
    start
        Where the search begins.
    step
        Of differences: far above rounding, and small against what would be noticed.
    low, high
        Between them it stays.
    """

    name: str
    start: float
    step: float
    low: float = -math.inf
    high: float = math.inf
    unit: str = ""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.step) and self.step > 0.0):
            raise IdentificationError(f"{self.name}.step", f"{self.step} is not a finite number > 0")
        if not self.low <= self.start <= self.high:
            raise IdentificationError(f"{self.name}.start", f"{self.start} is not between {self.low} and {self.high}")


@dataclass(frozen=True, eq=False)
class Problem:
    """Least squares over windows.

    Parameters
    ----------
    parameters
        The p shared numbers.
    groups
        (W,) which windows belong together: errors of different groups are independent, those of one need not be.
    residuals
        Measured less predicted, each over its noise; beliefs about a window's unknowns are rows of it, too. A window
        without a prediction (its simulation failed) has NaN.
    jacobian
        Derivatives of the residuals: of shared values first, then of the window's own unknowns. `differences` makes
        one; any other function of the same arguments will do.
    unknowns
        m, those of a window; they begin at 0.
    """

    parameters: tuple[Parameter, ...]
    groups: NDArray[np.int64]
    residuals: Function
    jacobian: Function
    unknowns: int = 0

    def __post_init__(self) -> None:
        names = [one.name for one in self.parameters]
        if not names or len(set(names)) < len(names):
            raise IdentificationError("parameters", f"{names}: at least one, each name once")


def differences(residuals: Function, parameters: Sequence[Parameter], steps: FloatArray) -> Function:
    """Return the Jacobian of a function by differences: centred of shared values, forward of unknowns.

    Parameters
    ----------
    residuals
        The function.
    parameters
        The shared ones, which say their steps.
    steps
        (m,) those of a window's unknowns.
    """

    def jacobian(values: FloatArray, local: FloatArray) -> FloatArray:
        columns = []
        for k, one in enumerate(parameters):
            ends = np.clip(values[k] + one.step * np.array([-1.0, 1.0]), one.low, one.high)
            left, right = (
                residuals(np.where(np.arange(values.size) == k, end, values), local) for end in ends.tolist()
            )
            columns.append((right - left) / (ends[1] - ends[0]))
        # Unknowns are many and only eliminated: one side will do.
        base = residuals(values, local)
        for k, step in enumerate(steps.tolist()):
            off = np.zeros(steps.size)
            off[k] = step
            columns.append((residuals(values, local + off) - base) / step)
        return np.stack(columns, axis=2)

    return jacobian
