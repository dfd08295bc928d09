"""Random problems of known classes for the principal pivoting methods, and how to look at their answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import lcp
from lcp.solvers.active_set_pivoting import ActiveSetPivoting
from lcp.solvers.block_principal_pivoting import BlockPrincipalPivoting
from lcp.solvers.cottle_dantzig import CottleDantzig
from lcp.solvers.murty import Murty

SOLVERS: tuple[Any, ...] = (ActiveSetPivoting(), CottleDantzig(), BlockPrincipalPivoting(), Murty())
BOXED: tuple[Any, ...] = (CottleDantzig(), BlockPrincipalPivoting(), Murty())
SEMIDEFINITE: tuple[Any, ...] = (ActiveSetPivoting(), CottleDantzig())


def name_of(value: object) -> str | None:
    """A solver's name, for the names of tests."""
    return type(value).__name__ if hasattr(value, "traits") else None


def p_matrix(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """A P matrix: row-wise diagonally dominant with positive diagonal, of any sign elsewhere."""
    M = rng.integers(-3, 4, (n, n)).astype(float)
    np.fill_diagonal(M, np.abs(M).sum(axis=1) - np.abs(np.diag(M)) + 0.5)
    return M


def definite(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """A symmetric positive definite matrix."""
    A = rng.standard_normal((n, n))
    return A @ A.T + 0.1 * np.eye(n)


def semidefinite(rng: np.random.Generator, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A symmetric matrix of rank n / 2 with a repeated row, and a q with which there is a solution."""
    A = rng.integers(-2, 3, (n, max(1, n // 2))).astype(float)
    A[-1] = A[0]
    z = np.maximum(rng.integers(-2, 3, n), 0).astype(float)
    return A @ A.T, np.maximum(rng.integers(-1, 3, n), 0) * (z == 0.0) - A @ (A.T @ z)


def natural(problem: lcp.LCP | lcp.BoxLCP, z: NDArray[np.float64]) -> float:
    """max |z - mid(lo, hi, z - w)|, written down independently of the package."""
    w = problem.M @ z + problem.q
    lo = getattr(problem, "lo", np.zeros(problem.n))
    hi = getattr(problem, "hi", np.full(problem.n, np.inf))
    return float(np.abs(z - np.clip(z - w, lo, hi)).max(initial=0.0))


def assert_solves(problem: lcp.LCP | lcp.BoxLCP, result: lcp.Result) -> None:
    """The result claims to be a solution, and is one."""
    assert result.solved, (result, result.attempts)
    assert natural(problem, result.z) <= 1e-8 * max(1.0, float(np.abs(problem.q).max(initial=0.0)))
