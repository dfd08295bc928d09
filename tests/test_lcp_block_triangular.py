"""Strongly connected blocks one after the other, fixed rows first: what a path through all of M may miss."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import lcp


def triangular(seed: int, n: int = 80) -> tuple[np.ndarray, np.ndarray]:
    """A permuted triangular P-matrix of whole numbers, whose solution grows from pair to pair, and q."""
    rng = np.random.default_rng(seed)
    M = np.tril(rng.integers(-9, 10, (n, n)), -1) + np.diag(rng.integers(1, 3, n)).astype(float)
    order = rng.permutation(n)
    return M[np.ix_(order, order)], rng.standard_normal(n)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("seed", range(8))
def test_permuted_triangular_p_matrices_are_solved(seed: int, kind: Any) -> None:
    """The default solves them, where Lemke's path is lost to rounding; dense and sparse."""
    M, q = triangular(seed)
    result = lcp.solve(lcp.LCP(kind(M), q))
    assert result.solved
    assert result.residual.backward_error < 1e-14


def test_lemke_alone_is_lost_on_one_of_them() -> None:
    """Otherwise the test above shows nothing."""
    assert not lcp.solve(lcp.LCP(*triangular(0)), lcp.Lemke()).solved


@pytest.mark.parametrize("form", ["plain", "boxed", "mixed", "sparse"])
def test_blocks_are_solved_in_their_order(form: str) -> None:
    """Ten definite blocks of three in a random order, each coupled to earlier ones: the result solves the whole."""
    rng = np.random.default_rng(5)
    M = np.tril(rng.standard_normal((30, 30)), -1)
    for b in range(0, 30, 3):
        A = rng.standard_normal((3, 3))
        M[b : b + 3, b : b + 3] = A @ A.T + np.eye(3)
    order, q = rng.permutation(30), rng.standard_normal(30)
    M = M[np.ix_(order, order)]
    problem: Any = lcp.LCP(sparse.csr_array(M) if form == "sparse" else M, q)
    if form == "boxed":
        problem = lcp.BoxLCP(M, q, -np.ones(30), np.full(30, 0.5))
    elif form == "mixed":
        problem = lcp.MLCP(M[:6, :6], M[:6, 6:], M[6:, :6], M[6:, 6:], q[:6], q[6:])
    result, whole = lcp.solve(problem, lcp.BlockTriangular()), lcp.solve(problem)
    assert result.solved
    assert "blocks" in result.attempts[0].detail
    if form == "mixed":
        np.testing.assert_allclose(result.u, whole.u, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(result.y, whole.y, rtol=1e-8, atol=1e-10)
    else:
        np.testing.assert_allclose(result.z, whole.z, rtol=1e-8, atol=1e-10)


def test_rows_of_one_sign_are_fixed_first() -> None:
    """w_0 > 0 puts z_0 = 0, then w_1 cannot be negative either; a box is fixed at its upper bound too."""
    plain = lcp.solve(
        lcp.LCP([[0.0, 1.0, 1.0], [-5.0, 1.0, 0.0], [-1.0, 0.0, 2.0]], [1.0, 0.0, -4.0]), lcp.BlockTriangular()
    )
    np.testing.assert_array_equal(plain.z, [0.0, 0.0, 2.0])
    boxed = lcp.solve(lcp.BoxLCP([[1.0, 1.0], [1.0, 3.0]], [-9.0, -2.0], [0.0, 0.0], [2.0, 3.0]), lcp.BlockTriangular())
    np.testing.assert_array_equal(boxed.z, [2.0, 0.0])


def test_what_it_cannot_do_it_says() -> None:
    """It refuses a single block; a block without solution is no proof, because an earlier one may have another."""
    assert (
        lcp.solve(lcp.LCP([[2.0, 1.0], [1.0, 2.0]], [-1.0, -1.0]), lcp.BlockTriangular()).status
        is lcp.Status.UNSUITABLE
    )
    # z_0 = 0 or 1 solves the first pair; the second wants z_0 = 1.
    problem = lcp.LCP([[-1.0, 0.0], [2.0, 0.0]], [1.0, -1.0])
    assert lcp.solve(problem, lcp.BlockTriangular()).status is lcp.Status.STALLED
    np.testing.assert_allclose(lcp.solve(problem).z[0], 1.0)
    with pytest.raises(lcp.ProblemError, match=r"BlockTriangular\.inner"):
        lcp.BlockTriangular(lcp.Lemke)
