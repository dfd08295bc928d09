"""W of a friction problem as J J': the contacts' rows at bodies of six velocities each, in which the inertia is 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.friction.problem import FrictionProblem, Indices

if TYPE_CHECKING:
    from lcp.friction.global_problem import GlobalFrictionProblem
    from lcp.kernels.body_blocks import BlockFactors, BodySystem

# Unknowns up to which W itself is factorised where the bodies are not known.
_DENSE = 1500
# Largest asymmetry and negative eigenvalue that rounding may have made of W, and least eigenvalue that counts.
_ASYMMETRY = 1e-9
_ROUNDING = 1e-12


def body_system(problem: FrictionProblem) -> BodySystem | None:
    """The problem between bodies; None where W is not symmetric and positive semidefinite, or too large to tell."""
    found = _of_masses(problem._source) if problem._source is not None else None
    if found is None:
        found = _of_matrix(problem)
    return None if found is None else _laid_out(problem, *found)


def _of_masses(source: GlobalFrictionProblem) -> tuple[Any, Vector, Vector, Indices] | None:
    """J = H' L^-T (m, n), y_free = L^-1 f, w, and each velocity's body; M = L L' in blocks, bilateral rows none."""
    from scipy import sparse

    from lcp.kernels.body_blocks import SIZE

    M, H, f, w, _, _, _, b = source._parts
    M, H = sparse.csr_matrix(M), sparse.csr_matrix(H)
    if b.shape[0] or source.n == 0 or abs(M - M.T).max() > _ASYMMETRY * abs(M).max():
        return None
    M.eliminate_zeros()
    tree = _trees(M)
    order = np.argsort(tree, kind="stable")
    sizes = np.bincount(tree)
    y_free, entries, bodies = np.empty(f.shape), [], np.empty(f.shape[0], dtype=np.int64)
    begin = used = 0
    for size in sizes:
        own = order[begin : begin + size]
        try:
            L = np.linalg.cholesky(M[own][:, own].toarray())
        except np.linalg.LinAlgError:
            return None
        there = H[own]
        columns = np.unique(there.indices)
        part = sparse.coo_matrix(np.linalg.solve(L, there[:, columns].toarray()))
        entries.append((part.data, columns[part.col], own[part.row]))
        y_free[own] = np.linalg.solve(L, f[own])
        # A tree of more velocities takes several bodies.
        bodies[own] = used + np.arange(size) // SIZE
        begin, used = begin + size, used + -(-size // SIZE)
    data, row, column = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    return sparse.csr_matrix((data, (row, column)), shape=(source.m, source.n)), y_free, w, bodies


def _trees(M: Any) -> Indices:
    """Number of each velocity's tree: six or three in a row, as bodies are stated, where M allows, or what M joins."""
    from scipy.sparse.csgraph import connected_components

    from lcp.kernels.body_blocks import SIZE

    n = M.shape[0]
    entries = M.tocoo()
    for size in (SIZE, SIZE // 2):
        if n % size == 0 and (entries.row // size == entries.col // size).all():
            return np.arange(n, dtype=np.int64) // size
    return np.asarray(connected_components(M, directed=False)[1], dtype=np.int64)


def _of_matrix(problem: FrictionProblem) -> tuple[Any, Vector, Vector, Indices] | None:
    """J of W = J J' by its eigenvectors, y_free = 0, q, and a body of each six columns."""
    from scipy import sparse

    from lcp.kernels.body_blocks import SIZE

    if problem.m > _DENSE:
        return None
    W = problem._W if isinstance(problem._W, np.ndarray) else problem._W.toarray()
    try:
        values, vectors = np.linalg.eigh(0.5 * W + 0.5 * W.T)
    except np.linalg.LinAlgError:
        return None
    size = float(np.abs(values).max(initial=0.0))
    symmetric = np.abs(0.5 * W - 0.5 * W.T).max(initial=0.0) <= 0.5 * _ASYMMETRY * size
    if not (np.isfinite(size) and symmetric and values.min(initial=0.0) >= -_ASYMMETRY * size):
        return None
    kept = values > _ROUNDING * size
    J = sparse.csr_matrix(vectors[:, kept] * np.sqrt(values[kept]))
    return J, np.zeros(J.shape[1]), problem._q, np.arange(J.shape[1], dtype=np.int64) // SIZE


def _laid_out(problem: FrictionProblem, J: Any, y_free: Vector, bias: Vector, bodies: Indices) -> BodySystem:
    from scipy import sparse

    from lcp.kernels.body_blocks import SIZE, BodySystem

    nc, nb = problem.nc, int(bodies.max(initial=-1)) + 1
    slot = np.zeros(bodies.size, dtype=np.int64)
    order = np.argsort(bodies, kind="stable")
    slot[order] = np.arange(bodies.size) - np.searchsorted(bodies[order], bodies[order])
    contact = np.repeat(np.arange(nc, dtype=np.int64), problem._dims)
    component = np.arange(problem.m, dtype=np.int64) - (np.cumsum(problem._dims) - problem._dims)[contact]
    entries = J.tocoo()
    touched = sparse.csr_matrix((np.ones(entries.nnz), (contact[entries.row], bodies[entries.col])), shape=(nc, nb))
    place, fill, later = _elimination(touched)
    key, at = np.unique(contact[entries.row] * max(nb, 1) + place[bodies[entries.col]], return_inverse=True)
    rows = np.zeros((key.size, 3, SIZE))
    rows[at, component[entries.row], slot[entries.col]] = entries.data
    starts = np.searchsorted(key, np.arange(nc + 1, dtype=np.int64) * max(nb, 1)).astype(np.int64)
    free = np.zeros((nb, SIZE))
    free[place[bodies], slot] = y_free
    squares = np.zeros((nc, 3))
    np.add.at(squares, (contact[entries.row], component[entries.row]), entries.data**2)
    weight = squares.max(axis=1, initial=0.0)
    weight[weight == 0.0] = 1.0
    return BodySystem(
        starts=starts,
        bodies=(key % max(nb, 1)).astype(np.int64),
        rows=rows,
        fill=fill,
        later=later,
        mu=problem._mu,
        weight=weight,
        bias=np.ascontiguousarray(problem.contacts(bias)),
        y_free=free,
    )


def _elimination(touched: Any) -> tuple[Indices, Indices, Indices]:
    """Place of each body in an order of little fill (minimum degree), and what elimination fills; see `body_blocks`."""
    from scipy import sparse
    from scipy.sparse.linalg import splu

    nb = touched.shape[1]
    if nb == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64)
    # Of a matrix with negative entries beside a dominant diagonal nothing cancels: the factor shows the fill.
    pattern = touched.T @ touched
    pattern.data[:] = -1.0
    pattern.setdiag(2.0 + np.asarray(abs(pattern).sum(axis=1)).ravel())
    order = splu(pattern.tocsc(), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}).perm_c.astype(np.int64)
    back = np.argsort(order)
    permuted = pattern.tocsr()[back][:, back].tocsc()
    lu = splu(permuted, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    lower = sparse.tril(lu.L, k=-1, format="csc")
    lower.sort_indices()
    return order, lower.indptr.astype(np.int64), lower.indices.astype(np.int64)


def resting(system: BodySystem, u: Vector, p: Vector) -> NDArray[np.bool_]:
    """Which contacts (nc,) are between bodies that impulses p (nc, 3) join, but would not move without any: u is zero.

    Impulses there are dust that an interior point has left, nothing beside the rest of the problem and everything among
    these; without them the contacts rest.
    """
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    nc, nb = u.shape[0], system.y_free.shape[0]
    acting, moves = (p != 0.0).any(axis=1), (u != 0.0).any(axis=1)
    contact = np.repeat(np.arange(nc), np.diff(system.starts))
    kept = acting[contact]
    joined = sparse.coo_matrix((kept[kept], (contact[kept], nc + system.bodies[kept])), shape=(nc + nb, nc + nb))
    part = connected_components(joined, directed=False)[1][:nc]
    still: NDArray[np.bool_] = ~np.isin(part, part[acting & moves])
    return still


def factors_of(system: BodySystem) -> BlockFactors:
    """Memory for K."""
    from lcp.kernels.body_blocks import SIZE, BlockFactors

    shape = (SIZE, SIZE)
    nb, nf = system.y_free.shape[0], system.later.shape[0]
    return BlockFactors(np.zeros((nb, *shape)), np.zeros((nf, *shape)), np.zeros((nf, *shape)), np.zeros((18, SIZE)))
