"""A set of recordings of one kind: what may be identified from them, as which problem, and how a choice is scored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.spatial.errors import close_names
from contactlab.studies.identification.gauss_newton import identify
from contactlab.studies.identification.problem import (
    IdentificationError,
    IdentificationResult,
    IdentificationVerdict,
    Parameter,
    Problem,
)

#: Of many recordings so many are enough to come near.
FEW = 64


@dataclass(frozen=True, eq=False)
class Recordings:
    """Recordings with what may be identified from them.

    Parameters
    ----------
    title, noise
        What they are; what is taken to be noise, in words.
    parameters
        All that may be looked for, with where the search begins; ``fixed`` values of those that are not.
    default_parameters
        Names that are looked for unless others are named.
    nominal
        Values to compare with: those that anyone would begin with.
    groups
        (n,) which recordings are of the same event.
    problem
        From parameters, values of the others and numbers of recordings to a problem.
    errors
        From values and numbers of recordings to errors of whole motions, by name, (n,) each; NaN where one failed.
    unidentifiable
        Why some names can not be looked for.
    plausibility_check
        From values to what the recordings contradict in the very model, in words, or to nothing: no values are then
        found, however well they are told.
    """

    title: str
    noise: str
    parameters: tuple[Parameter, ...]
    default_parameters: tuple[str, ...]
    nominal: Mapping[str, float]
    groups: IntArray
    problem: Callable[[tuple[Parameter, ...], Mapping[str, float], IntArray], Problem]
    errors: Callable[[Mapping[str, float], IntArray], Mapping[str, FloatArray]] | None = None
    unidentifiable: Mapping[str, str] = field(default_factory=dict)
    plausibility_check: Callable[[Mapping[str, float]], str] | None = None

    def __len__(self) -> int:
        return self.groups.size

    def parameter(self, name: str) -> Parameter:
        """Return one that may be looked for; an `IdentificationError` says why not."""
        found = {one.name: one for one in self.parameters}
        if name in self.unidentifiable:
            raise IdentificationError("parameters", f"{name!r} cannot be seen here: {self.unidentifiable[name]}")
        if name not in found:
            detail = f"no parameter of {self.title} is called {name!r}{close_names(name, found)}"
            raise IdentificationError("parameters", f"{detail}; there are {', '.join(found)}")
        return found[name]

    def split(self, share: float, seed: int = 0) -> tuple[IntArray, IntArray]:
        """Return numbers of recordings to fit and to hold back, about this share; groups stay together."""
        if not 0.0 <= share < 1.0:
            raise IdentificationError("share", f"{share} is not in [0, 1): some recordings must be left to fit")
        names = np.unique(self.groups)
        back = np.random.default_rng(seed).permutation(names)[: round(share * names.size)]
        held = np.isin(self.groups, back)
        return np.flatnonzero(~held), np.flatnonzero(held)


def fit(
    recordings: Recordings,
    rows: IntArray,
    *,
    names: Sequence[str] = (),
    values: Mapping[str, float] | None = None,
    iterations: int = 30,
    progress: Callable[[int, int], None] | None = None,
) -> IdentificationResult:
    """Identify parameters from some of the recordings: from a few of them first, then from all.

    Parameters
    ----------
    recordings, rows
        What was recorded, and which of it is used.
    names
        What is looked for; none for what usually is.
    values
        Where the search begins for what is looked for, and where the others stay.
    iterations, progress
        As in `identify`.
    """
    given = dict(values or {})
    looked_for = tuple(names) or recordings.default_parameters
    for name, x in given.items():
        one = recordings.parameter(name)
        if not one.low <= x <= one.high:
            raise IdentificationError(f"values[{name!r}]", f"{x} is not between {one.low:g} and {one.high:g}")
    parameters = tuple(
        replace(one, start=given.get(one.name, one.start)) for one in map(recordings.parameter, looked_for)
    )
    fixed = {name: x for name, x in given.items() if name not in looked_for}
    few = rows[:: max(1, rows.size // FEW)]
    if few.size < rows.size:
        near = identify(recordings.problem(parameters, fixed, few), iterations=iterations, progress=progress)
        starts = near.values.tolist()
        parameters = tuple(replace(one, start=start) for one, start in zip(parameters, starts, strict=True))
    found = identify(recordings.problem(parameters, fixed, rows), iterations=iterations, progress=progress)
    told = fixed | {one.name: float(x) for one, x in zip(parameters, found.values, strict=True)}
    if recordings.plausibility_check is not None and (why := recordings.plausibility_check(told)):
        return replace(found, verdict=IdentificationVerdict.CONTRADICTED, why=why)
    return found
