"""Models compared item by item: which of two is better is told by their differences on the same items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contactlab.spatial.arrays import FloatArray

RESAMPLES = 2000


@dataclass(frozen=True)
class Paired:
    """Mean difference of two models' errors, and its interval over items drawn with replacement."""

    difference: float
    low: float  # 2.5 and 97.5 per cent points
    high: float

    @property
    def decided(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0.0 or self.high < 0.0

    def __str__(self) -> str:
        return f"{self.difference:+.4g} ({self.low:+.4g} to {self.high:+.4g})"


def paired_difference(errors: FloatArray, others: FloatArray, *, resamples: int = RESAMPLES, seed: int = 0) -> Paired:
    """Return mean(errors - others) over the items (n,) that have both, resampled by items."""
    if np.shape(errors) != np.shape(others):
        raise ValueError(f"errors: shape {np.shape(errors)} beside {np.shape(others)}: they must be of the same items")
    off = (errors - others)[np.isfinite(errors) & np.isfinite(others)]
    if not off.size:
        raise ValueError("errors: no item has an error of both models")
    drawn = np.random.default_rng(seed).integers(off.size, size=(resamples, off.size))
    low, high = np.percentile(off[drawn].mean(axis=1), [2.5, 97.5])
    return Paired(float(off.mean()), float(low), float(high))
