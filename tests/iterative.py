"""Problems for the iterative solvers, with answers known from elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

import lcp
from lcp.solvers.apgd import APGD
from lcp.solvers.nonsmooth_nonlinear_cg import NonsmoothNonlinearCG
from lcp.solvers.projected_gauss_seidel import ProjectedGaussSeidel

SOLVERS = (ProjectedGaussSeidel, APGD, NonsmoothNonlinearCG)
SWEEPING = (ProjectedGaussSeidel, NonsmoothNonlinearCG)


def definite(seed: int, n: int = 12) -> lcp.LCP:
    """Symmetric positive definite."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n))
    return lcp.LCP(A @ A.T + 0.1 * np.eye(n), rng.standard_normal(n))


def semidefinite(seed: int, n: int = 12) -> lcp.LCP:
    """Symmetric of rank n/2, feasible by construction."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n // 2))
    z = np.maximum(rng.standard_normal(n), 0.0)
    return lcp.LCP(A @ A.T, np.maximum(rng.standard_normal(n), 0.0) * (z == 0.0) - A @ (A.T @ z))


def dominant(seed: int, n: int = 12) -> lcp.LCP:
    """Not symmetric, an H-matrix with positive diagonal: strictly dominant by rows after a scaling of its columns."""
    rng = np.random.default_rng(seed)
    M = rng.uniform(-1.0, 1.0, (n, n))
    np.fill_diagonal(M, np.abs(M).sum(axis=1) - np.abs(np.diag(M)) + 0.1)
    return lcp.LCP(M * 10.0 ** rng.uniform(-1.0, 1.0, n), rng.standard_normal(n))


def duplicated(seed: int) -> lcp.LCP:
    """Eight frictionless contacts on six coordinates of masses 0.1 to 100, each written twice."""
    rng = np.random.default_rng(seed)
    N = np.vstack([rng.standard_normal((4, 6))] * 2)
    return lcp.LCP(N @ (N / 10.0 ** rng.uniform(-1, 2, 6)).T, N @ rng.standard_normal(6))


def boxed(seed: int, n: int = 9) -> lcp.BoxLCP:
    """Definite, with bounds of every kind: two-sided, one-sided, none, and given values."""
    rng = np.random.default_rng(seed)
    M = definite(seed, n).M
    lo, hi = np.full(n, -0.1), np.full(n, 0.2)
    lo[0], hi[0] = -np.inf, np.inf
    lo[1] = -np.inf
    hi[2] = np.inf
    lo[3] = hi[3] = 0.7
    return lcp.BoxLCP(M, rng.standard_normal(n), lo, hi)


def membrane(m: int) -> lcp.LCP:
    """A membrane on m x m nodes, lifted in the middle and pressed onto a table elsewhere: five-point Laplacian."""
    line = sparse.diags_array([-np.ones(m - 1), 2.0 * np.ones(m), -np.ones(m - 1)], offsets=[-1, 0, 1])
    M = (sparse.kron(line, sparse.eye_array(m)) + sparse.kron(sparse.eye_array(m), line)).tocsr() * (m + 1.0) ** 2
    x, y = np.meshgrid(*[np.arange(1, m + 1) / (m + 1.0)] * 2)
    return lcp.LCP(M, np.where((x - 0.5) ** 2 + (y - 0.5) ** 2 < 0.0625, -1.0, 1.0).ravel())


CLASSES: dict[str, Callable[[int], lcp.LCP]] = {
    "definite": definite,
    "semidefinite": semidefinite,
    "dominant": dominant,
    "duplicated": duplicated,
}
