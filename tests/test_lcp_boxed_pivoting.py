"""Principal pivoting with bounds on both sides, beside the conversion to a mixed problem."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pivoting import BOXED, assert_solves, definite, name_of, natural, p_matrix, semidefinite

import lcp
from lcp import Traits
from lcp.solvers.active_set_pivoting import ActiveSetPivoting
from lcp.solvers.block_principal_pivoting import BlockPrincipalPivoting
from lcp.solvers.cottle_dantzig import CottleDantzig

each = pytest.mark.parametrize("solver", BOXED, ids=name_of)


def bounds(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Whole bounds around zero, three in ten infinite, some equal."""
    lo = np.where(rng.random(n) < 0.3, -np.inf, rng.integers(-3, 1, n).astype(float))
    return lo, np.where(rng.random(n) < 0.3, np.inf, rng.integers(0, 4, n).astype(float))


@each
def test_the_trait_says_boxed(solver: Any) -> None:
    """So that the problem reaches the method as it is."""
    assert solver.traits & Traits.BOXED
    assert not ActiveSetPivoting.traits & Traits.BOXED


@each
def test_one_unknown_meets_each_of_its_bounds(solver: Any) -> None:
    """2 z + q on [-1, 3]: below, between, above; given, free, and open on either side."""
    for q, lo, hi, z in (
        (8.0, -1.0, 3.0, -1.0),
        (-2.0, -1.0, 3.0, 1.0),
        (-9.0, -1.0, 3.0, 3.0),
        (5.0, 2.0, 2.0, 2.0),
        (-3.0, -np.inf, np.inf, 1.5),
        (-3.0, -np.inf, 1.0, 1.0),
        (3.0, -1.0, np.inf, -1.0),
        (-6.0, 3.0, 3.0, 3.0),
    ):
        result = lcp.solve(lcp.BoxLCP([[2.0]], [q], lo, hi), solver)
        assert result.solved
        assert result.z[0] == pytest.approx(z)


@each
@pytest.mark.parametrize("seed", range(60))
def test_p_matrices_agree_with_the_conversion(solver: Any, seed: int) -> None:
    """The unique solution is that which Lemke's method finds of the converted problem."""
    rng = np.random.default_rng(seed)
    n = 1 + seed % 7
    M = p_matrix(rng, n) if seed % 2 else definite(rng, n)
    problem = lcp.BoxLCP(M, rng.integers(-9, 10, n).astype(float), *bounds(rng, n))
    result = lcp.solve(problem, solver)
    assert_solves(problem, result)
    assert (problem.lo <= result.z).all()
    assert (result.z <= problem.hi).all()
    reference = lcp.solve(problem, lcp.Lemke())
    assert reference.solved
    assert np.allclose(result.z, reference.z, atol=1e-8)


@pytest.mark.parametrize("seed", range(40))
def test_cottle_dantzig_on_monotone_boxes(seed: int) -> None:
    """Rank-deficient and skew parts, bounded on both sides, so that there is a solution."""
    rng = np.random.default_rng(seed)
    n = 2 + seed % 6
    K = rng.integers(-2, 3, (n, n)).astype(float)
    M = semidefinite(rng, n)[0] + (seed % 2) * (K - K.T)
    lo = rng.integers(-3, 1, n).astype(float)
    problem = lcp.BoxLCP(M, rng.integers(-5, 6, n).astype(float), lo, lo + rng.integers(0, 5, n))
    assert_solves(problem, lcp.solve(problem, CottleDantzig()))


def test_a_ray_past_a_violated_pair_is_none() -> None:
    """z_2 falls for ever while pair 1 gets worse: only the limit on violated pairs leads on (found at random)."""
    problem = lcp.BoxLCP([[4.0, 1.0], [-1.0, 0.0]], [3.0, 3.0], [-2.0, -np.inf], [np.inf, 1.0])
    result = lcp.solve(problem, CottleDantzig())
    assert_solves(problem, result)
    assert np.allclose(result.z, [3.0, -15.0])


