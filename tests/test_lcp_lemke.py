"""Lemke's method: its classes against enumeration, degeneracy, rays, limits, warm start, recorded contact problems."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import enumerate_bases
from numpy.typing import NDArray

import lcp
from lcp.catalog import murty


def random_problem(seed: int, n: int, kind: str) -> lcp.LCP:
    """A problem Lemke's method must solve, perhaps with ties and duplicated rows."""
    rng = np.random.default_rng(seed)
    A = rng.integers(-2, 3, (n, max(1, n - seed % 3))).astype(float) if seed % 2 else rng.standard_normal((n, n))
    if kind == "definite":
        M, q = A @ A.T + np.eye(n), rng.integers(-3, 4, n).astype(float)
    elif kind == "semidefinite":
        # q in the range of M minus something feasible: a solution exists, M may be singular, rows may be duplicated.
        M = A @ A.T
        if n > 1:
            M[-1], M[:, -1] = M[0], M[:, 0]
            M[-1, -1] = M[0, 0]
        x = rng.integers(0, 2, n).astype(float)
        q = -M @ x + rng.integers(0, 2, n) * (x == 0)
        if n > 1:
            q[-1] = q[0]
    else:
        # Diagonally dominant by rows: a P-matrix, neither symmetric nor positive definite in general.
        M = rng.integers(-2, 3, (n, n)).astype(float)
        np.fill_diagonal(M, np.abs(M).sum(axis=1) + 1.0)
        q = rng.integers(-3, 4, n).astype(float)
    return lcp.LCP(M, q)


@pytest.mark.parametrize("kind", ["definite", "semidefinite", "dominant"])
@given(seed=st.integers(0, 10**6), n=st.integers(1, 7))
def test_promised_classes_are_solved(kind: str, seed: int, n: int) -> None:
    """Definite, semidefinite (feasible) and P problems with ties are all solved; unique answers equal enumeration's."""
    problem = random_problem(seed, n, kind)
    result = lcp.solve(problem, lcp.Lemke())
    result.raise_for_status()
    if kind != "semidefinite":
        (only,) = enumerate_bases(problem.M, problem.q)
        np.testing.assert_allclose(result.z, only, rtol=1e-9, atol=1e-11)


def test_any_problem_ends_with_a_true_verdict() -> None:
    """On 3000 random integer problems of no class, SOLVED is never wrong and failures keep finite numbers."""
    rng = np.random.default_rng(7)
    for _ in range(3000):
        n = int(rng.integers(1, 5))
        problem = lcp.LCP(rng.integers(-2, 3, (n, n)), rng.integers(-2, 3, n))
        result = lcp.solve(problem, lcp.Lemke())
        natural = np.abs(np.minimum(result.z, problem.M @ result.z + problem.q)).max()
        assert result.solved == (natural <= 1e-8 * max(1.0, np.abs(problem.q).max()))
        assert np.isfinite(result.z).all()


def scaled(problem: lcp.LCP, rows: np.ndarray, columns: np.ndarray) -> lcp.LCP:
    """R M C z' + R q: the same problem in other units."""
    return lcp.LCP(rows[:, None] * problem.M * columns, rows * problem.q)


@given(seed=st.integers(0, 10**6))
def test_units_do_not_matter(seed: int) -> None:
    """Rows and columns rescaled by powers of ten over 24 decades give the same solution in the new units."""
    rng = np.random.default_rng(seed)
    problem = random_problem(seed, 5, "definite")
    columns = 10.0 ** rng.integers(-6, 7, 5)
    rows = 10.0 ** rng.integers(-6, 7, 5)
    reference = lcp.solve(problem, lcp.Lemke())
    result = lcp.solve(scaled(problem, rows, columns), lcp.Lemke())
    result.raise_for_status()
    np.testing.assert_allclose(result.z * columns, reference.z, rtol=1e-7, atol=1e-9)


@given(seed=st.integers(0, 10**6))
def test_permuted_rows_give_the_permuted_answer(seed: int) -> None:
    """The order of the unknowns is immaterial where the solution is unique."""
    problem = random_problem(seed, 6, "dominant")
    order = np.random.default_rng(seed).permutation(6)
    result = lcp.solve(lcp.LCP(problem.M[np.ix_(order, order)], problem.q[order]))
    np.testing.assert_allclose(result.z, lcp.solve(problem).z[order], rtol=1e-10, atol=1e-12)


@pytest.mark.nojit
def test_a_ray_is_a_ray() -> None:
    """The evidence of RAY_TERMINATION keeps w = M z + d t with all parts nonnegative and complementary."""
    M = np.array([[1.0, -1.0], [-1.0, 1.0]])
    result = lcp.solve(lcp.LCP(M, [-1.0, -1.0]), lcp.Lemke(covering_vector=(1.0, 2.0), restarts=0))
    assert result.status is lcp.Status.RAY_TERMINATION
    ray = result.evidence
    np.testing.assert_allclose(ray.w, M @ ray.z + np.array([1.0, 2.0]) * ray.t, atol=1e-12)
    assert ray.z.min() >= 0.0
    assert ray.w.min() >= 0.0
    assert ray.t >= 0.0
    assert np.abs(ray.z * ray.w).max() <= 1e-12
    assert ray.z.max() > 0.0


