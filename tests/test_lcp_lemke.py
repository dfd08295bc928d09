"""Lemke's method: classes against enumeration, degeneracy, rays, warm start, and its tableau."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from test_lcp_promises import contact

import lcp
from lcp.catalog import murty


def test_a_ray_is_told_though_measures_overflow() -> None:
    """The status follows from the measures, the evidence from the path: as a whole and pivot by pivot."""
    M = [[1e-150, 0.0, -1e300], [-1e-150, -2e-300, -2e-150], [-2e-150, -2e300, 2e300]]
    problem = lcp.LCP(M, [-2e-150, -1.0, -2e150])
    whole, traced = (lcp.solve(problem, lcp.Lemke(), trace=trace) for trace in (False, True))
    assert whole.status is traced.status is lcp.Status.NOT_FINITE
    np.testing.assert_array_equal(whole.evidence.w, traced.evidence.w)
    np.testing.assert_array_equal(whole.evidence.z, traced.evidence.z)


@pytest.mark.parametrize("seed", range(40))
def test_numbers_below_the_smallest_normal_one_end_in_a_status(seed: int) -> None:
    """Rounding is large compared with them, so that after a step no variable may be zero to within its own."""
    rng = np.random.default_rng(seed)
    M, q = rng.standard_normal((8, 8)), -5e-324 * rng.integers(0, 5, 8)
    problem = lcp.LCP(M, q)
    result = lcp.solve(problem, lcp.Lemke())
    assert result.solved == lcp.residuals(problem, result.z).solved()
    assert lcp.solve(problem, lcp.Lemke(), trace=True).status is result.status


def test_restarts_leave_exponential_paths() -> None:
    """Murty's path has 2^16 pivots; it is given up early, and another covering vector has a short one."""
    result = lcp.solve(murty(16), lcp.Lemke())
    assert result.solved
    assert result.iterations < 1000


def test_trace_follows_the_artificial_variable() -> None:
    """The artificial variable falls to zero; tracing does not change the result."""
    problem = lcp.LCP(*definite(6, 4))
    plain, traced = lcp.solve(problem), lcp.solve(problem, trace=True)
    assert plain.trace is None
    assert traced.trace is not None
    assert len(traced.trace) == traced.iterations
    assert traced.trace.values[-1] == 0.0
    assert (np.diff(traced.trace.values) <= 1e-12).all()
    np.testing.assert_array_equal(plain.z, traced.z)


def test_all_recorded_toss_problems_are_certified(shared: Path) -> None:
    """Problems of real tosses on which a plain Lemke fails are all solved, and so is the recorded sequence."""
    files = sorted((shared / "problems" / "lcp_toss").glob("toss*.npz"))
    assert files
    for file in files:
        with np.load(file) as data:
            result = lcp.solve(lcp.LCP(data["M"], data["q"]))
        assert result.solved, (file.name, result)
    (sequence,) = (shared / "problems" / "lcp_toss").glob("sequence_*.npz")
    with np.load(sequence) as data:
        sizes, M, q = data["n"], data["M"], data["q"]
    at_M = at_q = 0
    for n in sizes:
        problem = lcp.LCP(M[at_M : at_M + n * n].reshape(n, n), q[at_q : at_q + n])
        assert lcp.solve(problem).solved
        at_M, at_q = at_M + n * n, at_q + n


@pytest.mark.parametrize("seed", range(20))
def test_zeros_of_the_covering_vector_where_q_is_not_negative(seed: int) -> None:
    """Rows that hold by themselves need no cover: the one solution of a P-matrix is found from there, ties included."""
    rng = np.random.default_rng(seed)
    n = 9
    A = rng.standard_normal((n, n))
    q = rng.integers(-2, 3, n).astype(float)
    q[0], q[1] = 1.0, -1.0
    problem = lcp.LCP(A @ A.T + 0.1 * np.eye(n), q)
    cover = np.where((q < 0.0) | (rng.random(n) < 0.3), 1.0, 0.0)
    result = lcp.solve(problem, lcp.Lemke(covering_vector=tuple(cover), restarts=0))
    assert result.solved
    np.testing.assert_allclose(result.z, lcp.solve(problem).z, rtol=1e-9, atol=1e-12)


