"""Nonsmooth nonlinear conjugate gradients: the published iteration and the safeguards added to it."""

import numpy as np
import pytest
from lcp_problems import definite, dominant, duplicated, membrane, semidefinite
from numpy.typing import NDArray
from scipy import sparse

import lcp
from lcp import NonsmoothNonlinearCG, ProjectedGaussSeidel

Vector = NDArray[np.float64]


def sweep(problem: lcp.LCP, z: Vector) -> Vector:
    """One plain forward sweep."""
    z = z.copy()
    for i in range(problem.n):
        z[i] = max(0.0, z[i] - (problem.q[i] + problem.M[i] @ z) / problem.M[i, i])
    return z


def published(problem: lcp.LCP, iterations: int) -> Vector:
    """Return the swept point after these iterations of the published rule, lengths in the diagonal's metric."""
    diagonal = np.diag(problem.M)
    y, p, before = np.zeros(problem.n), np.zeros(problem.n), 0.0
    for _ in range(iterations):
        z = sweep(problem, y)
        r = z - y
        length = float(diagonal @ r**2)
        beta = length / before if before > 0.0 else 0.0
        if beta > 1.0:
            beta = 0.0
        y, p, before = z + beta * p, r + beta * p, length
    return z


@pytest.mark.nojit
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_the_first_iterations_are_the_published_ones(stored: type) -> None:
    """Up to thirty, before any safeguard can step in; within a portion and across portions."""
    for make in (definite, semidefinite, duplicated, dominant):
        problem = make(4)
        for count in (1, 2, 3, 10, 30):
            for interval in (1, count):
                options = NonsmoothNonlinearCG(sweep="forward", max_iterations=count, check_interval=interval)
                claim = options.solve(lcp.LCP(stored(problem.M), problem.q), tolerance=1e-15)
                if f"best iterate: {count} of {count}" in claim.detail:
                    np.testing.assert_allclose(claim.z, published(problem, count), rtol=1e-7, atol=1e-9)


def test_it_needs_fewer_sweeps_than_gauss_seidel() -> None:
    """On membranes, each iteration counted as the two sweeps it makes, less than a third of those at omega = 1."""
    for m in (30, 60):
        problem = membrane(m)
        plain = lcp.solve(problem, ProjectedGaussSeidel(relaxation=1.0))
        result = lcp.solve(problem, NonsmoothNonlinearCG())
        result.raise_for_status()
        assert 2 * result.iterations < plain.iterations / 3


def test_plain_sweeps_take_over_where_directions_lead_nowhere() -> None:
    """A matrix without symmetry on which neither converges: sweeps are plain from some iteration on, and it says so."""
    rng = np.random.default_rng(2)
    M = rng.standard_normal((8, 8))
    np.fill_diagonal(M, 1.0)
    problem = lcp.LCP(M, -np.ones(8))
    result = lcp.solve(problem, NonsmoothNonlinearCG(max_iterations=3000))
    if not result.solved:
        assert "plain sweeps" in result.attempts[0].detail or result.status is lcp.Status.NOT_FINITE
    assert np.isfinite(result.z).all()


@pytest.mark.parametrize("order", ["forward", "symmetric"])
def test_hard_semidefinite_problems(order: str) -> None:
    """Rank 20 in 40 unknowns, where directions alone wander: solved, the safeguards included, at 1e-6."""
    for seed in range(8):
        result = lcp.solve(semidefinite(seed, 40), NonsmoothNonlinearCG(sweep=order), tolerance=1e-6)
        result.raise_for_status()
