"""First-order methods: sweeps, accelerated and conjugate gradients, against their published iterations."""

import numpy as np
import pytest
from lcp_problems import definite, definite_box, dominant, duplicated, membrane, semidefinite
from numpy.typing import NDArray
from scipy import sparse

import lcp
from lcp import NonsmoothNonlinearCG, ProjectedGaussSeidel
from lcp.solvers.first_order import APGD, boxed_rows
from lcp.solvers.gauss_seidel import RelaxationTuner

Vector = NDArray[np.float64]


def swept(
    problem: lcp.BoxLCP | lcp.LCP, omega: float, sweeps: int, symmetric: bool, start: Vector | None = None
) -> Vector:
    """Return z after this many sweeps by the textbook's formula, with bounds on both sides."""
    M, q, n = np.asarray(problem.M), problem.q, problem.n
    lo, hi = (problem.lo, problem.hi) if isinstance(problem, lcp.BoxLCP) else (np.zeros(n), np.full(n, np.inf))
    z = np.clip(np.zeros(n), lo, hi) if start is None else start.copy()
    for _ in range(sweeps):
        for i in [*range(n), *(reversed(range(n)) if symmetric else [])]:
            z[i] = min(max(z[i] - omega / M[i, i] * (q[i] + M[i] @ z), lo[i]), hi[i])
    return z


@pytest.mark.nojit
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("order", ["forward", "symmetric"])
@pytest.mark.parametrize("omega", [0.7, 1.0, 1.6])
def test_sweeps_are_those_of_the_textbook(stored: type, order: str, omega: float) -> None:
    """Forward, and forward and back, on symmetric and other matrices, with bounds of every kind."""
    for make in (definite, semidefinite, dominant, definite_box):
        problem = make(21)
        if isinstance(problem, lcp.BoxLCP):
            held = lcp.BoxLCP(stored(problem.M), problem.q, problem.lo, problem.hi)
        else:
            held = lcp.LCP(stored(problem.M), problem.q)
        for sweeps in (1, 2, 9):
            options = ProjectedGaussSeidel(omega, order, max_iterations=sweeps, check_interval=sweeps)
            claim = options.solve(held, tolerance=1e-15)
            if claim.iterations == sweeps and "best iterate: 0 of" not in claim.detail:
                np.testing.assert_allclose(claim.z, swept(problem, omega, sweeps, order == "symmetric"), atol=1e-11)


@pytest.mark.parametrize("omega", [0.2, 1.0, 1.8, 1.95])
def test_any_factor_below_two_converges_on_symmetric_matrices(omega: float) -> None:
    """Definite, semidefinite and duplicated rows."""
    for make in (definite, semidefinite, duplicated):
        for seed in range(5):
            lcp.solve(make(seed), ProjectedGaussSeidel(relaxation=omega), tolerance=1e-6).raise_for_status()


def test_the_factor_found_is_near_the_best() -> None:
    """On a membrane the default factor takes at most twice the sweeps of the best of nine, a tenth of omega = 1."""
    problem = membrane(60)
    best = min(
        lcp.solve(problem, ProjectedGaussSeidel(relaxation=omega)).iterations
        for omega in (1.5, 1.6, 1.7, 1.8, 1.85, 1.9, 1.93, 1.95, 1.97)
    )
    plain = lcp.solve(problem, ProjectedGaussSeidel(relaxation=1.0))
    found = lcp.solve(problem, ProjectedGaussSeidel())
    assert found.solved
    assert found.iterations <= 2 * best
    assert found.iterations <= 0.1 * plain.iterations
    assert "relaxation 1.8" in found.attempts[0].detail or "relaxation 1.9" in found.attempts[0].detail


def test_matrices_that_are_not_symmetric_keep_the_factor_one() -> None:
    """Only there omega <= 1 is proven."""
    problem = dominant(0)
    found = lcp.solve(problem, ProjectedGaussSeidel())
    plain = lcp.solve(problem, ProjectedGaussSeidel(relaxation=1.0))
    np.testing.assert_array_equal(found.z, plain.z)
    assert found.iterations == plain.iterations


@pytest.mark.nojit
def test_the_search_stays_between_one_and_two() -> None:
    """For any lengths of steps: shrinking, growing, zero, overflowing, random."""
    rng = np.random.default_rng(0)
    for lengths in (
        lambda k: 0.99**k,
        lambda k: 1.01 ** np.minimum(k, 5000),
        lambda k: np.zeros_like(k, dtype=float),
        lambda k: np.where(k > 100, np.inf, 1.0),
        lambda k: rng.random(k.shape[0]) ** 8,
        lambda k: np.ones_like(k, dtype=float),
        lambda k: np.full(k.shape, np.nan),
    ):
        search, done = RelaxationTuner(), 0
        while done < 20_000:
            assert 1.0 <= search.omega < 2.0
            assert search.left >= 1
            count = min(search.left, 777)
            search.record(np.asarray(lengths(np.arange(done, done + count)), dtype=np.float64))
            done += count


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
                values.append(0.5 * claim.z @ (problem.M @ claim.z) + problem.q @ claim.z)
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


def published(problem: lcp.LCP, iterations: int) -> Vector:
    """Return the swept point after these iterations of the published rule, lengths in the diagonal's metric."""
    diagonal = np.diag(problem.M)
    y, p, before = np.zeros(problem.n), np.zeros(problem.n), 0.0
    for _ in range(iterations):
        z = swept(problem, 1.0, 1, symmetric=False, start=y)
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


@pytest.mark.parametrize("order", ["forward", "symmetric"])
def test_hard_semidefinite_problems(order: str) -> None:
    """Rank 20 in 40 unknowns, where directions alone wander: solved, the safeguards included, at 1e-6."""
    for seed in range(8):
        result = lcp.solve(semidefinite(seed, 40), NonsmoothNonlinearCG(sweep=order), tolerance=1e-6)
        result.raise_for_status()
