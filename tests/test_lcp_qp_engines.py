"""The solvers that go through a quadratic program: every engine, sparse data, bounds, and the form of the program."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import lcp
from lcp import PIQP, Clarabel, ProxQP
from lcp.matrix_classes import is_positive_semidefinite, is_symmetric

PACKAGES = {Clarabel: "clarabel", PIQP: "piqp", ProxQP: "proxsuite"}
ENGINES = (lcp.OSQP, lcp.CVXPY, Clarabel, PIQP, ProxQP)
NAMES = [engine.__name__ for engine in ENGINES]


@pytest.fixture(scope="module", params=ENGINES, ids=NAMES)
def engine(request: pytest.FixtureRequest) -> type:
    if request.param in PACKAGES:
        pytest.importorskip(PACKAGES[request.param])
    return request.param


def test_bounds_that_hold_are_kept_exactly(engine: type) -> None:
    """A relay pushed to its limit stands on it, not beside it."""
    problem = lcp.BoxLCP([[2.0, 0.5], [0.5, 1.0]], [-10.0, 0.0], [-1.0, -0.3], [0.1, 0.3])
    result = lcp.solve(problem, engine())
    result.raise_for_status()
    assert result.z[0] == 0.1
    assert result.z[1] == pytest.approx(-0.05, abs=1e-12)


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


@given(seed=st.integers(0, 10**6), n=st.integers(1, 8))
@settings(max_examples=60)
def test_semidefiniteness_agrees_with_eigenvalues(seed: int, n: int) -> None:
    """Clear cases in any units, low rank included."""
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((n, int(rng.integers(1, n + 1))))
    units = 10.0 ** rng.integers(-5, 6, n)
    skew = rng.standard_normal((n, n))
    M = B @ B.T + skew - skew.T
    x = rng.standard_normal(n)
    x /= np.linalg.norm(x)
    worse = M - (np.linalg.eigvalsh(M + M.T)[-1] / 2 + 0.01) * np.outer(x, x)
    worse -= max(0.0, float(np.linalg.eigvalsh(worse + worse.T)[0]) / 2 + 0.01) * np.outer(x, x)
    for form in (np.asarray, sp.csr_matrix):
        assert is_positive_semidefinite(form(M * units * units[:, None]))
        assert is_positive_semidefinite(form(worse)) == (np.linalg.eigvalsh(worse + worse.T)[0] >= 0.0)
        assert is_symmetric(form(B @ B.T))
        assert n == 1 or not is_symmetric(form(M))


def test_a_zero_diagonal_is_semidefinite_only_beside_zeros() -> None:
    """[[0, 1], [1, 0]] is not, [[0, 1], [-1, 0]] is, and so is nothing but zeros."""
    assert not is_positive_semidefinite(sp.csr_matrix([[0.0, 1.0], [1.0, 0.0]]))
    assert is_positive_semidefinite(sp.csr_matrix([[0.0, 1.0], [-1.0, 0.0]]))
    assert is_positive_semidefinite(sp.csr_matrix((3, 3)))
    assert is_positive_semidefinite(sp.csr_matrix((0, 0)))


def test_without_polish_the_answer_is_the_programs_own() -> None:
    """The option has an effect: a first-order result, coarse here, is judged unchanged."""
    rng = np.random.default_rng(3)
    N, mass = rng.standard_normal((6, 6)), 10.0 ** rng.uniform(-1, 2, 6)
    problem = lcp.LCP(N @ (N / mass).T, N @ rng.standard_normal(6))
    assert lcp.solve(problem, lcp.OSQP(eps=1e-3)).solved
    assert not lcp.solve(problem, lcp.OSQP(eps=1e-3, polish=False)).solved
