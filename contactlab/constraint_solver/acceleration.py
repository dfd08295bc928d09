"""The acceleration-level problem: forces at one instant as an LCP, and as linear equations.

With R = N - mu_s Q (rows of Q zero for contacts at tangential rest), the mixed problem is::

    M a = tau + R' fN + F' fF + L' fL + G' fG
    G a + kG = 0
    0 <= fN      _|_   N a + kN >= 0
    0 <= fF+-    _|_  +-(F a + kF) + E lambda >= 0
    0 <= lambda  _|_   mu fN - E' (fF+ + fF-) >= 0        contacts that do not slide
    0 <= fL      _|_   L a + kL >= 0

a0 is the acceleration that satisfies the bilateral rows without unilateral forces, and C the inverse inertia that these
rows leave. The LCP in [fN | fF+ | fF- | lambda (nns) | fL] is::

         | N C R'   N C F'  -N C F'   0   N C L' |        |  N a0 + kN |
         | F C R'   F C F'  -F C F'   E   F C L' |        |  F a0 + kF |
    MM = |-F C R'  -F C F'   F C F'   E  -F C L' |   qq = | -F a0 - kF |
         | mu      -E'      -E'       0   0      |        |  0         |
         | L C R'   L C F'  -L C F'   0   L C L' |        |  L a0 + kL |

R' instead of N' makes MM unsymmetric if a contact slides. Then a solution need not exist, and can be one of several
(Painleve's paradox; Genot and Brogliato 1999).

The linear path treats every row as active and ignores the inequalities. In x = [fN | fF (signed) | fL] it is::

    | N C R'   N C F'   N C L' |       |  N a0 + kN |
    | F C R'   F C F'   F C L' | x = - |  F a0 + kF |
    | L C R'   L C F'   L C L' |       |  L a0 + kL |

It is solved for the x of minimum norm, so that duplicated contacts share their force equally. The result is correct if
all contacts remain closed and no contact begins to slip; static friction coefficients are not used. The certificate
then measures the other conditions on forces: signs and the cone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import lcp
from contactlab.constraint_solver.blocks import UnilateralRows, force_responses, free_motion, unilateral_rows
from contactlab.constraint_solver.discretized import add_bilateral_forces, recover_forces, stated_lcp
from contactlab.multibody.spatial.arrays import FloatArray
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
        """MM and qq as a problem with the uncertainty of qq."""
        blocks, none = self.data.blocks(), np.zeros(0)
        return stated_lcp(self.MM, self.qq, none, none, blocks.nc + 2 * blocks.nr, blocks.nns)

    def unpack(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return packed forces [fN | fF | fL | fG] [N, N m] and acceleration (nv,) of an LCP vector (n,)."""
        return recover_forces(1.0, self.rows, self.data.blocks(), z)


def form_acceleration_lcp(data: ConstraintAccelProblemData) -> AccelerationLCP:
    """Return the LCP of the forces at one instant, at full size also without any active contact."""
    from contactlab.constraint_solver.kernels.discretized_lcp import assemble_lcp

    blocks = data.blocks()
    rows = unilateral_rows(blocks)
    nc, m, nl = blocks.nc, blocks.nc + blocks.nr, blocks.nl
    n = m + blocks.nr + blocks.nns + nl
    MM, qq = np.empty((n, n)), np.empty(n)
    assemble_lcp(rows.problem(1.0, blocks), MM, qq)
    # Columns of sliding contacts: J C R' in all rows of motion.
    rates = rows.J @ rows.responses[blocks.sliding].T
    motion = np.r_[0 : m + blocks.nr, n - nl : n]
    MM[np.ix_(motion, blocks.sliding)] = np.concatenate((rates[:m], -rates[nc:m], rates[m:]))
    return AccelerationLCP(MM=MM, qq=qq, rows=rows, data=data)


#: Conditions of the certificate that the linear path does not impose.
NOT_ENFORCED = ("cone", "force_sign")

