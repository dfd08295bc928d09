"""Identification problems: parameters that many windows of recordings share, and unknowns of single windows.

And what came of it: the numbers found, in words whether to believe them, and what to try.

Arrays and functions alone: nothing here knows what the numbers stand for.
"""

from __future__ import annotations

import enum
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


#: Of the reduced normal matrix, scaled to a unit diagonal: below it a combination of parameters is not seen.
UNSEEN = 1e-7


class IdentificationVerdict(enum.Enum):
    """Outcome of an identification; the value is the explanation and `advice` what to try."""

    FOUND = "the steps are small beside the intervals"
    AT_BOUND = "a parameter stands at its bound"
    NOT_OBSERVABLE = "the recordings do not tell a parameter, or not two of them apart"
    ITERATION_LIMIT = "the steps had not become small when the iterations were used up"
    STALLED = "no step explains the recordings better, and the last was not small"
    TOO_FEW = "there are not more independent recordings than parameters"
    CONTRADICTED = "the recordings contradict what the model takes for granted"

    @property
    def advice(self) -> str:
        """Advice on what to try next."""
        return _ADVICE[self]


_ADVICE = {
    IdentificationVerdict.FOUND: "Nothing to do.",
    IdentificationVerdict.AT_BOUND: "The optimum is at the bound or beyond: leave it out, unless the bound is a guess.",
    IdentificationVerdict.NOT_OBSERVABLE: "Leave one of them out, or add recordings in which it matters.",
    IdentificationVerdict.ITERATION_LIMIT: "Allow more iterations, or begin nearer.",
    IdentificationVerdict.STALLED: "Begin elsewhere, take shorter windows, or identify fewer parameters.",
    IdentificationVerdict.TOO_FEW: "Record more, or identify fewer parameters; if simulations failed, start elsewhere.",
    IdentificationVerdict.CONTRADICTED: "Correct the recordings first: values of a wrong model mean nothing.",
}


@dataclass(frozen=True, eq=False)
class IdentificationResult:
    """Parameters found in recordings.

    Attributes
    ----------
    parameters
        What was looked for.
    values
        (p,) what was found.
    intervals
        (p, 2) 95 % intervals, within the bounds; infinite where the recordings do not tell.
    covariance
        (p, p) of the values.
    unknowns
        (W, m) the windows' own, as found.
    residual
        Median over windows of the root of the mean squared residual: 1 where the noise is what was said.
    weights
        (W,) how much each window counted: 1, less where it stands out, 0 where it has no prediction.
    verdict, why
        Whether to believe it; names and numbers.
    iterations
        Steps made.
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
    """Return the verdict and its reason; ``normal`` is the reduced normal matrix (p, p), 0 if there is none."""
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
        return IdentificationVerdict.NOT_OBSERVABLE, f"{' and '.join(together)} cannot be told apart"
    at = [one.name for one, x in zip(problem.parameters, values, strict=True) if x in (one.low, one.high)]
    if at:
        return (
            IdentificationVerdict.AT_BOUND,
            f"{', '.join(at)} at {', '.join(f'{values[names.index(name)]:g}' for name in at)}",
        )
    if not settled:
        return (IdentificationVerdict.ITERATION_LIMIT if made else IdentificationVerdict.STALLED), f"{made} steps made"
    return IdentificationVerdict.FOUND, f"{made} steps, {int(used.sum())} of {used.size} windows"
