"""Identification of parameters from recordings, with intervals, by least squares over windows of simulated motion.

The method is Gauss-Newton. All windows share the parameters; the unknowns of each window are eliminated.

The objective is the sum over windows of rho(s), with s = min |r(theta, x)|^2 over the window's unknowns x. rho(s) = s
up to a few times the median of all windows, and grows logarithmically beyond. So a window that the model cannot explain
(another impact than modelled, an outlier) does not dominate. Levenberg's damping is used. Schur complements eliminate
the unknowns of windows from the normal equations, so the work grows linearly with the number of windows.

The intervals belong to an M-estimator over independent groups of windows (the "sandwich"). They need neither the size
of the noise nor independent errors of the samples in a window, only enough groups. They are valid even if the model is
wrong for some windows. For few groups, the influence of each group on the fit is removed from its errors (the
jackknife). Student's t has as many degrees of freedom as there are groups beyond the parameters.

Sources: D. W. Marquardt (1963); G. Golub, V. Pereyra, variable projection (1973); P. J. Huber, The behavior of maximum
likelihood estimates under nonstandard conditions (1967); J. G. MacKinnon, H. White (1985).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from contactlab.lab.studies.identification.problem import (
    IdentificationError,
    IdentificationResult,
    IdentificationVerdict,
    Parameter,
    Problem,
    differences,
    verdict_of,
)
from contactlab.lab.studies.identification.windows import Windows, window_problem, with_parameters
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, close_names

__all__ = [
    "IdentificationError", "IdentificationResult", "IdentificationVerdict", "Parameter", "Problem", "Recordings",
    "Windows", "differences", "fit", "identify", "window_problem", "with_parameters",
]  # fmt: skip


#: Number of recordings in a first fit, sufficient to come close to the solution.
FEW = 64


@dataclass(frozen=True, eq=False)
class Recordings:
    """Recordings with the parameters that can be identified from them.

    Parameters
    ----------
    title, noise
        Description of the recordings, and of their noise.
    parameters
        All parameters that can be identified, with start values of the search; these are also the ``fixed`` values of
        the others.
    default_parameters
        Names of the parameters identified by default.
    nominal
        Reference values for comparison, from a simple first model.
    groups
        (n,) number of the event of each recording.
    problem
        Function of parameters, values of the others and indices of recordings that returns a problem.
    errors
        Function of values and indices of recordings that returns errors of whole motions, by name, (n,) each; NaN for
        failures.
    unidentifiable
        Reasons why some parameters cannot be identified.
    plausibility_check
        Function of values that returns a contradiction between the recordings and the model, as text, or "". With a
        contradiction the verdict is not FOUND, however small the intervals are.
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
        """Return a parameter by name; raise `IdentificationError` with the reason if it cannot be identified."""
        found = {one.name: one for one in self.parameters}
        if name in self.unidentifiable:
            raise IdentificationError("parameters", f"{name!r} cannot be seen here: {self.unidentifiable[name]}")
        if name not in found:
            detail = f"no parameter of {self.title} is called {name!r}{close_names(name, found)}"
            raise IdentificationError("parameters", f"{detail}; there are {', '.join(found)}")
        return found[name]

    def split(self, share: float, seed: int = 0) -> tuple[IntArray, IntArray]:
        """Return indices of recordings to fit and to hold back (about this fraction); groups are not split."""
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
    """Identify parameters from some of the recordings: first from a few of them, then from all.

    Parameters
    ----------
    recordings, rows
        The recordings, and the indices of the used ones.
    names
        Names of the identified parameters; by default ``default_parameters``.
    values
        Start values of the identified parameters, and fixed values of the others.
    iterations, progress
        As for `identify`.
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


#: Windows with residuals above this multiple of the median have less weight.
OUTLYING = 4.0
#: A step is small if it changes every parameter by less than this fraction of its standard error.
SMALL = 0.1
MOST_DAMPING = 1e8
#: Fraction of a group's influence that is removed from its error; below 1, for a parameter seen by one group only.
MOST_PULL = 0.999


@dataclass(frozen=True, eq=False)
class _Linear:
    """Normal equations at a point, by window: A for shared parameters, B for its unknowns, r for residuals."""

    AA: FloatArray
    AB: FloatArray
    BB: FloatArray
    Ar: FloatArray
    Br: FloatArray

    @staticmethod
    def of(J: FloatArray, r: FloatArray, shared: int) -> _Linear:
        """Return the normal equations of Jacobians (windows, rows, columns), shared columns first, and residuals."""
        A, B = J[:, :, :shared], J[:, :, shared:]
        AT, BT = A.transpose(0, 2, 1), B.transpose(0, 2, 1)
        return _Linear(AT @ A, AT @ B, BT @ B, (AT @ r[:, :, None])[:, :, 0], (BT @ r[:, :, None])[:, :, 0])

    def eliminated(self, damping: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Eliminate the unknowns of each window from the normal equations; add ``damping`` times their diagonal.

        Return, by window, the reduced matrix (p, p) and gradient (p,) of the p shared parameters, and X and x0. If the
        shared parameters change by d, the unknowns change by -(x0 + X d).
        """
        BB = self.BB.copy()
        places = np.arange(BB.shape[1])
        # A minimum on the diagonal keeps unknowns without effect at their values.
        diagonal = BB[:, places, places]
        BB[:, places, places] += damping * diagonal + 1e-12 * (1.0 + diagonal)
        right = np.concatenate((self.AB.transpose(0, 2, 1), self.Br[:, :, None]), axis=2)
        solved: FloatArray = np.asarray(np.linalg.solve(BB, right), dtype=np.float64)
        X, x0 = solved[:, :, :-1], solved[:, :, -1]
        return self.AA - self.AB @ X, self.Ar - (self.AB @ x0[:, :, None])[:, :, 0], X, x0


