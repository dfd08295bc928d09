"""The acceleration-level problem: forces at one instant, formed and unpacked.

With R = N - mu_s Q (rows of Q zero for contacts at tangential rest), the mixed problem is::

    M a = tau + R' fN + F' fF + L' fL + G' fG
    G a + kG = 0
    0 <= fN      _|_   N a + kN >= 0
    0 <= fF+-    _|_  +-(F a + kF) + E lambda >= 0
    0 <= lambda  _|_   mu fN - E' (fF+ + fF-) >= 0        contacts that do not slide
    0 <= fL      _|_   L a + kL >= 0

and with a0 the acceleration that meets the bilateral rows without unilateral forces and C the inverse inertia they
leave, the LCP in [fN | fF+ | fF- | lambda (nns) | fL] is::

         | N C R'   N C F'  -N C F'   0   N C L' |        |  N a0 + kN |
         | F C R'   F C F'  -F C F'   E   F C L' |        |  F a0 + kF |
    MM = |-F C R'  -F C F'   F C F'   E  -F C L' |   qq = | -F a0 - kF |
         | mu      -E'      -E'       0   0      |        |  0         |
         | L C R'   L C F'  -L C F'   0   L C L' |        |  L a0 + kL |

R' instead of N' makes MM unsymmetric where something slides, and then a solution need not exist, nor be the only one
(Painleve's paradox; Genot and Brogliato 1999).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import lcp
from contactlab.formulation.blocks import UnilateralRows, unilateral_rows
from contactlab.formulation.discretized import recover_forces, stated_lcp
from contactlab.spatial.arrays import FloatArray
from problem_data import ConstraintAccelProblemData


@dataclass(frozen=True, eq=False)
class AccelerationLCP:
    """The LCP of the forces at one instant.

    Parameters
    ----------
    MM : ndarray, shape (n, n)
        Matrix of the LCP, n = nc + 2 nr + nns + nl.
    qq : ndarray, shape (n,)
        Vector of the LCP.
    rows : UnilateralRows
        Rows and responses with the bilateral rows eliminated.
    data : ConstraintAccelProblemData
        The problem.
    """

    MM: FloatArray
    qq: FloatArray
    rows: UnilateralRows
    data: ConstraintAccelProblemData

    @property
    def problem(self) -> lcp.LCP:
        """MM and qq as a problem that states how well qq is known."""
        blocks, none = self.data.blocks(), np.zeros(0)
        return stated_lcp(self.MM, self.qq, none, none, blocks.nc + 2 * blocks.nr, blocks.nns)

    def unpack(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Packed forces [fN | fF | fL | fG] [N, N m] and acceleration (nv,) of an LCP vector (n,)."""
        return recover_forces(1.0, self.rows, self.data.blocks(), z)


def form_acceleration_lcp(data: ConstraintAccelProblemData) -> AccelerationLCP:
    """State the LCP of the forces at one instant; always at full size, also where nothing touches in earnest."""
    from contactlab.formulation.kernels.acceleration_lcp import assemble_acceleration_lcp

    blocks = data.blocks()
    rows = unilateral_rows(blocks)
    n = blocks.nc + 2 * blocks.nr + blocks.nns + blocks.nl
    MM = np.empty((n, n))
    qq = np.empty(n)
    problem = rows.problem(1.0, blocks)
    assemble_acceleration_lcp(problem, blocks.sliding, rows.responses, MM, qq)
    return AccelerationLCP(MM=MM, qq=qq, rows=rows, data=data)
