"""Models of recorded planar impacts, fitted and scored; and the momentum balance of the recordings.

For every law of restitution and friction, an impact satisfies

    P_theta = a n_theta P_y + b d_theta P_x + c P_y        rigid bodies: a = 1, b = 1, c = 0

where P are the measured changes of momentum, and n_theta and d_theta the stored levers; c is the distance of the normal
impulse from its point. If b is near -1, the x axis is mirrored relative to the sense of rotation, and laws are fitted
with the *lever turned*.

There are two readings of the file. *As stored* uses both rows of the contact unchanged. *Lever turned* changes the sign
of the lever in the tangent row, as for a file with a mirrored x axis. The momentum balance determines the reading:
`momentum_balance`.

Tables compare two models by their differences on the same impacts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from contactlab.lab.datasets.recordings import PlanarImpacts
from contactlab.lab.studies.planar_laws import COARSE, LAW_NUMBERS, LAWS, RESOLUTION, Law, planar_impulses
from contactlab.multibody.spatial.arrays import FloatArray, IntArray

#: Accepted deviation of a and b from their values for rigid bodies; if noise is small, recordings deviate by a tenth.
_OFF = 0.5
#: Smallest singular value, relative to the largest one of the scaled columns, with which a coefficient is determined.
_UNSEEN = 1e-9


@dataclass(frozen=True, eq=False)
class MomentumBalance:
    """Coefficients of the balance, and half widths of their 95 % intervals; infinite if undetermined."""

    values: FloatArray  # (3,) a, b, c [m]
    margins: FloatArray  # (3,)

    @property
    def lever_turned(self) -> bool:
        """Whether laws are fitted with the other sign of the tangent lever; False if the sign is undetermined."""
        return self.is_determined and bool(self.values[1] < 0.0)

    @property
    def is_determined(self) -> bool:
        """Whether the interval of b excludes 0."""
        return bool(abs(self.values[1]) > self.margins[1])

    @property
    def reading(self) -> str:
        """Description of the reading of the tangent row, with its reason."""
        if not self.is_determined:
            return "as stored (the balance of momentum does not determine the sign of its lever)"
        return f"{'lever turned' if self.lever_turned else 'as stored'} (by the balance of momentum)"

    def contradiction(self, *, friction: bool = True) -> str:
        """Return the contradiction with rigid bodies with these levers, or ""; b is used only with friction.

        A contradiction is an interval of a outside 0.5 to 1.5, or an interval of b outside this range and its mirror
        image.
        """
        a, b = self.values[:2].tolist()
        found = []
        if abs(a - 1.0) > _OFF + self.margins[0]:
            found.append(f"a = {a:.2f} for the lever of the normal row, where rigid bodies have 1")
        if friction and abs(abs(b) - 1.0) > _OFF + self.margins[1]:
            found.append(f"b = {b:.2f} for the lever of the tangent row, where rigid bodies have 1, or -1 mirrored")
        return f"the balance of momentum has {' and '.join(found)}" if found else ""

    def __str__(self) -> str:
        (a, b, c), (da, db, dc) = self.values, self.margins
        lines = [
            f"momentum balance of the measured changes: P_theta = {a:.3f} n_theta P_y {b:+.3f} d_theta P_x "
            f"{1e3 * c:+.2f} mm P_y (rigid: 1, 1, 0; 95 %: +-{da:.3f}, {db:.3f}, {1e3 * dc:.2f} mm)"
        ]
        if self.is_determined:
            lines.append(f"the lever d_theta of the tangent row has the {_SIGNS[self.lever_turned]}")
        else:
            lines.append("it does not determine the sign of d_theta, the lever of the tangent row: used as stored")
        if wrong := self.contradiction():
            lines.append(f"CONTRADICTED: {wrong}; look at {SUSPECTS}")
        return "\n".join(lines)


#: Possible causes of a contradicted balance.
SUSPECTS = (
    "signs and units of the levers, of omega, mass and inertia; almost without friction, the lever of the "
    "tangent row is undetermined"
)
_SIGNS = {False: "right sign as stored", True: "wrong sign as stored: laws are fitted with the lever turned"}


def momentum_balance(data: PlanarImpacts) -> MomentumBalance:
    """Fit the balance of momentum by least squares, with intervals valid for errors of unequal size (White 1980).

    If there are no more impacts than coefficients, the coefficients are undetermined.
    """
    P = data.mass * (data.after - data.before)
    A = np.stack((data.normal[:, 2] * P[:, 1], data.tangent[:, 2] * P[:, 0], P[:, 1]), axis=1)
    size = np.linalg.norm(A, axis=0)
    size[size == 0.0] = 1.0
    U, s, Vt = np.linalg.svd(A / size, full_matrices=False)
    seen = s > _UNSEEN * s[0]
    inverse = (Vt[seen].T / s[seen]) @ U[:, seen].T / size[:, None]
    values = inverse @ P[:, 2]
    margins = 1.96 * np.sqrt(((inverse * (P[:, 2] - A @ values)) ** 2).sum(axis=1))
    unseen = 1.0 - (Vt[seen] ** 2).sum(axis=0) > _UNSEEN
    return MomentumBalance(values, np.where(unseen | (len(P) <= np.count_nonzero(seen)), np.inf, margins))


#: Optional parameters of a model beyond mu and e, with the size of the first step of the fit.
INGREDIENTS = {"offset": 1e-3, "exponent": 0.1}
REFERENCE_SPEED = 2.0  # [m/s], about the median speed of approach of the recordings: e is the coefficient there
#: Laws also fitted in the reading that the balance rejects, where friction helps no law.
OTHER_READING: tuple[Law, ...] = ("Newton", "Poisson", "Stronge")
_STARTS = ((0.03, 0.55), (0.2, 0.55))  # (mu, e); the error has several local minima over mu


@dataclass(frozen=True)
class PlanarModel:
    """Kind of the fitted model."""

    law: Law  # law of restitution
    lever_turned: bool  # whether the lever of the tangent row has its sign turned
    # ``offset``: distance [m] of the normal impulse from the nominal point of contact, for all impacts; ``exponent``:
    # of e (v / 2 m/s)^-exponent with the speed of approach v.
    ingredients: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.law not in LAWS:
            raise ValueError(f"law: {self.law!r} is not one of {', '.join(LAWS)}")
        for name in self.ingredients:
            if name not in INGREDIENTS:
                raise ValueError(f"ingredients: {name!r} is not one of {', '.join(INGREDIENTS)}")

    def __str__(self) -> str:
        return ", ".join((self.law, *self.ingredients))

    @property
    def reading(self) -> str:
        """Reading of the tangent row."""
        return "lever turned" if self.lever_turned else "as stored"

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the numbers, in order."""
        return ("mu", "e", *(LAW_NUMBERS[self.law][:1] if self.law in LAW_NUMBERS else ()), *self.ingredients)

    @property
    def steps(self) -> dict[str, float]:
        """Initial step of the search for each parameter of the model, in the parameter's unit."""
        own = {LAW_NUMBERS[self.law][0]: LAW_NUMBERS[self.law][2]} if self.law in LAW_NUMBERS else {}
        return {"mu": 0.05, "e": 0.05} | own | {name: INGREDIENTS[name] for name in self.ingredients}


