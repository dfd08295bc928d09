"""The solvers that go through a quadratic program: every engine, sparse data, bounds, and the form of the program."""

from __future__ import annotations

import dataclasses
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import lcp
from lcp.catalog import entries
from lcp.matrix_classes import is_positive_semidefinite, is_symmetric
from lcp.solvers.quadratic_codes import PIQP, Clarabel, ProxQP
from lcp.solvers.shared.quadratic import program_of

PACKAGES = {Clarabel: "clarabel", PIQP: "piqp", ProxQP: "proxsuite"}
ENGINES = (lcp.OSQP, lcp.CVXPY, Clarabel, PIQP, ProxQP)
NAMES = [engine.__name__ for engine in ENGINES]


@pytest.fixture(scope="module", params=ENGINES, ids=NAMES)
def engine(request: pytest.FixtureRequest) -> type:
    if request.param in PACKAGES:
        pytest.importorskip(PACKAGES[request.param])
    return request.param


def feasible(rng: np.random.Generator, M: np.ndarray) -> np.ndarray:
    """A q for which a random z is a solution."""
    n = len(M)
    z = rng.random(n) * (rng.random(n) < 0.5)
    return -M @ z + rng.random(n) * (z == 0.0)


def string(n: int) -> lcp.LCP:
    """The obstacle problem of the catalog, sparse."""
    h = 1.0 / (n + 1)
    M = sp.diags([-np.ones(n - 1), 2.0 * np.ones(n), -np.ones(n - 1)], [-1, 0, 1], format="csr") / h**2
    q = np.ones(n)
    q[[0, -1]] -= 0.05 / h**2
    return lcp.LCP(M, q)


def string_solution(n: int) -> np.ndarray:
    """Its closed form: parabolas from the ends touch down with zero slope, at the node the grid allows."""
    h, z = 1.0 / (n + 1), np.zeros(n)
    # z_0 = 0.05 at the wall, second differences h^2, and zero from node k on: 0.05 - k s + k (k - 1) h^2 / 2 = 0.
    for k in range(1, n // 2):
        slope = 0.05 / k + 0.5 * (k - 1) * h * h
        i = np.arange(1, k)
        values = 0.05 - i * slope + 0.5 * i * (i - 1) * h * h
        touch = values[-1] if k > 1 else 0.05
        if touch <= h * h and (values > 0.0).all():
            z[: k - 1] = values
            z[n - k + 1 :] = values[::-1]
            return z
    raise AssertionError("it does not touch")


@given(seed=st.integers(0, 10**6), n=st.integers(1, 12), rank=st.integers(1, 12))
@settings(max_examples=15)
def test_semidefinite_problems_of_any_rank_are_solved(engine: type, seed: int, n: int, rank: int) -> None:
    """At the default tolerance and with w, which is unique, as Lemke's method has it."""
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((n, min(n, rank)))
    problem = lcp.LCP(B @ B.T, feasible(rng, B @ B.T))
    result = lcp.solve(problem, engine())
    result.raise_for_status()
    unit = max(1.0, np.abs(problem.q).max())
    np.testing.assert_allclose(result.w, lcp.solve(problem, lcp.Lemke()).w, atol=1e-8 * unit)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=15)
