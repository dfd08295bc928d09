"""Paths of solutions: against solving at sampled points, through degenerate breakpoints, and where they turn back."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lcp
from lcp import Traits
from lcp.conformance import CLASSES


def obeys(path: lcp.ParametricPath, count: int = 30) -> None:
    """Points and middles of every segment solve the problem at their t."""
    assert path.backward_errors.max(initial=0.0) <= 1e-9
    for k in range(len(path.bases)):
        for share in (0.3, 0.5, 0.9):
            t = (1.0 - share) * path.t[k] + share * path.t[k + 1]
            z = (1.0 - share) * path.z[k] + share * path.z[k + 1]
            assert lcp.residuals(path.problem(t), z).solved(1e-9)
            assert set(np.flatnonzero(z > 1e-9 * np.abs(z).max(initial=0.0))) <= set(path.bases[k])


@given(
    seed=st.integers(0, 10**6),
    trait=st.sampled_from(
        [Traits.SYMMETRIC_POSITIVE_DEFINITE, Traits.POSITIVE_DEFINITE, Traits.P_MATRIX, Traits.H_PLUS]
    ),
)
@settings(max_examples=60, deadline=None)
def test_paths_of_p_matrices_are_the_solution_at_every_t(seed: int, trait: Traits) -> None:
    """They arrive without a turn, t growing, and agree with a solver at sampled points, in both directions."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    M = CLASSES[trait](rng, n)
    problem = lcp.LCP(M, rng.standard_normal(n))
    to = float(rng.choice([-3.0, 2.0]))
    direction = 3.0 * rng.standard_normal(n)
    path = lcp.parametric(problem, direction, to)
    assert path.solved, path.detail
    assert path.turning_points == ()
    assert path.t[0] == 0.0
    assert path.t[-1] == to
    assert (np.diff(path.t) * to > 0.0).all()
    obeys(path)
    for t in np.linspace(0.0, to, 7):
        expected = lcp.solve(lcp.LCP(M, problem.q + t * direction)).z
        np.testing.assert_allclose(path.evaluate(t), expected, atol=1e-9 * (1.0 + np.abs(expected).max()))