@dataclass(frozen=True, eq=False)
class PlanarFit:
    """A fitted model with its held-out errors and its values."""

    model: PlanarModel  # the fitted model
    values: FloatArray  # (number of parameters,) fitted to all impacts
    errors: FloatArray  # (n,) error of each impact for the fit to the other folds
    unsolved: int  # number of impacts without a solution of the law; their error is 1


def every_model(lever_turned: bool) -> tuple[PlanarModel, ...]:
    """Return all models: three laws in the reading opposite to ``lever_turned``, then all laws in this reading.

    Each law comes without additional parameters, with "offset", and with "offset" and "exponent".
    """
    sets: tuple[tuple[str, ...], ...] = ((), ("offset",), ("offset", "exponent"))
    readings = [(law, not lever_turned) for law in OTHER_READING] + [(law, lever_turned) for law in LAWS]
    return tuple(PlanarModel(law, turned, extra) for law, turned in readings for extra in sets)


def prediction_errors(
    data: PlanarImpacts, model: PlanarModel, values: FloatArray, *, resolution: float = RESOLUTION
) -> tuple[FloatArray, int]:
    """Return |predicted - measured| / |before| in the mass norm (n,), and the number without a prediction."""
    numbers = dict(zip(model.parameters, (float(value) for value in values), strict=True))
    predicted = predict_velocities(data, model, numbers, data.before, resolution=resolution)
    errors = _norm(predicted - data.after, data.mass) / _norm(data.before, data.mass)
    lost = ~np.isfinite(errors)
    return np.where(lost, 1.0, errors), int(np.count_nonzero(lost))