def test_sparse_and_dense_data_give_one_answer(engine: type, seed: int) -> None:
    """A monotone problem, symmetric for even seeds, written both ways."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    M = np.diag(rng.random(n) + 1.0)
    M[0, 1] = M[1, 0] = -0.5
    if seed % 2:
        M[0, -1] += 1.0
        M[-1, 0] -= 1.0
    q = rng.standard_normal(n)
    dense, sparse = (lcp.solve(lcp.LCP(data, q), engine()) for data in (M, sp.csr_matrix(M)))
    dense.raise_for_status()
    sparse.raise_for_status()
    np.testing.assert_allclose(sparse.z, dense.z, atol=1e-8)


def test_catalog_problems_of_the_class_are_solved(engine: type) -> None:
    """Every solvable semidefinite entry; infeasible ones are proved so."""
    for entry in entries():
        if entry.matrix_class is None or not entry.matrix_class & engine.traits:
            continue
        result = lcp.solve(entry.problem, engine())
        assert result.status is entry.outcome, entry.name
        if not result.solved:
            assert result.evidence.proves(entry.problem)
        elif entry.complete:
            gaps = [np.abs(result.z - z).max(initial=0.0) for z in entry.solutions]
            assert min(gaps) <= 1e-7 * max(1.0, np.abs(result.z).max(initial=0.0)), entry.name


def test_a_string_on_an_obstacle_stays_sparse(engine: type) -> None:
    """300 nodes against the closed form, at rounding accuracy after the polish."""
    problem = string(300)
    result = lcp.solve(problem, engine())
    result.raise_for_status()
    assert "dense" not in result.attempts[0].detail
    assert result.residual.scaled < 1e-12
    np.testing.assert_allclose(result.z, string_solution(300), atol=1e-12)


def test_a_large_string_takes_little_time() -> None:
    """100 000 nodes by an interior point method: nothing of size n^2 is formed."""
    pytest.importorskip("piqp")
    result = lcp.solve(string(100_000), PIQP())
    result.raise_for_status()
    assert result.solve_time < 30.0


@pytest.mark.parametrize("symmetric", [True, False])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=20)
def test_bounds_on_both_sides(engine: type, symmetric: bool, seed: int) -> None:
    """Every kind of bound, given and free unknowns included, against Lemke's method on the converted problem."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    B, S = rng.standard_normal((n, n)), rng.standard_normal((n, n))
    M = B @ B.T + 0.1 * np.eye(n) + (0.0 if symmetric else 1.0) * (S - S.T)
    lo, hi = rng.standard_normal(n) - 1.0, np.zeros(n)
    hi[:] = lo + rng.integers(0, 3, n)
    lo[rng.random(n) < 0.3], hi[rng.random(n) < 0.3] = -np.inf, np.inf
    q = 3.0 * rng.standard_normal(n)
    known = lcp.solve(lcp.BoxLCP(M, q, lo, hi), lcp.Lemke())
    known.raise_for_status()
    for data in (M, sp.csr_matrix(M)):
        result = lcp.solve(lcp.BoxLCP(data, q, lo, hi), engine())
        result.raise_for_status()
        np.testing.assert_allclose(result.z, known.z, atol=1e-7)


def test_bounds_that_hold_are_kept_exactly(engine: type) -> None:
    """A relay pushed to its limit stands on it, not beside it."""
    problem = lcp.BoxLCP([[2.0, 0.5], [0.5, 1.0]], [-10.0, 0.0], [-1.0, -0.3], [0.1, 0.3])
    result = lcp.solve(problem, engine())
    result.raise_for_status()
    assert result.z[0] == 0.1
    assert result.z[1] == pytest.approx(-0.05, abs=1e-12)


def test_given_unknowns_and_nothing_else(engine: type) -> None:
    """lo = hi for all: nothing to solve, no program is run."""
    result = lcp.solve(lcp.BoxLCP(np.eye(2), [1.0, -1.0], [2.0, 3.0], [2.0, 3.0]), engine())
    assert result.solved
    assert result.iterations == 0
    np.testing.assert_array_equal(result.z, [2.0, 3.0])


def test_indefinite_matrices_are_refused_sparse_or_not(engine: type) -> None:
    """UNSUITABLE for an M whose symmetric part has a negative eigenvalue, with advice."""
    M = np.array([[1.0, 2.0], [2.0, 1.0]])
    for problem in (
        lcp.LCP(M, [-1.0, -1.0]),
        lcp.LCP(sp.csr_matrix(M), [-1.0, -1.0]),
        lcp.BoxLCP(M, [-1.0, -1.0], 0.0, 1.0),
    ):
        result = lcp.solve(problem, engine())
        assert result.status is lcp.Status.UNSUITABLE
        assert "positive semidefinite" in result.attempts[0].detail


