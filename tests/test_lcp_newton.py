"""Newton's methods: their equations and derivatives, accurate systems, classes, bounds, starts and limits."""

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lcp_problems import p_problem

import lcp
from lcp import FischerNewton, MinMapNewton
from lcp.factors import solution
from lcp.scaling import scaled_box
from lcp.solvers.nonsmooth_newton import fischer_burmeister, natural_map, smoothed

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


@each_solver
def test_a_solution_of_1e10_beside_loads_of_one(solver: MinMapNewton) -> None:
    """The basic solution of a triangular P-matrix of condition 1e15 has to be refined to its last bit to be one."""
    problem = p_problem(543, 8)
    result = lcp.solve(problem, solver)
    assert np.isfinite(result.z).all()
    if solver != FischerNewton(polish=False):
        result.raise_for_status()
        assert result.z.max() > 1e10


@each_solver
@given(seed=st.integers(0, 10**6))
@example(seed=126)  # entries of 1e-10 on the diagonal beside ones, with units from the largest entries only
@example(seed=346)
@example(seed=35)  # a stationary point of the penalised equations that the rule lets pass in one row's units
@settings(max_examples=30)
def test_units_do_not_matter(solver: MinMapNewton, seed: int) -> None:
    """Rows and columns rescaled over 24 decades, and loads by 1e±12: solved, at the same solution in the new units."""
    rng = np.random.default_rng(seed)
    problem = p_problem(seed + (seed % 4 == 3 and solver == FischerNewton(polish=False)), 5)
    rows, columns = 10.0 ** rng.integers(-6, 7, 5), 10.0 ** rng.integers(-6, 7, 5)
    plain = lcp.solve(problem, MinMapNewton())
    load = 10.0 ** rng.choice([-12, 0, 12])
    scaled = lcp.LCP(rows[:, None] * problem.M * columns, load * rows * problem.q)
    result = lcp.solve(scaled, solver)
    result.raise_for_status()
    if not isinstance(solver, FischerNewton) or solver.polish:
        z = result.z * columns / load
        np.testing.assert_allclose(z, plain.z, rtol=1e-6, atol=1e-6 * max(1.0, np.abs(plain.z).max()))


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


@pytest.mark.nojit
def test_the_jacobians_are_those_of_finite_differences() -> None:
    """D_a + D_b M of all three reformulations, over bounds of every kind, where they are smooth."""
    rng = np.random.default_rng(3)
    n = 12
    lo = np.array([0.0, -1.0, -np.inf, -np.inf, 0.5, 0.0] * 2)
    hi = np.array([np.inf, 1.0, 2.0, np.inf, 0.5, 1e-3] * 2)
    problem = lcp.BoxLCP(rng.standard_normal((n, n)), rng.standard_normal(n), lo, hi)
    box = scaled_box(problem)
    for function in (fischer_burmeister(), fischer_burmeister(0.3), smoothed(0.2), natural_map):
        for _ in range(10):
            x = rng.standard_normal(n)
            at = function(box, x, box.rows(x))
            J = np.diag(at.a) + at.b[:, None] * box.M
            h, found = 1e-6, np.empty((n, n))
            for j in range(n):
                step = h * np.eye(n)[j]
                up, down = (function(box, x + d, box.rows(x + d)).F for d in (step, -step))
                found[:, j] = (up - down) / (2.0 * h)
            np.testing.assert_allclose(J, found, atol=1e-6)


def test_quadratic_convergence() -> None:
    """On a nondegenerate definite problem the trace's last residuals fall at least like their squares."""
    rng = np.random.default_rng(11)
    n = 60
    A = rng.standard_normal((n, n))
    M = A @ A.T / n + np.eye(n)
    positive = rng.random(n) < 0.5
    z = np.where(positive, 1.0 + rng.random(n), 0.0)
    problem = lcp.LCP(M, np.where(positive, 0.0, 1.0 + rng.random(n)) - M @ z)
    result = lcp.solve(problem, FischerNewton(polish=False), tolerance=1e-13, trace=True)
    assert result.solved
    values = result.trace.values
    tail = values[(values < 0.1)]
    assert tail.shape[0] >= 3
    assert (tail[1:] <= np.maximum(20.0 * tail[:-1] ** 2, 1e-13)).all()
    np.testing.assert_allclose(result.z, z, atol=1e-10)
    assert result.trace.iterations.tolist() == list(range(len(result.trace)))


def test_the_natural_map_ends_exactly() -> None:
    """The last step of the natural map solves the active rows: the residual drops from large to rounding."""
    problem = p_problem(4, 40)
    result = lcp.solve(problem, MinMapNewton(), trace=True)
    values = result.trace.values
    assert values[-1] < 1e-12
    assert values[-2] > 1e-3
    active = result.z > 0.0
    exact = np.zeros(40)
    exact[active] = np.linalg.solve(problem.M[np.ix_(active, active)], -problem.q[active])
    np.testing.assert_allclose(result.z, exact, rtol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sp.csc_array])
def test_a_singular_system_is_shifted_towards_regularity(form: Callable[[np.ndarray], object]) -> None:
    """The least shift that makes a positive semidefinite matrix regular is added; taken away, each gives a zero."""
    diagonal = np.array([0.0, 1e-12, 1e-9, 1e-6, 1e-3])
    x = solution(form(np.diag(diagonal)), np.ones(5), shifts=True)
    np.testing.assert_allclose(x, 1.0 / (diagonal + 1e-12), rtol=1e-9)


@pytest.mark.parametrize("blocks", [3, 7])
def test_exchanges_of_the_least_index_end(blocks: int) -> None:
    """P-matrices on which the rows exchanged all at once return to earlier ones: one at a time, the least, they end."""
    rng = np.random.default_rng(blocks)
    M = np.kron(np.eye(blocks), [[1.0, 2.0, 0.0], [0.0, 1.0, 2.0], [2.0, 0.0, 1.0]])
    M += np.kron(np.tri(blocks, k=-1), np.ones((3, 3))) * rng.integers(-9, 10, M.shape)
    problem = lcp.LCP(M, np.full(len(M), -1.0))
    lcp.solve(problem, MinMapNewton(smoothing=False, max_iterations=40)).raise_for_status()
