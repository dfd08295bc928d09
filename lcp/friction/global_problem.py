"""Coulomb friction with the exact cone, in the space of the bodies: mass matrix and contact directions separately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lcp.arrays import Vector, checked_square, checked_vector, read_only, shaped_matrix
from lcp.friction.problem import DelassusFactor, FrictionProblem, IntArray, checked_dims, checked_mu
from lcp.status import ProblemError

# Scaled residual of the equations up to which a factorisation is accepted, and equations are called consistent.
_CONSISTENT = 1e-9
# Unknowns up to which a singular system is solved by a dense orthogonal decomposition, and of a tree that is factored.
_DENSE = 3000
# Velocities of a free body in space, and in the plane.
_BODIES = (6, 3)
# Of a mass matrix: asymmetry that is rounding, and fraction of its diagonal below which a pivot is rounding.
_SYMMETRIC = 1e-13
_PIVOT = 1e-13
# Entries of the dense right-hand sides solved together.
_CHUNK = 4_000_000


@dataclass(frozen=True, init=False, eq=False, repr=False)
class GlobalFrictionProblem:
    """Find v, r (and lambda) with M v = H r + f + G lambda, u = H' v + w, G' v + b = 0; r, u as in `FrictionProblem`.

    Parameters
    ----------
    M
        Matrix (n, n), dense or scipy.sparse, usually the mass matrix. Regular, at least on the motions that G admits.
    H
        Matrix (n, m): its columns are the contacts' directions, in the order (N, T1, T2) per contact.
    f
        Vector (n,).
    w
        Vector (m,): the part of u that does not depend on v.
    mu
        Friction coefficients (nc,), >= 0.
    dim
        Components of each contact, as in `FrictionProblem`.
    G, b
        Bilateral rows (n, p) and (p,), both or neither. They can be redundant, but not contradictory.

    Raises
    ------
    ProblemError
        For a shape that does not fit, or an invalid entry; the text names it.
    """

    M: Any
    H: Any
    f: Vector
    w: Vector
    mu: Vector
    dims: IntArray
    G: Any
    b: Vector
    _parts: tuple[Any, ...] = field(repr=False)

    def __init__(
        self,
        M: Any,
        H: Any,
        f: ArrayLike,
        w: ArrayLike,
        mu: ArrayLike,
        dim: int | Sequence[int] | IntArray = 3,
        G: Any = None,
        b: ArrayLike | None = None,
    ) -> None:
        matrix = checked_square("M", M)
        n = int(matrix.shape[0])
        coefficients = checked_mu(mu)
        dims = checked_dims(dim, coefficients.shape[0])
        coefficients = checked_mu(mu, dims)
        m = int(dims.sum())
        directions = shaped_matrix("H", H, (n, m), sparse=True)
        if (G is None) != (b is None):
            raise ProblemError("G and b come together: bilateral rows G' v + b = 0")
        load, offset = checked_vector("f", f, n), checked_vector("w", w, m)
        rest = checked_vector("b", () if b is None else b)
        rows = shaped_matrix("G", np.zeros((n, 0)) if G is None else G, (n, rest.shape[0]), sparse=True)
        parts = (matrix, directions, load, offset, coefficients, dims, rows, rest)
        for name, value in zip(("M", "H", "f", "w", "mu", "dims", "G", "b"), parts, strict=True):
            object.__setattr__(self, name, read_only(value))
        object.__setattr__(self, "_parts", parts)

    @property
    def n(self) -> int:
        """Number of velocities."""
        return int(self.f.shape[0])

    @property
    def m(self) -> int:
        """Number of contact forces."""
        return int(self.w.shape[0])

    @property
    def nc(self) -> int:
        """Number of contacts."""
        return int(self.mu.shape[0])

    def reduce(self) -> FrictionReduction:
        """Eliminate v and lambda: W = H' M^-1 H (on the motions that G admits), q = H' M^-1 (f + ...) + w."""
        return _reduced(self)

    def __reduce__(self) -> tuple[Any, ...]:
        M, H, f, w, mu, dims, G, b = self._parts
        return type(self), (M, H, f, w, mu, dims, G, b)

    def __repr__(self) -> str:
        return f"GlobalFrictionProblem(n={self.n}, {self.nc} contacts, m={self.m}, bilateral={self.b.shape[0]})"


@dataclass(frozen=True, eq=False)
class FrictionReduction:
    """Global problem in the space of its contacts, and the map back.

    Attributes
    ----------
    problem
        The `FrictionProblem`.
    consistent
        Whether the equations have a solution for every r: False if bilateral rows contradict one another, or M is
        singular on a motion that they admit.
    rank_deficient
        Whether the system was singular and solved in the least-squares sense (redundant bilateral rows).
    """

    problem: FrictionProblem
    consistent: bool
    rank_deficient: bool
    _source: GlobalFrictionProblem = field(repr=False)
    _system: Any = field(repr=False)

    def recover(self, r: Vector) -> tuple[Vector, Vector]:
        """Return v (n,) and the multipliers lambda (p,) of the bilateral rows, for forces r (m,)."""
        _, H, f, _, _, _, _, b = self._source._parts
        x = self._system(np.concatenate([H @ r + f, -b]))
        n = self._source.n
        return x[:n], x[n:]

    def motion(self, r: Vector) -> tuple[Vector, Vector, Vector, float]:
        """Return v, lambda, u = H' v + w, and the scaled residual of the equations, all from the original data."""
        M, H, f, w, _, _, G, b = self._source._parts
        v, lam = self.recover(r)
        u = np.asarray(H.T @ v + w)
        loads = (M @ v, H @ r, f, G @ lam)
        gap = loads[0] - loads[1] - loads[2] - loads[3]
        unit = max((float(np.abs(part).max(initial=0.0)) for part in loads), default=0.0)
        first = float(np.abs(gap).max(initial=0.0)) / unit if unit > 0.0 else 0.0
        sizes = abs(G).T @ np.abs(v) + np.abs(b)
        miss = np.abs(G.T @ v + b)
        unit = float(sizes.max(initial=0.0))
        second = float(miss.max(initial=0.0)) / unit if unit > 0.0 else 0.0
        return v, lam, u, max(first, second)


