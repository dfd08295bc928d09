"""Problems with bounds on both sides: data, conversions, verdicts; those that always have a solution, as games do."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import lcp


def random_box(seed: int, definite: bool = False) -> lcp.BoxLCP:
    """Bounds of every kind, some unknowns given; integer data."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    lo = np.where(rng.random(n) < 0.3, -np.inf, rng.integers(-2, 3, n))
    hi = np.where(rng.random(n) < 0.3, np.inf, np.where(np.isfinite(lo), lo, 0) + rng.integers(0, 3, n))
    M = rng.integers(-2, 3, (n, n)).astype(float)
    if definite:
        M = M @ M.T + np.eye(n) + (M - M.T)
    return lcp.BoxLCP(M, rng.integers(-3, 4, n), lo, hi)


def obeys(problem: lcp.BoxLCP, z: np.ndarray, tolerance: float = 1e-8) -> bool:
    """The definition, row by row."""
    w = problem.M @ z + problem.q
    for zi, wi, lo, hi in zip(z, w, problem.lo, problem.hi, strict=True):
        if zi < lo - tolerance or zi > hi + tolerance:
            return False
        if wi > tolerance and zi > lo + tolerance:
            return False
        if wi < -tolerance and zi < hi - tolerance:
            return False
    return True


@given(seed=st.integers(0, 10**6))
@settings(max_examples=80)
@example(seed=548)  # q = 0: rounding errors of z = 0 are measured relative to themselves
@example(seed=16721)  # z = 0 at the upper bound, where the QP leaves 1e-16
@example(seed=170656)  # z = 0 between the bounds, as a difference of two unknowns
def test_definite_problems_have_their_one_solution(seed: int) -> None:
    """For positive definite M every route gives the same z, and it obeys the definition."""
    problem = random_box(seed, definite=True)
    found = [lcp.solve(problem, solver) for solver in (None, lcp.Lemke(), lcp.Enumeration(), lcp.OSQP())]
    for result in found:
        result.raise_for_status()
        assert obeys(problem, result.z)
        np.testing.assert_allclose(result.z, found[0].z, rtol=1e-8, atol=1e-9)
    plain = lcp.box_to_lcp(problem)
    np.testing.assert_allclose(plain.recover(lcp.solve(plain.problem).z), found[0].z, rtol=1e-8, atol=1e-9)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=80)
def test_any_problem_ends_with_a_true_verdict(seed: int) -> None:
    """SOLVED exactly where enumeration of the converted problem finds something; measures agree with the definition."""
    problem = random_box(seed)
    result = lcp.solve(problem)
    found = lcp.enumerate_solutions(problem)
    assert found.complete
    assert result.solved == bool(found.solutions)
    for z in found.solutions:
        assert obeys(problem, z)
        assert lcp.residuals(problem, z).solved()
    z = np.random.default_rng(seed).integers(-2, 3, problem.n).astype(float)
    assert lcp.residuals(problem, z).solved() == obeys(problem, z)


