"""Fourth-order differences, for the tests of derivatives."""

from collections.abc import Callable

import numpy as np

Function = Callable[[np.ndarray], np.ndarray]
#: Places and weights of the fourth-order difference of unit step.
PLACES, WEIGHTS = np.array([1.0, -1.0, 2.0, -2.0]), np.array([8.0, -8.0, -1.0, 1.0]) / 12.0


def differenced(function: Function, moved: Function, nv: int, step: float) -> np.ndarray:
    """d function(moved(x)) / dx at x = 0, (..., nv), all places in one call: x (4, nv, nv), values (4, nv, ...)."""
    ways = step * PLACES[:, None, None] * np.eye(nv)
    return np.moveaxis(np.tensordot(WEIGHTS, function(moved(ways)), 1), 0, -1) / step


def worst(found: np.ndarray, expected: np.ndarray) -> float:
    """Largest error against the largest entry."""
    return float(np.max(np.abs(found - expected)) / max(np.max(np.abs(expected)), 1e-3))
