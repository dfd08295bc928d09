"""Tables of planar studies, as text and as JSON: laws fitted to single impacts, models of whole drops.

Two models are compared by their differences on the same items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contactlab.spatial.arrays import FloatArray
from contactlab.studies.planar_fit import INGREDIENTS, PlanarFit, PlanarModel
from contactlab.studies.square import EARLY, SquareReport

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


#: Median held-out error of a Newton-Coulomb model with two parameters (mu 0.02, e 0.525) from the published
#: description.
REFERENCE_MEDIAN = 0.285

#: Readings by their names in documents; earlier versions call the turned lever "consistent".
_TURNED = {"lever turned": True, "consistent": True, "as stored": False}


def format_planar(fits: Sequence[PlanarFit], *, published: bool = False) -> str:
    """Return one line per model: held-out median and mean error, difference to the best, and the values.

    With ``published``, for impacts of the published ellipse, a line quotes the published description.
    """
    frozen = all(fit.frozen for fit in fits)
    whose = "frozen, fitted to other data" if frozen else "fitted to all impacts"
    best = best_of(fits)
    above = "mean above the best (95 %)"
    lines = [f"{'tangent row':<12}  {'law':<21} {'median':>7} {'mean':>7}  {above:<38}  numbers ({whose})"]
    for fit in fits:
        model = fit.model
        numbers = ", ".join(_number(n, v) for n, v in zip(model.parameters, fit.values, strict=True))
        lost = f"; {fit.unsolved} without prediction" if fit.unsolved else ""
        lines.append(
            f"{model.reading:<12}  {model.law:<21} {np.median(fit.errors):>7.4f} {fit.errors.mean():>7.4f}  "
            f"{'best' if fit is best else str(paired_difference(fit.errors, best.errors)):<38}  {numbers}{lost}"
        )
    if published:
        lines.append(
            f"two-number Newton-Coulomb model, as stored, by the data's description: median {REFERENCE_MEDIAN}, on "
            f"halves of its own sample; the rows above are of {fits[0].errors.size} impacts"
        )
    lines.append("error: |predicted - measured| / |before| in the norm of the mass matrix, of impacts not fitted to")
    lines.append(
        "above the best: of the same impacts, resampled impact by impact; an interval without 0 tells them apart"
    )
    return "\n".join(lines)


def best_of(fits: Sequence[PlanarFit]) -> PlanarFit:
    """Return the fit of smallest mean error."""
    return min(fits, key=lambda fit: float(fit.errors.mean()))


def read_frozen(document: object) -> list[tuple[PlanarModel, NDArray[np.float64]]]:
    """Return models and values of a document written by `planar_json`.

    An invalid document raises a `ValueError` that names the entry.
    """
    rows = document.get("models") if isinstance(document, dict) else None
    if not isinstance(rows, list) or not rows:
        raise ValueError("holds no list 'models', as --json writes it")
    found = []
    for i, row in enumerate(rows):
        try:
            extra = tuple(name for name in row["values"] if name in INGREDIENTS)
            model = PlanarModel(row["law"], _TURNED[row["tangent_row"]], extra)
            values = np.array([float(row["values"][name]) for name in model.parameters])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"models[{i}] is no fitted model: {type(error).__name__} {error}") from error
        if not np.isfinite(values).all():
            raise ValueError(f"models[{i}] has numbers that are not finite: {values.tolist()}")
        found.append((model, values))
    return found


def format_intervals(fit: PlanarFit, interval: NDArray[np.float64]) -> str:
    """Return the values of one model with their intervals (2, number of parameters)."""
    parts = [
        f"{_number(name, value)} ({_in_display_unit(name, low):.4g} to {_in_display_unit(name, high):.4g})"
        for name, value, low, high in zip(fit.model.parameters, fit.values, *interval, strict=True)
    ]
    return f"{fit.model.reading}, {fit.model.law}: " + ", ".join(parts)


def planar_json(
    fits: Sequence[PlanarFit], intervals: Mapping[int, NDArray[np.float64]], balance: NDArray[np.float64]
) -> dict[str, object]:
    """Return the contents of the tables as JSON values; ``intervals`` by the index of the fit."""
    rows = []
    best = best_of(fits)
    for i, fit in enumerate(fits):
        row: dict[str, object] = {
            "law": fit.model.law,
            "tangent_row": fit.model.reading,
            "median": float(np.median(fit.errors)),
            "mean": float(fit.errors.mean()),
            "unsolved": fit.unsolved,
            "frozen": fit.frozen,
            "above_best": None if fit is best else _interval(paired_difference(fit.errors, best.errors)),
            "errors": fit.errors.tolist(),
            "values": dict(zip(fit.model.parameters, fit.values.tolist(), strict=True)),
        }
        if i in intervals:
            row["interval_95"] = dict(zip(fit.model.parameters, intervals[i].T.tolist(), strict=True))
        rows.append(row)
    return {"impacts": len(fits[0].errors), "momentum_balance": balance.tolist(), "models": rows}


def _interval(paired: Paired) -> dict[str, object]:
    return {"mean": paired.difference, "interval_95": [paired.low, paired.high]}


def _in_display_unit(name: str, value: float) -> float:
    """Return a value in the unit of the tables: an offset in mm."""
    return 1e3 * value if name == "offset" else value


def _number(name: str, value: float) -> str:
    return f"{name} {_in_display_unit(name, value):.4g}{' mm' if name == 'offset' else ''}"


def format_squares(reports: Mapping[str, SquareReport]) -> str:
    """Return one line per model: mean, standard deviation and median over drops, and the early means."""
    width = max(len(name) for name in reports)
    lines = [
        f"{'':<{width}}  {'position, % of side':>22}  {'rotation, deg':>22}   up to {EARLY:g} s",
        f"{'model':<{width}}  {'mean':>6} {'':>8} {'median':>6}  {'mean':>6} {'':>8} {'median':>6}   %     deg",
    ]
    for name, report in reports.items():
        ran = report.ran
        columns = []
        for values in (report.position[ran], report.rotation[ran]):
            columns.append(f"{values.mean():>6.1f} +- {values.std():>5.1f} {np.median(values):>6.1f}")
        early = f"{report.early_position[ran].mean():>5.1f} {report.early_rotation[ran].mean():>5.1f}"
        failed = f"  {len(report.failures)} failed" if report.failures else ""
        lines.append(f"{name:<{width}}  {columns[0]}  {columns[1]}  {early}{failed}")
    return "\n".join(lines)


def format_paired(reports: Mapping[str, SquareReport]) -> str:
    """Return the paired differences of every model from the last one, drop by drop."""
    names = list(reports)
    last = reports[names[-1]]
    lines = [f"above '{names[-1]}' on the same drops (95 % of resampled means):"]
    for name in names[:-1]:
        position = paired_difference(reports[name].position, last.position)
        rotation = paired_difference(reports[name].rotation, last.rotation)
        lines.append(f"  {name}: {position} % of side, {rotation} deg")
    return "\n".join(lines)


def _numbers(values: NDArray[np.float64]) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


def squares_json(reports: Mapping[str, SquareReport]) -> dict[str, object]:
    """Return number of drops and, by model, mean and single errors as JSON values; None if a simulation failed.

    The paired differences are to the last model.
    """
    last = list(reports.values())[-1]
    models = {
        name: {
            "position_percent": float(report.position[report.ran].mean()),
            "rotation_deg": float(report.rotation[report.ran].mean()),
            "early_position_percent": float(report.early_position[report.ran].mean()),
            "early_rotation_deg": float(report.early_rotation[report.ran].mean()),
            "position_percent_of_drops": _numbers(report.position),
            "rotation_deg_of_drops": _numbers(report.rotation),
            "position_above_last": _interval(paired_difference(report.position, last.position)),
            "rotation_above_last": _interval(paired_difference(report.rotation, last.rotation)),
            "failures": list(report.failures),
        }
        for name, report in reports.items()
    }
    count = len(next(iter(reports.values())))
    return {"drops": count, "models": models}