def _reduced(source: GlobalFrictionProblem) -> FrictionReduction:
    """Eliminate velocities and bilateral forces: return the local problem with W = H' K^-1 H and q = H' v_free + w.

    K is M, bordered by bilateral rows. W comes from factors of the trees if possible. Otherwise K is factored; if this
    is not accurate, a small K is solved by least squares. If numbers are not finite, W and q are 0, and the result is
    marked as not consistent.
    """
    from scipy import sparse

    M, H, f, w, mu, dims, G, b = source._parts
    n, m, p = source.n, source.m, b.shape[0]
    K = sparse.csc_matrix(M) if p == 0 else sparse.bmat([[M, -sparse.csc_matrix(G)], [sparse.csc_matrix(G).T, None]])
    K = sparse.csc_matrix(K)
    system, deficient = _system(K)
    bodies = None if p else factor_from_masses(M, H, f, w)
    if bodies is not None:
        # With little fill, and without a column of M^-1 H.
        W, error = bodies.J @ bodies.J.T, 0.0
    else:
        W, error = _delassus(system, K, sparse.csc_matrix(H), n, p)
    right = np.concatenate([f, -b])
    x = system(right)
    error = max(error, _scaled_residual(K, x[:, None], right[:, None]))
    if error > _CONSISTENT and not deficient and n + p <= _DENSE:
        system, deficient = _least_squares(K), True
        W, error = _delassus(system, K, sparse.csc_matrix(H), n, p)
        x = system(right)
        error = max(error, _scaled_residual(K, x[:, None], right[:, None]))
    finite = bool(np.isfinite(W.data).all() and np.isfinite(x).all())
    q = H.T @ x[:n] + w if finite else np.zeros(m)
    W = W if finite else sparse.csr_matrix((m, m))
    local = FrictionProblem(W if W.nnz < 0.5 * m * m else W.toarray(), q, mu, dims)
    if bodies is not None:
        local = local._with_factor(bodies)
    return FrictionReduction(local, finite and error <= _CONSISTENT, deficient, source, system)


def _system(K: Any) -> tuple[Any, bool]:
    """Return a function that solves with K, and whether it does so in the least-squares sense."""
    from scipy.sparse.linalg import splu

    if K.shape[0] == 0:
        return np.copy, False
    try:
        return splu(K).solve, False
    except RuntimeError:
        if K.shape[0] > _DENSE:
            return lambda right: np.full_like(right, np.nan), True
        return _least_squares(K), True


