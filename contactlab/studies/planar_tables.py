"""Tables of planar studies, as text and as JSON: laws fitted to single impacts, models of whole drops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from contactlab.studies.paired import Paired, paired_difference
from contactlab.studies.planar_fit import INGREDIENTS, PlanarFit, PlanarModel
from contactlab.studies.square import EARLY, SquareFit, SquareReport

#: Median held-out error of a two-number Newton-Coulomb model (mu 0.02, e 0.525) by the published set's description.
REFERENCE_MEDIAN = 0.285

#: By the word of a document; "consistent" is what documents of earlier versions call the lever turned.
_TURNED = {"lever turned": True, "consistent": True, "as stored": False}


def format_planar(fits: Sequence[PlanarFit], *, published: bool = False) -> str:
    """Return one line per model: held-out median and mean error, how far from the best, and the numbers.

    ``published`` where the impacts are of the published ellipse: a line then has what its description says.
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
    """Return the fit of least mean error."""
    return min(fits, key=lambda fit: float(fit.errors.mean()))


def read_frozen(document: object) -> list[tuple[PlanarModel, NDArray[np.float64]]]:
    """Return models and numbers of a document that `planar_json` made.

    Raises `ValueError`: where it is none, saying which entry.
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
    """Return the numbers of one model with their intervals (2, number of parameters)."""
    parts = [
        f"{_number(name, value)} ({_scaled(name, low):.4g} to {_scaled(name, high):.4g})"
        for name, value, low, high in zip(fit.model.parameters, fit.values, *interval, strict=True)
    ]
    return f"{fit.model.reading}, {fit.model.law}: " + ", ".join(parts)


def planar_json(
    fits: Sequence[PlanarFit], intervals: Mapping[int, NDArray[np.float64]], balance: NDArray[np.float64]
) -> dict[str, object]:
    """Return everything the tables show as JSON values; ``intervals`` by the place of the fit."""
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


def _scaled(name: str, value: float) -> float:
    return 1e3 * value if name == "offset" else value


def _number(name: str, value: float) -> str:
    return f"{name} {_scaled(name, value):.4g}{' mm' if name == 'offset' else ''}"


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
    """Return how far every model is above the last one, drop by drop."""
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


def format_squares_fit(name: str, fit: SquareFit) -> str:
    """Return what a fit chose, its intervals and its held-out errors."""
    numbers = ", ".join(
        f"{key} {value:g} ({low:g} to {high:g})"
        for (key, value), low, high in zip(fit.values.items(), *fit.interval, strict=True)
    )
    (position_low, rotation_low), (position_high, rotation_high) = fit.mean_interval
    return (
        f"{name}: {numbers}\n"
        f"  held out: position {fit.position.mean():.1f} +- {fit.position.std():.1f} % of side, "
        f"rotation {fit.rotation.mean():.1f} +- {fit.rotation.std():.1f} deg; 95 % of resampled means: "
        f"{position_low:.1f} to {position_high:.1f} %, {rotation_low:.1f} to {rotation_high:.1f} deg"
    )


def squares_json(reports: Mapping[str, SquareReport], fits: Mapping[str, SquareFit]) -> dict[str, object]:
    """Return the tables as JSON values; errors drop by drop, None if a simulation failed."""
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
    fitted = {
        name: {
            "values": fit.values,
            "interval_95": dict(zip(fit.values, fit.interval.T.tolist(), strict=True)),
            "held_out_position_percent": float(fit.position.mean()),
            "held_out_rotation_deg": float(fit.rotation.mean()),
        }
        for name, fit in fits.items()
    }
    count = len(next(iter(reports.values())))
    return {"drops": count, "models": models, "fits": fitted}
