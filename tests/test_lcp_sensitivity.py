"""Derivatives of solutions: against differences, against each other, and at kinks against both sides."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import assert_messages
from scipy import sparse

import lcp
from lcp import Sensitivity, catalog, sensitivity

Vector = np.ndarray


def positive(n: int, rng: np.random.Generator) -> Vector:
    B = rng.standard_normal((n, n))
    return B @ B.T + np.eye(n) + (B - B.T)


def box(n: int, rng: np.random.Generator) -> lcp.BoxLCP:
    lo = np.where(rng.random(n) < 0.3, -np.inf, -rng.random(n))
    hi = np.where(rng.random(n) < 0.3, np.inf, rng.random(n))
    return lcp.BoxLCP(positive(n, rng), 3 * rng.standard_normal(n), lo, hi)


def clear(problem: Any, z: Vector) -> bool:
    """Whether every unknown is 1e-3 away from changing sides, so that differences with 1e-6 see one piece."""
    return sensitivity(problem, z, threshold=1e-3).nondegenerate


@given(seed=st.integers(0, 10**6), n=st.integers(1, 8))
@settings(max_examples=40, deadline=None)
def test_forward_agrees_with_differences(seed: int, n: int) -> None:
    """jvp in M and q is the central difference of lcp.solve at non-degenerate solutions."""
    rng = np.random.default_rng(seed)
    M, q = positive(n, rng), 3 * rng.standard_normal(n)
    problem = lcp.LCP(M, q)
    result = lcp.solve(problem)
    if not clear(problem, result.z):
        return
    found = sensitivity(problem, result)
    assert found.nondegenerate
    assert found.status is lcp.Status.SOLVED
    dM, dq, h = rng.standard_normal((n, n)), rng.standard_normal(n), 1e-6
    ahead, behind = (lcp.solve(lcp.LCP(M + s * dM, q + s * dq)).z for s in (h, -h))
    dz = found.jvp(dM, dq)
    np.testing.assert_allclose(dz, (ahead - behind) / (2 * h), atol=1e-6 * (1 + np.abs(dz).max()))
    np.testing.assert_allclose(found.dz_dq @ dq, found.jvp(dq=dq), atol=1e-12 * (1 + np.abs(dz).max()))


@given(seed=st.integers(0, 10**6), n=st.integers(1, 7))
@settings(max_examples=40, deadline=None)
def test_bounds_forward_and_adjoint(seed: int, n: int) -> None:
    """On boxes, jvp in lo and hi too is the difference, and <z_bar, jvp> = <vjp, .> to rounding."""
    rng = np.random.default_rng(seed)
    problem = box(n, rng)
    result = lcp.solve(problem)
    if not clear(problem, result.z):
        return
    found = sensitivity(problem, result)
    dM, dq, dlo, dhi = rng.standard_normal((n, n)), *rng.standard_normal((3, n))
    dz, h = found.jvp(dM, dq, dlo=dlo, dhi=dhi), 1e-6
    ahead, behind = (
        lcp.solve(lcp.BoxLCP(problem.M + s * dM, problem.q + s * dq, problem.lo + s * dlo, problem.hi + s * dhi)).z
        for s in (h, -h)
    )
    np.testing.assert_allclose(dz, (ahead - behind) / (2 * h), atol=1e-5 * (1 + np.abs(dz).max()))
    z_bar = rng.standard_normal(n)
    M_bar, q_bar = found.vjp(z_bar)
    lo_bar, hi_bar = found.vjp_bounds(z_bar)
    pulled = (M_bar * dM).sum() + q_bar @ dq + lo_bar @ dlo + hi_bar @ dhi
    assert z_bar @ dz == pytest.approx(pulled, abs=1e-11 * (1 + np.abs(dz).max()))
    assert (lo_bar[np.isinf(problem.lo)] == 0).all()
    assert (hi_bar[np.isinf(problem.hi)] == 0).all()


@given(seed=st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_mixed_problems(seed: int) -> None:
    """Free unknowns are always active; the derivative equals the one of (u, y) in the stacked data."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(1, 4)), int(rng.integers(1, 5))
    K, k = positive(m + n, rng), 3 * rng.standard_normal(m + n)

    def posed(K: Vector, k: Vector) -> lcp.MLCP:
        return lcp.MLCP(K[:m, :m], K[:m, m:], K[m:, :m], K[m:, m:], k[:m], k[m:])

    result = lcp.solve(posed(K, k))
    x = np.concatenate([result.u, result.y])
    if not clear(posed(K, k), x):
        return
    found = sensitivity(posed(K, k), result)
    assert set(range(m)) <= set(found.active.tolist())
    dK, dk, h = rng.standard_normal((m + n, m + n)), rng.standard_normal(m + n), 1e-6
    ahead, behind = (lcp.solve(posed(K + s * dK, k + s * dk)) for s in (h, -h))
    dx = found.jvp(dK, dk)
    np.testing.assert_allclose(dx[:m], (ahead.u - behind.u) / (2 * h), atol=1e-5 * (1 + np.abs(dx).max()))
    np.testing.assert_allclose(dx[m:], (ahead.y - behind.y) / (2 * h), atol=1e-5 * (1 + np.abs(dx).max()))
    x_bar = rng.standard_normal(m + n)
    K_bar, k_bar = found.vjp(x_bar)
    assert x_bar @ dx == pytest.approx((K_bar * dK).sum() + k_bar @ dk, abs=1e-11 * (1 + np.abs(dx).max()))