@pytest.mark.parametrize(
    "problem",
    [
        lcp.LCP(np.zeros((2, 2)), [-1.0, 1.0]),
        lcp.LCP(sp.csr_matrix((2, 2)), [-1.0, 1.0]),
        lcp.LCP([[0.0, 0.0], [0.0, 1.0]], [-1.0, 1.0]),
        lcp.LCP(1e-12 * np.array([[2.0, 1.0], [1.0, 2.0]]), [-1e12, -2e12]),
        lcp.LCP(1e12 * np.array([[2.0, 1.0], [1.0, 2.0]]), [-1e-12, -2e-12]),
        lcp.LCP([[1e-300]], [-1.0]),
        lcp.BoxLCP([[1.0, 2.0], [-2.0, 1.0]], [5.0, -9.0], -1.0, 1.0),
        lcp.BoxLCP([[2.0, 1.0], [1.0, 2.0]], [0.0, 0.0], 1e8, [1e8 + 1.0, np.inf]),
        lcp.BoxLCP(sp.csr_matrix((2, 2)), [-1.0, 1.0], [-1.0, -2.0], [3.0, 4.0]),
    ],
    ids=["zero", "zero_sparse", "zero_row", "tiny", "huge", "n1", "skew_box", "far_box", "zero_box"],
)
def test_awkward_data_end_as_with_the_default_solver(engine: type, problem: lcp.LCP | lcp.BoxLCP) -> None:
    """Zero matrices and rows, scales of 1e+-12 and 1e-300, bounds far from zero: the same status, a finite z."""
    result = lcp.solve(problem, engine())
    assert result.status is lcp.solve(problem).status
    assert np.isfinite(result.z).all()


def test_trivial_problems_cost_nothing(engine: type) -> None:
    """No unknowns, and q >= 0: z = 0 without an iteration."""
    for problem in (lcp.LCP(np.zeros((0, 0)), ()), lcp.LCP(np.eye(3), np.ones(3)), lcp.LCP(sp.eye(3), np.zeros(3))):
        result = lcp.solve(problem, engine())
        assert result.solved
        assert result.iterations == 0
        np.testing.assert_array_equal(result.z, np.zeros(problem.n))


@pytest.mark.parametrize("limited", [engine for engine in ENGINES if engine is not lcp.CVXPY])
def test_one_iteration_is_not_enough(limited: type) -> None:
    """The limit is honoured and named; the candidate is finite and not called solved."""
    pytest.importorskip(PACKAGES.get(limited, "osqp"))
    rng = np.random.default_rng(0)
    B = rng.standard_normal((8, 8))
    result = lcp.solve(lcp.LCP(B @ B.T, rng.standard_normal(8)), limited(max_iter=1, polish=False))
    assert result.status is lcp.Status.ITERATION_LIMIT
    assert np.isfinite(result.z).all()


def test_options_out_of_range_are_named(engine: type) -> None:
    """Each field refuses what makes no sense, at construction."""
    bad = {"eps": 0.0, "max_iter": 0, "polish": "yes", "time_limit": -1.0, "engine": 3}
    fields = {field.name for field in dataclasses.fields(engine)}
    assert fields & set(bad) == fields
    for name in fields:
        with pytest.raises(lcp.ProblemError, match=f"{engine.__name__}.{name}"):
            engine(**{name: bad[name]})


def test_nothing_is_printed(engine: type, capfd: pytest.CaptureFixture[str]) -> None:
    """The QP codes keep quiet, on dense and sparse data."""
    for M in (np.ones((2, 2)), sp.csr_matrix(np.ones((2, 2)))):
        assert lcp.solve(lcp.LCP(M, [-1.0, -1.0]), engine()).solved
    captured = capfd.readouterr()
    assert captured.out == ""


@pytest.mark.parametrize("solver", PACKAGES, ids=lambda solver: solver.__name__)
def test_a_missing_package_is_named_with_what_to_install(solver: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """UNSUITABLE, never an ImportError."""
    monkeypatch.setitem(sys.modules, PACKAGES[solver], None)
    result = lcp.solve(lcp.LCP([[1.0]], [-1.0]), solver())
    assert result.status is lcp.Status.UNSUITABLE
    assert result.attempts[0].detail == f"{PACKAGES[solver]} is not installed: pip install '.[peers]'"


@pytest.mark.parametrize("name", ["CLARABEL", "osqp", "SCS", "HIGHS", "PIQP", "PROXQP"])
def test_cvxpy_runs_the_engine_it_is_told_to(name: str) -> None:
    """Small, in any case of letters; the detail says which one it was."""
    import cvxpy

    if name.upper() not in cvxpy.installed_solvers():
        pytest.skip(f"{name} is not installed")
    result = lcp.solve(lcp.LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]), lcp.CVXPY(engine=name))
    result.raise_for_status()
    np.testing.assert_allclose(result.z, [4.0 / 3.0, 7.0 / 3.0], atol=1e-9)
    assert f"CVXPY with {name.upper()}" in result.attempts[0].detail


