"""The interior-point method: monotone problems, bounds, infeasibility with proof, the path itself, limits."""

import numpy as np
import pytest

import lcp
from lcp.scaling import scaled_box
from lcp.solvers.interior_point import InteriorPoint, Neighbourhood, start, step_from

SOLVERS = [InteriorPoint(), InteriorPoint(polish=False)]
each_solver = pytest.mark.parametrize("solver", SOLVERS, ids=["polished", "alone"])


def monotone_matrix(rng: np.random.Generator, n: int) -> np.ndarray:
    """Positive semidefinite, perhaps singular, perhaps with a skew part; small integers."""
    A = rng.integers(-2, 3, (n, int(rng.integers(1, n + 1)))).astype(float)
    K = rng.integers(-2, 3, (n, n)).astype(float)
    return A @ A.T + (K - K.T) * int(rng.integers(0, 2))


@each_solver
def test_closed_forms_with_bounds(solver: InteriorPoint) -> None:
    """A semidefinite box, and bounds a hair apart."""
    flat = lcp.solve(lcp.BoxLCP(np.zeros((3, 3)), [1.0, -2.0, 1e-3], [-1.0, -2.0, -3.0], [4.0, 5.0, 6.0]), solver)
    np.testing.assert_allclose(flat.z, [-1.0, 5.0, -3.0], atol=1e-7)
    thin = lcp.solve(lcp.BoxLCP(np.eye(2), [-9.0, 9.0], 1.0, 1.0 + 1e-9), solver)
    assert thin.solved
    np.testing.assert_allclose(thin.z, [1.0 + 1e-9, 1.0], rtol=1e-9)


@pytest.mark.nojit
def test_steps_stay_inside_and_near_the_path() -> None:
    """Every step keeps rooms and multipliers positive, x + p consistent, and the neighbourhood; mu falls to nothing."""
    rng = np.random.default_rng(5)
    n = 12
    M = monotone_matrix(rng, n) + 0.1 * np.eye(n)
    lo = np.where(np.arange(n) % 3 == 0, -np.inf, -1.0)
    hi = np.where(np.arange(n) % 2 == 0, np.inf, 1.0)
    box = scaled_box(lcp.BoxLCP(M, rng.integers(-3, 4, n), lo, hi), congruent=True)
    at = start(box, 1.0)
    area = Neighbourhood(box, at)
    assert area.holds(at)
    low, high = np.isfinite(box.lo), np.isfinite(box.hi)
    for _ in range(25):
        step = step_from(box, at, area)
        assert step is not None
        at = step[0]
        assert area.holds(at)
        assert (at.p > 0.0).all()
        assert (at.r > 0.0).all()
        assert (at.s[low] > 0.0).all()
        assert (at.t[high] > 0.0).all()
        assert not at.s[~low].any()
        np.testing.assert_allclose((at.x - at.p)[low], box.lo[low], atol=1e-12)
        np.testing.assert_allclose((at.x + at.r)[high], box.hi[high], atol=1e-12)
    assert area.mean(at) < 1e-12 * area.first_mean


def test_large_infeasible_problems_are_not_put_to_a_linear_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the stated size the divergence is reported as what it is."""
    monkeypatch.setattr("lcp.solvers.interior_point._PROOF_SIZE", 1)
    result = lcp.solve(lcp.LCP([[1.0, -1.0], [-1.0, 1.0]], [-1.0, -1.0]), InteriorPoint())
    assert result.status in (lcp.Status.STALLED, lcp.Status.SINGULAR_BASIS)
    assert "path" in result.attempts[0].detail
    assert np.isfinite(result.z).all()