def identify(
    problem: Problem, *, iterations: int = 30, robust: bool = True, progress: Callable[[int, int], None] | None = None
) -> IdentificationResult:
    """Return the parameters of smallest squared residuals, with 95 % intervals and a verdict.

    Parameters
    ----------
    problem
        The residuals and the parameters.
    iterations
        Maximum number of iterations.
    robust
        Whether outlying windows have less weight.
    progress
        Called with (iterations, maximum number of iterations) after each iteration.
    """
    low, high = (np.array([getattr(one, name) for one in problem.parameters]) for name in ("low", "high"))
    values = np.array([one.start for one in problem.parameters])
    local = np.zeros((problem.groups.size, problem.unknowns))
    r = problem.residuals(values, local)
    damping, made, settled = 1e-3, 0, False
    J = problem.jacobian(values, local)
    used = _finite_windows(r, J)
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
            # Small relative to the standard errors: further steps would not change the result noticeably.
            settled = bool(np.all(np.abs(trial - values) <= SMALL * error)) and (
                not accepted or gain <= 1e-2 * _cost(s[used], limit)
            )
            damping = max(damping / 5.0, 1e-9) if accepted else damping * 4.0
            if settled:
                break
        if accepted:
            values, local, r = trial, others, after
            if not settled:  # after a small step the previous derivatives are still valid
                J = problem.jacobian(values, local)
            used = _finite_windows(r, J)
        if progress is not None:
            progress(made, iterations)
    return _result(problem, values, local, r, J, used, made, settled, robust)


def _finite_windows(r: FloatArray, J: FloatArray) -> NDArray[np.bool_]:
    """Return a mask of windows with finite residuals and derivatives."""
    return np.asarray(np.isfinite(r).all(axis=1) & np.isfinite(J).all(axis=(1, 2)))


def _squares(r: FloatArray) -> FloatArray:
    """Return |r|^2 by window; infinite without a prediction."""
    s = np.einsum("wr,wr->w", r, r)
    return np.where(np.isfinite(s), s, np.inf)


def _weights(s: FloatArray, limit: float) -> FloatArray:
    """Return the weights of windows with squared residuals s: 1 up to ``limit``, and ``limit`` / s above it."""
    return np.minimum(1.0, limit / np.maximum(s, 1e-300))


def _cost(s: FloatArray, limit: float) -> float:
    """Return the sum over windows of rho(s): s up to ``limit``, and ``limit`` (1 + log(s / limit)) above it.

    A window without a prediction, or with a larger s, counts as if s were a thousand times the limit.
    """
    if not np.isfinite(limit):
        return float(s.sum())
    s = np.minimum(s, 1e3 * limit)
    return float(np.where(s <= limit, s, limit * (1.0 + np.log(np.maximum(s, limit) / limit))).sum())


def _step(
    linear: _Linear, weights: FloatArray, damping: float, values: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the step of the shared parameters and of windows' unknowns; values at active bounds do not move."""
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
    """Return the sandwich covariance (p, p) of the shared parameters over independent groups; infinite if undetermined.

    ``s`` (windows,) are the squared residuals, and ``limit`` is the value from which they have less weight.
    """
    S, g, _, _ = linear.eliminated(0.0)
    weights = _weights(s, limit)
    H = np.einsum("w,wij->ij", weights, S)
    # Beyond the limit rho is curved, with the second derivative -limit / s^2.
    bent = np.where(s > limit, -2.0 * weights / np.maximum(s, 1e-300), 0.0)
    exact = H + np.einsum("w,wi,wj->ij", bent, g, g)
    scale = np.sqrt(np.maximum(np.diag(H), 1e-300))
    unit = np.outer(scale, scale)
    if np.linalg.eigvalsh(exact / unit).min() <= 0.1 * np.linalg.eigvalsh(H / unit).min():
        exact = H  # too few windows to determine the curvature
    _, number = np.unique(groups, return_inverse=True)
    n, p = int(number.max()) + 1, scale.size
    told, by_group = np.zeros((n, p, p)), np.zeros((n, p))
    np.add.at(told, number, weights[:, None, None] * S)
    np.add.at(by_group, number, weights[:, None] * g)
    inverse = np.linalg.pinv(exact / unit, rcond=1e-10, hermitian=True) / unit
    # Remove the influence of a group on the fit from its error, as in the jackknife (CR3).
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
    """Return the identified values with their intervals and verdict."""
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
