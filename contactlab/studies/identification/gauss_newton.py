"""Gauss-Newton over windows: shared parameters with intervals, the unknowns of each window eliminated.

Least is the sum over windows of rho(s), s = min over its own unknowns x of |r(theta, x)|^2. rho leaves s as it is up to
a few times the median of all windows and grows as a logarithm from there, so that a window which the model cannot
explain at all (another impact than was modelled, a wild sample) does not decide. Levenberg's damping; a window's
unknowns leave the normal equations by their Schur complement, so that work grows with the number of windows.

Intervals are those of an M-estimator over independent groups of windows (the "sandwich"): they need neither the size of
the noise nor that samples of a window err independently, only groups enough, and they hold where the model is wrong
for some windows; errors of few groups are freed of their own pull on the fit (the jackknife). Student's t with as many
degrees of freedom as there are groups beyond the parameters.

Sources: D. W. Marquardt (1963); G. Golub, V. Pereyra, variable projection (1973); P. J. Huber, The behavior of maximum
likelihood estimates under nonstandard conditions (1967); J. G. MacKinnon, H. White (1985).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.spatial.errors import close_names
from contactlab.studies.identification.problem import (
    IdentificationError,
    IdentificationResult,
    IdentificationVerdict,
    Parameter,
    Problem,
    verdict_of,
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


#: Windows beyond so many times the median residual count less.
OUTLYING = 4.0
#: A step is small if it moves no parameter by more than this part of its standard error.
SMALL = 0.1
MOST_DAMPING = 1e8
#: Part of a group's own pull that its error is freed of: not quite all, for a parameter that one group alone tells.
MOST_PULL = 0.999


@dataclass(frozen=True, eq=False)
class _Linear:
    """The normal equations at a point, by window: A of shared parameters, B of its own unknowns, r of residuals."""

    AA: FloatArray
    AB: FloatArray
    BB: FloatArray
    Ar: FloatArray
    Br: FloatArray

    @staticmethod
    def of(J: FloatArray, r: FloatArray, shared: int) -> _Linear:
        A, B = J[:, :, :shared], J[:, :, shared:]
        AT, BT = A.transpose(0, 2, 1), B.transpose(0, 2, 1)
        return _Linear(AT @ A, AT @ B, BT @ B, (AT @ r[:, :, None])[:, :, 0], (BT @ r[:, :, None])[:, :, 0])

    def eliminated(self, damping: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return by window the reduced matrix and gradient, and what its unknowns follow by: -(x0 + X d)."""
        BB = self.BB.copy()
        places = np.arange(BB.shape[1])
        # A floor keeps unknowns that nothing depends on where they are.
        diagonal = BB[:, places, places]
        BB[:, places, places] += damping * diagonal + 1e-12 * (1.0 + diagonal)
        right = np.concatenate((self.AB.transpose(0, 2, 1), self.Br[:, :, None]), axis=2)
        solved: FloatArray = np.asarray(np.linalg.solve(BB, right), dtype=np.float64)
        X, x0 = solved[:, :, :-1], solved[:, :, -1]
        return self.AA - self.AB @ X, self.Ar - (self.AB @ x0[:, :, None])[:, :, 0], X, x0


def identify(
    problem: Problem, *, iterations: int = 30, robust: bool = True, progress: Callable[[int, int], None] | None = None
) -> IdentificationResult:
    """Return the parameters of least squared residuals, with 95 % intervals and a verdict.

    Parameters
    ----------
    problem
        What is to be explained, by which numbers.
    iterations
        The most.
    robust
        Whether windows that stand out count less.
    progress
        Called with (iterations made, the most) after each.
    """
    low, high = (np.array([getattr(one, name) for one in problem.parameters]) for name in ("low", "high"))
    values = np.array([one.start for one in problem.parameters])
    local = np.zeros((problem.groups.size, problem.unknowns))
    r = problem.residuals(values, local)
    damping, made, settled = 1e-3, 0, False
    J = problem.jacobian(values, local)
    used = _predicted(r, J)
    while made < iterations and not settled and used.sum() > values.size and damping < MOST_DAMPING:
        made += 1
        s = _squares(r)
        limit = OUTLYING * float(np.median(s[used])) if robust else np.inf
        linear = _Linear.of(J[used], r[used], values.size)
        error = np.sqrt(np.diag(_covariance(linear, s[used], limit, problem.groups[used])))
        accepted = False
        while not accepted and damping < MOST_DAMPING:
            step, moved = _step(linear, _weights(s[used], limit), damping, values, low, high)
            trial, others = np.clip(values + step, low, high), local.copy()
            others[used] += moved
            after = problem.residuals(trial, others)
            gain = _cost(s[used], limit) - _cost(_squares(after)[used], limit)
            accepted = bool(gain > 0.0)
            # Small by what is known of the numbers: nothing that would be noticed is left to gain.
            settled = bool(np.all(np.abs(trial - values) <= SMALL * error)) and (
                not accepted or gain <= 1e-2 * _cost(s[used], limit)
            )
            damping = max(damping / 5.0, 1e-9) if accepted else damping * 4.0
            if settled:
                break
        if accepted:
            values, local, r = trial, others, after
            if not settled:  # after a small step the derivatives are still those of before
                J = problem.jacobian(values, local)
            used = _predicted(r, J)
        if progress is not None:
            progress(made, iterations)
    return _result(problem, values, local, r, J, used, made, settled, robust)


