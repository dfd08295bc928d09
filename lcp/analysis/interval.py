"""Bounds that rounding cannot break: floating-point results with their errors, rounded outward.

Directed rounding modes are out of reach from Python; bounds are a-priori ones (N. J. Higham, Accuracy and Stability of
Numerical Algorithms, 2nd edition 2002, section 3.1), with twice the unit of rounding throughout so that the bounds
themselves may be evaluated in floating point. Sums may be taken in any order, so BLAS may do them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector

#: Twice the unit of rounding.
EPS = 2.0**-52
#: The smallest normal number: what underflow may cost in one operation, and more.
TINY = 2.0**-1022


def up(x: Any) -> Any:
    """The next double above the result of one rounded operation: at least the exact one."""
    return np.nextafter(x, np.inf)


def down(x: Any) -> Any:
    """The next double below the result of one rounded operation: at most the exact one."""
    return np.nextafter(x, -np.inf)


def row_lengths(A: Any) -> int:
    """Largest number of terms in a row of A, dense or CSR."""
    if isinstance(A, np.ndarray):
        return int(A.shape[1])
    return int(np.diff(A.indptr).max(initial=0))


def product(A: Any, x: NDArray[np.float64]) -> tuple[Vector, Vector]:
    """(s, e) with |A x - s| <= e, for A dense or CSR and x a vector or, for dense A, a matrix."""
    terms = row_lengths(A)
    value = np.asarray(A @ x)
    size = np.asarray(abs(A) @ np.abs(x))
    return value, up((terms + 4) * EPS * size + 4 * (terms + 1) * TINY)


def upper_product(A: Any, x: Vector) -> Vector:
    """Upper bounds of A x for nonnegative A and x."""
    value, error = product(A, x)
    bound: Vector = up(value + error)
    return bound


def upper_norm(x: Vector) -> float:
    """Upper bound of the Euclidean norm."""
    largest = float(np.abs(x).max(initial=0.0))
    if largest == 0.0 or not np.isfinite(largest):
        return largest
    ratio = x / largest
    return float(up(largest * up(np.sqrt(float(ratio @ ratio) * (1.0 + (x.shape[0] + 8) * EPS) + TINY))))