def _least_squares(K: Any) -> Any:
    """Return a function that gives the minimum-norm least-squares solution x of K x = b, for b (m,) or (m, k).

    It uses the singular value decomposition of K with rows scaled to largest entries of one.
    """
    dense = K.toarray()
    row = np.abs(dense).max(axis=1, initial=0.0)
    row = np.where(row > 0.0, row, 1.0)
    U, sizes, Vt = np.linalg.svd(dense / row[:, None], full_matrices=False)
    rank = int(np.count_nonzero(sizes > 1e-11 * sizes[0]))
    # In factors, because an inverse would lose the digits of small right-hand sides.
    return lambda right: Vt[:rank].T @ (((U[:, :rank].T @ (right.T / row).T).T / sizes[:rank]).T)


def _delassus(system: Any, K: Any, H: Any, n: int, p: int) -> tuple[Any, float]:
    """Return H' K^-1 H, with columns in chunks, and the scaled residual of the solves."""
    from scipy import sparse

    m = int(H.shape[1])
    width = max(1, _CHUNK // max(1, n + p))
    columns, error = [], 0.0
    for first in range(0, m, width):
        right = np.vstack([H[:, first : first + width].toarray(), np.zeros((p, min(width, m - first)))])
        x = system(right)
        error = max(error, _scaled_residual(K, x, right))
        columns.append(sparse.csc_matrix(H.T @ x[:n]))
    return (sparse.hstack(columns).tocsr() if columns else sparse.csr_matrix((m, m))), error


def _scaled_residual(K: Any, x: Vector, right: Vector) -> float:
    """Return the largest |K x - right| of a column over its largest |K| |x| + |right|; infinite if not finite."""
    if x.size == 0:
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        gap = np.abs(K @ x - right).max(axis=0)
        unit = (abs(K) @ np.abs(x) + np.abs(right)).max(axis=0)
        share = np.divide(gap, unit, out=np.zeros_like(gap), where=unit > 0.0)
    return float(share.max()) if np.isfinite(share).all() else np.inf


def factor_from_masses(M: Any, H: Any, f: Vector, w: Vector) -> DelassusFactor | None:
    """Return J = H' L^-T with M = L L', factored tree by tree, and v_free = L^-1 f; trees are ordered by size.

    Return None if there are no velocities, if a tree has more than `_DENSE` of them, or if M is not symmetric and
    positive definite.
    """
    from scipy import sparse

    M = sparse.csr_matrix(M)
    if M.shape[0] == 0 or abs(M - M.T).max() > _SYMMETRIC * abs(M).max():
        return None
    M.eliminate_zeros()
    tree = _trees(M)
    sizes = np.bincount(tree)
    if sizes.max() > _DENSE:
        return None
    # Trees of equal size are adjacent, so that they are factorised together.
    order = np.lexsort((tree, sizes[tree]))
    M = M[order][:, order]
    inverses, first = [], 0
    for size, count in zip(*np.unique(sizes, return_counts=True), strict=True):
        last = first + size * count
        blocks = M[first:last, first:last].tobsr((size, size)).data
        if len(blocks) < count:
            return None
        try:
            L = np.linalg.cholesky(blocks)
        except np.linalg.LinAlgError:
            return None
        pivots, diagonal = np.einsum("kii->ki", L) ** 2, np.einsum("kii->ki", blocks)
        if not (pivots > _PIVOT * diagonal).all():
            return None
        inverses.append(sparse.bsr_matrix((np.linalg.inv(L), np.arange(count), np.arange(count + 1))))
        first = last
    inverse = sparse.block_diag(inverses, format="csr")
    inverse.eliminate_zeros()
    J = sparse.csr_matrix((inverse @ sparse.csr_matrix(H)[order]).T)
    starts = np.concatenate(([0], np.cumsum(np.sort(sizes))))
    return DelassusFactor(J, inverse @ f[order], w, starts)


def _trees(M: Any) -> IntArray:
    """Return the tree of each velocity: six or three in a row (bodies) if M allows it, else the ones coupled by M."""
    from scipy.sparse.csgraph import connected_components

    n = M.shape[0]
    entries = M.tocoo()
    for size in _BODIES:
        if n % size == 0 and (entries.row // size == entries.col // size).all():
            return np.arange(n, dtype=np.int64) // size
    return np.asarray(connected_components(M, directed=False)[1], dtype=np.int64)
