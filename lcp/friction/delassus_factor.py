"""Factor J of W = J J' for a friction problem: rows of the contacts over trees of velocities with unit inertia."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lcp.arrays import Vector

if TYPE_CHECKING:
    from lcp.friction.global_problem import GlobalFrictionProblem
    from lcp.friction.problem import FrictionProblem, IntArray

# Velocities of a free body in space, and in the plane.
_BODIES = (6, 3)
# Unknowns of a tree, or of contacts coupled by W, up to which they are factorised.
_DENSE = 3000
# Fraction of the largest entry below which a pivot of W is rounding, and up to which W can differ from J J'.
_ROUNDING = 1e-13
_REST = 1e-9
# For a mass matrix: asymmetry that is rounding, and fraction of its diagonal below which a pivot is rounding.
_SYMMETRIC = 1e-13
_PIVOT = 1e-13


@dataclass(frozen=True, eq=False)
class DelassusFactor:
    """u = J (v_free + J' r) + bias, with velocities grouped by tree."""

    J: Any  # (m, n) sparse, by rows
    v_free: Vector  # (n,)
    bias: Vector  # (m,)
    starts: IntArray  # (nt + 1,) first velocity of each tree


def factor_from_masses(source: GlobalFrictionProblem) -> DelassusFactor | None:
    """Return J = H' L^-T with M = L L', factored tree by tree, and v_free = L^-1 f; trees are ordered by size.

    Return None if there are bilateral rows or no velocities, if a tree has more than `_DENSE` velocities, or if M is
    not symmetric and positive definite.
    """
    from scipy import sparse

    M, H, f, w, _, _, _, b = source._parts
    M = sparse.csr_matrix(M)
    if b.shape[0] or source.n == 0 or abs(M - M.T).max() > _SYMMETRIC * abs(M).max():
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


def factor_from_delassus(problem: FrictionProblem) -> DelassusFactor | None:
    """Return J of W = J J' by its triangular factors, with v_free = 0; rows coupled by W are a tree.

    Return None if W is not symmetric and positive semidefinite, or couples too many rows.
    """
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    W = sparse.csr_matrix(problem._W)
    W.eliminate_zeros()
    nc, m = problem.nc, problem.m
    contact = np.repeat(np.arange(nc, dtype=np.int64), problem._dims)
    entries = W.tocoo()
    joined = sparse.coo_matrix((np.ones(entries.nnz), (contact[entries.row], contact[entries.col])), shape=(nc, nc))
    part = connected_components(joined, directed=False)[1][contact]
    order = np.argsort(part, kind="stable")
    parts, starts = [], [0]
    for own in np.split(order, np.flatnonzero(np.diff(part[order])) + 1):
        root = _square_root(W[own][:, own].toarray()) if own.size <= _DENSE else None
        if root is None:
            return None
        if root.shape[1] > 0:
            columns = starts[-1] + np.arange(root.shape[1])
            parts.append((root.ravel(), np.repeat(own, columns.size), np.tile(columns, own.size)))
            starts.append(starts[-1] + columns.size)
    if not parts:
        return None
    value, row, column = (np.concatenate(each) for each in zip(*parts, strict=True))
    J = sparse.csr_matrix((value, (row, column)), shape=(m, starts[-1]))
    return DelassusFactor(J, np.zeros(starts[-1]), problem._q, np.array(starts, dtype=np.int64))


def _square_root(W: Vector) -> Vector | None:
    """Return J of W = J J' with rank(W) columns, by Cholesky's method with pivoting, or None if W has none."""
    from scipy.linalg.lapack import dpstrf

    size = float(np.abs(W).max(initial=0.0))
    if not np.isfinite(size):
        return None
    half = 0.5 * W + 0.5 * W.T
    factor, pivots, rank, _ = dpstrf(half, tol=_ROUNDING * size, lower=1)
    J = np.empty((W.shape[0], rank))
    J[pivots - 1] = np.tril(factor)[:, :rank]
    # Remainder of a W that is not symmetric, or has a negative eigenvalue.
    return J if np.abs(J @ J.T - W).max(initial=0.0) <= _REST * size else None
