"""Common properties of the iterative solvers: classes, bounds, limits, trace, failures; the interior-point method."""

from typing import Any

import numpy as np
import pytest
from lcp_problems import definite, dominant
from scipy import sparse

import lcp

SWEEPING = (lcp.ProjectedGaussSeidel, lcp.NonsmoothNonlinearCG)
every = pytest.mark.parametrize("solver", [*SWEEPING, lcp.APGD], ids=lambda s: s.__name__)
sweeping = pytest.mark.parametrize("solver", SWEEPING, ids=lambda s: s.__name__)


@pytest.mark.nojit
@every
def test_rows_of_zeros(solver: Any) -> None:
    """w_i = q_i is fixed: the bound that admits its sign is taken, none is a proof of infeasibility."""
    M = np.diag([2.0, 0.0])
    result = lcp.solve(lcp.LCP(M, [-4.0, 3.0]), solver(), z0=np.array([0.0, 5.0]))
    np.testing.assert_allclose(result.z, [2.0, 0.0])
    assert result.solved
    np.testing.assert_allclose(lcp.solve(lcp.BoxLCP(M, [-4.0, -3.0], 0.0, 1.0), solver()).z, [1.0, 1.0])
    for stored in (M, sparse.csr_array(M)):
        problem = lcp.LCP(stored, [-4.0, -3.0])
        result = lcp.solve(problem, solver())
        assert result.status is lcp.Status.INFEASIBLE
        assert "row 1 of M is zero" in result.attempts[0].detail
        assert result.evidence.proves(problem)
    beyond = lcp.solve(lcp.BoxLCP(M, [-4.0, 3.0], -np.inf, 1.0), solver())
    assert beyond.status is lcp.Status.UNSUITABLE
    assert "row 1" in beyond.attempts[0].detail


@pytest.mark.nojit
@sweeping
@pytest.mark.parametrize("value", [0.0, -1.0])
def test_a_diagonal_entry_that_is_not_positive_is_unsuitable(solver: Any, value: float) -> None:
    """The row is named; where the bounds leave no choice it does not matter."""
    M = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, -1.0, value]])
    result = lcp.solve(lcp.LCP(M, [-1.0, -1.0, 0.5]), solver())
    assert result.status is lcp.Status.UNSUITABLE
    assert "M[2, 2]" in result.attempts[0].detail
    assert "Lemke" in result.status.advice
    held = lcp.solve(lcp.BoxLCP(M, [-1.0, -1.0, 0.5], 0.0, [np.inf, np.inf, 0.0]), solver())
    held.raise_for_status()
    np.testing.assert_allclose(held.z, [1 / 3, 1 / 3, 0.0], atol=1e-8)


@pytest.mark.nojit
@every
def test_friction_is_refused(solver: Any) -> None:
    """A block on a table with friction: zero diagonal and not symmetric."""
    M = [[1, 0, 0, 0], [0, 1, -1, 1], [0, -1, 1, 1], [0.5, -1, -1, 0]]
    result = lcp.solve(lcp.LCP(M, [-9.81, -2.0, 2.0, 0.0]), solver())
    assert result.status is lcp.Status.UNSUITABLE
    assert result.iterations == 0


@every
def test_check_interval_is_where_it_looks(solver: Any) -> None:
    """A solve ends at a multiple of it."""
    result = lcp.solve(definite(4), solver(check_interval=7))
    assert result.solved
    assert result.iterations % 7 == 0


@every
def test_divergence_leaves_a_finite_z(solver: Any) -> None:
    """An indefinite symmetric M on which the objective falls for ever: NOT_FINITE or a limit, z finite, no warning."""
    problem = lcp.LCP([[1.0, -3.0], [-3.0, 1.0]], [-1.0, -1.0])
    result = lcp.solve(problem, solver())
    assert result.status is lcp.Status.NOT_FINITE
    assert np.isfinite(result.z).all()


@sweeping
def test_a_cycle_is_a_stall(solver: Any) -> None:
    """Kostreva's P-matrix, for which no sweep converges: the iterates repeat themselves, and that is said."""
    result = lcp.solve(lcp.LCP([[1.0, 2.0, 0.0], [0.0, 1.0, 2.0], [2.0, 0.0, 1.0]], [-1.0, -1.0, -1.0]), solver())
    assert result.status is lcp.Status.STALLED
    assert result.iterations < 1000
    assert "same z" in result.attempts[0].detail


@sweeping
@pytest.mark.parametrize("order", ["forward", "symmetric"])
def test_dominant_matrices_by_either_order(solver: Any, order: str) -> None:
    """Nonsymmetric H-matrices at omega <= 1."""
    for seed in range(20):
        for relaxation in (0.6, 1.0):
            lcp.solve(dominant(seed), solver(relaxation=relaxation, sweep=order)).raise_for_status()


@pytest.mark.parametrize("polish", [True, False])
def test_closed_forms_of_the_interior_point_method(polish: bool) -> None:
    """A semidefinite box, and bounds a hair apart."""
    solver = lcp.InteriorPoint(polish=polish)
    flat = lcp.solve(lcp.BoxLCP(np.zeros((3, 3)), [1.0, -2.0, 1e-3], [-1.0, -2.0, -3.0], [4.0, 5.0, 6.0]), solver)
    np.testing.assert_allclose(flat.z, [-1.0, 5.0, -3.0], atol=1e-7)
    thin = lcp.solve(lcp.BoxLCP(np.eye(2), [-9.0, 9.0], 1.0, 1.0 + 1e-9), solver)
    assert thin.solved
    np.testing.assert_allclose(thin.z, [1.0 + 1e-9, 1.0], rtol=1e-9)


def test_large_infeasible_problems_are_not_put_to_a_linear_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the stated size the divergence is reported as what it is."""
    monkeypatch.setattr("lcp.solvers.interior_point._PROOF_SIZE", 1)
    result = lcp.solve(lcp.LCP([[1.0, -1.0], [-1.0, 1.0]], [-1.0, -1.0]), lcp.InteriorPoint())
    assert result.status in (lcp.Status.STALLED, lcp.Status.SINGULAR_BASIS)
    assert "path" in result.attempts[0].detail
    assert np.isfinite(result.z).all()