_EPS = float(np.finfo(np.float64).eps)
# Scaled residual above which the equations count as contradictory; smaller ones are rounding.
_CONSISTENT = 1e-9


@dataclass(frozen=True, eq=False)
class LinearResult:
    """Result of the linear path, in place of an `lcp.Result`.

    Parameters
    ----------
    z : ndarray, shape (nc + 2 nr + nns + nl,)
        The forces as a vector of the complementarity problem, with slack 0; it solves that problem only if the
        certificate holds. Read-only.
    status : lcp.Status
        SOLVED if all equations are satisfied, INCONSISTENT if they contradict one another; inequalities do not matter.
    rank : int
        Rank of the system.
    residual : float
        Largest residual of an equation over the size of its terms.
    """

    z: FloatArray
    status: lcp.Status
    rank: int
    residual: float
    iterations: int = 0
    attempts: tuple[lcp.Attempt, ...] = ()

    @property
    def solved(self) -> bool:
        """Return True if all rows can be active together."""
        return self.status is lcp.Status.SOLVED


def solve_linear_path(data: ConstraintAccelProblemData) -> tuple[LinearResult, FloatArray, FloatArray]:
    """Return result, packed forces [fN | fF | fL | fG] [N, N m] and acceleration (nv,) with every row active."""
    blocks = data.blocks()
    rows = unilateral_rows(blocks)
    nc, nr, nu = blocks.nc, blocks.nr, blocks.nc + blocks.nr + blocks.nl
    k, a0 = rows.terms(blocks)
    J, k = rows.J[:nu], k[:nu]
    x, rank = _minimum_norm(J @ rows.responses[:nu].T, -(J @ a0 + k), _scale(rows, nu))

    fG, acceleration = add_bilateral_forces(1.0, rows, blocks, x)
    packed = np.concatenate((x, fG))
    size = np.abs(free_motion(blocks)) + np.abs(packed) @ np.abs(force_responses(blocks))
    terms = np.abs(blocks.J[:nu]) @ size + np.abs(blocks.k[:nu])
    rates = np.abs(blocks.J[:nu] @ acceleration + blocks.k[:nu])
    residual = float(np.max(np.divide(rates, terms, out=np.zeros(nu), where=terms > 0.0), initial=0.0))
    fF = x[nc : nc + nr]
    z = np.concatenate((x[:nc], np.maximum(fF, 0.0), np.maximum(-fF, 0.0), np.zeros(blocks.nns), x[nc + nr :]))
    z.flags.writeable = False
    status = lcp.Status.SOLVED if residual <= _CONSISTENT else lcp.Status.INCONSISTENT
    return LinearResult(z=z, status=status, rank=rank, residual=residual), packed, acceleration


def _scale(rows: UnilateralRows, nu: int) -> FloatArray:
    """Return factors with J_i C J_i = 1, so that the rank does not depend on the units of the rows."""
    diagonal = np.einsum("ip,ip->i", rows.J[:nu], rows.Y[:nu])
    return np.asarray(1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)))


def _minimum_norm(A: FloatArray, b: FloatArray, scale: FloatArray) -> tuple[FloatArray, int]:
    """Return the least-squares solution of A x = b of minimum norm, and the rank of A.

    It uses a complete orthogonal decomposition. The rank is determined for S A S, S = diag(scale); the norm is the norm
    of x.
    """
    left, values, right = np.linalg.svd(scale[:, None] * A * scale)
    kept = values > 32.0 * _EPS * len(values) * np.max(values, initial=0.0)
    null, _ = np.linalg.qr(scale[:, None] * right[~kept].T)
    x = np.zeros(len(b))
    for _ in range(3):  # further passes remove rounding: of x, and of null if units differ widely
        x = x + scale * (right[kept].T @ (left[:, kept].T @ (scale * (b - A @ x)) / values[kept]))
        x = x - null @ (null.T @ x)
    return x, int(kept.sum())
