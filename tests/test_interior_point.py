"""INTERIOR_POINT alone: rows of every kind of bounds, exact cones, and islands that other strategies would solve."""

import numpy as np
import pytest
from test_friction_solvers import pile_of_bodies

import lcp
from contactlab import ConstraintSolver, EqualCompliance, ForceChoice
from problem_data import ConstraintVelProblemData

ALONE = ("interior_point",)


@pytest.mark.parametrize("seed", range(12))
def test_rows_of_every_kind_of_bounds_are_pairs(seed: int) -> None:
    """With limits, drives, bounds on one side and none, and a given force, v+ equals the result of pivoting."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((9, 9))
    data = ConstraintVelProblemData(
        M=A @ A.T + np.eye(9),
        Mv=rng.standard_normal(9),
        N=rng.standard_normal((2, 9)),
        F=rng.standard_normal((4, 9)),
        mu=[0.1, 0.2],
        r=[2, 2],
        L=rng.standard_normal((1, 9)),
        B=rng.standard_normal((5, 9)),
        lo=[-1.0, 0.5, -np.inf, 0.3, -np.inf],
        hi=[1.0, np.inf, -0.5, 0.3, np.inf],
        gammaB=rng.uniform(0.0, 0.1, 5),
    )
    found = ConstraintSolver(EqualCompliance(strategies=ALONE)).solve_discretized_problem(data, 0.1)
    pivoted = ConstraintSolver(lcp.Lemke()).solve_discretized_problem(data, 0.1)
    assert found.choice is ForceChoice.OTHER_SOLUTION
    assert "interior_point" in found.result.attempts[-1].detail
    np.testing.assert_allclose(found.v_plus, pivoted.v_plus, atol=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_exact_cones_of_piles(seed: int) -> None:
    problem = pile_of_bodies(8, seed)
    result = lcp.solve(problem, lcp.ContactStrategies(strategies=ALONE), tolerance=1e-9)
    assert result.attempts[0].status is lcp.Status.SOLVED


def test_it_begins_at_the_forces_given() -> None:
    """In piles whose loads have changed by a tenth the previous forces save systems."""
    solver = lcp.ContactStrategies(strategies=("active_set", *ALONE))
    spent = {"cold": 0, "warm": 0}
    for seed in range(12):
        problem = pile_of_bodies(8, seed)
        before = lcp.solve(problem, solver).r
        load = problem.f * np.random.default_rng(seed).uniform(0.9, 1.1, problem.f.size)
        other = lcp.GlobalFrictionProblem(problem.M, problem.H, load, problem.w, problem.mu)
        for name, start in (("cold", None), ("warm", before)):
            result = lcp.solve(other, solver, z0=start)
            assert result.attempts[0].status is lcp.Status.SOLVED
            spent[name] += result.iterations
    assert spent["warm"] < 0.9 * spent["cold"]
