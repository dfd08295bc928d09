"""Problems of special structure: planted solutions, triangular blocks, sparse variational inequalities."""

import time
from dataclasses import dataclass
from typing import Any, ClassVar

import lcp_variational
import numpy as np
import pytest
from scipy import sparse

import lcp
from lcp.method import with_time_limit
from lcp.problem import bounds_of
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
