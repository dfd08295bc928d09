"""The inverse mass matrix of an island as an operator on vectors and columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contactlab.spatial.arrays import FloatArray

__all__ = ["IslandInertia"]


@dataclass(frozen=True, eq=False)
class IslandInertia:
    """B -> M^-1 B of the trees of an island at one configuration, through the kernels that the time step uses.

    Parameters
    ----------
    factors
        For each tree, in the order of the island's velocities: the next degree of freedom towards the root (n,), -1 for
        none, and L (n, n) of M = L^T L.
    """

    factors: tuple[tuple[NDArray[np.int64], FloatArray], ...]

    def __call__(self, B: FloatArray) -> FloatArray:
        """Return M^-1 B for B (nv,) or (nv, columns)."""
        from contactlab.multibody.kernels.ltl import solve_vector_l, solve_vector_lt

        # Row-contiguous right-hand sides: the kernels take one contiguous vector at a time.
        rows = np.array(np.atleast_2d(np.asarray(B, dtype=np.float64).T), order="C")
        for row in rows:
            at = 0
            for branch, L in self.factors:
                own = row[at : at + branch.size]
                solve_vector_lt(branch, 0, L, own)
                solve_vector_l(branch, 0, L, own)
                at += branch.size
        return rows[0] if np.ndim(B) == 1 else np.ascontiguousarray(rows.T)
