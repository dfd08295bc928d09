"""Held-out errors of planar impact models as a table, beside the published kind of model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from contactlab.lab.planar_fit import PlanarFit

__all__ = ["REFERENCE_MEDIAN", "format_intervals", "format_planar", "planar_json"]

#: Median held-out error of a two-number Newton-Coulomb model (mu 0.02, e 0.525) as the data set's description has it.
REFERENCE_MEDIAN = 0.285


def format_planar(fits: Sequence[PlanarFit]) -> str:
    """Return one line per model: held-out median and mean error, and the numbers fitted to all impacts."""
    lines = [f"{'tangent row':<11}  {'law':<8} {'median':>7} {'mean':>7}  numbers (fitted to all impacts)"]
    for fit in fits:
        model = fit.model
        numbers = ", ".join(_number(n, v) for n, v in zip(model.parameters, fit.values, strict=True))
        lost = f"; {fit.unsolved} without prediction" if fit.unsolved else ""
        lines.append(
            f"{_reading(fit):<11}  {model.law:<8} {np.median(fit.errors):>7.4f} {fit.errors.mean():>7.4f}  "
            f"{numbers}{lost}"
        )
    lines.append(f"two-number Newton-Coulomb model, as stored, by the data's description: median {REFERENCE_MEDIAN}")
    lines.append("error: |predicted - measured| / |before| in the norm of the mass matrix, of impacts not fitted to")
    return "\n".join(lines)


def format_intervals(fit: PlanarFit, interval: NDArray[np.float64]) -> str:
    """Return the numbers of one model with their intervals (2, number of parameters)."""
    parts = [
        f"{_number(name, value)} ({_scaled(name, low):.4g} to {_scaled(name, high):.4g})"
        for name, value, low, high in zip(fit.model.parameters, fit.values, *interval, strict=True)
    ]
    return f"{_reading(fit)}, {fit.model.law}: " + ", ".join(parts)


def planar_json(
    fits: Sequence[PlanarFit], intervals: Mapping[int, NDArray[np.float64]], balance: NDArray[np.float64]
) -> dict[str, object]:
    """Return everything the tables show as JSON values; ``intervals`` by the place of the fit."""
    rows = []
    for i, fit in enumerate(fits):
        row: dict[str, object] = {
            "law": fit.model.law,
            "tangent_row": _reading(fit),
            "median": float(np.median(fit.errors)),
            "mean": float(fit.errors.mean()),
            "unsolved": fit.unsolved,
            "values": dict(zip(fit.model.parameters, fit.values.tolist(), strict=True)),
        }
        if i in intervals:
            row["interval_95"] = dict(zip(fit.model.parameters, intervals[i].T.tolist(), strict=True))
        rows.append(row)
    return {"impacts": len(fits[0].errors), "momentum_balance": balance.tolist(), "models": rows}


def _reading(fit: PlanarFit) -> str:
    return "consistent" if fit.model.consistent else "as stored"


def _scaled(name: str, value: float) -> float:
    return 1e3 * value if name == "offset" else value


def _number(name: str, value: float) -> str:
    return f"{name} {_scaled(name, value):.4g}{' mm' if name == 'offset' else ''}"
