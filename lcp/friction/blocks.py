"""W as 3x3 blocks, and a problem in units in which its numbers are near one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lcp.arrays import Vector
from lcp.friction.problem import FrictionProblem

if TYPE_CHECKING:
    from lcp.kernels.friction_sweeps import ContactBlocks


def blocks_of(problem: FrictionProblem, W: Any) -> ContactBlocks:
    """Return the blocks of a matrix (m, m) by the contacts of ``problem``, without blocks of zeros."""
    from scipy import sparse

    from lcp.kernels.friction_sweeps import ContactBlocks

    nc, m = problem.nc, problem.m
    # Three rows for each contact; those that it lacks are empty.
    places = problem._index.ravel()
    rows = np.flatnonzero(places < m)
    pad = sparse.csr_matrix((np.ones(m), (rows, places[rows])), shape=(3 * nc, m))
    padded = (pad @ sparse.csr_matrix(W) @ pad.T).tocsr()
    padded.eliminate_zeros()
    stored = padded.tobsr((3, 3))
    stored.sort_indices()
    row, column, block = np.repeat(np.arange(nc), np.diff(stored.indptr)), stored.indices, stored.data
    inside = row == column
    diagonal = np.zeros((nc, 3, 3))
    diagonal[row[inside]] = block[inside]
    pointer = np.concatenate(([0], np.cumsum(np.bincount(row[~inside], minlength=nc))))
    columns = column[~inside].astype(np.int64)
    return ContactBlocks(pointer, columns, block[~inside], diagonal, problem._mu, problem._dims)


@dataclass(frozen=True, eq=False)
class ScaledProblem:
    """W / w and q / p of a problem: r here is (w / p) r there. Coulomb's problem is homogeneous in both."""

    problem: FrictionProblem
    #: W, q: The matrix and the rows (nc, 3) of the vector.
    W: Any
    q: Vector
    #: w, p: Powers of two.
    w: float
    p: float

    def original(self, rows: Vector) -> Vector:
        """Return r (m,) of the problem for rows (nc, 3) of the scaled one."""
        return self.problem.flat(rows * (self.p / self.w))

    def start(self, r: Vector | None) -> Vector:
        """Return rows (nc, 3) of the scaled problem for a start r (m,), zeros if there is none."""
        if r is None:
            return np.zeros((self.problem.nc, 3))
        return self.problem.contacts(r) / (self.p / self.w)


def scaled(problem: FrictionProblem) -> ScaledProblem:
    """Return the problem with W and q divided by powers of two, to a median diagonal and a largest q near 1."""
    diagonal = np.abs(problem._W.diagonal())
    diagonal = diagonal[diagonal > 0.0]
    w = float(np.median(diagonal)) if diagonal.size else float(abs(problem._W).max()) if problem.m else 1.0
    p = float(np.abs(problem._q).max(initial=0.0))
    w, p = _power_of_two(w), _power_of_two(p)
    # One factor after the other: their quotient may be beyond double precision where r is not.
    return ScaledProblem(problem, problem._W / w, problem.contacts(problem._q / p), w, p)


def _power_of_two(value: float) -> float:
    return float(2.0 ** np.round(np.log2(value))) if 0.0 < value < np.inf else 1.0
