"""Elimination of the bilateral rows: from M and G to the inverse inertia C of the motion they leave free.

The free part (v+, fG) of the mixed problem solves, for a right-hand side (y; z)::

    | M  -G' | | v |   | y |        v  = C y + B z            C = M^-1 - M^-1 G' W+ G M^-1
    | G   0  | | f | = | z |        f  = W+ z - B' y          B = M^-1 G' W+,   W = G M^-1 G'

W+ is the pseudo-inverse of W, so redundant rows are welcome: f is then the multiplier of minimum norm. Equations that
contradict one another are met in the least-squares sense and leave a rate G v + kG.

The arithmetic is that of `kernels.bilateral`, which the compiled step calls too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contactlab.spatial.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class BilateralRows:
    """Bilateral rows with the pseudo-inverse of their Delassus matrix."""

    G: FloatArray  # (nb, nv) rows of G v+ + kG = 0
    Y: FloatArray  # (nb, nv) row i is M^-1 G_i
    W_pinv: FloatArray  # (nb, nb) pseudo-inverse W+ of W = G Y'
    rank: int

    def project_velocity(self, v: FloatArray, kG: FloatArray) -> FloatArray:
        """Velocity (nv,) after the impulse that makes G v + kG = 0."""
        return self.add_impulses(v, kG)[1]

    def project_rows(self, rows: FloatArray, responses: FloatArray) -> tuple[FloatArray, IntArray]:
        """Responses C d_i from rows d_i and M^-1 d_i, (m, nv) each; 0 where only rounding is left, and 1 for those."""
        from contactlab.formulation.kernels.bilateral import project_rows

        left, locked = np.array(responses, order="C"), np.empty(len(rows), dtype=np.int64)
        every, work = np.zeros((0, 4), dtype=np.int64), np.empty(3 * len(self.W_pinv))
        project_rows(self.G, self.Y, self.W_pinv, np.ascontiguousarray(rows), left, every, locked, work)
        return left, locked

    def add_impulses(self, v: FloatArray, kG: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Impulses (nb,) of minimum norm that make G v + kG = 0, and the velocity (nv,) then."""
        from contactlab.formulation.kernels.bilateral import add_bilateral_impulses

        out, impulses = np.array(v), np.empty(len(kG))
        add_bilateral_impulses(self.G, self.Y, self.W_pinv, kG, out, impulses, np.empty(len(kG)))
        return impulses, out


def factor_bilateral_rows(G: FloatArray, Y: FloatArray) -> BilateralRows:
    """Pseudo-inverse of W = G Y', rows of Y being M^-1 G_i, with a rank that no choice of units can change."""
    from contactlab.formulation.kernels.bilateral import bilateral_work_size, factor_bilateral

    nb = len(G)
    W_pinv = np.empty((nb, nb))
    rank = factor_bilateral(G, Y, W_pinv, np.empty(bilateral_work_size(nb)))
    return BilateralRows(G=G, Y=Y, W_pinv=W_pinv, rank=int(rank))