@pytest.mark.nojit
def test_both_sides_of_a_kink_are_elements() -> None:
    """z = max(-q / 2, 0) at q = 0: slopes 0 and -1/2 are the strict and the weak piece, and the flag is up."""
    problem = lcp.LCP([[2.0]], [0.0])
    strict, weak = (sensitivity(problem, [0.0], choice=choice) for choice in ("strict", "weak"))
    for found in (strict, weak):
        assert not found.nondegenerate
        assert found.degenerate.tolist() == [0]
        assert "degenerate at 0" in found.detail
    assert strict.dz_dq.tolist() == [[0.0]]
    assert weak.dz_dq.tolist() == [[-0.5]]
    h = 1e-7
    right = lcp.solve(lcp.LCP([[2.0]], [h])).z[0] / h
    left = -lcp.solve(lcp.LCP([[2.0]], [-h])).z[0] / h
    assert right == strict.dz_dq[0, 0]
    assert left == pytest.approx(weak.dz_dq[0, 0])


def test_sparse_agrees_with_dense_and_stays_sparse() -> None:
    """On an obstacle problem the sparse factor gives the dense numbers; M_bar has the pattern of M."""
    dense = catalog.obstacle(60)
    result = lcp.solve(dense)
    thin = lcp.LCP(sparse.csr_array(dense.M), dense.q)
    a, b = sensitivity(dense, result), sensitivity(thin, result)
    rng = np.random.default_rng(0)
    dq, z_bar = rng.standard_normal(60), rng.standard_normal(60)
    np.testing.assert_allclose(a.jvp(dq=dq), b.jvp(dq=dq), rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(a.dz_dq, b.dz_dq, rtol=1e-8, atol=1e-14)
    np.testing.assert_allclose(a.jvp(dense.M), b.jvp(thin.M), rtol=1e-9, atol=1e-15)
    M_bar, q_bar = b.vjp(z_bar)
    assert sparse.issparse(M_bar)
    full = a.vjp(z_bar)[0]
    np.testing.assert_allclose(M_bar.toarray(), np.where(dense.M != 0, full, 0.0), rtol=1e-8, atol=1e-15)
    np.testing.assert_allclose(q_bar, a.vjp(z_bar)[1], rtol=1e-8, atol=1e-15)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_singular_active_block(form: Any) -> None:
    """Two equal contacts share the load: SINGULAR_BASIS, with the derivative of least norm, finite and adjoint."""
    problem = lcp.LCP(form(np.ones((2, 2))), [-1.0, -1.0])
    found = sensitivity(problem, [0.5, 0.5])
    assert found.status is lcp.Status.SINGULAR_BASIS
    assert not found.regular
    assert not found.nondegenerate
    assert "least norm" in found.detail
    np.testing.assert_allclose(found.jvp(dq=[1.0, 1.0]), [-0.5, -0.5], atol=1e-12)
    np.testing.assert_allclose(found.jvp(dq=[1.0, -1.0]), [0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(found.dz_dq, -np.full((2, 2), 0.25), atol=1e-12)
    np.testing.assert_allclose(found.vjp([1.0, 0.0])[1], [-0.25, -0.25], atol=1e-12)


@pytest.mark.nojit
def test_nothing_active_and_given_unknowns() -> None:
    """All at their bounds: no derivative in q; where lo = hi the unknown follows its bound; n = 0 is fine."""
    apart = sensitivity(lcp.LCP(np.eye(2), [1.0, 2.0]), [0.0, 0.0])
    assert apart.nondegenerate
    assert apart.active.size == 0
    assert not apart.dz_dq.any()
    assert not apart.jvp(np.ones((2, 2)), [1.0, 1.0]).any()
    assert repr(apart) == "Sensitivity(0 of 2 unknowns active)"
    given = lcp.BoxLCP([[1.0, 0.5], [0.5, 1.0]], [-3.0, 0.0], [1.0, -np.inf], [1.0, np.inf])
    found = sensitivity(given, [1.0, -0.5])
    assert found.nondegenerate
    # w_1 < 0: the upper bound is the one met.
    np.testing.assert_allclose(found.jvp(dhi=[1.0, 0.0]), [1.0, -0.5])
    np.testing.assert_allclose(found.jvp(dlo=[1.0, 0.0]), [0.0, 0.0])
    empty = sensitivity(lcp.LCP(np.zeros((0, 0)), []), [])
    assert isinstance(empty, Sensitivity)
    assert empty.dz_dq.shape == (0, 0)


def test_ill_formed_arguments() -> None:
    """A vector that is not a solution, wrong shapes and unknown choices raise a ProblemError with the reason."""
    problem = lcp.LCP(np.eye(2), [-1.0, 1.0])
    assert_messages(
        lcp.ProblemError,
        ("does not solve", lambda: sensitivity(problem, [0.0, 0.0])),
        ("choice", lambda: sensitivity(problem, [1.0, 0.0], choice="both")),
        ("threshold", lambda: sensitivity(problem, [1.0, 0.0], threshold=2.0)),
    )
    found = sensitivity(problem, [1.0, 0.0])
    for wrong in ({"dM": np.eye(3)}, {"dq": [1.0]}, {"dq": [np.nan, 0.0]}, {"dlo": [1.0]}):
        with pytest.raises(lcp.ProblemError, match=next(iter(wrong))):
            found.jvp(**wrong)
    with pytest.raises(lcp.ProblemError, match="z_bar"):
        found.vjp([1.0])
