"""Tables of planar studies, as text and as JSON: laws fitted to single impacts, models of whole drops.

Two models are compared by their differences on the same items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from contactlab.spatial.arrays import FloatArray
from contactlab.studies.planar_fit import PlanarFit

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
    rows = []
    best = best_of(fits)
    for fit in fits:
        paired = None if fit is best else paired_difference(fit.errors, best.errors)
        row: dict[str, object] = {
            "law": fit.model.law,
            "tangent_row": fit.model.reading,
            "median": float(np.median(fit.errors)),
            "mean": float(fit.errors.mean()),
            "unsolved": fit.unsolved,
            "above_best": paired and {"mean": paired.difference, "interval_95": [paired.low, paired.high]},
            "errors": fit.errors.tolist(),
            "values": dict(zip(fit.model.parameters, fit.values.tolist(), strict=True)),
        }
        rows.append(row)
    return {"impacts": len(fits[0].errors), "momentum_balance": balance.tolist(), "models": rows}


def _number(name: str, value: float) -> str:
    return f"offset {1e3 * value:.4g} mm" if name == "offset" else f"{name} {value:.4g}"