def test_a_plain_problem_is_a_box_without_lid() -> None:
    """lo = 0, hi = inf is the LCP; lo = -inf, hi = inf a linear system; lo = hi a given z."""
    M, q = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-5.0, -6.0])
    plain = lcp.solve(lcp.LCP(M, q)).z
    np.testing.assert_array_equal(lcp.solve(lcp.BoxLCP(M, q, 0.0, np.inf), lcp.Lemke()).z, plain)
    np.testing.assert_allclose(lcp.solve(lcp.BoxLCP(M, q, 0.0, np.inf)).z, plain, rtol=1e-14)
    np.testing.assert_allclose(lcp.solve(lcp.BoxLCP(M, -q, -np.inf, np.inf)).z, np.linalg.solve(M, q))
    np.testing.assert_array_equal(lcp.solve(lcp.BoxLCP(M, q, 7.0, 7.0)).z, [7.0, 7.0])
    np.testing.assert_allclose(lcp.solve(lcp.BoxLCP(sp.csr_matrix(M), q, 0.0, 1.0)).z, [1.0, 1.0])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (([[1.0]], [1.0], [2.0], [1.0]), r"lo\[0\] = 2.0 exceeds hi\[0\] = 1.0"),
        (([[1.0]], [1.0], [np.nan], [1.0]), r"lo\[0\] = nan"),
        (([[1.0]], [1.0], [0.0], [-np.inf]), r"hi\[0\] = -inf"),
        (([[1.0]], [1.0], [np.inf], [np.inf]), r"lo\[0\] = inf"),
        (([[1.0]], [1.0], [0.0, 1.0], [1.0]), "lo must have length 1"),
        (([[1.0]], [1.0, 2.0], 0.0, 1.0), "length 2"),
        (([[1.0, 2.0]], [1.0], 0.0, 1.0), "square"),
        (([[1.0]], [1.0], None, 1.0), "lo is None; use -inf for none"),
        (([[1.0]], [1.0], 0.0, None), "hi is None; use inf for none"),
        (([[1.0]], [1.0], [[0.0], [0.0, 1.0]], 1.0), "lo is not a real array"),
        (([[1.0]], [1.0], 0.0, 10**400), "hi is not a real array"),
    ],
)
def test_ill_formed_data_are_named(arguments: tuple[object, ...], text: str) -> None:
    """Wrong shapes, and bounds that bound nothing."""
    with pytest.raises(lcp.ProblemError, match=text):
        lcp.BoxLCP(*arguments)  # type: ignore[arg-type]


Matrix = NDArray[np.float64]
INF = np.inf


def game(A: Matrix, B: Matrix) -> lcp.LCP:
    """The problem of two players with costs A and B."""
    m, n = A.shape
    return lcp.LCP(np.block([[np.zeros((m, m)), A], [B.T, np.zeros((n, n))]]), -np.ones(m + n))


def costs(rng: np.random.Generator, kind: str, n: int) -> tuple[Matrix, Matrix]:
    """Return the costs of a game: uniform, small integers with many ties, or gains by imitation."""
    if kind == "uniform":
        return rng.uniform(0.1, 1.0, (n, n)), rng.uniform(0.1, 1.0, (n, n))
    A = rng.integers(1, 4, (n, n)).astype(float)
    if kind == "integers":
        return A, rng.integers(1, 4, (n, n)).astype(float)
    return A if rng.random() < 0.5 else rng.uniform(0.1, 1.0, (n, n)), 2.0 - np.eye(n)


@pytest.mark.parametrize("n", [10, 20, 40])
@pytest.mark.parametrize("kind", ["uniform", "integers", "imitation"])
def test_every_game_is_solved_by_the_default(kind: str, n: int) -> None:
    """Only pivots of Lemke and Howson; the result is an equilibrium: no strategy is better than the ones in use."""
    rng = np.random.default_rng([n, len(kind)])
    for _ in range(6):
        A, B = costs(rng, kind, n)
        result = lcp.solve(game(A, B))
        result.raise_for_status()
        assert isinstance(result.solver, lcp.LemkeHowson)
        x, y = result.z[:n] / result.z[:n].sum(), result.z[n:] / result.z[n:].sum()
        assert x @ A @ y <= (A @ y).min() + 1e-12
        assert x @ B @ y <= (x @ B).min() + 1e-12


def test_labels_lead_to_equilibria_and_only_there() -> None:
    """Against enumeration of all bases: every label of small games ends in one of the solutions."""
    rng = np.random.default_rng(5)
    met = 0
    for _ in range(10):
        problem = game(*rng.uniform(0.1, 1.0, (2, 3, 4)))
        every = lcp.enumerate_solutions(problem).solutions
        reached = set()
        for label in range(7):
            z = lcp.solve(problem, lcp.LemkeHowson(label=label, restarts=0)).z
            near = [i for i, one in enumerate(every) if np.allclose(z, one, rtol=1e-9, atol=1e-12)]
            assert len(near) == 1
            reached.add(near[0])
        met += len(reached) > 1
    assert met > 0


