"""Elimination of the bilateral rows: from M and G to the inverse inertia C of the motion they leave free.

The free part (v+, fG) of the mixed problem solves, for a right-hand side (y; z)::

    | M  -G' | | v |   | y |        v  = C y + B z            C = M^-1 - M^-1 G' W+ G M^-1
    | G   0  | | f | = | z |        f  = W+ z - B' y          B = M^-1 G' W+,   W = G M^-1 G'

W+ is the pseudo-inverse of W, so redundant rows are welcome: f is then the multiplier of minimum norm. Equations that
contradict one another are met in the least-squares sense and show in `BilateralRows.rate`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["BilateralRows", "factor_bilateral_rows"]

FloatArray = NDArray[np.float64]

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class BilateralRows:
    """Bilateral rows with the pseudo-inverse of their Delassus matrix.

    Parameters
    ----------
    G : ndarray, shape (nb, nv)
        Rows of G v+ + kG = 0.
    Y : ndarray, shape (nb, nv)
        Row i is M^-1 G_i.
    W_pinv : ndarray, shape (nb, nb)
        Pseudo-inverse W+ of W = G Y'.
    rank : int
        Rank of G.
    """

    G: FloatArray
    Y: FloatArray
    W_pinv: FloatArray
    rank: int

    def rate(self, v: FloatArray, kG: FloatArray) -> FloatArray:
        """G v + kG, shape (nb,): zero where the equations hold."""
        return self.G @ v + kG

    def impulse(self, rate: FloatArray) -> FloatArray:
        """Impulse of minimum norm that takes the rates (nb,) to zero."""
        return -(self.W_pinv @ rate)

    def project_velocity(self, v: FloatArray, kG: FloatArray) -> FloatArray:
        """Velocity (nv,) after the impulse that makes G v + kG = 0; a second pass removes rounding."""
        for _ in range(2):
            v = v + self.impulse(self.rate(v, kG)) @ self.Y
        return v

    def project_rows(self, Y: FloatArray) -> FloatArray:
        """Rows C J_i from rows Y_i = M^-1 J_i, shape (m, nv)."""
        for _ in range(2):
            Y = Y - (Y @ self.G.T) @ self.W_pinv @ self.Y
        return Y


def factor_bilateral_rows(G: FloatArray, Y: FloatArray) -> BilateralRows:
    """Pseudo-inverse of W = G Y' with a rank that no choice of units can change.

    Rows are scaled to W_ii = 1 before the rank is decided; the pseudo-inverse is that of the unscaled W, so that the
    multipliers have minimum norm in the units of the rows as given.

    Parameters
    ----------
    G : ndarray, shape (nb, nv)
        Bilateral rows.
    Y : ndarray, shape (nb, nv)
        Row i is M^-1 G_i.
    """
    W = G @ Y.T
    diagonal = np.diag(W)
    scale = np.ones(len(W))
    moving = diagonal > 0.0
    scale[moving] = 1.0 / np.sqrt(diagonal[moving])
    scaled = scale[:, None] * W * scale
    # The inertia solve makes W unsymmetric by as much as it is inaccurate: no smaller eigenvalue means anything.
    noise = float(np.max(np.abs(scaled - scaled.T), initial=0.0))
    values, vectors = np.linalg.eigh(0.5 * (scaled + scaled.T))
    kept = values > len(W) * (32.0 * _EPS + noise)
    # W = S^-1 V diag(values) V' S^-1, S = diag(scale): S V_dropped spans the null space of W.
    half = scale[:, None] * vectors[:, kept] / np.sqrt(values[kept])
    null, _ = np.linalg.qr(scale[:, None] * vectors[:, ~kept])
    half = half - null @ (null.T @ half)
    return BilateralRows(G=G, Y=Y, W_pinv=half @ half.T, rank=int(kept.sum()))