def _predicted(r: FloatArray, J: FloatArray) -> NDArray[np.bool_]:
    """Return which windows have a prediction, with derivatives."""
    return np.asarray(np.isfinite(r).all(axis=1) & np.isfinite(J).all(axis=(1, 2)))


def _squares(r: FloatArray) -> FloatArray:
    """Return |r|^2 by window; without a prediction infinite."""
    s = np.einsum("wr,wr->w", r, r)
    return np.where(np.isfinite(s), s, np.inf)


def _weights(s: FloatArray, limit: float) -> FloatArray:
    """Return the derivative of rho at each window."""
    return np.minimum(1.0, limit / np.maximum(s, 1e-300))


def _cost(s: FloatArray, limit: float) -> float:
    """Return the sum of rho; a window that lost its prediction counts as a thousand times the limit."""
    if not np.isfinite(limit):
        return float(s.sum())
    s = np.minimum(s, 1e3 * limit)
    return float(np.where(s <= limit, s, limit * (1.0 + np.log(np.maximum(s, limit) / limit))).sum())


def _step(
    linear: _Linear, weights: FloatArray, damping: float, values: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the step of the shared parameters and of each window's unknowns; who would leave its bound stays."""
    S, g, X, x0 = linear.eliminated(damping)
    H, gradient = np.einsum("w,wij->ij", weights, S), weights @ g
    scale = np.sqrt(np.maximum(np.diag(H), 1e-300))
    free = ~(((values <= low) & (gradient > 0.0)) | ((values >= high) & (gradient < 0.0)))
    step = np.zeros(values.size)
    kept = np.flatnonzero(free)
    scaled = H[np.ix_(kept, kept)] / np.outer(scale[kept], scale[kept]) + damping * np.eye(kept.size)
    step[kept] = -np.linalg.lstsq(scaled, gradient[kept] / scale[kept], rcond=1e-10)[0] / scale[kept]
    return step, -(x0 + X @ step)


def _covariance(linear: _Linear, s: FloatArray, limit: float, groups: NDArray[np.int64]) -> FloatArray:
    """Return the covariance of the shared parameters over independent groups; infinite where nothing tells them."""
    S, g, _, _ = linear.eliminated(0.0)
    weights = _weights(s, limit)
    H = np.einsum("w,wij->ij", weights, S)
    # rho bends beyond the limit: there its second derivative is -limit / s^2.
    bent = np.where(s > limit, -2.0 * weights / np.maximum(s, 1e-300), 0.0)
    exact = H + np.einsum("w,wi,wj->ij", bent, g, g)
    scale = np.sqrt(np.maximum(np.diag(H), 1e-300))
    unit = np.outer(scale, scale)
    if np.linalg.eigvalsh(exact / unit).min() <= 0.1 * np.linalg.eigvalsh(H / unit).min():
        exact = H  # too few windows to tell the bend
    _, number = np.unique(groups, return_inverse=True)
    n, p = int(number.max()) + 1, scale.size
    told, by_group = np.zeros((n, p, p)), np.zeros((n, p))
    np.add.at(told, number, weights[:, None, None] * S)
    np.add.at(by_group, number, weights[:, None] * g)
    inverse = np.linalg.pinv(exact / unit, rcond=1e-10, hermitian=True) / unit
    # A group pulls the fit towards itself: what it would err by without its own pull is that of the jackknife (CR3).
    pull = np.eye(p) - MOST_PULL * told @ (np.linalg.pinv(H / unit, rcond=1e-10, hermitian=True) / unit)
    alone = np.linalg.solve(pull, by_group[:, :, None])[:, :, 0]
    found: FloatArray = inverse @ (alone.T @ alone) @ inverse * ((n - 1) / n)
    lost = np.diag(H) <= 0.0
    found[lost, lost] = np.inf
    return found


def _result(
    problem: Problem,
    values: FloatArray,
    local: FloatArray,
    r: FloatArray,
    J: FloatArray,
    used: NDArray[np.bool_],
    made: int,
    settled: bool,
    robust: bool,
) -> IdentificationResult:
    """Return what was found, and what to think of it."""
    from scipy.stats import t as student

    p = values.size
    covariance, correlation = np.full((p, p), np.inf), np.zeros((p, p))
    weights = np.zeros(used.size)
    independent = np.unique(problem.groups[used]).size
    if used.sum() > p and independent > p:
        linear, s = _Linear.of(J[used], r[used], p), _squares(r)[used]
        limit = OUTLYING * float(np.median(s)) if robust else np.inf
        covariance, weights[used] = _covariance(linear, s, limit, problem.groups[used]), _weights(s, limit)
        correlation = np.einsum("w,wij->ij", weights[used], linear.eliminated(0.0)[0])
    width = student.ppf(0.975, max(1, independent - p)) * np.sqrt(np.diag(covariance))
    low, high = (np.array([getattr(one, name) for one in problem.parameters]) for name in ("low", "high"))
    verdict, why = verdict_of(problem, values, correlation, used, made, settled)
    freedom = max(1, r.shape[1] - problem.unknowns)
    return IdentificationResult(
        parameters=problem.parameters,
        values=values,
        intervals=np.stack((np.maximum(values - width, low), np.minimum(values + width, high)), axis=1),
        covariance=covariance,
        unknowns=local,
        residual=float(np.sqrt(np.median(_squares(r)[used]) / freedom)) if used.any() else float("nan"),
        weights=weights,
        verdict=verdict,
        why=why,
        iterations=made,
    )


__all__ = ["IdentificationResult", "IdentificationVerdict", "identify"]
