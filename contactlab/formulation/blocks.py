"""The unilateral rows of a problem once its bilateral rows are eliminated.

What the kernels see is always a problem without bilateral rows: rows J = [N; F; L], their responses Y_i = C J_i, terms
k and a free velocity v0 that already meets the equations. Without bilateral rows these are the blocks of the problem
data themselves, not copies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contactlab.formulation.bilateral import BilateralRows, factor_bilateral_rows
from problem_data import VelocityBlocks

__all__ = ["UnilateralRows", "unilateral_rows"]

FloatArray = NDArray[np.float64]

# C J_i is zero to rounding where J_i C J_i falls below this share of J_i M^-1 J_i (an angle of 3e-7 rad).
_LOCKED = 1e-13
# Rate of a locked row, relative to the sum of its terms before cancellation, that rounding explains.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class UnilateralRows:
    """Rows N, F, L with bilateral rows eliminated; these depend on the operators only, not on k, Mv or h.

    Parameters
    ----------
    J : ndarray, shape (>= nu, nv)
        Rows [N; F; L] in front; rows the bilateral ones determine fully are zero.
    Y : ndarray, shape (>= nu, nv)
        Row i is C J_i.
    locked : ndarray of int
        Rows that no unilateral force can move any more.
    bilateral : BilateralRows or None
        The eliminated rows; None where there are none.
    """

    J: FloatArray
    Y: FloatArray
    locked: NDArray[np.intp]
    bilateral: BilateralRows | None

    def terms(self, blocks: VelocityBlocks) -> tuple[FloatArray, FloatArray]:
        """Terms k (>= nu,) and velocity v0 (nv,) without unilateral forces, for the vectors of ``blocks``."""
        if self.bilateral is None:
            return blocks.k, blocks.v_free
        v0 = self.bilateral.project_velocity(blocks.v_free, blocks.k[len(blocks.k) - blocks.nb :])
        k = blocks.k.copy()
        # A locked row is a number, not an equation: its rate joins k, and a zero that came out as -1e-17 is one.
        J = blocks.J[self.locked]
        rate = J @ v0 + k[self.locked]
        size = np.abs(J) @ (np.abs(v0) + np.abs(blocks.v_free)) + np.abs(k[self.locked])
        k[self.locked] = np.where(np.abs(rate) <= _ROUNDING * size, 0.0, rate)
        return k, v0


def unilateral_rows(blocks: VelocityBlocks) -> UnilateralRows:
    """Eliminate the bilateral rows of a problem from its unilateral ones."""
    if blocks.nb == 0:
        return UnilateralRows(J=blocks.J, Y=blocks.Y, locked=np.empty(0, dtype=np.intp), bilateral=None)
    nu = blocks.nc + blocks.nr + blocks.nl
    bilateral = factor_bilateral_rows(blocks.J[nu:], blocks.Y[nu:])
    J = blocks.J[:nu].copy()
    Y = bilateral.project_rows(blocks.Y[:nu])
    free = np.einsum("ip,ip->i", J, blocks.Y[:nu])
    left = np.einsum("ip,ip->i", J, Y)
    locked = np.flatnonzero((left <= _LOCKED * free) & (free > 0.0))
    J[locked] = 0.0
    Y[locked] = 0.0
    return UnilateralRows(J=J, Y=np.ascontiguousarray(Y), locked=locked, bilateral=bilateral)
