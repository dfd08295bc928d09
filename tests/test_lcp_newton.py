"""Newton's method on the natural map and on the Fischer-Burmeister equations: classes, bounds, starts, limits."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from naive import exact_solutions
from newton_problems import random_box, random_problem

import lcp
from lcp.catalog import entries, fathi, murty, obstacle
from lcp.solvers.fischer_newton import FischerNewton
from lcp.solvers.min_map_newton import MinMapNewton

SOLVERS = [
    MinMapNewton(),
    MinMapNewton(smoothing=False),
    FischerNewton(),
    FischerNewton(penalty=0.05),
    FischerNewton(polish=False),
]
IDS = ["min_map", "min_map_plain", "fischer", "penalised", "unpolished"]
# Alone, Fischer's equations end in the valleys of their docstring on the fourth kind of `random_problem`: that kind is
# left out for the unpolished solver.
each_solver = pytest.mark.parametrize("solver", SOLVERS, ids=IDS)
PROMISED = lcp.Traits.P_MATRIX | lcp.Traits.POSITIVE_DEFINITE


@pytest.mark.nojit
@each_solver
@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_catalog(solver: MinMapNewton, entry: object) -> None:
    """Problems of the promised classes are solved at their listed solutions; nothing unsolvable is called solved."""
    result = lcp.solve(entry.problem, solver)
    assert np.isfinite(result.z).all()
    if entry.outcome is not lcp.Status.SOLVED:
        assert not result.solved
        return
    if entry.matrix_class is not None and entry.matrix_class & PROMISED:
        result.raise_for_status()
    if result.solved and entry.complete:
        assert any(np.allclose(result.z, z, rtol=1e-8, atol=1e-10) for z in entry.solutions)


@each_solver
def test_shared_problems_of_the_promised_classes(solver: MinMapNewton, shared: Path) -> None:
    """Every definite and every P-matrix problem of the recorded set is solved, at its reference where z is unique."""
    folder = shared / "problems" / "lcp"
    met = 0
    for entry in json.loads((folder / "index.json").read_text()):
        data = np.load(folder / f"{entry[0]}.npz")
        if str(data["cls"]) not in ("SPD", "P"):
            continue
        met += 1
        result = lcp.solve(lcp.LCP(data["M"], data["q"]), solver)
        assert result.solved, (entry[0], result)
        if bool(data["unique_z"]) and "z" in data:
            np.testing.assert_allclose(result.z, data["z"], rtol=1e-6, atol=1e-7 * np.abs(data["z"]).max())
    assert met >= 15


@each_solver
@given(seed=st.integers(0, 10**6), n=st.integers(1, 7))
# Unknowns of 1e10 with an error of 1e-11 of them, which a plain residual does not show.
@example(seed=870171, n=7)
@example(seed=609299, n=7)
# A basis whose solution breaks no sign by more than 1e-10 of its largest entry, and is none.
@example(seed=38631, n=7)
@settings(max_examples=30)
def test_p_matrices_have_their_one_solution(solver: MinMapNewton, seed: int, n: int) -> None:
    """Definite, dominant and triangular P-matrices with ties: the answer is the one that exact enumeration finds."""
    problem = random_problem(seed + (seed % 4 == 3 and solver == FischerNewton(polish=False)), n)
    result = lcp.solve(problem, solver)
    result.raise_for_status()
    (only,) = exact_solutions(problem.M, problem.q)
    np.testing.assert_allclose(result.z, only, rtol=1e-6, atol=1e-7 * max(1.0, np.abs(only).max()))


@each_solver
def test_a_solution_of_1e10_beside_loads_of_one(solver: MinMapNewton) -> None:
    """The basic solution of a triangular P-matrix of condition 1e15 has to be refined to its last bit to be one."""
    problem = random_problem(543, 8)
    result = lcp.solve(problem, solver)
    assert np.isfinite(result.z).all()
    if solver != FischerNewton(polish=False):
        result.raise_for_status()
        assert result.z.max() > 1e10


@each_solver
@given(seed=st.integers(0, 10**6))
@settings(max_examples=60)
def test_boxes_agree_with_the_converted_problem(solver: MinMapNewton, seed: int) -> None:
    """Lower, upper, both, no bounds and given unknowns, natively, against Lemke on `box_to_mlcp`."""
    problem = random_box(seed + (seed % 4 == 3 and solver == FischerNewton(polish=False)))
    result = lcp.solve(problem, solver)
    result.raise_for_status()
    conversion = lcp.box_to_mlcp(problem)
    other = lcp.solve(conversion.problem, lcp.Lemke())
    other.raise_for_status()
    expected = conversion.recover(np.concatenate([other.u, other.y]))
    np.testing.assert_allclose(result.z, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.nojit
@each_solver
def test_closed_forms_with_bounds(solver: MinMapNewton) -> None:
    """A relay below, between and above its bounds; a linear system; a given unknown; a separable problem."""
    for q, z in ((5.0, -1.0), (0.5, -0.25), (-5.0, 1.0)):
        np.testing.assert_allclose(lcp.solve(lcp.BoxLCP([[2.0]], [q], -1.0, 1.0), solver).z, [z], atol=1e-9)
    M, q = np.array([[2.0, 1.0], [-1.0, 2.0]]), np.array([-5.0, 6.0])
    np.testing.assert_allclose(lcp.solve(lcp.BoxLCP(M, q, -np.inf, np.inf), solver).z, np.linalg.solve(M, -q))
    np.testing.assert_array_equal(lcp.solve(lcp.BoxLCP(M, q, [7.0, 1.0], [7.0, 1.0]), solver).z, [7.0, 1.0])
    wanted, lo, hi = np.linspace(-3.0, 3.0, 13), -1.0 * np.ones(13), 2.0 * np.ones(13)
    diagonal = np.arange(1.0, 14.0)
    result = lcp.solve(lcp.BoxLCP(np.diag(diagonal), -diagonal * wanted, lo, hi), solver)
    np.testing.assert_allclose(result.z, np.clip(wanted, lo, hi), atol=1e-9)


@each_solver
@pytest.mark.parametrize("n", [10, 20, 30])
def test_exponential_families(solver: MinMapNewton, n: int) -> None:
    """Murty's and Fathi's problems, with loads up to 4^n, take a few dozen steps, not 2^n."""
    result = lcp.solve(murty(n), solver)
    assert result.solved
    assert result.iterations < 4 * n
    np.testing.assert_allclose(result.z[0], 2.0**n, rtol=1e-6)
    second = lcp.solve(fathi(min(n, 20)), solver)
    assert second.solved
    assert second.iterations < 100


@each_solver
@given(seed=st.integers(0, 10**6))
@example(seed=126)  # entries of 1e-10 on the diagonal beside ones, where units are told by the largest entries alone
@example(seed=346)
@example(seed=35)  # a stationary point of the penalised equations that the rule lets pass in one row's units
@settings(max_examples=30)
def test_units_do_not_matter(solver: MinMapNewton, seed: int) -> None:
    """Rows and columns rescaled over 24 decades, and loads by 1e±12: solved, at the same solution in the new units."""
    rng = np.random.default_rng(seed)
    problem = random_problem(seed + (seed % 4 == 3 and solver == FischerNewton(polish=False)), 5)
    rows, columns = 10.0 ** rng.integers(-6, 7, 5), 10.0 ** rng.integers(-6, 7, 5)
    plain = lcp.solve(problem, MinMapNewton())
    load = 10.0 ** rng.choice([-12, 0, 12])
    scaled = lcp.LCP(rows[:, None] * problem.M * columns, load * rows * problem.q)
    result = lcp.solve(scaled, solver)
    result.raise_for_status()
    if not isinstance(solver, FischerNewton) or solver.polish:
        z = result.z * columns / load
        np.testing.assert_allclose(z, plain.z, rtol=1e-6, atol=1e-6 * max(1.0, np.abs(plain.z).max()))


def string_over_obstacle(n: int) -> lcp.LCP:
    """The tridiagonal obstacle problem of the catalog, sparse."""
    h = 1.0 / (n + 1)
    M = sp.diags_array([-np.ones(n - 1), 2.0 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1]) / h**2
    q = np.ones(n)
    q[[0, -1]] -= 0.05 / h**2
    return lcp.LCP(M.tocsr(), q)


@pytest.mark.parametrize("solver", [MinMapNewton(), FischerNewton()], ids=["min_map", "fischer"])
def test_a_large_obstacle_problem_stays_sparse(solver: MinMapNewton) -> None:
    """n = 20000 in some dozens of steps, though its free boundary has thousands of nodes to move; the closed form."""
    n = 20_000
    result = lcp.solve(string_over_obstacle(n), solver)
    result.raise_for_status()
    assert result.iterations < 100
    # u'' = 1, u(0) = 0, touching at u(a) = -0.05 with u'(a) = 0: a = sqrt(0.1).
    a = np.sqrt(0.1)
    t = np.arange(1, n + 1) / (n + 1)
    t = np.minimum(t, 1.0 - t)
    np.testing.assert_allclose(result.z, np.where(t < a, 0.5 * (a - t) ** 2, 0.0), atol=1e-5)


@each_solver
def test_sparse_and_dense_agree(solver: MinMapNewton) -> None:
    """The same problem, dense and sparse, plain and boxed, gives the same answer."""
    dense = obstacle(80)
    np.testing.assert_allclose(
        lcp.solve(string_over_obstacle(80), solver).z, lcp.solve(dense, solver).z, rtol=1e-6, atol=1e-9
    )
    box = random_box(7)
    other = lcp.BoxLCP(sp.csr_matrix(box.M), box.q, box.lo, box.hi)
    np.testing.assert_allclose(lcp.solve(other, solver).z, lcp.solve(box, solver).z, atol=1e-8)


@each_solver
def test_warm_start(solver: MinMapNewton) -> None:
    """At the solution no step is made; beside it fewer than from zero; z0 is not written to; nonsense does no harm."""
    problem = obstacle(60)
    cold = lcp.solve(problem, solver)
    assert lcp.solve(problem, solver, z0=cold.z).iterations == 0
    near = lcp.LCP(problem.M, problem.q * (1.0 + 1e-7))
    z0 = cold.z.copy()
    warm = lcp.solve(near, solver, z0=z0)
    assert warm.solved
    assert warm.iterations < cold.iterations
    np.testing.assert_array_equal(z0, cold.z)
    for wild in (np.full(60, 1e300), np.full(60, -1e300), np.linspace(-1e5, 1e5, 60)):
        assert lcp.solve(problem, solver, z0=wild).solved
    assert lcp.solve(lcp.LCP(np.eye(3), np.ones(3)), solver, z0=np.ones(3)).iterations == 0


@pytest.mark.parametrize(
    ("solver", "sparse"), [*((one, False) for one in SOLVERS), (SOLVERS[0], True), (SOLVERS[2], True)]
)
def test_unsolvable_and_trivial_problems(solver: MinMapNewton, sparse: bool) -> None:
    """No unknowns, q >= 0, all-zero M, a zero row with negative load, -M: a status, and finite numbers."""

    def status(M: object, q: object) -> lcp.Status:
        result = lcp.solve(lcp.LCP(sp.csr_matrix(M) if sparse else M, q), solver)
        assert np.isfinite(result.z).all()
        assert result.status is not lcp.Status.SOLVED or result.iterations == 0
        return result.status

    assert status(np.zeros((0, 0)), []) is lcp.Status.SOLVED
    assert status(np.eye(3), [0.0, 1.0, 2.0]) is lcp.Status.SOLVED
    assert status(np.zeros((2, 2)), [1.0, 0.0]) is lcp.Status.SOLVED
    failures = {lcp.Status.STALLED, lcp.Status.SINGULAR_BASIS}
    assert status(np.zeros((2, 2)), [-1.0, -2.0]) in failures
    assert status([[1.0, 0.0], [0.0, 0.0]], [-1.0, -1.0]) in failures
    assert status([[-1.0]], [-1.0]) in failures
    assert status([[0.0, 1.0], [0.0, 0.0]], [-5.0, -6.0]) in failures


def test_extreme_units_do_not_overflow() -> None:
    """Data of 1e±300 are solved; where the answer is not representable there is a status, not an exception."""
    M, q = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-5.0, -6.0])
    for solver in SOLVERS:
        for a, b in ((1e300, 1.0), (1e-300, 1.0), (1.0, 1e-300), (1.0, 1e300)):
            result = lcp.solve(lcp.LCP(a * M, b * q), solver)
            assert result.solved
            np.testing.assert_allclose(result.z / b * a, [4.0 / 3.0, 7.0 / 3.0], rtol=1e-6)
        assert not lcp.solve(lcp.LCP(1e-300 * M, 1e300 * q), solver).solved


@each_solver
@pytest.mark.filterwarnings("error")
def test_steps_beyond_double_precision(solver: MinMapNewton) -> None:
    """A Newton step of 1e157, whose powers overflow, ends in a status without exception or warning."""
    M = [[3.0, 3.0, 2.0], [2.0, 0.0, 0.0], [3.0, -1.0, -2.0]]
    q = [-5.764164721388424e-157, 7.460892002321739e-149, -9.043760034930178e-149]
    for form in (np.array, sp.csr_matrix):
        result = lcp.solve(lcp.BoxLCP(form(M), q, [-1.0, 1.0, -1.0], [np.inf, 1.0, -1.0]), solver)
        assert np.isfinite(result.z).all()
        assert result.status in lcp.Status


@each_solver
def test_limits(solver: MinMapNewton) -> None:
    """The iteration and the time limit end by name with the best iterate; two runs give the same bits."""
    problem = obstacle(60)
    kind = type(solver)
    result = lcp.solve(problem, kind(max_iterations=2), trace=True)
    assert result.status is lcp.Status.ITERATION_LIMIT
    assert result.iterations == 2
    assert result.residual.natural_map <= result.trace.values.max()
    result = lcp.solve(problem, kind(time_limit=1e-9))
    assert result.status is lcp.Status.ITERATION_LIMIT
    assert "time limit" in result.attempts[0].detail
    first, second = lcp.solve(problem, solver), lcp.solve(problem, solver)
    assert first.z.tobytes() == second.z.tobytes()


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("kind", "options", "text"),
    [
        (MinMapNewton, {"max_iterations": -1}, "max_iterations"),
        (MinMapNewton, {"max_iterations": 1.5}, "max_iterations"),
        (MinMapNewton, {"smoothing": 1}, "smoothing"),
        (MinMapNewton, {"time_limit": 0.0}, "time_limit"),
        (FischerNewton, {"penalty": 1.0}, "penalty"),
        (FischerNewton, {"penalty": -0.1}, "penalty"),
        (FischerNewton, {"penalty": float("nan")}, "penalty"),
        (FischerNewton, {"polish": None}, "polish"),
        (FischerNewton, {"smoothing": "yes"}, "smoothing"),
        (FischerNewton, {"max_iterations": True}, "max_iterations"),
        (FischerNewton, {"time_limit": float("nan")}, "time_limit"),
    ],
)
def test_options_are_checked(kind: type, options: dict[str, object], text: str) -> None:
    """Options out of range are refused with the solver and field named."""
    with pytest.raises(lcp.ProblemError, match=rf"{kind.__name__}\.{text}"):
        kind(**options)
