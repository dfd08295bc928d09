"""Every solver gets unusual input: it returns a right result, or a status with the reason; never NaN, never a hang."""

import time
from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp

import lcp

# Solvers of ordinary matrices: a game is what one of them takes alone.
GENERAL = [pytest.param(None, id="default")]
GENERAL += [pytest.param(s(), id=s.__name__) for s in lcp.ALL_SOLVERS if s is not lcp.LemkeHowson]
SOLVERS = [pytest.param(None, id="default"), *(pytest.param(s(), id=s.__name__) for s in lcp.ALL_SOLVERS)]
M3 = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])
Q3 = np.array([-5.0, 2.0, -3.0])
Z3 = np.array([1.25, 0.0, 1.5])  # w_2 = 1.25 + 2 + 1.5 > 0


def honest(result: lcp.Result) -> None:
    """Assert finite vectors and a status that agrees with the residual."""
    assert np.isfinite(result.z).all()
    assert result.solved == result.residual.solved(result.tolerance)
    assert result.status.advice


@pytest.mark.parametrize("solver", SOLVERS)
def test_no_unknowns(solver: lcp.Solver | None) -> None:
    """The empty problem is solved by the empty vector."""
    result = lcp.solve(lcp.LCP(np.zeros((0, 0)), []), solver)
    assert result.solved
    assert result.z.shape == (0,)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_matrix_of_zeros(solver: lcp.Solver | None) -> None:
    """M = 0: z = 0 where q >= 0, otherwise nothing."""
    solved = lcp.solve(lcp.LCP(np.zeros((3, 3)), [1.0, 0.0, 2.0]), solver)
    assert solved.solved
    np.testing.assert_array_equal(solved.z, 0.0)
    failed = lcp.solve(lcp.LCP(np.zeros((3, 3)), [1.0, -1.0, 2.0]), solver)
    honest(failed)
    assert not failed.solved


