"""Problems of known classes for Newton's methods."""

from __future__ import annotations

import numpy as np

import lcp


def random_problem(seed: int, n: int) -> lcp.LCP:
    """P-matrices of four kinds: definite, not symmetric, dominant, triangular; integer data with ties."""
    rng = np.random.default_rng(seed)
    A = rng.integers(-2, 3, (n, n)).astype(float)
    if seed % 4 == 0:
        M = A @ A.T + np.eye(n)
    elif seed % 4 == 1:
        M = A @ A.T + 0.1 * np.eye(n) + A - A.T
    elif seed % 4 == 2:
        M = A - np.diag(np.diag(A))
        np.fill_diagonal(M, np.abs(M).sum(axis=1) + 0.1)
    else:
        M = np.tril(A, -1) * 2.0 ** rng.integers(0, 6) + np.eye(n)
    return lcp.LCP(M, rng.integers(-3, 4, n))


def random_box(seed: int) -> lcp.BoxLCP:
    """Bounds of every kind, some unknowns given, over `random_problem`."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    lo = np.where(rng.random(n) < 0.3, -np.inf, rng.integers(-2, 3, n))
    hi = np.where(rng.random(n) < 0.3, np.inf, np.where(np.isfinite(lo), lo, 0) + rng.integers(0, 3, n))
    plain = random_problem(seed, n)
    return lcp.BoxLCP(plain.M, plain.q, lo, hi)
