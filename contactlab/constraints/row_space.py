"""Row space and null space of rows of any rank, by singular values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contactlab.constraints.evaluation import tolerances
from contactlab.spatial.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class RowSpace:
    """Rows G (m, n), each scaled to unit length: U diag(s) basis^T, of numerical rank r."""

    rank: int
    basis: FloatArray  # (n, r) orthonormal columns that span the rows
    null: FloatArray  # (n, n - r) orthonormal columns that no row sees
    _length: FloatArray
    _U: FloatArray
    _s: FloatArray

    def solve(self, b: FloatArray) -> FloatArray:
        """Return the shortest x (n,) with G x = b.

        The rows' least squares, each in units of its length, where none has.
        """
        scaled = b / self._length
        return np.asarray(self.basis @ ((self._U.T @ scaled) / self._s))

    def multipliers(self, g: FloatArray) -> FloatArray:
        """Return the shortest y (m,) with G^T y = the part of g (n,) that the rows can make."""
        if self.rank == 0:
            return np.zeros(self._length.shape[0])
        # U^T diag(length) y = s^-1 basis^T g has full row rank: its shortest solution by a QR factorisation.
        Q, R = np.linalg.qr(self._length[:, None] * self._U)
        return np.asarray(Q @ np.linalg.solve(R.T, (self.basis.T @ g) / self._s))


def row_space(G: FloatArray, tolerance: FloatArray | None = None) -> RowSpace:
    """Rank, row space and null space of G (m, n).

    ``tolerance`` (m,) is what of each row's length is rounding, 1 for zero rows, by the rule of
    `contactlab.constraints.kernels.rank`; without it nothing is known of the terms of G.
    """
    m, n = G.shape
    if m == 0 or n == 0:
        return RowSpace(0, np.zeros((n, 0)), np.eye(n), np.ones(m), np.zeros((m, 0)), np.zeros(0))
    known = tolerances(G, np.zeros(0), np.zeros(0)) if tolerance is None else tolerance
    length = np.linalg.norm(G, axis=1)
    zero = (known >= 1.0) | (length == 0.0)
    length = np.where(zero, 1.0, length)
    # Scaled to unit length, for metres beside radians say nothing of dependence.
    rows = np.where(zero[:, None], 0.0, G / length[:, None])
    U, s, Vt = np.linalg.svd(rows, full_matrices=True)
    # In units of what is known of it every row has a noise of 1: singular values up to that are none.
    if not zero.all() and np.ptp(known[~zero]) > 0.0:
        rank = int(np.count_nonzero(np.linalg.svd(rows / known[:, None], compute_uv=False) > 1.0))
    else:
        rank = int(np.count_nonzero(s > known[~zero].max(initial=0.0)))
    return RowSpace(rank, Vt[:rank].T, Vt[rank:].T, length, U[:, :rank], s[:rank])


def nearest_solution(rows: RowSpace, b: FloatArray, x0: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the x (n,) with G x = b that minimises (x - x0)^T diag(weights) (x - x0).

    Among several, the one nearest to x0.

    Weights (n,) are not negative; where they are zero and the rows say nothing either, x stays at x0.
    """
    step = rows.solve(b - unscaled(rows, x0))
    if rows.null.shape[1] == 0 or not weights.any():
        return np.asarray(x0 + step)
    root = np.sqrt(weights / weights.max())
    # Minimum-norm least squares, not normal equations: zero weights leave directions open, and those do not move.
    along = np.linalg.lstsq(root[:, None] * rows.null, -root * step, rcond=1e-13)[0]
    return np.asarray(x0 + step + rows.null @ along)


def unscaled(rows: RowSpace, x: FloatArray) -> FloatArray:
    """G x, up to what the dependent rows differ by."""
    return np.asarray(rows._length * (rows._U @ (rows._s * (rows.basis.T @ x))))