@each
def test_without_bounds_it_is_a_linear_system(solver: Any) -> None:
    """M z + q = 0."""
    rng = np.random.default_rng(3)
    M, q = p_matrix(rng, 6), rng.standard_normal(6)
    result = lcp.solve(lcp.BoxLCP(M, q, -np.inf, np.inf), solver)
    assert result.solved
    assert np.allclose(result.z, np.linalg.solve(M, -q))


@each
def test_bounds_that_hold_every_unknown(solver: Any) -> None:
    """lo = hi everywhere: nothing is left to solve, whatever M is."""
    result = lcp.solve(lcp.BoxLCP(np.zeros((3, 3)), [1.0, -1.0, 0.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]), solver)
    assert result.solved
    assert np.array_equal(result.z, [1.0, 2.0, 3.0])


@each
@settings(max_examples=60)
@given(seed=st.integers(0, 100_000), start=st.booleans(), decades=st.integers(-6, 6))
def test_any_box_from_any_start(solver: Any, seed: int, start: bool, decades: int) -> None:
    """Verified, inside its bounds, and the same from everywhere."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    M, q = p_matrix(rng, n), rng.integers(-9, 10, n).astype(float)
    problem = lcp.BoxLCP(M * 10.0**decades, q * 10.0**decades, *bounds(rng, n))
    z0 = np.clip(rng.standard_normal(n) * 3.0, problem.lo, problem.hi) if start else None
    result = lcp.solve(problem, solver, z0=z0)
    assert result.solved
    assert natural(lcp.BoxLCP(M, q, problem.lo, problem.hi), result.z) <= 1e-7


@each
def test_the_lcp_is_the_box_without_upper_bounds(solver: Any) -> None:
    """[0, inf) gives the same z as the plain problem."""
    rng = np.random.default_rng(5)
    M, q = p_matrix(rng, 8), rng.integers(-5, 4, 8).astype(float)
    boxed, plain = lcp.solve(lcp.BoxLCP(M, q, 0.0, np.inf), solver), lcp.solve(lcp.LCP(M, q), solver)
    assert np.allclose(boxed.z, plain.z, atol=1e-12)


def test_a_large_string_on_an_obstacle_stays_sparse() -> None:
    """Tridiagonal, n = 20 000, the contact zone a third of the string wide; its edges are at sqrt(2 * 0.05)."""
    sparse = pytest.importorskip("scipy.sparse")
    n = 20_000
    h = 1.0 / (n + 1)
    M = sparse.diags([-np.ones(n - 1), 2.0 * np.ones(n), -np.ones(n - 1)], [-1, 0, 1], format="csr") / h**2
    q = np.ones(n)
    q[0] -= 0.05 / h**2
    q[-1] -= 0.05 / h**2
    result = lcp.solve(lcp.LCP(M, q), BlockPrincipalPivoting())
    assert result.solved
    assert result.iterations < 80
    assert np.flatnonzero(result.z == 0.0)[0] * h == pytest.approx(np.sqrt(0.1), abs=3 * h)


def test_sparse_and_dense_boxes_agree() -> None:
    """The block method on the same problem stored either way."""
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(8)
    n = 60
    M = np.where(rng.random((n, n)) < 0.1, rng.standard_normal((n, n)), 0.0)
    np.fill_diagonal(M, np.abs(M).sum(axis=1) + 0.5)
    q, (lo, hi) = 3.0 * rng.standard_normal(n), bounds(rng, n)
    thin = lcp.solve(lcp.BoxLCP(sparse.csr_matrix(M), q, lo, hi), BlockPrincipalPivoting())
    thick = lcp.solve(lcp.BoxLCP(M, q, lo, hi), BlockPrincipalPivoting())
    assert thin.solved
    assert thick.solved
    assert np.allclose(thin.z, thick.z, atol=1e-11)