@pytest.mark.parametrize(
    ("M", "q"),
    [
        ([[0.0, 1.0], [1.0, 0.0]], [-1.0, 1.0]),  # q not negative
        ([[0.0, -1.0], [1.0, 0.0]], [-1.0, -1.0]),  # a negative cost
        ([[1.0, 1.0], [1.0, 0.0]], [-1.0, -1.0]),  # a player against himself
        ([[0.0, 1.0], [0.0, 0.0]], [-1.0, -1.0]),  # a row of zeros
        ([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]], [-1.0, -1.0, -1.0]),  # three players
    ],
)
def test_what_is_no_game_is_told(M: list[list[float]], q: list[float]) -> None:
    """Other solvers solve it, and the text gives the reason."""
    result = lcp.solve(lcp.LCP(M, q), lcp.LemkeHowson())
    assert result.status is lcp.Status.UNSUITABLE
    assert "not of the form of a game" in result.describe()


def test_a_label_beyond_the_problem_is_refused() -> None:
    """The error has both numbers."""
    with pytest.raises(lcp.ProblemError, match=r"LemkeHowson.label is 4, the problem has 4"):
        lcp.solve(game(np.ones((2, 2)), np.ones((2, 2))), lcp.LemkeHowson(label=4))


def box(rng: np.random.Generator, kind: str, n: int) -> lcp.BoxLCP:
    """Any matrix, or one of small integers with ties."""
    if kind == "normal":
        return lcp.BoxLCP(rng.standard_normal((n, n)), 2.0 * rng.standard_normal(n), -1.0, 1.0)
    return lcp.BoxLCP(rng.integers(-2, 3, (n, n)), rng.integers(-3, 4, n), -1.0, 1.0)


@pytest.mark.parametrize("n", [10, 20, 50])
@pytest.mark.parametrize("kind", ["normal", "integers"])
def test_every_finite_box_is_solved(kind: str, n: int) -> None:
    """The method solves it on its first path, and so does the default."""
    rng = np.random.default_rng([n, len(kind)])
    for _ in range(6):
        problem = box(rng, kind, n)
        result = lcp.solve(problem, lcp.BoxLemke(restarts=0))
        result.raise_for_status()
        np.testing.assert_array_equal(np.clip(result.z, -1.0, 1.0), result.z)
        assert lcp.solve(problem).solved


def test_a_ray_is_called_a_ray() -> None:
    """An unknown without upper bound grows for ever: no solution, none claimed."""
    problem = lcp.BoxLCP([[-1.0, 0.0], [0.0, 1.0]], [-1.0, -0.5], [0.0, 0.0], [INF, 1.0])
    result = lcp.solve(problem, lcp.BoxLemke())
    assert result.status is lcp.Status.RAY_TERMINATION
    assert not lcp.solve(problem).solved


def test_unknowns_without_bounds_that_have_no_pivot() -> None:
    """Their block is singular: this is reported, and the default solves the converted problem."""
    problem = lcp.BoxLCP([[0.0, 1.0], [1.0, 1.0]], [-0.5, 1.0], [-INF, 0.0], [INF, 1.0])
    result = lcp.solve(problem, lcp.BoxLemke())
    assert result.status is lcp.Status.UNSUITABLE
    assert "without bounds is singular" in result.describe()
    assert lcp.solve(problem).solved


@pytest.mark.parametrize("seed", [1, 2])
def test_the_default_gives_blocks_up_where_pairs_go_one_by_one(seed: int) -> None:
    """Sparse, nearly skew, no P matrix to see at a glance: the path solves it after 40 factorisations of blocks."""
    n = 600
    S = sp.random(n, n, 5 / n, random_state=seed)
    problem = lcp.LCP((S - S.T + 0.01 * sp.eye(n)).tocsr(), np.random.default_rng(seed).normal(size=n))
    result = lcp.solve(problem)
    result.raise_for_status()
    assert sum(attempt.iterations for attempt in result.attempts) < 200
