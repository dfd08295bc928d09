"""Accelerated projected gradient descent: its first step, its descent, its acceleration, its refusal."""

import numpy as np
import pytest
from lcp_problems import definite, dominant, membrane, semidefinite
from scipy import sparse

import lcp
from lcp import ProjectedGaussSeidel
from lcp.solvers.first_order import APGD, boxed_rows, largest_curvature


def objective(problem: lcp.LCP, z: np.ndarray) -> float:
    """z . M z / 2 + q . z."""
    return float(0.5 * z @ (problem.M @ z) + problem.q @ z)


@pytest.mark.nojit
def test_one_step_by_hand() -> None:
    """L = 1, unit metric: z = max(0, -q)."""
    M = np.array([[1.0, 0.25], [0.25, 1.0]])
    # The step (4, 0) has curvature 1: no smaller step is asked for.
    result = lcp.solve(lcp.LCP(M, [-4.0, 1.0]), APGD(max_iterations=1))
    np.testing.assert_array_equal(result.z, [4.0, 0.0])


def test_the_objective_never_rises() -> None:
    """Iterate after iterate, on definite and semidefinite problems."""
    for make in (definite, semidefinite):
        problem = make(3)
        values = []
        for limit in range(60):
            claim = APGD(max_iterations=limit, check_interval=max(1, limit)).solve(problem, tolerance=1e-15)
            if f"best iterate: {limit} of" in claim.detail:
                values.append(objective(problem, claim.z))
        assert len(values) > 30
        assert (np.diff(values) <= 1e-12 * np.abs(values[-1])).all()


def test_it_accelerates() -> None:
    """With twice the nodes per side iterations grow about twofold, not fourfold as for plain descent or sweeps."""
    counts = [lcp.solve(membrane(m), APGD()).iterations for m in (25, 50, 100)]
    assert counts[2] < 3.0 * counts[1] < 9.0 * counts[0]
    assert counts[2] < 0.3 * lcp.solve(membrane(100), ProjectedGaussSeidel(relaxation=1.0)).iterations


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_matrices_that_are_not_symmetric_are_refused(stored: type) -> None:
    """UNSUITABLE with the reason, dense or sparse; asymmetry of rounding, in any units, is none."""
    problem = dominant(0)
    result = lcp.solve(lcp.LCP(stored(problem.M), problem.q), APGD())
    assert result.status is lcp.Status.UNSUITABLE
    assert "not symmetric" in result.attempts[0].detail
    M = definite(0).M * (1.0 + 1e-15 * np.random.default_rng(0).standard_normal((12, 12)))
    d = 10.0 ** np.random.default_rng(1).uniform(-6, 6, 12)
    scaled = lcp.LCP(stored(M * d * d[:, None]), definite(0).q * d)
    assert not np.array_equal(M, M.T)
    lcp.solve(scaled, APGD()).raise_for_status()
    small = M * d * d[:, None]
    small[0, 1] *= 1.5
    assert not boxed_rows(lcp.LCP(stored(small), np.zeros(12))).symmetric


@pytest.mark.nojit
def test_the_bound_of_curvature_holds() -> None:
    """No direction has a larger one in the metric of the diagonal, for dense and sparse M."""
    rng = np.random.default_rng(0)
    for seed in range(5):
        problem = semidefinite(seed)
        rows = boxed_rows(problem)
        metric = rows.metric()
        bound = largest_curvature(rows, metric)
        thin = boxed_rows(lcp.LCP(sparse.csr_array(problem.M), problem.q))
        np.testing.assert_allclose(largest_curvature(thin, thin.metric()), bound, rtol=1e-12)
        for _ in range(50):
            d = rng.standard_normal(problem.n)
            assert d @ problem.M @ d <= bound * (d**2 / metric).sum() * (1.0 + 1e-12)
        assert np.linalg.eigvalsh(problem.M * np.sqrt(metric) * np.sqrt(metric)[:, None]).max() <= bound
