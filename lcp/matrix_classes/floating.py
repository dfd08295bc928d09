"""Which class a matrix belongs to, as far as that can be told cheaply."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def congruence(M: NDArray[np.float64]) -> NDArray[np.float64]:
    """Powers of two d (n,) that bring the diagonal of diag(d) M diag(d) near one; 1 where it is not positive."""
    diagonal = np.diag(M)
    size = float(np.abs(M).max(initial=0.0))
    # Nothing may be blown up by a diagonal that is only rounding.
    usable = diagonal > 1e-14 * np.maximum(np.abs(M).max(axis=1, initial=0.0), np.finfo(np.float64).tiny)
    fallback = size if size > 0.0 else 1.0
    return np.exp2(-np.floor(0.5 * np.log2(np.where(usable, np.where(usable, diagonal, 1.0), fallback))))


def is_symmetric(M: NDArray[np.float64], tolerance: float = 1e-12) -> bool:
    """Whether M equals its transpose, relative to its largest entry."""
    return bool((np.abs(M - M.T) <= tolerance * np.abs(M).max(initial=0.0)).all())


def is_positive_semidefinite(M: NDArray[np.float64], tolerance: float = 1e-11) -> bool:
    """Whether x . M x >= -tolerance |x|^2 for all x, after scaling the diagonal to one; M need not be symmetric.

    A Cholesky factorisation of the symmetric part with the tolerance on its diagonal decides.
    """
    n = M.shape[0]
    if n == 0:
        return True
    d = congruence(M)
    scaled = M * d * d[:, None]
    S = 0.5 * (scaled + scaled.T)
    # What is left of a skew part is rounding, however large it is beside a symmetric part of nothing.
    S = np.where(np.abs(S) <= 4.0 * np.finfo(np.float64).eps * np.abs(scaled), 0.0, S)
    S = S / max(float(np.abs(S).max()), np.finfo(np.float64).tiny)
    try:
        np.linalg.cholesky(S + (tolerance * n) * np.eye(n))
    except np.linalg.LinAlgError:
        return False
    return True
