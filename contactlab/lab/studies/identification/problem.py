"""Identification problems: parameters shared by many windows of recordings, and unknowns of single windows.

The module also has the results: the values found, a verdict on them, and advice. It has only arrays and functions,
independent of the meaning of the numbers.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contactlab.multibody.spatial.arrays import FloatArray

#: Function of shared values (p,) and unknowns of windows (W, m): residuals (W, r), or Jacobian (W, r, p + m).
Function = Callable[[FloatArray, FloatArray], FloatArray]


class IdentificationError(ValueError):
    """A problem or choice that cannot be used; the text has the field, its value and valid values."""

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(f"{field}: {detail}")
        self.field = field


@dataclass(frozen=True)
class Parameter:
    """A number to be identified.

    Parameters
    ----------
    name, unit
        Name and unit.
    start
        Start value of the search.
    step
        Step of finite differences: far above rounding, and small relative to significant changes.
    low, high
        Bounds.
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
        The p shared parameters.
    groups
        (W,) group of each window: errors of different groups are independent, errors within a group need not be.
    residuals
        Measured less predicted values, each divided by its noise. Prior knowledge of a window's unknowns adds rows. A
        window without a prediction (its simulation failed) has NaN.
    jacobian
        Derivatives of the residuals, by shared values first, then by the window's unknowns. `differences` makes such a
        function.
    unknowns
        Number m of unknowns of a window; they start at 0.
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
    """Return the Jacobian of a function by differences, centred for shared values, forward for unknowns.

    Parameters
    ----------
    residuals
        The function.
    parameters
        The shared parameters, with their steps.
    steps
        (m,) steps of a window's unknowns.
    """

    def jacobian(values: FloatArray, local: FloatArray) -> FloatArray:
        columns = []
        for k, one in enumerate(parameters):
            ends = np.clip(values[k] + one.step * np.array([-1.0, 1.0]), one.low, one.high)
            left, right = (
                residuals(np.where(np.arange(values.size) == k, end, values), local) for end in ends.tolist()
            )
            columns.append((right - left) / (ends[1] - ends[0]))
        # There are many unknowns, which are only eliminated, so one-sided differences are sufficient.
        base = residuals(values, local)
        for k, step in enumerate(steps.tolist()):
            off = np.zeros(steps.size)
            off[k] = step
            columns.append((residuals(values, local + off) - base) / step)
        return np.stack(columns, axis=2)

    return jacobian


#: Smallest eigenvalue of the reduced normal matrix, with unit diagonal, of an observable combination of parameters.
UNSEEN = 1e-7


class IdentificationVerdict(enum.Enum):
    """Verdict of an identification; the value is an explanation, and `advice` the recommended action."""

    FOUND = "the steps are small relative to the intervals"
    AT_BOUND = "a parameter is at its bound"
    NOT_OBSERVABLE = "the recordings do not determine a parameter, or do not distinguish two of them"
    ITERATION_LIMIT = "the steps had not become small when the iterations were used up"
    STALLED = "no step explains the recordings better, and the last was not small"
    TOO_FEW = "there are not more independent recordings than parameters"
    CONTRADICTED = "the recordings contradict assumptions of the model"

    @property
    def advice(self) -> str:
        """Recommended action."""
        return _ADVICE[self]


_ADVICE = {
    IdentificationVerdict.FOUND: "Nothing to do.",
    IdentificationVerdict.AT_BOUND: "The optimum is at the bound or beyond: leave it out, unless the bound is a guess.",
    IdentificationVerdict.NOT_OBSERVABLE: "Leave one of them out, or add recordings in which it matters.",
    IdentificationVerdict.ITERATION_LIMIT: "Allow more iterations, or begin nearer.",
    IdentificationVerdict.STALLED: "Begin elsewhere, use shorter windows, or identify fewer parameters.",
    IdentificationVerdict.TOO_FEW: "Record more, or identify fewer parameters; if simulations failed, start elsewhere.",
    IdentificationVerdict.CONTRADICTED: "Correct the recordings first: values of a wrong model mean nothing.",
}


@dataclass(frozen=True, eq=False)
class IdentificationResult:
    """Parameters identified from recordings.

    Attributes
    ----------
    parameters
        The identified parameters.
    values
        (p,) their values.
    intervals
        (p, 2) 95 % intervals, within the bounds; infinite if the recordings do not determine a parameter.
    covariance
        (p, p) covariance of the values.
    unknowns
        (W, m) values of the windows' unknowns.
    residual
        Median over windows of the root mean square residual: 1 if the noise is as stated.
    weights
        (W,) weight of each window: 1, less for outliers, 0 without a prediction.
    verdict, why
        Verdict on the values, and its reason with names and numbers.
    iterations
        Number of iterations.
    """

    parameters: tuple[Parameter, ...]
    values: FloatArray
    intervals: FloatArray
    covariance: FloatArray
    unknowns: FloatArray
    residual: float
    weights: FloatArray
    verdict: IdentificationVerdict
    why: str
    iterations: int

    def __getitem__(self, name: str) -> float:
        names = [one.name for one in self.parameters]
        if name not in names:
            raise KeyError(f"{name!r} was not looked for: {', '.join(names)}")
        return float(self.values[names.index(name)])

    def __str__(self) -> str:
        width = max(len(one.name) for one in self.parameters)
        rows = [
            f"{one.name:<{width}}  {value:11.5g}  ({low:.5g} to {high:.5g}) {one.unit}".rstrip()
            for one, value, (low, high) in zip(self.parameters, self.values, self.intervals, strict=True)
        ]
        return "\n".join([*rows, f"{self.verdict.name.lower()}: {self.why}"])


def verdict_of(
    problem: Problem, values: FloatArray, normal: FloatArray, used: NDArray[np.bool_], made: int, settled: bool
) -> tuple[IdentificationVerdict, str]:
    """Return the verdict on a fit, and its reason in words.

    ``normal`` is the normal matrix (p, p) without the windows' unknowns, 0 if there is none. ``used`` is a mask of the
    windows that could be simulated. ``made`` is the number of iterations. ``settled`` is true if they converged.
    """
    names = [one.name for one in problem.parameters]
    groups = np.unique(problem.groups[used]).size
    if groups <= len(names):
        lost = used.size - int(used.sum())
        return (
            IdentificationVerdict.TOO_FEW,
            f"{groups} independent recordings for {len(names)} parameters; {lost} windows failed",
        )
    scale = np.sqrt(np.diag(normal))
    blind = [name for name, one in zip(names, scale, strict=True) if not one > 0.0]
    if blind:
        return IdentificationVerdict.NOT_OBSERVABLE, f"nothing recorded depends on {', '.join(blind)}"
    sizes, directions = np.linalg.eigh(normal / np.outer(scale, scale))
    if sizes[0] < UNSEEN:
        together = [name for name, share in zip(names, directions[:, 0], strict=True) if abs(share) > 0.2]
        return IdentificationVerdict.NOT_OBSERVABLE, f"{' and '.join(together)} cannot be distinguished"
    at = [one.name for one, x in zip(problem.parameters, values, strict=True) if x in (one.low, one.high)]
    if at:
        return (
            IdentificationVerdict.AT_BOUND,
            f"{', '.join(at)} at {', '.join(f'{values[names.index(name)]:g}' for name in at)}",
        )
    if not settled:
        return (IdentificationVerdict.ITERATION_LIMIT if made else IdentificationVerdict.STALLED), f"{made} steps made"
    return IdentificationVerdict.FOUND, f"{made} steps, {int(used.sum())} of {used.size} windows"
