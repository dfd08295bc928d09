"""The quadratic program that a symmetric positive semidefinite, or monotone, problem is; dense or sparse as M is.

Symmetric M: min 1/2 z'Mz + q'z over lo <= z <= hi (0 <= z of an `LCP`); its stationarity is the problem.

Other M: the least value, zero where there is a solution, of the sum of products between each w_i and the distance of
z_i to the bound that admits its sign. Without upper bounds, min z'(Mz + q) over z >= 0, Mz + q >= 0. A row with two
bounds has w = s - t with multipliers s, t >= 0 of which t is an unknown of the program and s = w + t >= 0 a row of it:

    min (z - o)'(Mz + q) + sum (hi - lo)_i t_i,    o_i = lo_i, or hi_i where only that is finite, or 0,

over the bounds and (Mz + q)_i >= 0, <= 0, = 0 or (Mz + q + t)_i >= 0 for an i with a lower, an upper, no or two bounds.

R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), sections 1.4 and 3.1; with two bounds
the same for the complementary pairs of `lcp.box_to_mlcp`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector, check_range
from lcp.box import BoxLCP, bounds_of
from lcp.problem import LCP


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """min 1/2 x'Px + c'x over lo <= x <= hi and, where G is given, low <= G x <= high.

    Scaled by a congruence, which keeps P semidefinite, to a diagonal near one, and to c near one: the first entries of
    x are (z - center) / scale of the unknowns in ``kept``, the others being given by lo = hi. P and G are dense or CSC.
    """

    P: Any
    c: Vector
    lo: Vector
    hi: Vector
    G: Any
    low: Vector
    high: Vector
    kept: NDArray[np.intp]
    center: Vector
    scale: Vector

    @property
    def sparse(self) -> bool:
        """Whether P and G are sparse."""
        return not isinstance(self.P, np.ndarray)

    def recover(self, x: Vector) -> Vector:
        """The z of an x, each within its bounds."""
        z = self.center.copy()
        inside = np.clip(x, self.lo, self.hi)[: self.kept.shape[0]]
        z[self.kept] += inside * self.scale
        return z

    def start(self, z: Vector) -> Vector:
        """The x of a z, zero in what does not belong to z."""
        x = np.zeros(self.c.shape[0])
        x[: self.kept.shape[0]] = (z - self.center)[self.kept] / self.scale
        return np.clip(x, self.lo, self.hi)

    def all_rows(self) -> tuple[Any, Vector, Vector]:
        """(R, low, high), CSC: the bounds written as rows, those of G below them."""
        from scipy import sparse

        R = sparse.eye_array(self.c.shape[0], format="csc")
        if self.G is None:
            return sparse.csc_matrix(R), self.lo, self.hi
        rows = sparse.csc_matrix(sparse.vstack([R, sparse.csc_array(self.G)], format="csc"))
        return rows, np.concatenate([self.lo, self.low]), np.concatenate([self.hi, self.high])

    def split_rows(self) -> tuple[Any, Vector, Any, Vector, Vector]:
        """(A, b, C, low, high): the equations A x = b among the rows of G, and the others; None for no rows."""
        if self.G is None:
            return None, np.zeros(0), None, np.zeros(0), np.zeros(0)
        equal = self.low == self.high
        # A CSC matrix is cut by rows as it is.
        A = self.G[equal] if equal.any() else None
        C = self.G[~equal] if not equal.all() else None
        return A, self.low[equal], C, self.low[~equal], self.high[~equal]


def center_of(problem: LCP | BoxLCP) -> Vector:
    """The point within the bounds that is nearest to zero."""
    lo, hi = bounds_of(problem)
    return np.minimum(np.maximum(0.0, lo), hi)


def program_of(problem: LCP | BoxLCP) -> Program | None:
    """The program, or None where M is not positive semidefinite."""
    from lcp.matrix_classes import congruence, is_positive_semidefinite, is_symmetric

    M = problem._M
    if not is_positive_semidefinite(M):
        return None
    center = center_of(problem)
    load = problem._q + M @ center if center.any() else problem._q
    lo, hi = bounds_of(problem)
    kept = np.flatnonzero(lo != hi)
    if kept.shape[0] < problem.n:
        M, load, lo, hi = M[kept][:, kept], load[kept], lo[kept], hi[kept]
    d = congruence(M)
    S, c = _congruent(M, d), load * d
    size = float(abs(S).max()) if kept.shape[0] and (not problem.sparse or S.nnz) else 0.0
    S = S / size if size > 0.0 else S
    unit = float(np.abs(c).max(initial=0.0))
    c = c / unit if unit > 0.0 else c
    scale = d * unit / size if unit > 0.0 and size > 0.0 else d
    low, high = (lo - center[kept]) / scale, (hi - center[kept]) / scale
    check_range("the quadratic program", S.data if problem.sparse else S, c, scale)
    none = np.zeros(0)
    if is_symmetric(S):
        return Program(0.5 * (S + S.T), c, low, high, None, none, none, kept, center, scale)
    return _monotone(S, c, low, high, kept, center, scale)


def _congruent(M: Any, d: Vector) -> Any:
    """diag(d) M diag(d)."""
    if isinstance(M, np.ndarray):
        return M * d * d[:, None]
    from scipy import sparse

    scale = sparse.diags_array(d)
    return sparse.csc_matrix(scale @ M @ scale)


def _monotone(
    S: Any, c: Vector, lo: Vector, hi: Vector, kept: NDArray[np.intp], center: Vector, scale: Vector
) -> Program:
    """The program of an M that is not symmetric; see the head of this file."""
    below, above = np.isfinite(lo), np.isfinite(hi)
    double = np.flatnonzero(below & above)
    origin = np.where(below, lo, np.where(above, hi, 0.0))
    low, high = np.where(above & ~below, -np.inf, -c), np.where(below, np.inf, -c)
    P, linear = S + S.T, c - S.T @ origin
    if not double.shape[0]:
        G = S if isinstance(S, np.ndarray) else S.tocsc()
        return Program(P, linear, lo, hi, G, low, high, kept, center, scale)
    n, t = c.shape[0], double.shape[0]
    linear = np.concatenate([linear, (hi - lo)[double]])
    lo, hi = np.concatenate([lo, np.zeros(t)]), np.concatenate([hi, np.full(t, np.inf)])
    if isinstance(S, np.ndarray):
        G = np.zeros((n, n + t))
        G[:, :n] = S
        G[double, n + np.arange(t)] = 1.0
        whole = np.zeros((n + t, n + t))
        whole[:n, :n] = P
        return Program(whole, linear, lo, hi, G, low, high, kept, center, scale)
    from scipy import sparse

    ones = sparse.csc_matrix((np.ones(t), (double, np.arange(t))), shape=(n, t))
    padded = sparse.block_diag([P, sparse.csc_matrix((t, t))], format="csc")
    return Program(padded, linear, lo, hi, sparse.hstack([S, ones], format="csc"), low, high, kept, center, scale)
