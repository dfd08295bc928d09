"""Newton's method on the natural map and on the Fischer-Burmeister equations: classes, bounds, starts, limits."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lcp_problems import p_problem

import lcp
from lcp.solvers.nonsmooth_newton import FischerNewton, MinMapNewton

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