def predict_velocities(
    data: PlanarImpacts,
    model: PlanarModel,
    numbers: Mapping[str, float],
    before: FloatArray,
    *,
    resolution: float = RESOLUTION,
) -> FloatArray:
    """Return the velocities (n, 3) after impacts from the velocities ``before``; NaN without a solution of the law."""
    J = _rows(data, model.lever_turned, numbers.get("offset", 0.0))
    u = np.einsum("nij,nj->ni", J, before)
    W = (J / data.mass) @ J.transpose(0, 2, 1)
    speed = np.maximum(-u[:, 0], 1e-9)
    e = np.clip(numbers["e"] * (speed / REFERENCE_SPEED) ** -numbers.get("exponent", 0.0), 0.0, 1.0)
    own = 0.0
    if model.law in LAW_NUMBERS:
        name, _, _, least, most = LAW_NUMBERS[model.law]
        own = min(max(numbers[name], least), most)
    p = planar_impulses(model.law, W, u, max(numbers["mu"], 0.0), e, own, resolution=resolution)
    return np.asarray(before + np.einsum("nij,ni->nj", J, p) / data.mass)


def fit_planar(data: PlanarImpacts, model: PlanarModel) -> FloatArray:
    """Return the values of smallest mean error, by the Nelder-Mead simplex method from each start."""
    from scipy.optimize import minimize

    def objective(x: FloatArray) -> float:
        outside = max(0.0, -float(x[0])) + max(0.0, -float(x[1])) + max(0.0, float(x[1]) - 1.0)
        if model.law in LAW_NUMBERS:
            outside += abs(float(x[2]) - float(np.clip(x[2], *LAW_NUMBERS[model.law][3:])))
        return float(prediction_errors(data, model, x, resolution=COARSE)[0].mean()) + outside

    extra = np.zeros(len(model.parameters) - 2)
    if model.law in LAW_NUMBERS:
        extra[0] = LAW_NUMBERS[model.law][1]
    steps = np.diag(list(model.steps.values()))
    best = None
    for pair in _STARTS:
        x = np.concatenate((pair, extra))
        simplex = np.vstack((x, x + steps))
        minimum = minimize(
            objective, x, method="Nelder-Mead", options={"initial_simplex": simplex, "xatol": 1e-4, "fatol": 1e-6}
        )
        if best is None or minimum.fun < best.fun:
            best = minimum
    assert best is not None
    return np.asarray(best.x, dtype=np.float64)


def cross_validate(data: PlanarImpacts, model: PlanarModel, *, folds: int = 2, seed: int = 0) -> PlanarFit:
    """Return the fit to all impacts, with the error of each impact in a fit without its fold.

    Impacts are assigned to folds at random.
    """
    if not 2 <= folds <= len(data):
        raise ValueError(f"folds: {folds} is not between 2 and the {len(data)} impacts")
    fold = np.random.default_rng(seed).permutation(len(data)) % folds
    values = fit_planar(data, model)
    errors = np.empty(len(data))
    unsolved = 0
    for k in range(folds):
        fitted = fit_planar(take(data, np.flatnonzero(fold != k)), model)
        errors[fold == k], lost = prediction_errors(take(data, np.flatnonzero(fold == k)), model, fitted)
        unsolved += lost
    return PlanarFit(model, values, errors, unsolved)


def _rows(data: PlanarImpacts, lever_turned: bool, offset: float) -> FloatArray:
    """Return the normal and tangent rows (n, 2, 3), with ``offset`` [m] added to the lever of the normal row.

    ``lever_turned`` changes the sign of the lever of the tangent row.
    """
    J = np.stack((data.normal, data.tangent), axis=1)
    J[:, 0, 2] += offset
    if lever_turned:
        J[:, 1, 2] *= -1.0
    return J


