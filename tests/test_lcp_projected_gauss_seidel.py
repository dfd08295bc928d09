"""Projected Gauss-Seidel: the textbook sweep, its orders, and the relaxation factor found on the way."""

from __future__ import annotations

import numpy as np
import pytest
from lcp_problems import definite, definite_box, dominant, duplicated, semidefinite
from numpy.typing import NDArray
from scipy import sparse

import lcp
from lcp.catalog import murty
from lcp.solvers.gauss_seidel import ProjectedGaussSeidel

Vector = NDArray[np.float64]


def swept(problem: lcp.BoxLCP | lcp.LCP, omega: float, sweeps: int, symmetric: bool) -> Vector:
    """Return z after this many sweeps from zero, by the textbook's formula, with bounds on both sides."""
    M, q, n = np.asarray(problem.M), problem.q, problem.n
    lo, hi = (problem.lo, problem.hi) if isinstance(problem, lcp.BoxLCP) else (np.zeros(n), np.full(n, np.inf))
    z = np.clip(np.zeros(n), lo, hi)
    for _ in range(sweeps):
        for i in [*range(n), *(reversed(range(n)) if symmetric else [])]:
            z[i] = min(max(z[i] - omega / M[i, i] * (q[i] + M[i] @ z), lo[i]), hi[i])
    return z


@pytest.mark.nojit
def test_one_sweep_by_hand() -> None:
    """Three unknowns, omega = 1/2, worked out on paper: (1/2, 3/8, 0)."""
    M = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 4.0]])
    # z_1 = 0 - 1/4 (-2) = 1/2; z_2 = 0 - 1/4 (-2 + 1/2) = 3/8; z_3 = max(0, 0 - 1/8 (1 + 3/8)) = 0
    options = ProjectedGaussSeidel(relaxation=0.5, max_iterations=1)
    for stored in (M, sparse.csr_array(M)):
        result = lcp.solve(lcp.LCP(stored, [-2.0, -2.0, 1.0]), options)
        np.testing.assert_array_equal(result.z, [0.5, 0.375, 0.0])
        assert result.status is lcp.Status.ITERATION_LIMIT


@pytest.mark.nojit
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("order", ["forward", "symmetric"])
@pytest.mark.parametrize("omega", [0.7, 1.0, 1.6])
def test_sweeps_are_those_of_the_textbook(stored: type, order: str, omega: float) -> None:
    """Forward, and forward and back, on symmetric and other matrices, with bounds of every kind."""
    for make in (definite, semidefinite, dominant, definite_box):
        problem = make(21)
        if isinstance(problem, lcp.BoxLCP):
            held = lcp.BoxLCP(stored(problem.M), problem.q, problem.lo, problem.hi)
        else:
            held = lcp.LCP(stored(problem.M), problem.q)
        for sweeps in (1, 2, 9):
            options = ProjectedGaussSeidel(omega, order, max_iterations=sweeps, check_interval=sweeps)
            claim = options.solve(held, tolerance=1e-15)
            if claim.iterations == sweeps and "best iterate: 0 of" not in claim.detail:
                np.testing.assert_allclose(claim.z, swept(problem, omega, sweeps, order == "symmetric"), atol=1e-11)


@pytest.mark.parametrize("omega", [0.2, 1.0, 1.8, 1.95])
def test_any_factor_below_two_converges_on_symmetric_matrices(omega: float) -> None:
    """Definite, semidefinite and duplicated rows."""
    for make in (definite, semidefinite, duplicated):
        for seed in range(5):
            lcp.solve(make(seed), ProjectedGaussSeidel(relaxation=omega), tolerance=1e-6).raise_for_status()


def test_a_triangular_matrix_takes_one_sweep() -> None:
    """Murty's exponential problem, on which pivoting visits 2^n bases, from n = 6 to 50."""
    for n in (6, 20, 50):
        result = lcp.solve(murty(n), ProjectedGaussSeidel())
        assert result.solved
        assert result.iterations == 1
