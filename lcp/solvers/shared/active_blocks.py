"""Factors of the active blocks of a matrix, dense or sparse, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector

Solve = Callable[[Vector], Vector]

# A pivot below this part of the entries it came from is rounding.
_SINGULAR = 1e-14


class ActiveBlocks:
    """Solves the active block of M, dense or sparse, of each set it is asked for."""

    def __init__(self, M: Any) -> None:
        """Look at M once: whether it is symmetric."""
        self._dense = isinstance(M, np.ndarray)
        self._columns = M if self._dense else M.tocsc()
        self._rows = M
        if self._dense:
            scale = np.sqrt(np.abs(np.diag(M)))
            self._symmetric = bool((np.abs(M - M.T) <= 1e-12 * scale[:, None] * scale).all())

    def fill(self, z: Vector, inside: NDArray[np.bool_], q: Vector) -> bool:
        """Give the entries of z inside their bounds the values at which their w vanish, refined once."""
        active = np.flatnonzero(inside)
        if active.shape[0] == 0:
            return True
        solve = self._dense_solve(active) if self._dense else self._sparse_solve(active)
        if solve is None:
            return False
        rows = self._rows[active]
        for _ in range(2):
            with np.errstate(over="ignore", invalid="ignore"):
                z[active] -= solve(rows @ z + q[active])
            if not np.isfinite(z[active]).all():
                return False
        return True

    def _dense_solve(self, active: NDArray[np.intp]) -> Solve | None:
        from scipy.linalg import lapack

        block = np.asfortranarray(self._columns[np.ix_(active, active)])
        diagonal = np.diag(block)
        if self._symmetric and diagonal.min() > 0.0:
            factor, info = lapack.dpotrf(block, lower=True)
            # The squared pivots are Schur complements: those of a singular block are rounding.
            if info == 0 and (np.diag(factor) ** 2 > _SINGULAR * diagonal).all():
                return lambda b: np.asarray(lapack.dpotrs(factor, b, lower=True)[0])
        row = 1.0 / np.maximum(np.abs(block).max(axis=1), np.finfo(np.float64).tiny)
        column = 1.0 / np.maximum(np.abs(row[:, None] * block).max(axis=0), np.finfo(np.float64).tiny)
        lu, pivots, info = lapack.dgetrf(np.asfortranarray(row[:, None] * block * column))
        if info != 0 or not np.abs(np.diag(lu)).min() > _SINGULAR:
            return None
        return lambda b: np.asarray(column * lapack.dgetrs(lu, pivots, row * b)[0])

    def _sparse_solve(self, active: NDArray[np.intp]) -> Solve | None:
        from scipy.sparse.linalg import splu

        block = self._columns[:, active][active]
        try:
            # SuperLU says so by this exception, and only then, when a pivot is exactly zero.
            factor = splu(block, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
        except RuntimeError:
            return None
        return lambda b: np.asarray(factor.solve(b))