def test_an_engine_for_linear_programs_only_says_so() -> None:
    """CVXPY's SCIPY knows no quadratic objective: STALLED with its own words, no exception."""
    result = lcp.solve(lcp.LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]), lcp.CVXPY(engine="SCIPY"))
    assert result.status is lcp.Status.STALLED
    assert "CVXPY with SCIPY" in result.attempts[0].detail


@given(seed=st.integers(0, 10**6), n=st.integers(1, 8))
@settings(max_examples=60)
def test_sparse_semidefiniteness_agrees_with_eigenvalues(seed: int, n: int) -> None:
    """Clear cases in any units, low rank included."""
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((n, int(rng.integers(1, n + 1))))
    units = 10.0 ** rng.integers(-5, 6, n)
    skew = rng.standard_normal((n, n))
    M = B @ B.T + skew - skew.T
    assert is_positive_semidefinite(sp.csr_matrix(M * units * units[:, None]))
    x = rng.standard_normal(n)
    x /= np.linalg.norm(x)
    worse = M - (np.linalg.eigvalsh(M + M.T)[-1] / 2 + 0.01) * np.outer(x, x)
    worse -= max(0.0, float(np.linalg.eigvalsh(worse + worse.T)[0]) / 2 + 0.01) * np.outer(x, x)
    assert is_positive_semidefinite(sp.csr_matrix(worse)) == (np.linalg.eigvalsh(worse + worse.T)[0] >= 0.0)
    assert is_symmetric(sp.csr_matrix(B @ B.T))
    assert n == 1 or not is_symmetric(sp.csr_matrix(M))


def test_a_zero_diagonal_is_semidefinite_only_beside_zeros() -> None:
    """[[0, 1], [1, 0]] is not, [[0, 1], [-1, 0]] is, and so is nothing but zeros."""
    assert not is_positive_semidefinite(sp.csr_matrix([[0.0, 1.0], [1.0, 0.0]]))
    assert is_positive_semidefinite(sp.csr_matrix([[0.0, 1.0], [-1.0, 0.0]]))
    assert is_positive_semidefinite(sp.csr_matrix((3, 3)))
    assert is_positive_semidefinite(sp.csr_matrix((0, 0)))


@given(seed=st.integers(0, 10**6))
@settings(max_examples=40)
def test_the_programs_value_is_zero_at_a_solution_and_nowhere_below(seed: int) -> None:
    """Monotone and boxed: the objective, its constant put back, is the sum of products, which is never negative."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    B, S = rng.standard_normal((n, n)), rng.standard_normal((n, n)) + np.eye(n, k=1)
    M = B @ B.T + S - S.T + 0.1 * np.eye(n)
    lo, hi = -rng.random(n), rng.random(n)
    lo[rng.random(n) < 0.4], hi[rng.random(n) < 0.4] = -np.inf, np.inf
    problem = lcp.BoxLCP(M, rng.standard_normal(n), lo, hi)
    program = program_of(problem)
    assert program is not None
    if program.G is None:
        return
    result = lcp.solve(problem, lcp.Lemke())
    result.raise_for_status()
    # t = max(-w, 0) where there are two bounds; w in the units of the program.
    double = np.flatnonzero(np.isfinite(lo) & np.isfinite(hi))
    x = np.concatenate([program.start(result.z)[:n], np.zeros(len(double))])
    rows = program.G @ x - np.where(np.isfinite(program.low), program.low, program.high)
    x[n:] = np.maximum(-rows[double], 0.0)
    value = 0.5 * x @ program.P @ x + program.c @ x
    for _ in range(20):
        other = x + rng.standard_normal(len(x)) * rng.choice([1e-3, 1.0])
        other = np.clip(other, program.lo, program.hi)
        there = program.G @ other
        if (there >= program.low - 1e-12).all() and (there <= program.high + 1e-12).all():
            assert 0.5 * other @ program.P @ other + program.c @ other >= value - 1e-9
    np.testing.assert_allclose(program.recover(x), result.z, atol=1e-12)
