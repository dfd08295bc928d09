"""Variational inequalities with sparse M: the first active set is a coarser problem's, the result solves this one."""

from typing import Any

import lcp_variational
import numpy as np
import pytest
from scipy import sparse

import lcp
from lcp.problem import bounds_of
from lcp.solvers.block_principal_pivoting import coarse_problem

PROBLEMS = pytest.mark.parametrize("name", lcp_variational.PROBLEMS)


@PROBLEMS
def test_few_factorisations_and_the_answer_of_another_method(name: str) -> None:
    """At most eight, less than from a bound on; the default is done with its first solver."""
    problem = lcp_variational.PROBLEMS[name](60)
    result = lcp.solve(problem)
    assert result.solved
    assert len(result.attempts) == 1
    assert result.iterations <= 8
    start = np.clip(np.zeros(problem.n), *bounds_of(problem))
    assert result.iterations < lcp.solve(problem, lcp.BlockPrincipalPivoting(), z0=start).iterations
    other = lcp.solve(problem, lcp.FischerNewton(), tolerance=1e-13)
    np.testing.assert_allclose(result.z, other.z, atol=1e-9 * np.abs(other.z).max())


def test_matrices_that_are_no_diffusion_have_no_coarse_problem() -> None:
    """Skew, without neighbours, dense, small: they begin at their bounds as before."""
    S = sparse.random_array((4000, 4000), density=5.0 / 4000, rng=np.random.default_rng(1))
    one, q = sparse.eye_array(4000), -np.ones(4000)
    candidates: list[Any] = [S - S.T + 0.01 * one, one, np.eye(50), lcp_variational.membrane(20)]
    for M in candidates:
        assert coarse_problem(lcp.LCP(M, q[: M.shape[0]])) is None
