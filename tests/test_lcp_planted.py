"""Problems with a planted solution, of no class: the search among vertices, the default, limits of time."""

import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import sparse

import lcp
from lcp.method import with_time_limit
from lcp.solvers.cascade import classify_structure

KINDS = ("Gaussian", "low rank", "sparse integer", "symmetric")


def planted(kind: str, n: int, seed: int) -> lcp.LCP:
    """M of no class, q = w - M z with complementary z and w."""
    rng = np.random.default_rng([n, seed])
    M = rng.standard_normal((n, n))
    if kind == "low rank":
        M = M[:, : n // 2] @ rng.standard_normal((n // 2, n))
    elif kind == "sparse integer":
        M = np.where(rng.random((n, n)) < 0.2, rng.integers(-3, 4, (n, n)), 0).astype(float)
    elif kind == "symmetric":
        M = 0.5 * (M + M.T)
    z, w = np.ceil(4.0 * rng.random(n)), np.ceil(4.0 * rng.random(n))
    positive = rng.random(n) < 0.5
    z, w = np.where(positive, z, 0.0), np.where(positive, 0.0, w)
    return lcp.LCP(M, w - M @ z)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [5, 20, 40])
def test_planted_solutions_are_found(kind: str, n: int) -> None:
    """The search alone and the default find them, every time; the result is judged on the data."""
    for seed in range(3):
        problem = planted(kind, n, seed)
        for solver in (lcp.ConcaveMinimization(), None):
            result = lcp.solve(problem, solver)
            assert result.solved, (seed, result)
            assert np.minimum(result.z, problem.M @ result.z + problem.q) == pytest.approx(0.0, abs=1e-6)


def test_random_boxes_of_a_hundred_unknowns() -> None:
    """M Gaussian, bounds -1 and 1: a solution exists, and is found in seconds where the proven path takes long."""
    for seed in range(2):
        rng = np.random.default_rng([100, seed])
        M, q = rng.standard_normal((100, 100)), 2.0 * rng.standard_normal(100)
        assert lcp.solve(lcp.BoxLCP(M, q, -np.ones(100), np.ones(100))).solved


def test_the_same_seed_takes_the_same_path() -> None:
    """Another may take another; forms other than a dense LCP are put to it too."""
    problem = planted("Gaussian", 30, 1)
    first, again = (lcp.solve(problem, lcp.ConcaveMinimization(seed=3)) for _ in range(2))
    assert first.iterations == again.iterations
    np.testing.assert_array_equal(first.z, again.z)
    assert lcp.solve(lcp.LCP(sparse.csr_array(problem.M), problem.q), lcp.ConcaveMinimization()).solved
    box = lcp.BoxLCP(problem.M, problem.q, np.zeros(30), np.full(30, np.inf))
    assert lcp.solve(box, lcp.ConcaveMinimization()).solved


def test_what_has_no_solution_ends_at_a_limit_or_without_a_vertex() -> None:
    """-z - 1 >= 0 has no feasible point; w_1 = z_2 - 1 and w_2 = z_2 + 1 have many, and none with z_2 w_2 = 0."""
    search = lcp.ConcaveMinimization(max_pivots=2000)
    assert lcp.solve(lcp.LCP([[-1.0]], [-1.0]), search).status is lcp.Status.STALLED
    feasible = lcp.LCP([[0.0, 1.0], [0.0, 1.0]], [-1.0, 1.0])
    assert lcp.solve(feasible, search).status is lcp.Status.ITERATION_LIMIT
    late = lcp.solve(planted("Gaussian", 20, 0), lcp.ConcaveMinimization(max_pivots=3))
    assert late.status is lcp.Status.ITERATION_LIMIT
    assert late.iterations <= 3 + 12
    assert lcp.solve(lcp.LCP(np.eye(3), np.ones(3)), search).solved
    assert lcp.solve(lcp.LCP(np.zeros((0, 0)), []), search).solved


@dataclass(frozen=True)
class Busy:
    """Computes for as long as it may, in vain."""

    time_limit: float = 100.0

    traits: ClassVar[lcp.Traits] = lcp.Traits(0)

    def solve(self, problem: lcp.LCP, *, z0: Any, tolerance: float, trace: bool) -> lcp.Claim:
        """Burn the processor's time."""
        begun = time.thread_time()
        while time.thread_time() - begun < self.time_limit:
            pass
        return lcp.Claim(np.zeros(problem.n), lcp.Status.STALLED, 0)


def test_a_cascade_gives_each_member_what_is_left() -> None:
    """However long a member's own limit is; the attempts name the members as they were given."""
    begun = time.thread_time()
    result = lcp.solve(planted("Gaussian", 5, 0), lcp.Fallback(Busy(), lcp.Lemke(), time_limit=0.2))
    assert time.thread_time() - begun < 1.0
    assert result.attempts[0].solver == Busy()
    assert with_time_limit(lcp.Regularized(lcp.Lemke()), 5.0).inner.time_limit == 5.0
    assert with_time_limit(lcp.Lemke(), 1e4) == lcp.Lemke()


@pytest.mark.parametrize("place", [(0, 0), (1, 2)])
def test_one_huge_entry_ends_at_once(place: tuple[int, int]) -> None:
    """-1e308 leaves no finite sum, not even for z = 0."""
    M = np.array([[2.0, -1.0, 0.5], [1.0, 0.3, 1.0], [-0.2, 1.0, 1.0]])
    lcp.solve(lcp.LCP(M, -np.ones(3)))
    M[place] = -1e308
    begun = time.thread_time()
    lcp.solve(lcp.LCP(M, -np.ones(3)))
    assert time.thread_time() - begun < 0.5


def test_contacts_of_many_bodies_are_taken_as_sparse() -> None:
    """From 600 unknowns on, if at most one entry in ten is not zero; the result equals the dense problem's."""
    n = 800
    M = np.diag(np.full(n, 2.0)) - np.diag(np.ones(n - 1), 1) - np.diag(np.ones(n - 1), -1)
    problem = lcp.LCP(M, np.where(np.arange(n) % 3, -1.0, 2.0))
    assert classify_structure(problem) == "plain, thin"
    assert any(isinstance(solver, lcp.FischerNewton) for solver in lcp.Cascade().solver_sequence(problem)[:2])
    result = lcp.solve(problem)
    assert result.solved
    np.testing.assert_allclose(result.z, lcp.solve(problem, lcp.Lemke()).z, rtol=1e-6, atol=1e-8)
    assert classify_structure(lcp.LCP(np.eye(n) + 1.0, -np.ones(n))) == "plain"
