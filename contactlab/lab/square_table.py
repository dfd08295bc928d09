"""Errors of square drops as tables and as JSON."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from contactlab.lab.square import EARLY, SquareReport
from contactlab.lab.square_fit import SquareFit

__all__ = ["format_squares", "format_squares_fit", "squares_json"]


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
    """Return the tables as JSON values."""
    models: dict[str, object] = {}
    for name, report in reports.items():
        ran = report.ran
        models[name] = {
            "position_percent": float(report.position[ran].mean()),
            "rotation_deg": float(report.rotation[ran].mean()),
            "early_position_percent": float(report.early_position[ran].mean()),
            "early_rotation_deg": float(report.early_rotation[ran].mean()),
            "failures": list(report.failures),
        }
    fitted: dict[str, object] = {}
    for name, fit in fits.items():
        fitted[name] = {
            "values": fit.values,
            "interval_95": dict(zip(fit.values, fit.interval.T.tolist(), strict=True)),
            "held_out_position_percent": float(fit.position.mean()),
            "held_out_rotation_deg": float(fit.rotation.mean()),
        }
    count = len(next(iter(reports.values())))
    return {"drops": count, "models": models, "fits": fitted}