def _norm(v: FloatArray, mass: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt((v * v) @ mass))


def take(data: PlanarImpacts, rows: IntArray | Sequence[int]) -> PlanarImpacts:
    """Return some of the impacts."""
    return PlanarImpacts(
        data.path, data.before[rows], data.after[rows], data.normal[rows], data.tangent[rows], data.mass, data.left_out
    )


RESAMPLES = 2000


@dataclass(frozen=True)
class Paired:
    """Mean difference of two models' errors, and its bootstrap interval over items."""

    difference: float
    low: float  # 2.5 and 97.5 per cent points
    high: float

    @property
    def decided(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0.0 or self.high < 0.0

    def __str__(self) -> str:
        return f"{self.difference:+.4g} ({self.low:+.4g} to {self.high:+.4g})"


def paired_difference(errors: FloatArray, others: FloatArray, *, resamples: int = RESAMPLES, seed: int = 0) -> Paired:
    """Return mean(errors - others) over the items (n,) that have both, with bootstrap interval over the items."""
    if np.shape(errors) != np.shape(others):
        raise ValueError(f"errors: shape {np.shape(errors)} beside {np.shape(others)}: they must be of the same items")
    off = (errors - others)[np.isfinite(errors) & np.isfinite(others)]
    if not off.size:
        raise ValueError("errors: no item has an error of both models")
    drawn = np.random.default_rng(seed).integers(off.size, size=(resamples, off.size))
    low, high = np.percentile(off[drawn].mean(axis=1), [2.5, 97.5])
    return Paired(float(off.mean()), float(low), float(high))


def format_planar(fits: Sequence[PlanarFit]) -> str:
    """Return one line per model: held-out median and mean error, difference to the best, and the values."""
    best = best_of(fits)
    above = "mean above the best (95 %)"
    lines = [
        f"{'tangent row':<12}  {'law':<21} {'median':>7} {'mean':>7}  {above:<38}  numbers (fitted to all impacts)"
    ]
    for fit in fits:
        model = fit.model
        numbers = ", ".join(_number(n, v) for n, v in zip(model.parameters, fit.values, strict=True))
        lost = f"; {fit.unsolved} without prediction" if fit.unsolved else ""
        lines.append(
            f"{model.reading:<12}  {model.law:<21} {np.median(fit.errors):>7.4f} {fit.errors.mean():>7.4f}  "
            f"{'best' if fit is best else str(paired_difference(fit.errors, best.errors)):<38}  {numbers}{lost}"
        )
    lines.append("error: |predicted - measured| / |before| in the norm of the mass matrix, of impacts not fitted to")
    lines.append(
        "above the best: of the same impacts, resampled impact by impact; an interval without 0 tells them apart"
    )
    return "\n".join(lines)


def best_of(fits: Sequence[PlanarFit]) -> PlanarFit:
    """Return the fit of smallest mean error."""
    return min(fits, key=lambda fit: float(fit.errors.mean()))


def planar_json(fits: Sequence[PlanarFit], balance: FloatArray) -> dict[str, object]:
    """Return the contents of the tables as JSON values."""
    best = best_of(fits)
    rows: list[dict[str, object]] = []
    for fit in fits:
        paired = None if fit is best else paired_difference(fit.errors, best.errors)
        rows.append(
            {
                "law": fit.model.law,
                "tangent_row": fit.model.reading,
                "median": float(np.median(fit.errors)),
                "mean": float(fit.errors.mean()),
                "unsolved": fit.unsolved,
                "above_best": paired and {"mean": paired.difference, "interval_95": [paired.low, paired.high]},
                "errors": fit.errors.tolist(),
                "values": dict(zip(fit.model.parameters, fit.values.tolist(), strict=True)),
            }
        )
    return {"impacts": len(fits[0].errors), "momentum_balance": balance.tolist(), "models": rows}


def _number(name: str, value: float) -> str:
    return f"offset {1e3 * value:.4g} mm" if name == "offset" else f"{name} {value:.4g}"
