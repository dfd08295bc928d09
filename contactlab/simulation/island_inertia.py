"""The inverse mass matrix of an island as an operator on vectors and columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contactlab.spatial.arrays import FloatArray

__all__ = ["IslandInertia"]


@dataclass(frozen=True, eq=False)
class IslandInertia:
    """B -> M^-1 B of free bodies at one configuration, through the kernel that the time step uses.

    Parameters
    ----------
    mass, com, inertia_inv
        (b,), (b, 3), (b, 3, 3) of the island's bodies.
    R
        (b, 3, 3) their rotations, body axes to world axes.
    """

    mass: FloatArray
    com: FloatArray
    inertia_inv: FloatArray
    R: FloatArray

    def __call__(self, B: FloatArray) -> FloatArray:
        """Return M^-1 B for B (nv,) or (nv, columns)."""
        from contactlab.multibody.kernels.free_body import solve_inertia_row

        # Row-contiguous right-hand sides: the kernel takes one contiguous 6-vector at a time.
        rows = np.array(np.atleast_2d(np.asarray(B, dtype=np.float64).T), order="C")
        for row in rows:
            for i in range(self.mass.size):
                b6 = row[6 * i : 6 * i + 6]
                solve_inertia_row(self.mass[i], self.com[i], self.inertia_inv[i], self.R[i], b6, b6)
        return rows[0] if np.ndim(B) == 1 else np.ascontiguousarray(rows.T)
