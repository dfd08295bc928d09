"""Row space and null space of rows of any rank, by singular values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contactlab.constraints.kernels.kkt_codes import RANK_TOLERANCE, ZERO_ROW
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
        """The shortest x (n,) with G x = b; the rows' least squares, each in units of its length, where none has."""
        scaled = b / self._length
        return np.asarray(self.basis @ ((self._U.T @ scaled) / self._s))

    def multipliers(self, g: FloatArray) -> FloatArray:
        """The shortest y (m,) with G^T y = the part of g (n,) that the rows can make."""
        if self.rank == 0:
            return np.zeros(self._length.shape[0])
        # U^T diag(length) y = s^-1 basis^T g has full row rank: its shortest solution by a QR factorisation.
        Q, R = np.linalg.qr(self._length[:, None] * self._U)
        return np.asarray(Q @ np.linalg.solve(R.T, (self.basis.T @ g) / self._s))


def row_space(G: FloatArray) -> RowSpace:
    """Rank, row space and null space of G (m, n).

    Rows are scaled to unit length first, for metres beside radians say nothing of dependence; rows of 1e-13 of the
    longest or less are zero. Singular values up to 1e-10 of the largest count as zero.
    """
    m, n = G.shape
    length = np.linalg.norm(G, axis=1)
    # What is far below the longest row is rounding, which scaling must not blow up.
    zero = length <= ZERO_ROW * length.max(initial=0.0)
    length = np.where(zero, 1.0, length)
    if m == 0 or n == 0:
        return RowSpace(0, np.zeros((n, 0)), np.eye(n), length, np.zeros((m, 0)), np.zeros(0))
    U, s, Vt = np.linalg.svd(np.where(zero[:, None], 0.0, G / length[:, None]), full_matrices=True)
    rank = int(np.count_nonzero(s > RANK_TOLERANCE * s[0])) if s[0] > 0.0 else 0
    return RowSpace(rank, Vt[:rank].T, Vt[rank:].T, length, U[:, :rank], s[:rank])


def nearest_solution(rows: RowSpace, b: FloatArray, x0: FloatArray, weights: FloatArray) -> FloatArray:
    """The x (n,) with G x = b that minimises (x - x0)^T diag(weights) (x - x0); among several, the one nearest to x0.

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