def test_a_ray_is_told_though_measures_overflow() -> None:
    """The status is that of the measures, the evidence what the path met: in one piece and pivot by pivot alike."""
    M = [[1e-150, 0.0, -1e300], [-1e-150, -2e-300, -2e-150], [-2e-150, -2e300, 2e300]]
    problem = lcp.LCP(M, [-2e-150, -1.0, -2e150])
    whole, traced = (lcp.solve(problem, lcp.Lemke(), trace=trace) for trace in (False, True))
    assert whole.status is traced.status is lcp.Status.NOT_FINITE
    np.testing.assert_array_equal(whole.evidence.w, traced.evidence.w)
    np.testing.assert_array_equal(whole.evidence.z, traced.evidence.z)


def test_limits_are_kept_and_named() -> None:
    """Pivot and time limits end in ITERATION_LIMIT with finite numbers; the default limit is finite."""
    assert lcp.solve(murty(5), lcp.Lemke(max_pivots=3)).status is lcp.Status.ITERATION_LIMIT
    alone = lcp.solve(murty(16), lcp.Lemke(restarts=0))
    assert alone.status is lcp.Status.ITERATION_LIMIT
    assert alone.iterations == 1000
    late = lcp.solve(murty(14), lcp.Lemke(max_pivots=10**6, restarts=0, time_limit=1e-9))
    assert late.status is lcp.Status.ITERATION_LIMIT
    assert np.isfinite(late.z).all()
    assert lcp.solve(murty(11), lcp.Lemke(max_pivots=10**5, restarts=0)).solved


def test_what_memory_held_before_is_in_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays that nobody has filled are full of NaN here: a path that is cut off counts its pivots all the same."""

    def empty(shape: int | tuple[int, ...], dtype: type = np.float64) -> NDArray[np.float64]:
        return np.full(shape, np.nan if dtype is np.float64 else 0, dtype)

    monkeypatch.setattr(np, "empty", empty)
    late = lcp.solve(murty(14), lcp.Lemke(max_pivots=10**6, restarts=0, time_limit=1e-9))
    assert late.status is lcp.Status.ITERATION_LIMIT
    assert late.iterations > 0
    assert late.attempts[0].detail == "time limit"
    for n in (1, 4, 12):
        assert lcp.solve(lcp.LCP(np.eye(n), -np.ones(n)), lcp.Lemke()).solved


@pytest.mark.parametrize("seed", range(40))
def test_numbers_below_the_smallest_normal_one_end_in_a_status(seed: int) -> None:
    """Rounding is no small part of them, so that after a step no variable may be zero to within its own."""
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


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"max_pivots": -1}, "max_pivots"),
        ({"max_pivots": 1.5}, "max_pivots"),
        ({"pivot_tolerance": 2.0}, "pivot_tolerance"),
        ({"tie_tolerance": float("nan")}, "tie_tolerance"),
        ({"restarts": -2}, "restarts"),
        ({"time_limit": 0.0}, "time_limit"),
        ({"covering_vector": (1.0, -1.0)}, r"covering_vector\[1\]"),
        ({"covering_vector": (0.0, 0.0)}, "covering_vector has no positive entry"),
    ],
)
def test_options_out_of_range_are_named(options: dict[str, object], text: str) -> None:
    """Each option says what it must be."""
    with pytest.raises(lcp.ProblemError, match=text):
        lcp.Lemke(**options)  # type: ignore[arg-type]


def test_a_covering_vector_of_the_wrong_length_is_refused() -> None:
    """Found when the problem is known."""
    with pytest.raises(lcp.ProblemError, match="length 2, the problem 3"):
        lcp.solve(lcp.LCP(np.eye(3), -np.ones(3)), lcp.Lemke(covering_vector=(1.0, 1.0)))


@given(seed=st.integers(0, 10**6))
def test_the_covering_vector_does_not_change_a_unique_answer(seed: int) -> None:
    """Another path, the same end."""
    problem = random_problem(seed, 5, "dominant")
    cover = tuple(np.random.default_rng(seed).uniform(0.1, 10.0, 5).tolist())
    other = lcp.solve(problem, lcp.Lemke(covering_vector=cover))
    np.testing.assert_allclose(other.z, lcp.solve(problem).z, rtol=1e-10, atol=1e-12)


@pytest.mark.nojit
def test_a_start_at_the_solution_costs_no_pivot() -> None:
    """The positive entries of z0 are tried as a basis; a wrong start costs nothing but that try."""
    problem = random_problem(4, 6, "definite")
    cold = lcp.solve(problem, lcp.Lemke())
    warm = lcp.solve(problem, lcp.Lemke(), z0=cold.z * 3.0)
    assert cold.iterations > 0
    assert warm.iterations == 0
    assert "warm" in warm.attempts[0].detail
    np.testing.assert_array_equal(warm.z, cold.z)
    wrong = lcp.solve(problem, lcp.Lemke(), z0=np.ones(6) - np.sign(cold.z))
    np.testing.assert_array_equal(wrong.z, cold.z)


def test_trace_follows_the_artificial_variable() -> None:
    """It falls to zero; tracing does not change the answer."""
    problem = random_problem(4, 6, "definite")
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


def test_the_shared_problem_set(shared: Path) -> None:
    """Every solvable file of a class Lemke is proven for is solved, and nothing unsolvable is called solved."""
    folder = shared / "problems" / "lcp"
    for name, family, *_ in json.loads((folder / "index.json").read_text()):
        with np.load(folder / f"{name}.npz") as data:
            problem, expected = lcp.LCP(data["M"], data["q"]), str(data["expected"])
        limit = 10**5 if family.endswith("_exp") else None
        result = lcp.solve(problem, lcp.Lemke(max_pivots=limit))
        assert result.solved == (expected == "solvable"), (name, result)


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


def test_a_row_that_needs_cover_and_has_none_is_refused() -> None:
    """With its q; at the solve, for construction knows no q."""
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
