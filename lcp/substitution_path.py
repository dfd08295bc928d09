"""Solutions of a permuted triangular problem as its right-hand side moves along a line, by substitution.

Every unknown depends on those before it alone. Where all diagonal entries of pairs are positive, M is a P-matrix and
z_i(t) = max(0, -load_i(t) / m_ii), load_i being piecewise linear where z_1 ... z_{i-1} are: breakpoints are where its
sign changes. No basis is factored, whose condition grows exponentially with n (R. W. Cottle, J.-S. Pang, R. E. Stone,
The Linear Complementarity Problem, 1992, section 3.11).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector


class SubstitutionPath(NamedTuple):
    """Breakpoints (k,), the solutions there (k, size), and the pairs that are positive between them."""

    t: Vector
    z: NDArray[np.float64]
    bases: list[tuple[int, ...]]


def substitution_path(
    K: NDArray[np.float64], k: Vector, change: Vector, m: int, to: float, most: int
) -> SubstitutionPath | None:
    """The path from t = 0 to ``to``; None for a K that is not triangular or no P-matrix, and beyond ``most`` points."""
    order = _chain(K)
    pair = None if order is None else order >= m
    if order is None or pair is None or not np.where(pair, np.diag(K)[order] > 0.0, np.diag(K)[order] != 0.0).all():
        return None
    L, k, change = K[np.ix_(order, order)], k[order], change[order]
    t = np.array([0.0, to])
    z = np.zeros((order.shape[0], 2))
    for i in range(order.shape[0]):
        x = -(k[i] + t * change[i] + L[i, :i] @ z[:i]) / L[i, i]
        before, after = x[:-1], x[1:]
        turns = np.flatnonzero(np.sign(before) * np.sign(after) < 0.0) if pair[i] else np.zeros(0, dtype=np.intp)
        if turns.size:
            new = t[turns] + (t[turns + 1] - t[turns]) * (before[turns] / (before[turns] - after[turns]))
            t = np.insert(t, turns + 1, new)
            if t.shape[0] > most:
                return None
            z = np.zeros((order.shape[0], t.shape[0]))
            _substitute(L, k, change, pair, t, z, i + 1)
        else:
            z[i] = np.maximum(x, 0.0) if pair[i] else x
    between = np.zeros((order.shape[0], t.shape[0] - 1))
    _substitute(L, k, change, pair, 0.5 * (t[:-1] + t[1:]), between, order.shape[0])
    place = np.argsort(order)
    positive = between[place][m:] > 0.0
    return SubstitutionPath(t, z[place].T.copy(), [tuple(np.flatnonzero(one).tolist()) for one in positive.T])


def _chain(K: NDArray[np.float64]) -> NDArray[np.intp] | None:
    """Unknowns in an order in which each depends on those before it alone; None where there is none."""
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    count, labels = connected_components(sparse.csr_array(K != 0.0), directed=True, connection="strong")
    return np.argsort(labels) if count == K.shape[0] else None


def _substitute(
    L: NDArray[np.float64],
    k: Vector,
    change: Vector,
    pair: NDArray[np.bool_],
    t: Vector,
    z: NDArray[np.float64],
    count: int,
) -> None:
    """The first ``count`` unknowns at every t."""
    for i in range(count):
        x = -(k[i] + t * change[i] + L[i, :i] @ z[:i]) / L[i, i]
        z[i] = np.maximum(x, 0.0) if pair[i] else x
