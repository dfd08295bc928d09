"""How time grows with the size of the problem: a power fitted to what was measured, and no further."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["Growth", "fit_growth"]


@dataclass(frozen=True)
class Growth:
    """time = factor * n ** exponent, by least squares on logarithms.

    Attributes
    ----------
    exponent, factor
        Of the fit; seconds.
    standard_error
        Of the exponent; inf for two points, which any line meets.
    least_n, largest_n
        Range of sizes it rests on. It says nothing beyond.
    points
        Problems it rests on.
    """

    exponent: float
    factor: float
    standard_error: float
    least_n: int
    largest_n: int
    points: int

    def at(self, n: float) -> float:
        """Seconds the fit gives for ``n``."""
        return self.factor * math.pow(n, self.exponent)


def fit_growth(n: ArrayLike, times: ArrayLike, *, least_points: int = 3, least_range: float = 4.0) -> Growth | None:
    """Fit a power of n to times.

    Parameters
    ----------
    n, times
        Sizes (k,) and seconds (k,). Failures (inf, NaN) and n = 0 are left out.
    least_points
        Different sizes that a fit needs.
    least_range
        Largest over smallest size that a fit needs.

    Returns
    -------
    Growth or None
        None where there are too few sizes, or too close to one another.
    """
    sizes, seconds = np.asarray(n, dtype=np.float64), np.asarray(times, dtype=np.float64)
    if sizes.shape != seconds.shape or sizes.ndim != 1:
        raise ValueError(f"n and times must be vectors of one length, got shapes {sizes.shape} and {seconds.shape}")
    kept = np.isfinite(seconds) & (seconds > 0.0) & (sizes > 0.0)
    sizes, seconds = sizes[kept], seconds[kept]
    if np.unique(sizes).size < max(2, least_points) or sizes.max() < least_range * sizes.min():
        return None
    x, y = np.log(sizes), np.log(seconds)
    centred = x - x.mean()
    spread = float(centred @ centred)
    exponent = float(centred @ y) / spread
    constant = float(y.mean() - exponent * x.mean())
    left = y - constant - exponent * x
    error = math.sqrt(float(left @ left) / (x.size - 2) / spread) if x.size > 2 else math.inf
    return Growth(exponent, math.exp(constant), error, int(sizes.min()), int(sizes.max()), int(x.size))
