"""Problems with bounds on both sides: data, conversions, and verdicts on the boxed problem itself."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

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


def test_relay_with_all_three_answers() -> None:
    """One saturating unknown: at its lower bound, in between, at its upper bound."""
    for q, z in ((5.0, -1.0), (0.5, -0.25), (-5.0, 1.0)):
        result = lcp.solve(lcp.BoxLCP([[2.0]], [q], -1.0, 1.0))
        np.testing.assert_allclose(result.z, [z])
        np.testing.assert_allclose(result.w, [2 * z + q], atol=1e-15)


def test_a_negative_relay_has_three_solutions() -> None:
    """-2 z + q with |q| < 2: both ends and the middle."""
    found = lcp.enumerate_solutions(lcp.BoxLCP([[-2.0]], [0.5], [-1.0], [1.0]))
    assert sorted(float(z[0]) for z in found.solutions) == pytest.approx([-1.0, 0.25, 1.0])


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
