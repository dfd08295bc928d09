"""Random solvable problems of each class that a solver's traits may name, degenerate ones among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from lcp.box import BoxLCP
from lcp.problem import LCP
from lcp.traits import Traits

Matrix = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Matrix]


def _definite(rng: np.random.Generator, n: int) -> Matrix:
    A = rng.standard_normal((n, n))
    return A @ A.T + 0.1 * np.eye(n)


def _semidefinite(rng: np.random.Generator, n: int) -> Matrix:
    A = rng.standard_normal((n, max(1, n // 2)))
    return A @ A.T


def _skew(rng: np.random.Generator, n: int) -> Matrix:
    K = rng.standard_normal((n, n))
    return K - K.T


def _dominant(rng: np.random.Generator, n: int) -> Matrix:
    M = rng.uniform(-1.0, 1.0, (n, n))
    np.fill_diagonal(M, np.abs(M).sum(axis=1) + 0.1)
    return M


def _triangular(rng: np.random.Generator, n: int) -> Matrix:
    return np.tril(rng.uniform(-1.0, 1.0, (n, n)), -1) + np.diag(rng.uniform(0.5, 2.0, n))


#: Class by class, how a matrix of it is drawn; `_WHOLE`, below, draws problems of the other classes.
CLASSES: dict[Traits, Draw] = {
    Traits.SYMMETRIC_POSITIVE_DEFINITE: _definite,
    Traits.SYMMETRIC_POSITIVE_SEMIDEFINITE: _semidefinite,
    Traits.POSITIVE_DEFINITE: lambda rng, n: _definite(rng, n) + _skew(rng, n),
    Traits.POSITIVE_SEMIDEFINITE: lambda rng, n: _semidefinite(rng, n) + _skew(rng, n),
    Traits.H_PLUS: _dominant,
    Traits.P_MATRIX: _triangular,
}


def random_problems(trait: Traits, count: int, seed: int) -> Iterator[LCP | BoxLCP]:
    """So many problems of a class; each has a solution, some a degenerate one."""
    assert trait.name is not None
    rng = np.random.default_rng([seed, len(trait.name), trait.value])
    for _ in range(count):
        if trait in _WHOLE:
            yield _WHOLE[trait](rng)
            continue
        n = int(rng.integers(1, 9))
        M = CLASSES[trait](rng, n)
        # A solution of its own making; where both z_i and w_i are zero it is degenerate.
        z = rng.integers(0, 2, n) * rng.random(n)
        w = rng.integers(0, 2, n) * (z == 0.0) * rng.random(n)
        yield LCP(M, w - M @ z)


def _contact(rng: np.random.Generator) -> LCP:
    """A body on one to three contacts, four friction edges each: fN, fF, lambda (Anitescu and Potra 1997)."""
    nc = int(rng.integers(1, 4))
    normals = rng.standard_normal((nc, 6))
    first, second = rng.standard_normal((2, nc, 6))
    edges = np.stack([first, -first, second, -second], axis=1).reshape(4 * nc, 6)
    J = np.vstack([normals, edges])
    m = J.shape[0]
    M = np.zeros((m + nc, m + nc))
    M[:m, :m] = J @ J.T
    E = np.kron(np.eye(nc), np.ones((4, 1)))
    M[nc:m, m:], M[m:, nc:m] = E, -E.T
    M[m:, :nc] = rng.uniform(0.1, 1.0) * np.eye(nc)
    return LCP(M, np.concatenate([J @ rng.standard_normal(6), np.zeros(nc)]))


def _game(rng: np.random.Generator) -> LCP:
    """Two players with one to eight strategies each, every other time with many equal costs."""
    m, n = rng.integers(1, 9, 2).tolist()
    A, B = rng.integers(1, 4, (2, m, n)) if rng.random() < 0.5 else rng.uniform(0.1, 1.0, (2, m, n))
    M = np.zeros((m + n, m + n))
    M[:m, m:], M[m:, :m] = A, B.T
    return LCP(M, -np.ones(m + n))


def _box(rng: np.random.Generator) -> BoxLCP:
    """Any matrix within finite bounds, every other time of small integers."""
    n = int(rng.integers(1, 13))
    if rng.random() < 0.5:
        return BoxLCP(rng.integers(-2, 3, (n, n)), rng.integers(-3, 4, n), -1.0, rng.integers(-1, 3, n))
    return BoxLCP(rng.standard_normal((n, n)), 2.0 * rng.standard_normal(n), -rng.random(n), rng.random(n))


_WHOLE: dict[Traits, Callable[[np.random.Generator], LCP | BoxLCP]] = {
    Traits.COPOSITIVE: _contact,
    Traits.BIMATRIX_GAME: _game,
    Traits.FINITE_BOX: _box,
}
