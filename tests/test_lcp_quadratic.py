"""OSQP and CVXPY on problems that are quadratic programs, and their refusal of others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lcp
from lcp.matrix_classes import is_positive_semidefinite, is_symmetric

SOLVERS = (lcp.OSQP(), lcp.CVXPY())
NAMES = ["OSQP", "CVXPY"]


def frictionless(seed: int, contacts: int = 8, redundant: bool = True) -> lcp.LCP:
    """Contacts on a few bodies of very different masses, some of them written twice: M = N M^-1 N^T."""
    rng = np.random.default_rng(seed)
    nv = 6
    N = rng.standard_normal((contacts, nv))
    if redundant:
        N[contacts // 2 :] = N[: contacts - contacts // 2]
    mass = 10.0 ** rng.uniform(-1, 2, nv)
    v = rng.standard_normal(nv)
    return lcp.LCP(N @ (N / mass).T, N @ v)


@pytest.mark.parametrize("solver", SOLVERS, ids=NAMES)
def test_friction_is_refused_with_advice(solver: lcp.Solver) -> None:
    """The friction row makes the symmetric part indefinite: UNSUITABLE, naming what to use instead."""
    M = [[1, 0, 0, 0], [0, 1, -1, 1], [0, -1, 1, 1], [0.5, -1, -1, 0]]
    result = lcp.solve(lcp.LCP(M, [-9.81, -2.0, 2.0, 0.0]), solver)
    assert result.status is lcp.Status.UNSUITABLE
    for text in (result.attempts[0].detail, result.status.advice):
        assert "ConvexRelaxation" in text
        assert "StaggeredProjections" in text
    with pytest.raises(lcp.SolveError, match="StaggeredProjections"):
        result.raise_for_status()


def test_without_polish_the_answer_is_the_programs_own() -> None:
    """The option has an effect: a first-order result, coarse here, is judged unchanged."""
    problem = frictionless(3, contacts=6, redundant=False)
    assert lcp.solve(problem, lcp.OSQP(eps=1e-3)).solved
    assert not lcp.solve(problem, lcp.OSQP(eps=1e-3, polish=False)).solved


@given(seed=st.integers(0, 10**6), n=st.integers(1, 6))
def test_semidefiniteness_agrees_with_eigenvalues(seed: int, n: int) -> None:
    """Clear cases, in any units; semidefinite ones of low rank count."""
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((n, int(rng.integers(1, n + 1))))
    units = 10.0 ** rng.integers(-5, 6, n)
    M = B @ B.T + (S := rng.standard_normal((n, n))) - S.T
    assert is_positive_semidefinite(M * units * units[:, None])
    x = rng.standard_normal(n)
    x /= np.linalg.norm(x)
    worse = M - (np.linalg.eigvalsh(M + M.T)[0] / 2 + 0.01) * np.outer(x, x) - 1e3 * np.outer(x, x)
    assert not is_positive_semidefinite(worse)
    assert is_symmetric(B @ B.T)
    assert n == 1 or not is_symmetric(M)
