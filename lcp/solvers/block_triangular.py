"""Substitution through the strongly connected blocks of M."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.dispatch import call_any_solver
from lcp.interruptible import cpu_seconds
from lcp.method import SolverBase, SolveRequest, Traits, with_time_limit
from lcp.options import check_solver, positive_option
from lcp.problem import LCP, MLCP, BoxLCP, bounds_of
from lcp.residuals import Problem, verified
from lcp.result import Claim
from lcp.solvers.lemke import Lemke
from lcp.status import Status


@dataclass(frozen=True)
class BlockTriangular(SolverBase[Problem]):
    """Solve one strongly connected block of M after the other, with the unknowns of previous blocks substituted.

    First z_i = 0 is set for pairs whose w_i cannot be negative: q_i >= 0, and no negative entry multiplies an unknown
    that can be positive. The other pairs form blocks that do not depend on later ones (Tarjan 1972). A permuted
    triangular M is a chain of single pairs, which are solved by substitution. The status is UNSUITABLE if there is only
    one block. A block without solution is not a proof, because a previous block may have another solution.

    Parameters
    ----------
    inner
        The solver of the blocks of two and more.
    time_limit
        Seconds, checked between blocks.

    References
    ----------
    R. E. Tarjan, Depth-first search and linear graph algorithms, SIAM J. Comput. 1 (1972); R. W. Cottle, J.-S. Pang,
    R. E. Stone, The Linear Complementarity Problem (1992), section 3.11 (reducible matrices).
    """

    inner: Any = field(default_factory=Lemke)
    time_limit: float = positive_option(60.0)

    traits: ClassVar[Traits] = Traits.MIXED | Traits.BOXED | Traits.SPARSE

    def __post_init__(self) -> None:
        super().__post_init__()
        check_solver("BlockTriangular.inner", self.inner)

    def _claim(self, problem: Problem, request: SolveRequest) -> Claim:
        from scipy import sparse

        deadline = cpu_seconds() + self.time_limit
        given, q = (problem._K, problem._k) if isinstance(problem, MLCP) else (problem._M, problem._q)
        dense = isinstance(given, np.ndarray)
        M, (lo, hi) = sparse.csr_array(given), bounds_of(problem)
        M.eliminate_zeros()
        M.sort_indices()
        z = _fixed(M, q, lo, hi)
        moving = np.flatnonzero(np.isnan(z))
        z[moving] = 0.0
        blocks = _blocks(M[moving][:, moving])
        if len(blocks) == 1 and moving.shape[0] == q.shape[0]:
            return Claim(np.clip(z, lo, hi), Status.UNSUITABLE, 0, "one strongly connected block")
        diagonal, detail = M.diagonal(), f"{len(blocks)} blocks"
        for block in blocks:
            rows = moving[block]
            found: Vector | float | None
            if rows.shape[0] == 1:
                i = rows[0]
                own = slice(M.indptr[i], M.indptr[i + 1])
                load = float(q[i] + M.data[own] @ z[M.indices[own]])
                found = _single(float(diagonal[i]), load, float(lo[i]), float(hi[i]))
            else:
                all_of_them = M[rows]
                own_part = all_of_them[:, rows]
                part = BoxLCP(own_part.toarray() if dense else own_part, q[rows] + all_of_them @ z, lo[rows], hi[rows])
                found = self._solved(part, request, deadline)
            if found is None:
                detail += f", no solution found of one of {rows.shape[0]}"
                return Claim(np.clip(z, lo, hi), Status.STALLED, len(blocks), detail)
            z[rows] = found
        return Claim(z, Status.SOLVED, len(blocks), detail)

    def _solved(self, part: BoxLCP, request: SolveRequest, deadline: float) -> Vector | None:
        """Return a verified solution of a block, solved as an `LCP` if it is one."""
        plain = not part.lo.any() and np.isposinf(part.hi).all()
        problem: Problem = LCP(part._M, part._q) if plain else part
        left = deadline - cpu_seconds()
        if left <= 0.0:
            return None
        z = call_any_solver(problem, with_time_limit(self.inner, left), SolveRequest(None, request.tolerance, False)).z
        return z if verified(problem, z, request.tolerance) else None


def _fixed(M: Any, q: Vector, lo: Vector, hi: Vector) -> Vector:
    """Return the bounds of unknowns whose w has one sign for all admissible values of the others; nan for the rest."""
    z = np.where(lo == hi, lo, np.nan)
    positive, negative = M.maximum(0.0), M.minimum(0.0)
    while True:
        low, high = np.where(np.isnan(z), lo, z), np.where(np.isnan(z), hi, z)
        at_low = np.isnan(z) & np.isfinite(lo) & (q + positive @ low + negative @ high >= 0.0)
        at_high = np.isnan(z) & np.isfinite(hi) & (q + positive @ high + negative @ low <= 0.0)
        if not (at_low | at_high).any():
            return z
        z = np.where(at_low, lo, np.where(at_high, hi, z))


def _blocks(M: Any) -> list[NDArray[np.intp]]:
    """Return the strongly connected blocks, each after the blocks that its rows depend on (the order of scipy)."""
    from scipy.sparse.csgraph import connected_components

    if M.shape[0] == 0:
        return []
    count, labels = connected_components(M, directed=True, connection="strong")
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.cumsum(np.bincount(labels, minlength=count))[:-1])


def _single(m: float, load: float, lo: float, hi: float) -> float | None:
    """Return the z between its bounds that is complementary to m z + load, or None."""
    if np.isfinite(lo) and m * lo + load >= 0.0:
        return lo
    if np.isfinite(hi) and m * hi + load <= 0.0:
        return hi
    z = -load / m if m != 0.0 else 0.0 if load == 0.0 else np.nan
    return min(max(z, lo), hi) if lo <= z <= hi else None