@given(seed=st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_degenerate_paths_of_whole_numbers(seed: int) -> None:
    """Small integers, zeros in q and d, ties everywhere: every point of the path is a solution."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    B = rng.integers(-1, 2, (n, n)).astype(float)
    M = B @ B.T + (0.0 if seed % 2 else 1.0) * np.eye(n)
    problem = lcp.LCP(M, M @ rng.integers(0, 2, n) * -1.0)
    path = lcp.parametric(problem, rng.integers(-1, 2, n).astype(float), 4.0)
    obeys(path)
    if not seed % 2:
        assert path.solved
        assert path.turning_points == ()
    elif not path.solved:
        # Positive semidefinite: a path that does not arrive ends in a ray, and there is nothing beyond it.
        assert path.status is lcp.Status.RAY_TERMINATION
        assert not lcp.solve(path.problem(path.t[-1] + 0.5)).solved


@given(seed=st.integers(0, 10**6))
@settings(max_examples=100, deadline=None)
def test_paths_of_any_matrix_end_with_a_reason(seed: int) -> None:
    """Every point solves; turns are where t changes direction, and the end is what the status says."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    M = rng.integers(-3, 4, (n, n)).astype(float)
    z = rng.integers(0, 3, n)
    q = np.where(z > 0, 0, rng.integers(0, 3, n)) - M @ z
    path = lcp.parametric(lcp.LCP(M, q), rng.integers(-2, 3, n).astype(float), 3.0)
    if path.t.size == 0:
        assert path.status in (lcp.Status.SINGULAR_BASIS, lcp.Status.STALLED)
        return
    obeys(path)
    moves = np.sign(np.diff(path.t))
    moves = moves[moves != 0.0]
    assert len(path.turning_points) == int((moves[1:] != moves[:-1]).sum())
    if path.solved:
        assert path.t[-1] == 3.0
    elif path.status is lcp.Status.TURNED_BACK:
        assert path.t[-1] == 0.0
    else:
        assert path.status in (lcp.Status.RAY_TERMINATION, lcp.Status.SINGULAR_BASIS), path.detail


def test_breakpoints_in_closed_form() -> None:
    """w = 2 z + 1 - t, alone and coupled: z = max(0, t - 1) / 2, breakpoints at 0, 1 and the end."""
    path = lcp.parametric(lcp.LCP([[2.0]], [1.0]), [-1.0], 5.0)
    np.testing.assert_allclose(path.t, [0.0, 1.0, 5.0])
    np.testing.assert_allclose(path.z, [[0.0], [0.0], [2.0]])
    assert path.bases == ((), (0,))
    np.testing.assert_allclose(path.evaluate(3.0), [1.0])
    assert path.problem(3.0).q[0] == -2.0
    with pytest.raises(lcp.ProblemError, match=r"covers t in \[0.0, 5.0\], not 6.0"):
        path.evaluate(6.0)


def test_a_path_that_turns_back() -> None:
    """M = -1: z = 0 while 1 - t >= 0, then z = 1 - t back to t = 0, where both solutions are."""
    problem = lcp.LCP([[-1.0]], [1.0])
    path = lcp.parametric(problem, [-1.0], 2.0)
    assert path.status is lcp.Status.TURNED_BACK
    assert "came back" in path.detail
    assert path.turning_points == (1,)
    assert path.t[1] == pytest.approx(1.0)
    np.testing.assert_allclose(np.sort(path.z[[0, -1], 0]), [0.0, 1.0])
    np.testing.assert_allclose(np.sort(np.ravel(path.points(0.5))), [0.0, 0.5])
    stopped = lcp.parametric(problem, [-1.0], 2.0, follow_turns=False)
    assert stopped.status is lcp.Status.TURNED_BACK
    assert stopped.detail == "t turns back at 1"
    np.testing.assert_allclose(stopped.t, [0.0, 1.0])
    assert len(stopped.bases) == 1


def test_a_path_that_turns_twice_and_arrives() -> None:
    """Forth with z = 0 to t = 3, back with z_1 = t - 3 over -2 to t = 7/5, forth again with both to the end."""
    path = lcp.parametric(lcp.LCP([[-2.0, 3.0], [-3.0, 1.0]], [3.0, 1.0]), [-1.0, 1.0], 6.0)
    assert path.solved
    assert path.turning_points == (1, 2)
    np.testing.assert_allclose(path.t, [0.0, 3.0, 1.4, 6.0])
    np.testing.assert_allclose(path.z, [[0.0, 0.0], [0.0, 0.0], [0.8, 0.0], [24.0 / 7.0, 23.0 / 7.0]], atol=1e-14)
    obeys(path)
    for t, count in ((1.0, 1), (2.0, 3), (2.9, 3), (3.5, 1)):
        known = lcp.enumerate_solutions(path.problem(t)).solutions
        assert len(path.points(t)) == len(known) == count
        for z in path.points(t):
            assert min(np.abs(z - one).max() for one in known) <= 1e-9


def test_a_ray_ends_a_path_where_solutions_end() -> None:
    """w_1 = z_2 - t, w_2 = 1 - z_1 - z_2 + ...: z cannot follow beyond t; the status says where."""
    problem = lcp.LCP([[1.0, -1.0], [-1.0, 1.0]], [1.0, 1.0])
    path = lcp.parametric(problem, [-1.0, -1.0], 3.0)
    assert path.status is lcp.Status.RAY_TERMINATION
    assert path.t[-1] == pytest.approx(1.0)
    assert "t = 1" in path.detail
    assert lcp.solve(path.problem(1.1)).status is lcp.Status.INFEASIBLE


def test_mixed_problems_have_their_free_unknowns_on_the_path() -> None:
    """A mass on a floor under a growing load: u = velocity, y = impulse."""
    problem = lcp.MLCP([[2.0]], [[-1.0]], [[1.0]], [[0.0]], [-0.5], [0.0])
    path = lcp.parametric(problem, [1.0, 0.0], 2.0)
    assert path.solved
    np.testing.assert_allclose(path.t, [0.0, 0.5, 2.0])
    np.testing.assert_allclose(path.z, [[0.25, 0.0], [0.0, 0.0], [0.0, 1.5]], atol=1e-15)


def test_other_units_change_no_breakpoint() -> None:
    """Rows and unknowns scaled by powers of ten: the same t."""
    rng = np.random.default_rng(5)
    M = CLASSES[Traits.POSITIVE_DEFINITE](rng, 6)
    q, d = rng.standard_normal(6), rng.standard_normal(6)
    r, c = 10.0 ** rng.integers(-6, 7, 6), 10.0 ** rng.integers(-6, 7, 6)
    plain = lcp.parametric(lcp.LCP(M, q), d, 5.0)
    scaled = lcp.parametric(lcp.LCP(r[:, None] * M * c, r * q), r * d, 5.0)
    assert scaled.solved
    np.testing.assert_allclose(scaled.t, plain.t, rtol=1e-9)
    np.testing.assert_allclose(scaled.z * c, plain.z, atol=1e-9)


def test_nothing_to_go_and_nothing_to_begin_with() -> None:
    """to = 0 is one point; a problem without solution at t = 0 gives its status and an empty path; limits hold."""
    path = lcp.parametric(lcp.LCP([[1.0]], [-1.0]), [1.0], 0.0)
    assert path.solved
    np.testing.assert_allclose(path.z, [[1.0]])
    none = lcp.parametric(lcp.LCP([[-1.0]], [-1.0]), [1.0], 1.0)
    assert none.status is lcp.Status.INFEASIBLE
    assert none.t.shape == (0,)
    assert none.evidence is not None
    with pytest.raises(lcp.ProblemError, match="covers t in nothing"):
        none.evaluate(0.0)
    few = lcp.parametric(lcp.LCP(np.eye(3), [1.0, 2.0, 3.0]), [-1.0, -1.0, -1.0], 9.0, max_pivots=1)
    assert few.status is lcp.Status.ITERATION_LIMIT
    assert few.t[-1] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((lcp.BoxLCP([[1.0]], [1.0], 0.0, 1.0), [1.0], 1.0), "box_to_mlcp"),
        ((lcp.LCP([[1.0]], [1.0]), [1.0, 2.0], 1.0), "direction must have length 1"),
        ((lcp.LCP([[1.0]], [1.0]), [np.nan], 1.0), "direction"),
        ((lcp.LCP([[1.0]], [1.0]), [1.0], np.inf), "to must be a finite number"),
    ],
)
def test_ill_formed_arguments_raise(arguments: Any, text: str) -> None:
    """Each named."""
    with pytest.raises(lcp.ProblemError, match=text):
        lcp.parametric(*arguments)