FORMS = {
    "whole numbers": (lambda M: M.astype(np.int64), lambda q: q.astype(np.int32)),
    "single precision": (lambda M: M.astype(np.float32), lambda q: q.astype(np.float32)),
    "Fortran order": (np.asfortranarray, lambda q: q),
    "strided views": (lambda M: np.repeat(np.repeat(M, 2, 0), 3, 1)[::2, ::3], lambda q: np.repeat(q, 2)[::2]),
    "reversed views": (lambda M: M[::-1, ::-1].copy()[::-1, ::-1], lambda q: q[::-1].copy()[::-1]),
    "lists": (lambda M: M.tolist(), lambda q: q.tolist()),
    "sparse": (sp.csr_array, lambda q: q),
    "sparse by columns": (sp.csc_matrix, lambda q: q),
    "sparse with duplicates": (
        lambda M: sp.coo_matrix(
            (np.concatenate([M.ravel() / 2] * 2), (np.tile(np.repeat(range(3), 3), 2), np.tile(list(range(3)) * 3, 2))),
            shape=(3, 3),
        ),
        lambda q: q,
    ),
    "sparse with explicit zeros": (
        lambda M: sp.csr_matrix((M.ravel(), np.tile(range(3), 3), [0, 3, 6, 9]), shape=(3, 3)),
        lambda q: q,
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_any_form_of_the_same_numbers(solver: lcp.Solver | None, form: str) -> None:
    """Types, orders, views and sparse formats are all the same problem, and the caller's arrays stay as they are."""
    on_M, on_q = FORMS[form]
    M, q = on_M(M3.copy()), on_q(Q3.copy())
    result = lcp.solve(lcp.LCP(M, q), lcp.Refined(solver) if solver is not None else None)
    assert result.solved, result
    np.testing.assert_allclose(result.z, Z3, atol=1e-9)
    np.testing.assert_array_equal(M.toarray() if sp.issparse(M) else np.asarray(M), M3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_huge_and_tiny_entries_never_give_nan(solver: lcp.Solver | None) -> None:
    """Entries near the ends of double precision: any status, no NaN, no exception."""
    rng = np.random.default_rng(0)
    for size in (1e-300, 1e-160, 1e160, 1e300):
        A = rng.standard_normal((4, 4))
        honest(lcp.solve(lcp.LCP(A @ A.T * size, -np.ones(4)), solver))
        honest(lcp.solve(lcp.LCP(A @ A.T, -np.ones(4) * size), solver))


BEYOND = {
    # lo of 1e150 under entries of 1e300; a width, an eliminated equation, a scaled right-hand side that overflow.
    "bounds": lcp.BoxLCP([[1e300, 2e300], [0.0, 1e300]], [-1.0, 1.0], [1e150, 0.0], [2e150, np.inf]),
    "width": lcp.BoxLCP([[1.0]], [2.0], [-1.5e308], [1.5e308]),
    "sparse": lcp.BoxLCP(sp.csr_matrix([[0.0, 0.0], [0.0, -10.0]]), [1e300, 1e300], [-np.inf, -2e150], [2e150, 0.0]),
    "equation": lcp.MLCP([[1e-300]], [[1e300]], [[1e300]], [[1.0]], [1.0], [-1.0]),
    "singular equation": lcp.MLCP([[0.0]], [[-1e-150]], [[-2e150]], [[1e150]], [1.4e149], [9.7e-158]),
}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", BEYOND)
@pytest.mark.filterwarnings("error")
def test_what_overflows_on_the_way_is_a_status(solver: lcp.Solver | None, name: str) -> None:
    """Finite data whose converted or reduced form is not: no exception, no warning, no NaN."""
    result = lcp.solve(BEYOND[name], solver)
    for vector in (result.u, result.y) if isinstance(result, lcp.MLCPResult) else (result.z,):
        assert np.isfinite(vector).all()
    assert result.status in lcp.Status


MASKED = np.ma.masked_array([1.0, 2.0], mask=[False, True])


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("M", lambda: lcp.LCP(np.ma.masked_array(np.eye(2), mask=np.eye(2)), [1.0, 1.0])),
        ("M", lambda: lcp.LCP([MASKED, [0.0, 1.0]], [1.0, 1.0])),
        ("q", lambda: lcp.LCP(np.eye(2), MASKED)),
        ("lo", lambda: lcp.BoxLCP(np.eye(2), [1.0, 1.0], MASKED, 3.0)),
        ("z0", lambda: lcp.solve(lcp.LCP(np.eye(2), [-1.0, -1.0]), z0=MASKED)),
        ("mu", lambda: lcp.FrictionProblem(np.eye(6), np.ones(6), MASKED)),
    ],
)
def test_a_masked_array_is_refused(name: str, make: Callable[[], object]) -> None:
    """Its mask would be dropped, and what lies under it read."""
    with pytest.raises(lcp.ProblemError, match=f"{name} is a masked array"):
        make()


@pytest.mark.filterwarnings("error")
def test_one_entry_near_the_end_of_double_precision() -> None:
    """Anywhere in M or q: a result or a status, and no exception from integers beyond double precision."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        M, q = rng.standard_normal((3, 3)), rng.standard_normal(3)
        if seed % 4 < 3:
            M[tuple(rng.integers(0, 3, 2))] = -1e308
        else:
            q[rng.integers(0, 3)] = -1e308
        honest(lcp.solve(lcp.LCP(M, q)))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_row_that_nothing_lifts_is_proof_at_once(form: Callable[[object], object]) -> None:
    """Before any solver is called; the proof needs no dense copy of a sparse M."""
    n = 5000 if form is sp.csr_array else 40
    M = sp.csr_array((n, n)) if form is sp.csr_array else np.zeros((n, n))
    problem = lcp.LCP(M, -np.ones(n))
    start = time.process_time()
    result = lcp.solve(problem)
    assert result.status is lcp.Status.INFEASIBLE
    assert result.evidence.proves_exactly(problem)
    assert time.process_time() - start < 5.0
    assert "row 0 has q < 0 and no positive entry" in result.describe()


def test_rounding_of_q_lifts_no_proof() -> None:
    """A row that is stated to be zero is not a contradiction."""
    problem = lcp.LCP(np.zeros((30, 30)), np.full(30, -1e-17), q_uncertainty=np.full(30, 1e-16))
    assert lcp.solve(problem).solved