def test_covering_vectors_that_do_not_fit_a_problem_are_refused() -> None:
    """By length or by a row that needs cover, whose q is named; by the solve, because construction has no problem."""
    with pytest.raises(lcp.ProblemError, match="length 2, the problem 3"):
        lcp.solve(lcp.LCP(np.eye(3), -np.ones(3)), lcp.Lemke(covering_vector=(1.0, 1.0)))
    solver = lcp.Lemke(covering_vector=(1.0, 0.0))
    assert lcp.solve(lcp.LCP(np.eye(2), [-1.0, 0.0]), solver).solved
    with pytest.raises(lcp.ProblemError, match=r"covering_vector\[1\] = 0 but q\[1\] = -2.0 < 0"):
        lcp.solve(lcp.LCP(np.eye(2), [-1.0, -2.0]), solver)


@pytest.mark.parametrize("seed", range(10))
def test_the_covering_vector_of_a_box(seed: int) -> None:
    """(1, 0) on [[M, I], [-I, 0]]: no path can end in a ray (Cao and Ferris 1996)."""
    rng = np.random.default_rng(seed)
    n = 8
    M, q = rng.standard_normal((n, n)), 2.0 * rng.standard_normal(n)
    doubled = np.block([[M, np.eye(n)], [-np.eye(n), np.zeros((n, n))]])
    cover = (1.0,) * n + (0.0,) * n
    result = lcp.solve(
        lcp.LCP(doubled, np.concatenate([q - M.sum(axis=1), np.full(n, 2.0)])),
        lcp.Lemke(covering_vector=cover, restarts=0),
    )
    assert result.solved
    assert lcp.residuals(lcp.BoxLCP(M, q, -1.0, 1.0), result.z[:n] - 1.0).natural_map < 1e-9


Matrix = NDArray[np.float64]


def definite(n: int, seed: int) -> tuple[Matrix, Matrix]:
    """A symmetric positive definite problem."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n))
    return A @ A.T + 0.1 * np.eye(n), rng.standard_normal(n)


@pytest.mark.parametrize("n", [12, 30, 120])
def test_a_near_start_saves_pivots(n: int) -> None:
    """From the solution of a neighbouring problem the path is shorter, and ends in the same bits as the cold one."""
    M, q = definite(n, n)
    start = lcp.solve(lcp.LCP(M, q), lcp.Lemke()).z
    near = lcp.LCP(M, q + 0.2 * np.random.default_rng(1).standard_normal(n))
    cold, warm = lcp.solve(near, lcp.Lemke()), lcp.solve(near, lcp.Lemke(), z0=start)
    assert warm.solved
    assert 0 < warm.iterations < cold.iterations
    assert warm.attempts[0].detail == "warm start"
    np.testing.assert_array_equal(warm.z, cold.z)


def test_any_start_keeps_the_solution() -> None:
    """Random, dependent, full and empty starts solve all random semidefinite problems that a cold start solves."""
    rng = np.random.default_rng(5)
    for _ in range(400):
        n = int(rng.integers(1, 12))
        A = rng.integers(-2, 3, (n, int(rng.integers(1, n + 1)))).astype(float)
        x = rng.integers(0, 3, n).astype(float)
        problem = lcp.LCP(A @ A.T, rng.integers(0, 2, n) * (x == 0.0) - A @ (A.T @ x))
        z0 = rng.integers(-1, 3, n).astype(float)
        result = lcp.solve(problem, lcp.Lemke(), z0=z0)
        assert result.solved, (problem.M, problem.q, z0, result)


def test_a_start_leaves_the_limit_to_the_cold_path() -> None:
    """Pivots spent on a start that leads nowhere are counted, beside the limit."""
    M, q = definite(40, 3)
    problem = lcp.LCP(M, q)
    needed = lcp.solve(problem, lcp.Lemke()).iterations
    result = lcp.solve(problem, lcp.Lemke(max_pivots=needed, restarts=0), z0=np.ones(40))
    assert result.solved


@pytest.mark.parametrize("factor", [1e-4, 1e-8, 1e-12, 1e8, 1e12])
def test_heavy_and_light_bodies_are_solved(factor: float) -> None:
    """Contact problems whose mass entries stand beside the ones of the friction cone, trillions smaller or larger."""
    rng = np.random.default_rng(11)
    for _ in range(400):
        M, q = contact(rng, bool(rng.integers(0, 2)))
        rows = np.abs(M.diagonal()) > 0.0
        problem = lcp.LCP(np.where(np.outer(rows, rows), M * factor, M), q)
        assert lcp.solve(problem, lcp.Lemke(restarts=7)).solved, (problem.M, q)
