"""Principal pivoting: the factors of a growing and shrinking block, monotone problems, orders, failures."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lcp_problems import assert_solves, natural, random_box, repeated
from refusals import assert_messages

import lcp
from lcp import ActiveSetPivoting, BlockPrincipalPivoting, CottleDantzig, Murty, Status
from lcp.catalog import murty


@pytest.mark.parametrize("seed", range(20))
def test_large_semidefinite_problems_need_removals_and_redundant_indices(seed: int) -> None:
    """Rank n / 3, n up to 80, every row twice: solved, with the w of Lemke's method, which is unique."""
    rng = np.random.default_rng(seed)
    n = 20 + 3 * seed
    A = rng.standard_normal((n, n // 3 + 1))
    A = np.vstack([A, A])
    z = np.maximum(rng.standard_normal(2 * n), 0.0)
    q = np.maximum(rng.standard_normal(2 * n), 0.0) * (z == 0.0) - A @ (A.T @ z)
    problem = lcp.LCP(A @ A.T, q)
    result = lcp.solve(problem, ActiveSetPivoting())
    assert_solves(problem, result)
    assert np.allclose(result.w, lcp.solve(problem, lcp.Lemke()).w, atol=1e-6)


def test_an_energy_without_bound_is_no_proof_for_indefinite_matrices() -> None:
    """M = -1, q = -1 is infeasible, M = [[0, 3], [3, 0]] with q = (-1, -1) is not: only the first may be said so."""
    assert lcp.solve(lcp.LCP([[-1.0]], [-1.0]), ActiveSetPivoting()).status is Status.INFEASIBLE
    assert (
        lcp.solve(lcp.LCP([[0.0, 3.0], [3.0, 0.0]], [-1.0, -1.0]), ActiveSetPivoting()).status is not Status.INFEASIBLE
    )


@pytest.mark.parametrize("seed", range(30))
def test_cottle_dantzig_on_monotone_problems_that_are_not_symmetric(seed: int) -> None:
    """Positive semidefinite plus skew M, vanishing diagonal entries included: quadratic programs with constraints."""
    rng, M = np.random.default_rng(seed), repeated(seed).M
    n = len(M)
    K = rng.integers(-2, 3, (n, n)).astype(float)
    M = M * (seed % 3 > 0) + K - K.T
    z = np.maximum(rng.integers(-2, 3, n), 0).astype(float)
    q = np.maximum(rng.integers(-1, 3, n), 0) * (z == 0.0) - M @ z
    assert_solves(lcp.LCP(M, q), lcp.solve(lcp.LCP(M, q), CottleDantzig()))


def test_murty_takes_the_order_it_is_given() -> None:
    """On Murty's own family one pivot in one order, 2^n - 1 in the other."""
    problem = murty(8)
    assert lcp.solve(problem, Murty()).iterations == 1
    assert lcp.solve(problem, Murty(order=tuple(range(7, -1, -1)))).iterations == 2**8 - 1
    assert_messages(
        lcp.ProblemError,
        ("permutation", lambda: Murty(order=(0, 0, 1))),
        ("length", lambda: lcp.solve(problem, Murty(order=(1, 0)))),
    )


def test_methods_for_p_matrices_say_when_it_is_none() -> None:
    """A singular block or a negative diagonal entry ends them."""
    singular = lcp.LCP(np.ones((2, 2)), [-1.0, -2.0])
    assert lcp.solve(singular, BlockPrincipalPivoting()).status is Status.SINGULAR_BASIS
    assert lcp.solve(lcp.LCP([[-0.4]], [-9.81]), BlockPrincipalPivoting()).status is Status.STALLED
    assert lcp.solve(lcp.LCP([[-0.4]], [-9.81]), Murty()).status is Status.SINGULAR_BASIS


def test_a_ray_past_a_violated_pair_is_none() -> None:
    """A lone pair moves past its bound before the ray."""
    problem = lcp.BoxLCP([[4.0, 1.0], [-1.0, 0.0]], [3.0, 3.0], [-2.0, -np.inf], [np.inf, 1.0])
    assert np.allclose(lcp.solve(problem, CottleDantzig()).z, [3.0, -15.0])


@pytest.mark.parametrize("seed", range(40))
def test_cottle_dantzig_on_monotone_boxes(seed: int) -> None:
    """Semidefinite M with and without a skew part, between finite bounds."""
    rng, M = np.random.default_rng(seed), repeated(seed).M
    K = rng.integers(-2, 3, M.shape).astype(float)
    lo = rng.integers(-3, 1, len(M)).astype(float)
    problem = lcp.BoxLCP(M + seed % 2 * (K - K.T), rng.integers(-5, 6, len(M)), lo, lo + rng.integers(0, 5, len(M)))
    assert_solves(problem, lcp.solve(problem, CottleDantzig()))


@pytest.mark.parametrize("solver", [CottleDantzig(), BlockPrincipalPivoting()], ids=repr)
@settings(max_examples=60)
@given(seed=st.integers(0, 10**5), start=st.booleans(), decades=st.integers(-6, 6))
def test_any_box_from_any_start(solver: Any, seed: int, start: bool, decades: int) -> None:
    """P-matrices between bounds of every kind, in any unit: inside the bounds, and the same from everywhere."""
    problem, rng = random_box(seed), np.random.default_rng(seed)
    unit = 10.0**decades
    z0 = np.clip(3.0 * rng.standard_normal(problem.n), problem.lo, problem.hi) if start else None
    result = lcp.solve(lcp.BoxLCP(unit * problem.M, unit * problem.q, problem.lo, problem.hi), solver, z0=z0)
    assert result.solved
    assert natural(problem, result.z) <= 1e-7
